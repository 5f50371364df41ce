package effects

import "countersign/shared/solana"

// IsTip reports one of the block engine's known tip accounts: what goes there
// is a fee, not a payment.
func IsTip(key solana.PublicKey) bool {
	_, tip := tipAccounts[key]
	return tip
}
