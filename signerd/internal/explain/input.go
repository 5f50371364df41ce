package explain

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/mr-tron/base58"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// MaxInput bounds a file: the largest transaction in its longest text form,
// and white space around it.
const MaxInput = 8 << 10

// Input is a transaction as it came.
type Input struct {
	Raw []byte
	// Encoding is how the file held it: raw, base64 or base58.
	Encoding string
}

// ReadInput takes raw bytes, or their text in base64 or base58. A text that
// both alphabets could have written is read as whatever decodes to a
// transaction; where neither or both do, base58 is what APIs of Solana return.
func ReadInput(file []byte) (Input, error) {
	text := bytes.TrimSpace(file)
	switch {
	case len(file) > MaxInput:
		return Input{}, fault.New(fault.TransactionTooLarge, "the file has more than %d bytes, which no transaction has", MaxInput)
	case len(text) == 0:
		return Input{}, fault.New(fault.TransactionMalformed, "the file is empty")
	case !isText(text):
		return Input{Raw: file, Encoding: "raw"}, nil
	}
	var readings []Input
	// base58 takes time that grows with the square of the length.
	if raw, err := base58.Decode(string(text)); err == nil {
		readings = append(readings, Input{raw, "base58"})
	}
	if raw, err := base64.StdEncoding.Strict().DecodeString(string(text)); err == nil {
		readings = append(readings, Input{raw, "base64"})
	}
	if len(readings) == 0 {
		return Input{}, fault.New(fault.TransactionMalformed, "the file holds text that is neither base58 nor base64: %s", badCharacter(text))
	}
	for _, reading := range readings {
		if _, err := solana.ParseTransaction(reading.Raw); err == nil {
			return reading, nil
		}
	}
	return readings[0], nil
}

// isText reports printable ASCII, which no transaction is: it holds zero bytes.
func isText(file []byte) bool {
	for _, b := range file {
		if (b < ' ' || b > '~') && b != '\n' && b != '\r' && b != '\t' {
			return false
		}
	}
	return true
}

// badCharacter names the first character that neither encoding has.
func badCharacter(text []byte) string {
	for i, b := range text {
		switch {
		case b >= '0' && b <= '9', b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b == '+', b == '/', b == '=':
		default:
			return fmt.Sprintf("character %d is %q", i+1, rune(b))
		}
	}
	return "its length or padding fits neither"
}
