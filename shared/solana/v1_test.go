package solana_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/shared/solana"
)

// The wire form of the v1 sample, field by field in the order of SIMD-0385.
func TestMarshalWritesTheV1Format(t *testing.T) {
	padded := func(first byte, size int) []byte { return append([]byte{first}, make([]byte, size-1)...) }
	var keys []byte
	for fill := range byte(4) {
		keys = append(keys, bytes.Repeat([]byte{fill + 1}, 32)...)
	}
	want := joined(
		[]byte{0x81}, []byte{2, 1, 1}, []byte{0x1f, 0, 0, 0}, padded(7, 32), []byte{2, 4}, keys,
		[]byte{0x61, 0x1e, 0, 0, 0, 0, 0, 0}, []byte{0xe8, 3, 0, 0}, []byte{0x40, 0x0d, 3, 0}, []byte{0, 0, 1, 0},
		[]byte{3, 3, 1, 0}, []byte{3, 0, 0, 0}, []byte{0, 1, 2, 0xaa},
		padded(1, 64), padded(2, 64),
	)
	if got := v1Sample().Marshal(); !bytes.Equal(got, want) {
		t.Errorf("v1\n got %x\nwant %x", got, want)
	}
	bare := v1Sample()
	bare.Message.Config = solana.Config{}
	if got, want := len(bare.Marshal()), len(want)-20; got != want {
		t.Errorf("without settings it has %d bytes, want %d", got, want)
	}
}

// Each case breaks one thing in a v1 transaction that is otherwise good.
func TestParseRefusesV1MessagesTheRuntimeWould(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*solana.Transaction)
		want  string
	}{
		{"13 signers", func(tx *solana.Transaction) {
			*tx = crowded(13, 20)
		}, "requires 13 signatures, limit 12"},
		{"65 addresses", func(tx *solana.Transaction) { *tx = crowded(1, 65) }, "a length is over the limit"},
		{"65 instructions", func(tx *solana.Transaction) {
			tx.Message.Instructions = make([]solana.Instruction, 65)
		}, "a length is over the limit"},
		{"an address twice", func(tx *solana.Transaction) { tx.Message.Keys[2] = key(4) }, "appears twice"},
		{"no signer", func(tx *solana.Transaction) {
			tx.Signatures, tx.Message.RequiredSignatures, tx.Message.ReadonlySigned = nil, 0, 0
		}, "requires no signature"},
		{"read-only payer", func(tx *solana.Transaction) { tx.Message.ReadonlySigned = 2 }, "fee payer is not writable"},
		{"more roles than addresses", func(tx *solana.Transaction) { tx.Message.ReadonlyUnsigned = 3 }, "2 signers and 3 read-only keys"},
		{"the payer as program", func(tx *solana.Transaction) { tx.Message.Instructions[1].Program = 0 }, "instruction 1: program"},
		{"program out of range", func(tx *solana.Transaction) { tx.Message.Instructions[1].Program = 4 }, "instruction 1: program"},
		{"account out of range", func(tx *solana.Transaction) { tx.Message.Instructions[0].Accounts[2] = 4 }, "account index 4 of 4"},
		{"a slot too few", func(tx *solana.Transaction) { tx.Signatures = tx.Signatures[:1] }, "64 bytes follow the message"},
		{"a slot too many", func(tx *solana.Transaction) { tx.Signatures = append(tx.Signatures, solana.Signature{3}) }, "192 bytes follow the message"},
		{"a heap that is no multiple", func(tx *solana.Transaction) { tx.Message.Config.HeapSize = new(uint32(64<<10 + 1)) }, "a heap of 65537"},
		{"a heap too small", func(tx *solana.Transaction) { tx.Message.Config.HeapSize = new(uint32(31 << 10)) }, "a heap of 31744"},
		{"a heap too large", func(tx *solana.Transaction) { tx.Message.Config.HeapSize = new(uint32(257 << 10)) }, "a heap of 263168"},
	} {
		tx := v1Sample()
		test.spoil(&tx)
		got, err := solana.ParseTransaction(tx.Marshal())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
		if len(got.Message.Keys) > 0 {
			t.Errorf("%s: a partial result came with the error", test.name)
		}
	}
}

