package stack

import (
	"github.com/gagliardetto/solana-go"
)

// TokenAccount is the wallet's associated token account of a mint, by
// solana-go: the tests' view of addresses is not that of the code under test.
func (s *Stack) TokenAccount(mint string) string {
	program := solana.TokenProgramID
	if mint == s.World.Token2022Mint {
		program = solana.Token2022ProgramID
	}
	return associated(s.Wallet, mint, program)
}

func associated(owner, mint string, program solana.PublicKey) string {
	address, _, err := solana.FindProgramAddress([][]byte{
		solana.MustPublicKeyFromBase58(owner).Bytes(), program.Bytes(), solana.MustPublicKeyFromBase58(mint).Bytes(),
	}, solana.SPLAssociatedTokenAccountProgramID)
	if err != nil {
		panic(err) // Chance of 2^-256.
	}
	return address.String()
}
