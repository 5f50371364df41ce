package solana_test

import (
	"bytes"
	"testing"

	"countersign/shared/alloctest"
	"countersign/shared/solana"
)

func seeds(f *testing.F) {
	f.Helper()
	for _, raw := range [][]byte{claimLegacy(f), claimSponsored(f), sample().Marshal(), legacySample().Marshal(), v1Sample().Marshal()} {
		f.Add(raw)
		f.Add(append(bytes.Clone(raw), 0))
		f.Add(raw[:len(raw)-1])
		for _, first := range []byte{0, 0x7f, 0x80, 0x81, 0xff} {
			spoiled := bytes.Clone(raw)
			spoiled[0] = first
			f.Add(spoiled)
		}
	}
	for _, announced := range hostileLengths {
		f.Add(announced.raw)
	}
}

// hostileLengths announce far more than they carry.
var hostileLengths = []struct {
	of  string
	raw []byte
}{
	{"signatures", []byte{0x7f}},
	{"keys", joined([]byte{1}, make([]byte, 64), []byte{1, 0, 1, 0x80, 0x02})},
	{"instructions", joined([]byte{1}, make([]byte, 64), []byte{1, 0, 0, 1}, make([]byte, 64),
		[]byte{0xff, 0xff, 0x03}, make([]byte, solana.MaxTransactionSize-200))},
	{"data", joined([]byte{1}, make([]byte, 64), []byte{1, 0, 0, 1}, make([]byte, 64),
		[]byte{1, 0, 0, 0xff, 0xff, 0x03}, make([]byte, solana.MaxTransactionSize-200))},
	{"tables", joined([]byte{1}, make([]byte, 64), []byte{0x80, 1, 0, 0, 1}, make([]byte, 64),
		[]byte{0, 0x80, 0x02}, make([]byte, solana.MaxTransactionSize-200))},
	{"v1 keys", joined([]byte{0x81, 1, 0, 0}, make([]byte, 36), []byte{0, 64}, make([]byte, 100))},
	{"v1 instructions", joined([]byte{0x81, 1, 0, 0}, make([]byte, 36), []byte{64, 1}, make([]byte, 100))},
	{"v1 data", joined([]byte{0x81, 1, 0, 0}, make([]byte, 36), []byte{1, 2}, make([]byte, 64), []byte{1, 255, 255, 255}, make([]byte, 3900))},
	{"v1 signatures", joined([]byte{0x81, 12, 0, 0}, make([]byte, 36), []byte{0, 12}, make([]byte, 12*32))},
}

// What parsing may allocate: the structures are at most 20 times the bytes they
// come from (an instruction of three bytes), and a map entry or an error text is
// small.
const (
	perByte = 32
	beside  = 16 << 10
)

func TestParseAllocatesNothingOnTheWordOfALength(t *testing.T) {
	for _, announced := range hostileLengths {
		var err error
		if wrong := alloctest.Excess(len(announced.raw), perByte, beside, func() { _, err = solana.ParseTransaction(announced.raw) }); wrong != "" {
			t.Errorf("%s: %s", announced.of, wrong)
		}
		if err == nil {
			t.Errorf("%s: accepted", announced.of)
		}
	}
}

// What parses encodes to the same bytes, and is not expensive.
func FuzzParseTransaction(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tx solana.Transaction
		var err error
		size := min(len(raw), solana.MaxTransactionSizeV1)
		if wrong := alloctest.Excess(size, perByte, beside, func() { tx, err = solana.ParseTransaction(raw) }); wrong != "" {
			t.Error(wrong)
		}
		if err != nil {
			return
		}
		if again := tx.Marshal(); !bytes.Equal(again, raw) {
			t.Fatalf("parsed %x\nencodes to %x", raw, again)
		}
		message, err := solana.ParseMessage(tx.Message.Marshal())
		if err != nil || !bytes.Equal(message.Marshal(), tx.Message.Marshal()) {
			t.Fatalf("the message alone: %v", err)
		}
	})
}

// A message is parsed in its own right by whoever verifies a signature.
func FuzzParseMessage(f *testing.F) {
	for _, tx := range samples() {
		f.Add(tx.Message.Marshal())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		message, err := solana.ParseMessage(raw)
		if err != nil {
			return
		}
		if again := message.Marshal(); !bytes.Equal(again, raw) {
			t.Fatalf("parsed %x\nencodes to %x", raw, again)
		}
		if !message.IsSigner(0) || !message.IsWritable(0) {
			t.Fatal("the fee payer does not sign or cannot pay")
		}
	})
}

// Two parsers of different origin agree on every input.
func FuzzAgreeWithSolanaGo(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) { agree(t, raw) })
}
