package world

import (
	"encoding/binary"

	"github.com/gagliardetto/solana-go"
)

// Sizes of the account layouts below.
const (
	mintSize         = 82
	tokenAccountSize = 165
	nonceSize        = 80
	tableHeaderSize  = 56
)

var le = binary.LittleEndian

// mintData is an initialised mint without authorities, so that nothing can
// mint or freeze.
func mintData(supply uint64, decimals uint8) []byte {
	data := make([]byte, mintSize)
	le.PutUint64(data[36:], supply)
	data[44] = decimals
	data[45] = 1 // initialised
	return data
}

// tokenData is an initialised token account. A wSOL account also names the
// reserve that is not part of its amount.
func tokenData(mint, owner solana.PublicKey, amount, reserve uint64) []byte {
	data := make([]byte, tokenAccountSize)
	copy(data[0:], mint[:])
	copy(data[32:], owner[:])
	le.PutUint64(data[64:], amount)
	data[108] = 1 // initialised
	if mint == solana.WrappedSol {
		le.PutUint32(data[109:], 1)
		le.PutUint64(data[113:], reserve)
	}
	return data
}

// tokenAmount reads the amount of a token account.
func tokenAmount(data []byte) (uint64, bool) {
	if len(data) < tokenAccountSize {
		return 0, false
	}
	return le.Uint64(data[64:]), true
}

// nonceData is a durable nonce: current version, initialised.
func nonceData(authority solana.PublicKey, nonce solana.Hash) []byte {
	data := make([]byte, nonceSize)
	le.PutUint32(data[0:], 1)
	le.PutUint32(data[4:], 1)
	copy(data[8:], authority[:])
	copy(data[40:], nonce[:])
	le.PutUint64(data[72:], 5000)
	return data
}

// tableData is a lookup table that was last extended in slot 0, so all of it
// is usable at once, and that nobody can change.
func tableData(entries []solana.PublicKey) []byte {
	data := make([]byte, tableHeaderSize, tableHeaderSize+32*len(entries))
	le.PutUint32(data[0:], 1)          // a lookup table
	le.PutUint64(data[4:], ^uint64(0)) // never deactivated
	for _, entry := range entries {
		data = append(data, entry[:]...)
	}
	return data
}
