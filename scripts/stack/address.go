package stack

import (
	"github.com/gagliardetto/solana-go"
)

// TokenAccount is the associated token account of an owner for a mint of the
// classic token program, by solana-go: the tests' view of addresses is not
// that of the code under test.
func TokenAccount(owner, mint string) string {
	address, _, err := solana.FindAssociatedTokenAddress(solana.MustPublicKeyFromBase58(owner), solana.MustPublicKeyFromBase58(mint))
	if err != nil {
		panic(err) // Chance of 2^-256.
	}
	return address.String()
}
