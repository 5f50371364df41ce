// Package build makes the transactions that the sandbox hands out, in the
// shapes of the Bags API: honest ones, and the hostile variants that a signer
// must refuse. Only the sandbox may import it. It encodes every instruction by
// hand and compiles with solana-go, so it shares no code with either daemon;
// it never holds the wallet's key and never sends anything.
package build

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// Well-known addresses under the names used here.
var (
	System      = solana.SystemProgramID
	Token       = solana.TokenProgramID
	Token2022   = solana.Token2022ProgramID
	Associated  = solana.SPLAssociatedTokenAccountProgramID
	WSOL        = solana.WrappedSol
	budget      = solana.ComputeBudget
	blockhashes = solana.SysVarRecentBlockHashesPubkey
)

// AssociatedAccount is owner's associated token account of mint.
func AssociatedAccount(owner, mint, tokenProgram solana.PublicKey) solana.PublicKey {
	return Derived(Associated, owner[:], tokenProgram[:], mint[:])
}

// Derived is a program-derived address.
func Derived(program solana.PublicKey, seeds ...[]byte) solana.PublicKey {
	address, _ := DerivedWithBump(program, seeds...)
	return address
}

// DerivedWithBump is a program-derived address and its bump seed.
func DerivedWithBump(program solana.PublicKey, seeds ...[]byte) (solana.PublicKey, uint8) {
	address, bump, err := solana.FindProgramAddress(seeds, program)
	if err != nil {
		// Seeds here are constants and keys; none is over the length limit.
		panic(fmt.Sprintf("derive address: %v", err))
	}
	return address, bump
}

func read(key solana.PublicKey) *solana.AccountMeta { return solana.Meta(key) }

func write(key solana.PublicKey) *solana.AccountMeta { return solana.Meta(key).WRITE() }

func sign(key solana.PublicKey) *solana.AccountMeta { return solana.Meta(key).WRITE().SIGNER() }

func call(program solana.PublicKey, data []byte, accounts ...*solana.AccountMeta) solana.Instruction {
	return solana.NewInstruction(program, accounts, data)
}

func u32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func unitLimit(units uint32) solana.Instruction {
	return call(budget, append([]byte{2}, u32(units)...))
}

func unitPrice(microLamports uint64) solana.Instruction {
	return call(budget, append([]byte{3}, u64(microLamports)...))
}

func transfer(from, to solana.PublicKey, lamports uint64) solana.Instruction {
	return call(System, append(u32(2), u64(lamports)...), sign(from), write(to))
}

func advanceNonce(nonce, authority solana.PublicKey) solana.Instruction {
	return call(System, u32(4), write(nonce), read(blockhashes), sign(authority))
}

func createAssociated(payer, owner, mint, tokenProgram solana.PublicKey) solana.Instruction {
	account := AssociatedAccount(owner, mint, tokenProgram)
	// 1 is the idempotent form: an account that exists already is fine.
	return call(Associated, []byte{1},
		sign(payer), write(account), read(owner), read(mint), read(System), read(tokenProgram))
}

func syncNative(account solana.PublicKey) solana.Instruction {
	return call(Token, []byte{17}, write(account))
}

func closeAccount(account, to, owner solana.PublicKey) solana.Instruction {
	return call(Token, []byte{9}, write(account), write(to), sign(owner))
}

// memo is a note of that many letters.
func memo(size int) solana.Instruction {
	return call(solana.MemoProgramID, bytes.Repeat([]byte{'a'}, size))
}
