package decodetest

import (
	"encoding/binary"

	"countersign/shared/solana"
)

func le64(data []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(data, n) }

// UnitLimit is ComputeBudget.SetComputeUnitLimit.
func UnitLimit(units uint32) Call {
	return Call{Program: solana.ComputeBudgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{2}, units)}
}

// UnitPrice is ComputeBudget.SetComputeUnitPrice, in millionths of a lamport.
func UnitPrice(price uint64) Call {
	return Call{Program: solana.ComputeBudgetProgram, Data: le64([]byte{3}, price)}
}

// Transfer is System.Transfer.
func Transfer(from, to solana.PublicKey, lamports uint64) Call {
	return Call{Program: solana.SystemProgram, Accounts: []Meta{SW(from), W(to)}, Data: le64([]byte{2, 0, 0, 0}, lamports)}
}

// CreateIdempotent opens owner's associated account of mint unless it is there.
func CreateIdempotent(payer, owner, mint, program solana.PublicKey) Call {
	return Call{Program: solana.AssociatedTokenProgram, Data: []byte{1}, Accounts: []Meta{
		SW(payer), W(solana.AssociatedTokenAddress(owner, mint, program)), R(owner), R(mint),
		R(solana.SystemProgram), R(program),
	}}
}

// SyncNative takes lamports sent to a wrapped-SOL account into its amount.
func SyncNative(account solana.PublicKey) Call {
	return Call{Program: solana.TokenProgram, Accounts: []Meta{W(account)}, Data: []byte{17}}
}

// Close closes a token account.
func Close(program, account, to, owner solana.PublicKey) Call {
	return Call{Program: program, Accounts: []Meta{W(account), W(to), S(owner)}, Data: []byte{9}}
}

// TransferChecked moves tokens.
func TransferChecked(program, from, mint, to, owner solana.PublicKey, units uint64, decimals uint8) Call {
	return Call{Program: program, Accounts: []Meta{W(from), R(mint), W(to), S(owner)}, Data: append(le64([]byte{12}, units), decimals)}
}

// Approve lets a delegate spend.
func Approve(program, account, delegate, owner solana.PublicKey, units uint64) Call {
	return Call{Program: program, Accounts: []Meta{W(account), R(delegate), S(owner)}, Data: le64([]byte{4}, units)}
}

// Revoke takes a delegate away.
func Revoke(program, account, owner solana.PublicKey) Call {
	return Call{Program: program, Accounts: []Meta{W(account), S(owner)}, Data: []byte{5}}
}

// SetAuthority changes an authority; a nil one becomes none.
func SetAuthority(program, account, owner solana.PublicKey, kind uint8, to *solana.PublicKey) Call {
	data := []byte{6, kind, 0}
	if to != nil {
		data = append([]byte{6, kind, 1}, to[:]...)
	}
	return Call{Program: program, Accounts: []Meta{W(account), S(owner)}, Data: data}
}

// Memo writes a text.
func Memo(text string) Call { return Call{Program: solana.MemoProgram, Data: []byte(text)} }
