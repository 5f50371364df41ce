package effects

import "countersign/shared/solana"

// IsTip reports one of the block engine's known tip accounts: what goes there
// is a fee, not a payment.
func IsTip(key solana.PublicKey) bool {
	_, tip := tipAccounts[key]
	return tip
}

// tipAccounts are the block engine's tip accounts, from the Jito SDK's list.
var tipAccounts = keySet(
	"96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5", "HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe",
	"Cw8CFyM9FkoMi7K7Crf6HNQqf4uEMzpKw6QNghXLvLkY", "ADaUMid9yfUytqMBgopwjb2DTLSokTSzL1zt6iGPaS49",
	"DfXygSm4jCyNCybVYYK6DwvWqjKee8pbDmJGcLWNDXjh", "ADuUkR4vqLUMWXxW9gh6D6L8pMSawimctcNZ5pGwDcEt",
	"DttWaMuVvTiduZRnguLF7jNxTgiMBZ1hyAumKUiL2KRL", "3AVi9Tg9Uo68tJfuvoKvqKNWKkC5wPdSSdeBnizKZ6jT",
)

func keySet(texts ...string) map[solana.PublicKey]struct{} {
	set := make(map[solana.PublicKey]struct{}, len(texts))
	for _, text := range texts {
		set[solana.MustPublicKey(text)] = struct{}{}
	}
	return set
}