// crowded is a v1 transaction of so many signers and addresses.
func crowded(signers, keys int) solana.Transaction {
	tx := v1Sample()
	tx.Signatures = make([]solana.Signature, signers)
	tx.Message.RequiredSignatures, tx.Message.ReadonlySigned = uint8(signers), 0
	tx.Message.Keys = nil
	for i := range keys {
		tx.Message.Keys = append(tx.Message.Keys, key(byte(i+1)))
	}
	return tx
}

func TestParseTakesV1UpToItsLimits(t *testing.T) {
	many := crowded(12, 64)
	many.Message.Instructions = make([]solana.Instruction, 64)
	for i := range many.Message.Instructions {
		many.Message.Instructions[i] = solana.Instruction{Program: 63, Accounts: []uint8{0, 63}}
	}
	for name, change := range map[string]func(*solana.Transaction){
		"12 signers, 64 addresses, 64 instructions": func(tx *solana.Transaction) { *tx = many },
		"no instruction":  func(tx *solana.Transaction) { tx.Message.Instructions = nil },
		"255 accounts":    func(tx *solana.Transaction) { tx.Message.Instructions[0].Accounts = make([]uint8, 255) },
		"the least heap":  func(tx *solana.Transaction) { tx.Message.Config.HeapSize = new(uint32(32 << 10)) },
		"the most heap":   func(tx *solana.Transaction) { tx.Message.Config.HeapSize = new(uint32(256 << 10)) },
		"a limit of zero": func(tx *solana.Transaction) { tx.Message.Config.UnitLimit = new(uint32(0)) },
	} {
		tx := v1Sample()
		change(&tx)
		raw := tx.Marshal()
		got, err := solana.ParseTransaction(raw)
		if err != nil || !bytes.Equal(got.Marshal(), raw) {
			t.Errorf("%s: %v, or other bytes", name, err)
		}
	}
}

// An unknown bit may announce a field that changes what is paid, and half a
// priority fee is none.
func TestParseRefusesV1MasksItDoesNotKnow(t *testing.T) {
	const at = 4
	tx := v1Sample()
	tx.Message.Config = solana.Config{}
	raw := tx.Marshal()
	for bit := range 32 {
		spoiled := bytes.Clone(raw)
		spoiled[at+bit/8] |= 1 << (bit % 8)
		// Room for the value, so that the mask alone decides.
		values := at + 4 + 32 + 2 + 4*32
		spoiled = joined(spoiled[:values], []byte{0, 0, 1, 0}, spoiled[values:])
		_, err := solana.ParseTransaction(spoiled)
		if known := bit == 2 || bit == 3 || bit == 4; known != (err == nil) {
			t.Errorf("bit %d alone: %v", bit, err)
		}
		if bit > 4 && !strings.Contains(fmt.Sprint(err), "bit that means nothing") {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
}

// 0x81 begins a message or a transaction, and nothing is ever both.
func TestParseTellsV1FromTheRest(t *testing.T) {
	tx := v1Sample()
	message := tx.Message.Marshal()
	if _, err := solana.ParseTransaction(message); err == nil {
		t.Error("a message without signatures was taken for a transaction")
	}
	if _, err := solana.ParseMessage(tx.Marshal()); err == nil {
		t.Error("a transaction was taken for a message")
	}
	envelope := joined([]byte{2}, tx.Signatures[0][:], tx.Signatures[1][:], message)
	if _, err := solana.ParseTransaction(envelope); err == nil || errors.Is(err, solana.ErrVersion) {
		t.Errorf("a v1 message in the envelope of v0: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := drawVersion(t, solana.V1).Marshal()
		if _, err := solana.ParseMessage(raw); err == nil {
			t.Fatalf("%x is a transaction and a message", raw)
		}
	})
}

func TestSanitizeRefusesSettingsOutsideV1(t *testing.T) {
	for _, version := range []solana.Version{solana.Legacy, solana.V0} {
		message := v1Sample().Message
		message.Version = version
		if err := message.Sanitize(); err == nil {
			t.Errorf("a %s message with settings in its header was accepted", version)
		}
	}
	message := v1Sample().Message
	message.Lookups = sample().Message.Lookups
	if err := message.Sanitize(); err == nil {
		t.Error("a v1 message with lookup tables was accepted")
	}
	message = v1Sample().Message
	message.Instructions[0].Data = make([]byte, 1<<16)
	if err := message.Sanitize(); err == nil {
		t.Error("data that v1 cannot count was accepted")
	}
}
