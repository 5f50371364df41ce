package decode

import (
	"encoding/binary"
	"errors"

	"countersign/shared/solana"
)

// field is one argument in the data of an instruction.
type field uint8

const (
	// Numbers of one, two, four and eight bytes, in this order.
	u8 field = iota + 1
	u16
	u32
	u64
	key
	// optionalKey is a presence byte, then a key if it is 1.
	optionalKey
	// optionalU64 is a presence byte, then a number if it is 1.
	optionalU64
	// keys is a u64 count and that many keys.
	keys
	// seed is a u64 length and that many bytes, at most 32.
	seed
	// rest is whatever remains.
	rest
)

var (
	errShortData = errors.New("its data ends too early")
	errLongData  = errors.New("its data has bytes left over")
	errOption    = errors.New("an optional argument is neither absent nor present")
	errSeed      = errors.New("a seed is longer than 32 bytes")
)

const maxSeed = 32

// values are the arguments of an instruction, by type and in order.
type values struct {
	numbers []uint64
	keys    []solana.PublicKey
	// absent is true where the last optional argument was not given.
	absent bool
}

// small is number n, which was read as a single byte.
func (v values) small(n int) uint8 { return uint8(v.numbers[n] & 0xff) }

// readFields reads exactly the fields, with nothing left over.
func readFields(fields []field, data []byte) (values, error) {
	var read values
	for _, next := range fields {
		var err error
		if data, err = read.take(next, data); err != nil {
			return values{}, err
		}
	}
	if len(data) > 0 {
		return values{}, errLongData
	}
	return read, nil
}

func (v *values) take(next field, data []byte) ([]byte, error) {
	switch next {
	case u8, u16, u32, u64:
		return v.takeNumber(next, data)
	case key:
		return v.takeKey(data)
	case optionalKey:
		return v.takeOption(key, data)
	case optionalU64:
		return v.takeOption(u64, data)
	case keys:
		if len(data) < 8 {
			return nil, errShortData
		}
		count, listed := binary.LittleEndian.Uint64(data), data[8:]
		if count > uint64(len(listed)/len(solana.PublicKey{})) {
			return nil, errShortData
		}
		return listed[int(count)*len(solana.PublicKey{}):], nil //nolint:gosec // G115: count is at most a length.
	case seed:
		if len(data) < 8 {
			return nil, errShortData
		}
		length := binary.LittleEndian.Uint64(data)
		if length > maxSeed {
			return nil, errSeed
		}
		text := data[8:]
		if len(text) < int(length) {
			return nil, errShortData
		}
		return text[length:], nil
	case rest:
		return nil, nil
	}
	return nil, errors.New("its layout is unknown")
}

// takeOption reads a presence byte and what it announces.
func (v *values) takeOption(next field, data []byte) ([]byte, error) {
	switch {
	case len(data) == 0:
		return nil, errShortData
	case data[0] == 0:
		v.absent = true
		return data[1:], nil
	case data[0] == 1:
		return v.take(next, data[1:])
	}
	return nil, errOption
}

func (v *values) takeNumber(next field, data []byte) ([]byte, error) {
	size := 1 << (next - u8)
	if len(data) < size {
		return nil, errShortData
	}
	var wide [8]byte
	copy(wide[:], data[:size])
	v.numbers = append(v.numbers, binary.LittleEndian.Uint64(wide[:]))
	return data[size:], nil
}

func (v *values) takeKey(data []byte) ([]byte, error) {
	if len(data) < 32 {
		return nil, errShortData
	}
	v.keys = append(v.keys, solana.PublicKey(data[:32]))
	return data[32:], nil
}

// byteTag reads a one-byte opcode.
func byteTag(data []byte) (uint32, []byte, bool) {
	if len(data) == 0 {
		return 0, nil, false
	}
	return uint32(data[0]), data[1:], true
}

// wordTag reads a four-byte opcode.
func wordTag(data []byte) (uint32, []byte, bool) {
	if len(data) < 4 {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint32(data), data[4:], true
}
