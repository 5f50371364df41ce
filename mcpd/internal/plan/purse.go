package plan

import (
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// PurseKeys are the accounts that hold an asset of a wallet.
func PurseKeys(wallet, asset solana.PublicKey) []solana.PublicKey {
	if asset == amount.SOL {
		return []solana.PublicKey{wallet, solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)}
	}
	return []solana.PublicKey{
		solana.AssociatedTokenAddress(wallet, asset, solana.TokenProgram),
		solana.AssociatedTokenAddress(wallet, asset, solana.Token2022Program),
	}
}

// CheckPurse refuses to spend what the wallet does not hold, before anybody is
// asked for a price. Wrapped SOL counts as SOL.
func CheckPurse(wallet, asset solana.PublicKey, units amount.Units, snapshot Snapshot) error {
	mint, err := ReadMint(asset, snapshot)
	if err != nil {
		return err
	}
	parts := []amount.Units{}
	for _, key := range PurseKeys(wallet, asset) {
		if key == wallet {
			parts = append(parts, snapshot.Accounts[key].Lamports)
			continue
		}
		parts = append(parts, TokenBalance(key, snapshot))
	}
	have, err := amount.Sum(parts...)
	if err != nil {
		return fault.New(fault.RPCBadAnswer, "the wallet's balance is too large").Because(err)
	}
	if have >= units {
		return nil
	}
	if asset == amount.SOL {
		return poor(have, mint.Decimals, "SOL")
	}
	return poor(have, mint.Decimals, asset.String())
}

func poor(have amount.Units, decimals uint8, name string) error {
	return fault.New(fault.InsufficientFunds, "the wallet holds %s of %s", have.Decimal(decimals), name)
}
