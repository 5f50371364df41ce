package decodetest

import (
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// T is what MustDecode needs of a test, be it testing's or rapid's.
type T interface {
	Helper()
	Fatal(args ...any)
}

// MustDecode decodes wire bytes that the test says are sound.
func MustDecode(t T, raw []byte, wallet solana.PublicKey, tables decode.Tables) decode.Tx {
	t.Helper()
	parsed, err := decode.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := decode.Decode(parsed, wallet, tables)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}
