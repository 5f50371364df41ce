package decode

import (
	"bytes"
	"crypto/sha256"

	"countersign/shared/solana"
)

// Reading is what the bytes of a transaction say where Decode may well refuse
// it: what cannot be explained is left as it is and named. It is for telling a
// person about a transaction, never for judging one, and no Tx comes of it.
type Reading struct {
	// Accounts are all accounts, in the order that instructions index.
	Accounts []Account
	// Unresolved names the accounts whose lookup tables were not given. Each
	// stands under a key of its own, which is nobody's address.
	Unresolved   map[solana.PublicKey]TableEntry
	Instructions []ReadInstruction
	// Fee is the network fee, unless FeeErr says why it cannot be told.
	Fee    Fee
	FeeErr error
}

// TableEntry is one address of a lookup table.
type TableEntry struct {
	Table solana.PublicKey
	Index uint8
}

// ReadInstruction is an instruction, with the reason why Decode refuses it if
// it does. Then only its index, program, accounts and data are filled.
type ReadInstruction struct {
	Instruction
	Err error
}

// Read reads all that the bytes say, from the point of view of wallet.
func Read(p Parsed, wallet solana.PublicKey, tables Tables) Reading {
	message := p.tx.Message
	reading := Reading{Unresolved: make(map[solana.PublicKey]TableEntry)}
	for _, key := range message.Keys {
		reading.Accounts = append(reading.Accounts, Account{Key: key})
	}
	for _, writable := range []bool{true, false} {
		for _, lookup := range message.Lookups {
			indexes := lookup.Readonly
			if writable {
				indexes = lookup.Writable
			}
			for _, index := range indexes {
				reading.Accounts = append(reading.Accounts, Account{Key: reading.looked(lookup.Table, index, tables), Looked: true})
			}
		}
	}
	for i := range reading.Accounts {
		reading.Accounts[i].Signer = message.IsSigner(i)
		reading.Accounts[i].Writable = message.IsWritable(i)
	}
	tx := Tx{parsed: p, wallet: wallet, accounts: reading.Accounts}
	for i, compiled := range message.Instructions {
		instruction, err := decodeInstruction(i, compiled, reading.Accounts)
		if err != nil {
			instruction = undecoded(i, compiled, reading.Accounts)
		}
		reading.Instructions = append(reading.Instructions, ReadInstruction{Instruction: instruction, Err: err})
		tx.instructions = append(tx.instructions, instruction)
	}
	reading.Fee, reading.FeeErr = feeOf(tx)
	return reading
}

// looked is the address at an index of a table, or a stand-in for it.
func (r *Reading) looked(table solana.PublicKey, index uint8, tables Tables) solana.PublicKey {
	if addresses := tables[table]; int(index) < len(addresses) {
		return addresses[index]
	}
	standIn := solana.PublicKey(sha256.Sum256(append(bytes.Clone(table[:]), index)))
	r.Unresolved[standIn] = TableEntry{Table: table, Index: index}
	return standIn
}

// undecoded is an instruction as the message holds it.
func undecoded(index int, compiled solana.Instruction, accounts []Account) Instruction {
	instruction := Instruction{Index: index, Program: accounts[compiled.Program].Key, Data: bytes.Clone(compiled.Data)}
	for _, account := range compiled.Accounts {
		instruction.Accounts = append(instruction.Accounts, accounts[account])
	}
	return instruction
}
