package vmtest

import (
	"encoding/binary"
	"math"

	"countersign/shared/solana"
)

// Rent makes any account of these tests rent-exempt.
const Rent = 10_000_000

// Extension is one entry behind a Token-2022 mint or account.
type Extension struct {
	kind uint16
	data []byte
}

// FeeMint takes a transfer fee of one percent.
func FeeMint() Extension {
	data := make([]byte, 108)
	const older, newer, maximum, rate = 72, 90, 8, 16
	for _, at := range []int{older, newer} {
		binary.LittleEndian.PutUint64(data[at+maximum:], math.MaxUint64)
		binary.LittleEndian.PutUint16(data[at+rate:], 100)
	}
	return Extension{1, data}
}

// FeeAccount is what an account of a fee mint carries.
func FeeAccount() Extension { return Extension{2, make([]byte, 8)} }

// HookMint calls a program at each transfer.
func HookMint(program solana.PublicKey) Extension {
	return Extension{14, append(make([]byte, 32), program[:]...)}
}

// HookAccount is what an account of a hook mint carries.
func HookAccount() Extension { return Extension{15, make([]byte, 1)} }

// ImmutableOwner is what associated accounts of Token-2022 carry.
func ImmutableOwner() Extension { return Extension{7, nil} }

// Mint is the data of a mint.
func Mint(decimals uint8, extensions ...Extension) []byte {
	data := make([]byte, 82)
	binary.LittleEndian.PutUint64(data[36:], 1_000_000_000)
	data[44], data[45] = decimals, 1
	return extended(data, 1, extensions)
}

// TokenAccount is the data of a token account.
func TokenAccount(mint, owner solana.PublicKey, amount uint64, extensions ...Extension) []byte {
	data := make([]byte, 165)
	copy(data, mint[:])
	copy(data[32:], owner[:])
	binary.LittleEndian.PutUint64(data[64:], amount)
	data[108] = 1
	return extended(data, 2, extensions)
}

// extended pads to the size of a token account, and writes what kind of
// account it is and its extensions.
func extended(data []byte, kind byte, extensions []Extension) []byte {
	if len(extensions) == 0 {
		return data
	}
	data = append(data, make([]byte, 165-len(data))...)
	data = append(data, kind)
	for _, extension := range extensions {
		data = binary.LittleEndian.AppendUint16(data, extension.kind)
		data = binary.LittleEndian.AppendUint16(data, uint16(len(extension.data)))
		data = append(data, extension.data...)
	}
	return data
}

// Table is the data of a lookup table that is settled and stays.
func Table(addresses ...solana.PublicKey) []byte {
	data := make([]byte, 56)
	data[0] = 1
	binary.LittleEndian.PutUint64(data[4:], math.MaxUint64)
	for _, address := range addresses {
		data = append(data, address[:]...)
	}
	return data
}
