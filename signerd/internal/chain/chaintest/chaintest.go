// Package chaintest makes accounts as the chain holds them, for tests: token
// accounts and mints of both programs, lookup tables. It writes the layouts
// out by hand and shares no logic with what reads them. Only tests import it.
package chaintest

import (
	"encoding/binary"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
)

// Rent is what every account made here holds beyond wrapped SOL.
const Rent = 2_039_280

// Token is a token account of 165 bytes, changed by edits of its data.
func Token(key, program, mint, owner solana.PublicKey, units amount.Units, edits ...func(data []byte)) chain.Account {
	data := make([]byte, 165)
	copy(data[0:], mint[:])
	copy(data[32:], owner[:])
	binary.LittleEndian.PutUint64(data[64:], uint64(units))
	data[108] = 1
	account := chain.Account{Key: key, Lamports: Rent, Owner: program, Data: data}
	if mint == solana.WrappedSOL {
		data[109] = 1
		binary.LittleEndian.PutUint64(data[113:], Rent)
		account.Lamports += units
	}
	for _, edit := range edits {
		edit(data)
	}
	return account
}

// Delegate lets somebody spend.
func Delegate(to solana.PublicKey, units uint64) func([]byte) {
	return func(data []byte) {
		data[72] = 1
		copy(data[76:], to[:])
		binary.LittleEndian.PutUint64(data[121:], units)
	}
}

// Closer lets somebody close.
func Closer(to solana.PublicKey) func([]byte) {
	return func(data []byte) {
		data[129] = 1
		copy(data[133:], to[:])
	}
}

// Frozen freezes.
func Frozen(data []byte) { data[108] = 2 }

// Extension is one Token-2022 extension.
type Extension struct {
	Kind  uint16
	Value []byte
}

// Extend adds what tells a Token-2022 account or mint, and its extensions.
func Extend(account chain.Account, kind byte, extensions ...Extension) chain.Account {
	data := make([]byte, 165, 400)
	copy(data, account.Data)
	data = append(data, kind)
	for _, each := range extensions {
		data = binary.LittleEndian.AppendUint16(data, each.Kind)
		data = binary.LittleEndian.AppendUint16(data, uint16(len(each.Value)))
		data = append(data, each.Value...)
	}
	account.Data = data
	return account
}

// Mint is a mint of 82 bytes without authorities.
func Mint(key, program solana.PublicKey, decimals uint8) chain.Account {
	data := make([]byte, 82)
	data[44], data[45] = decimals, 1
	return chain.Account{Key: key, Lamports: Rent, Owner: program, Data: data}
}

// Table is a lookup table, extended last at a slot from an index on.
func Table(key solana.PublicKey, extended uint64, from byte, addresses ...solana.PublicKey) chain.Account {
	data := make([]byte, 56)
	data[0] = 1
	binary.LittleEndian.PutUint64(data[4:], ^uint64(0))
	binary.LittleEndian.PutUint64(data[12:], extended)
	data[20] = from
	for _, address := range addresses {
		data = append(data, address[:]...)
	}
	return chain.Account{Key: key, Lamports: Rent, Owner: solana.LookupTableProgram, Data: data}
}
