package custody

import (
	"bytes"
	"encoding/base64"
	"math/big"

	"countersign/shared/fault"
)

// maxSecret bounds a secret's text: 64 numbers of three digits with room for
// spaces.
const maxSecret = 1024

// parseSecret reads a secret in any of the forms that Import takes and returns
// its seed, which the caller wipes. Its errors never repeat the input.
func parseSecret(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(text) > maxSecret {
		return nil, badSecret("it must be one key and nothing else")
	}
	var raw []byte
	var ok bool
	switch {
	case text[0] == '[':
		raw, ok = parseByteList(text)
	case bytes.HasSuffix(text, []byte("=")):
		raw, ok = parseBase64(text)
	default:
		raw, ok = parseBase58(text)
	}
	defer clear(raw)
	if !ok {
		return nil, badSecret("it must be a JSON list of 64 bytes, base58, or base64 with its padding")
	}
	return seedOf(raw)
}

func badSecret(reason string) error {
	return fault.New(fault.InvalidArguments, "the key cannot be read: %s", reason)
}

// seedOf takes the seed out of a pair, whose public half must belong to it.
func seedOf(raw []byte) ([]byte, error) {
	switch len(raw) {
	case seedSize:
	case 2 * seedSize:
		public := publicOf(raw[:seedSize])
		if !bytes.Equal(public[:], raw[seedSize:]) {
			return nil, badSecret("its public half does not belong to its secret half")
		}
	default:
		return nil, badSecret("it must have 64 bytes, or 32 for a seed alone")
	}
	return bytes.Clone(raw[:seedSize]), nil
}

// parseByteList reads a JSON array of byte values. It is written by hand so
// that no copy of the secret is left in a decoder's buffers.
func parseByteList(text []byte) ([]byte, bool) {
	text, ok := bytes.CutSuffix(text[1:], []byte("]"))
	if !ok {
		return nil, false
	}
	out := make([]byte, 0, 2*seedSize)
	for item := range bytes.SplitSeq(text, []byte(",")) {
		digits := bytes.TrimSpace(item)
		if len(digits) == 0 || len(digits) > 3 || len(digits) > 1 && digits[0] == '0' || len(out) == cap(out) {
			return out, false
		}
		value := 0
		for _, digit := range digits {
			if digit < '0' || digit > '9' {
				return out, false
			}
			value = 10*value + int(digit-'0')
		}
		if value > 255 {
			return out, false
		}
		out = append(out, byte(value))
	}
	return out, true
}

func parseBase64(text []byte) ([]byte, bool) {
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(out, text)
	return out[:n], err == nil
}

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// longestBase58 is the text of 64 bytes.
const longestBase58 = 88

// parseBase58 works on bytes, unlike a library that would need the secret as a
// string, which cannot be wiped.
func parseBase58(text []byte) ([]byte, bool) {
	if len(text) > longestBase58 {
		return nil, false
	}
	value, base := new(big.Int), big.NewInt(int64(len(base58Alphabet)))
	defer func() { clear(value.Bits()[:cap(value.Bits())]) }()
	zeros := 0
	for i, letter := range text {
		digit := bytes.IndexByte([]byte(base58Alphabet), letter)
		if digit < 0 {
			return nil, false
		}
		if digit == 0 && zeros == i {
			zeros++
		}
		value.Add(value.Mul(value, base), big.NewInt(int64(digit)))
	}
	out := make([]byte, zeros+(value.BitLen()+7)/8)
	value.FillBytes(out[zeros:])
	return out, true
}
