// Package decodetest compiles transactions for tests: instructions with named
// accounts in, unsigned wire bytes out. It is written from the wire format and
// shares no logic with what it tests. Only tests import it.
package decodetest

import (
	"slices"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// Meta is one account of a call.
type Meta struct {
	Key              solana.PublicKey
	Signer, Writable bool
}

// R is an account that is only read.
func R(key solana.PublicKey) Meta { return Meta{Key: key} }

// W is an account that can change.
func W(key solana.PublicKey) Meta { return Meta{Key: key, Writable: true} }

// S is an account that signs.
func S(key solana.PublicKey) Meta { return Meta{Key: key, Signer: true} }

// SW is an account that signs and can change.
func SW(key solana.PublicKey) Meta { return Meta{Key: key, Signer: true, Writable: true} }

// Call is one instruction.
type Call struct {
	Program  solana.PublicKey
	Accounts []Meta
	Data     []byte
}

// Legacy compiles a legacy transaction.
func Legacy(payer solana.PublicKey, blockhash solana.Hash, calls ...Call) solana.Transaction {
	return compile(solana.Legacy, payer, blockhash, nil, nil, calls)
}

// V0 compiles a v0 transaction that loads through the tables, in this order,
// whatever it can.
func V0(payer solana.PublicKey, blockhash solana.Hash, tables decode.Tables, order []solana.PublicKey, calls ...Call) solana.Transaction {
	return compile(solana.V0, payer, blockhash, tables, order, calls)
}

// V1 compiles a v1 transaction, with what its header says of fee and limits.
func V1(payer solana.PublicKey, blockhash solana.Hash, config solana.Config, calls ...Call) solana.Transaction {
	tx := compile(solana.V1, payer, blockhash, nil, nil, calls)
	tx.Message.Config = config
	return tx
}

func compile(version solana.Version, payer solana.PublicKey, blockhash solana.Hash, tables decode.Tables, order []solana.PublicKey, calls []Call) solana.Transaction {
	metas := collect(payer, calls)
	programs := make(map[solana.PublicKey]bool)
	for _, call := range calls {
		programs[call.Program] = true
	}
	message := solana.Message{Version: version, Blockhash: blockhash}
	lookups := make([]solana.Lookup, len(order))
	var static []Meta
	for _, meta := range metas {
		table, index, found := find(meta.Key, tables, order)
		switch {
		case !found || meta.Signer || programs[meta.Key]:
			static = append(static, meta)
		case meta.Writable:
			lookups[table].Writable = append(lookups[table].Writable, index)
		default:
			lookups[table].Readonly = append(lookups[table].Readonly, index)
		}
	}
	slices.SortStableFunc(static[1:], func(a, b Meta) int { return rank(a) - rank(b) })
	keys := make([]solana.PublicKey, 0, len(metas))
	for _, meta := range static {
		keys = append(keys, meta.Key)
		switch {
		case meta.Signer:
			message.RequiredSignatures++
			if !meta.Writable {
				message.ReadonlySigned++
			}
		case !meta.Writable:
			message.ReadonlyUnsigned++
		}
	}
	message.Keys = slices.Clone(keys)
	for _, writable := range []bool{true, false} {
		for i, table := range order {
			indexes := lookups[i].Readonly
			if writable {
				indexes = lookups[i].Writable
			}
			for _, index := range indexes {
				keys = append(keys, tables[table][index])
			}
		}
	}
	for i, table := range order {
		lookups[i].Table = table
		if len(lookups[i].Writable)+len(lookups[i].Readonly) > 0 {
			message.Lookups = append(message.Lookups, lookups[i])
		}
	}
	for _, call := range calls {
		compiled := solana.Instruction{Program: uint8(slices.Index(keys, call.Program)), Data: call.Data}
		for _, meta := range call.Accounts {
			compiled.Accounts = append(compiled.Accounts, uint8(slices.Index(keys, meta.Key)))
		}
		message.Instructions = append(message.Instructions, compiled)
	}
	return solana.Transaction{Signatures: make([]solana.Signature, message.RequiredSignatures), Message: message}
}

// collect lists every account once with the union of its rights.
func collect(payer solana.PublicKey, calls []Call) []Meta {
	metas := []Meta{SW(payer)}
	add := func(meta Meta) {
		for i := range metas {
			if metas[i].Key == meta.Key {
				metas[i].Signer = metas[i].Signer || meta.Signer
				metas[i].Writable = metas[i].Writable || meta.Writable
				return
			}
		}
		metas = append(metas, meta)
	}
	for _, call := range calls {
		for _, meta := range call.Accounts {
			add(meta)
		}
		add(R(call.Program))
	}
	return metas
}

func find(key solana.PublicKey, tables decode.Tables, order []solana.PublicKey) (table int, index uint8, found bool) {
	for i, each := range order {
		if at := slices.Index(tables[each], key); at >= 0 {
			return i, uint8(at), true
		}
	}
	return 0, 0, false
}

func rank(meta Meta) int {
	switch {
	case meta.Signer && meta.Writable:
		return 0
	case meta.Signer:
		return 1
	case meta.Writable:
		return 2
	}
	return 3
}
