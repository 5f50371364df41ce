package solana_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/shared/solana"
)

func key(fill byte) solana.PublicKey {
	var k solana.PublicKey
	for i := range k {
		k[i] = fill
	}
	return k
}

// sample is a v0 transaction with one of everything: two signers, of which one
// is read-only, a writable key, a program, and two tables.
func sample() solana.Transaction {
	return solana.Transaction{
		Signatures: []solana.Signature{{1}, {2}},
		Message: solana.Message{
			Version: solana.V0, RequiredSignatures: 2, ReadonlySigned: 1, ReadonlyUnsigned: 1,
			Keys:      []solana.PublicKey{key(1), key(2), key(3), key(4)},
			Blockhash: solana.Hash{7},
			Instructions: []solana.Instruction{
				{Program: 3, Accounts: []uint8{0, 1, 2, 4, 8}, Data: []byte{0xaa}},
				{Program: 3},
			},
			Lookups: []solana.Lookup{
				{Table: key(5), Writable: []uint8{9}, Readonly: []uint8{0, 255}},
				{Table: key(6), Writable: []uint8{3, 3}},
			},
		},
	}
}

func legacySample() solana.Transaction {
	tx := sample()
	tx.Message.Version, tx.Message.Lookups = solana.Legacy, nil
	tx.Message.Instructions[0].Accounts = []uint8{0, 1, 2}
	return tx
}

// v1Sample is a v1 transaction with every setting in its header.
func v1Sample() solana.Transaction {
	tx := legacySample()
	tx.Message.Version = solana.V1
	tx.Message.Config = solana.Config{
		PriorityFee: new(uint64(7777)), UnitLimit: new(uint32(1000)),
		LoadedDataLimit: new(uint32(200_000)), HeapSize: new(uint32(64 << 10)),
	}
	return tx
}

func samples() map[string]solana.Transaction {
	return map[string]solana.Transaction{"legacy": legacySample(), "v0": sample(), "v1": v1Sample()}
}

func TestParseReturnsWhatWasEncoded(t *testing.T) {
	for name, want := range samples() {
		t.Run(name, func(t *testing.T) {
			raw := want.Marshal()
			got, err := solana.ParseTransaction(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("transaction (-want +got):\n%s", diff)
			}
			if again := got.Marshal(); !bytes.Equal(again, raw) {
				t.Errorf("encodes to\n%x, want\n%x", again, raw)
			}
			message, err := solana.ParseMessage(want.Message.Marshal())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Message, message, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// The wire form of the legacy sample, byte by byte, so that a mistake that
// encoder and parser share is noticed.
func TestMarshalWritesTheWireFormat(t *testing.T) {
	keys := func(fills ...byte) []byte {
		var out []byte
		for _, fill := range fills {
			out = append(out, bytes.Repeat([]byte{fill}, 32)...)
		}
		return out
	}
	padded := func(first byte, size int) []byte { return append([]byte{first}, make([]byte, size-1)...) }
	body := joined(
		[]byte{2, 1, 1}, []byte{4}, keys(1, 2, 3, 4), padded(7, 32),
		[]byte{2}, []byte{3, 3, 0, 1, 2, 1, 0xaa}, []byte{3, 0, 0},
	)
	legacy := joined([]byte{2}, padded(1, 64), padded(2, 64), body)
	if got := legacySample().Marshal(); !bytes.Equal(got, legacy) {
		t.Errorf("legacy\n got %x\nwant %x", got, legacy)
	}
	v0 := joined(
		[]byte{2}, padded(1, 64), padded(2, 64), []byte{0x80, 2, 1, 1}, []byte{4}, keys(1, 2, 3, 4), padded(7, 32),
		[]byte{2}, []byte{3, 5, 0, 1, 2, 4, 8, 1, 0xaa}, []byte{3, 0, 0},
		[]byte{2}, keys(5), []byte{1, 9, 2, 0, 255}, keys(6), []byte{2, 3, 3, 0},
	)
	if got := sample().Marshal(); !bytes.Equal(got, v0) {
		t.Errorf("v0\n got %x\nwant %x", got, v0)
	}
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Each case breaks one thing in a transaction that is otherwise good.
func TestParseRefusesMessagesTheRuntimeWould(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*solana.Transaction)
		want  string
	}{
		{"no signature slot", func(tx *solana.Transaction) { tx.Signatures = nil }, "0 signature slots for 2 required signers"},
		{"a slot too few", func(tx *solana.Transaction) { tx.Signatures = tx.Signatures[:1] }, "1 signature slots for 2"},
		{"a slot too many", func(tx *solana.Transaction) { tx.Signatures = append(tx.Signatures, solana.Signature{3}) }, "3 signature slots for 2"},
		{"no signer", func(tx *solana.Transaction) {
			tx.Signatures, tx.Message.RequiredSignatures, tx.Message.ReadonlySigned = nil, 0, 0
		}, "requires no signature"},
		{"more signers than keys", func(tx *solana.Transaction) { tx.Message.RequiredSignatures = 5 }, "header names 5 signers"},
		{"127 signers", func(tx *solana.Transaction) { tx.Message.RequiredSignatures = 127 }, "header names 127 signers"},
		{"255 signers", func(tx *solana.Transaction) { tx.Message.RequiredSignatures = 255 }, "header names 255 signers"},
		{"read-only payer", func(tx *solana.Transaction) { tx.Message.ReadonlySigned = 2 }, "fee payer is not writable"},
		{"more read-only signers than signers", func(tx *solana.Transaction) { tx.Message.ReadonlySigned = 200 }, "fee payer is not writable"},
		{"read-only keys reach into the signers", func(tx *solana.Transaction) { tx.Message.ReadonlyUnsigned = 3 }, "2 signers and 3 read-only keys"},
		{"255 read-only keys", func(tx *solana.Transaction) { tx.Message.ReadonlyUnsigned = 255 }, "255 read-only keys"},
		{"no keys", func(tx *solana.Transaction) { tx.Message.Keys = nil }, "but there are 0 keys"},
		{"the payer twice", func(tx *solana.Transaction) { tx.Message.Keys[2] = key(1) }, "appears twice"},
		{"a program twice", func(tx *solana.Transaction) { tx.Message.Keys[2] = key(4) }, "appears twice"},
		{"the payer as program", func(tx *solana.Transaction) { tx.Message.Instructions[1].Program = 0 }, "instruction 1: program"},
		{"program out of range", func(tx *solana.Transaction) { tx.Message.Instructions[0].Program = 255 }, "instruction 0: program"},
		{"program from a table", func(tx *solana.Transaction) { tx.Message.Instructions[0].Program = 4 }, "must be a static key"},
		{"account out of range", func(tx *solana.Transaction) { tx.Message.Instructions[0].Accounts[2] = 9 }, "instruction 0: account index 9 of 9"},
		{"account index 255", func(tx *solana.Transaction) { tx.Message.Instructions[1].Accounts = []uint8{255} }, "instruction 1: account index 255 of 9"},
		{"a table twice", func(tx *solana.Transaction) { tx.Message.Lookups[1].Table = key(5) }, "lookup table " + key(5).String() + " appears twice"},
		{"a table that loads nothing", func(tx *solana.Transaction) { tx.Message.Lookups[1].Writable = nil }, "loads nothing"},
		{"257 accounts", func(tx *solana.Transaction) { tx.Message.Lookups[1].Readonly = make([]uint8, 248) }, "257 accounts, limit 256"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tx := sample()
			test.spoil(&tx)
			got, err := solana.ParseTransaction(tx.Marshal())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("ParseTransaction = %v, want an error with %q", err, test.want)
			}
			if diff := cmp.Diff(solana.Transaction{}, got); diff != "" {
				t.Errorf("a partial result came with the error:\n%s", diff)
			}
		})
	}
}

func TestParseTakesWhatIsJustWithinTheRules(t *testing.T) {
	tests := map[string]func(*solana.Transaction){
		"256 accounts":        func(tx *solana.Transaction) { tx.Message.Lookups[1].Readonly = make([]uint8, 247) },
		"the last account":    func(tx *solana.Transaction) { tx.Message.Instructions[0].Accounts[2] = 8 },
		"an index twice":      func(tx *solana.Transaction) { tx.Message.Lookups[0].Readonly = []uint8{9, 9} },
		"no instructions":     func(tx *solana.Transaction) { tx.Message.Instructions = nil },
		"v0 without tables":   func(tx *solana.Transaction) { tx.Message.Instructions, tx.Message.Lookups = nil, nil },
		"a signer as program": func(tx *solana.Transaction) { tx.Message.Instructions[0].Program = 1 },
		"all keys sign": func(tx *solana.Transaction) {
			tx.Message.RequiredSignatures, tx.Message.ReadonlyUnsigned = 4, 0
			tx.Signatures = make([]solana.Signature, 4)
		},
		"the System program pays": func(tx *solana.Transaction) { tx.Message.Keys[0] = solana.SystemProgram },
		"data of 300 bytes":       func(tx *solana.Transaction) { tx.Message.Instructions[1].Data = make([]byte, 300) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			tx := sample()
			change(&tx)
			raw := tx.Marshal()
			got, err := solana.ParseTransaction(raw)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Marshal(), raw) {
				t.Error("encodes to other bytes")
			}
		})
	}
}

func TestParseRefusesOtherVersions(t *testing.T) {
	raw := sample().Marshal()
	const versionAt = 1 + 2*64
	for first := 0x80; first <= 0xff; first++ {
		if first == 0x81 {
			continue // v1, which TestParseTellsV1FromTheRest is about
		}
		whole := bytes.Clone(raw)
		whole[0] = byte(first)
		if _, err := solana.ParseTransaction(whole); !errors.Is(err, solana.ErrVersion) {
			t.Errorf("first byte 0x%02x: %v, want ErrVersion", first, err)
		}
		inner := bytes.Clone(raw)
		inner[versionAt] = byte(first)
		_, err := solana.ParseTransaction(inner)
		_, messageErr := solana.ParseMessage(inner[versionAt:])
		if good := first == 0x80; good != (err == nil) || good != (messageErr == nil) {
			t.Errorf("message byte 0x%02x: %v and %v", first, err, messageErr)
		}
		if err != nil && !errors.Is(err, solana.ErrVersion) {
			t.Errorf("message byte 0x%02x: %v, want ErrVersion", first, err)
		}
	}
}

// 0x7f is not a version but 127 signers, which no packet has room for.
func TestParseRefuses127Signers(t *testing.T) {
	raw := legacySample().Marshal()
	raw[1+2*64] = 0x7f
	if _, err := solana.ParseTransaction(raw); err == nil || errors.Is(err, solana.ErrVersion) {
		t.Errorf("a legacy message of 127 signers with 4 keys: %v", err)
	}
	tx := legacySample()
	tx.Signatures = make([]solana.Signature, 127)
	tx.Message.RequiredSignatures, tx.Message.ReadonlySigned = 127, 0
	tx.Message.Keys = nil
	for i := range 128 {
		tx.Message.Keys = append(tx.Message.Keys, key(byte(i)))
	}
	if _, err := solana.ParseTransaction(tx.Marshal()); !errors.Is(err, solana.ErrTooLarge) {
		t.Errorf("127 signers with 128 keys: %v, want ErrTooLarge", err)
	}
	raw = append([]byte{0x7f}, make([]byte, solana.MaxTransactionSize-1)...)
	if _, err := solana.ParseTransaction(raw); err == nil {
		t.Error("127 announced signatures in a packet were accepted")
	}
}

func TestParseRefusesLengthsThatAreNotShortest(t *testing.T) {
	raw := legacySample().Marshal()
	const message = 1 + 2*64
	// Where each kind of length stands in the legacy sample.
	at := map[string]int{
		"signatures":   0,
		"keys":         message + 3,
		"instructions": message + 4 + 4*32 + 32,
		"accounts":     message + 4 + 4*32 + 32 + 2,
		"data":         message + 4 + 4*32 + 32 + 6,
	}
	for name, position := range at {
		for _, longer := range [][]byte{
			{raw[position] | 0x80, 0}, {raw[position] | 0x80, 0x80, 0}, {raw[position] | 0x80, 0x80, 0x80, 0},
			{raw[position] | 0x80, 0x80, 0x04}, {0xff, 0xff, 0xff}, {0xff, 0xff, 0x03},
		} {
			spoiled := joined(raw[:position], longer, raw[position+1:])
			if _, err := solana.ParseTransaction(spoiled); err == nil {
				t.Errorf("%s: length %x for %d was accepted", name, longer, raw[position])
			}
		}
	}
}

func TestParseRefusesEveryOtherLength(t *testing.T) {
	for name, tx := range samples() {
		raw := tx.Marshal()
		for cut := range raw {
			if _, err := solana.ParseTransaction(raw[:cut]); err == nil {
				t.Errorf("%s: the first %d of %d bytes were accepted", name, cut, len(raw))
			}
		}
		for _, tail := range [][]byte{{0}, {1}, {0x80}, raw, make([]byte, solana.MaxTransactionSize-len(raw))} {
			if _, err := solana.ParseTransaction(joined(raw, tail)); err == nil {
				t.Errorf("%s: %d trailing bytes were accepted", name, len(tail))
			}
		}
	}
}

func TestParseTakesThePacketOfAVersionAndNotAByteMore(t *testing.T) {
	for name, tx := range samples() {
		limit := map[string]int{"legacy": 1232, "v0": 1232, "v1": 4096}[name]
		if got := tx.Message.Version.MaxSize(); got != limit {
			t.Errorf("%s: MaxSize = %d, want %d", name, got, limit)
		}
		tx.Message.Instructions[1].Data = make([]byte, 200)
		tx.Message.Instructions[1].Data = make([]byte, 200+limit-len(tx.Marshal()))
		raw := tx.Marshal()
		if len(raw) != limit {
			t.Fatalf("%s: the test made %d bytes", name, len(raw))
		}
		if _, err := solana.ParseTransaction(raw); err != nil {
			t.Errorf("%s: %d bytes: %v", name, len(raw), err)
		}
		tx.Message.Instructions[1].Data = append(tx.Message.Instructions[1].Data, 0)
		if _, err := solana.ParseTransaction(tx.Marshal()); !errors.Is(err, solana.ErrTooLarge) {
			t.Errorf("%s: one byte more: %v, want ErrTooLarge", name, err)
		}
		long := append(tx.Message.Marshal(), make([]byte, limit)...)
		if _, err := solana.ParseMessage(long); !errors.Is(err, solana.ErrTooLarge) {
			t.Errorf("%s: a message over the limit: %v, want ErrTooLarge", name, err)
		}
	}
}

// A parsed transaction shares no memory with the bytes it came from, so that
// nobody can change it after it was judged.
func TestParseCopies(t *testing.T) {
	for name, want := range samples() {
		raw := want.Marshal()
		tx, err := solana.ParseTransaction(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			raw[i] ^= 0xff
		}
		if diff := cmp.Diff(want, tx, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: the transaction changed with its source:\n%s", name, diff)
		}
	}
}

func TestRolesFollowTheHeader(t *testing.T) {
	message := sample().Message
	want := []struct{ signer, writable bool }{
		{true, true}, {true, false}, {false, true}, {false, false}, // static
		{false, true}, {false, true}, {false, true}, // writable of both tables
		{false, false}, {false, false}, // read-only of both tables
	}
	if got := message.AccountCount(); got != len(want) {
		t.Fatalf("AccountCount = %d, want %d", got, len(want))
	}
	for i, role := range want {
		if message.IsSigner(i) != role.signer || message.IsWritable(i) != role.writable {
			t.Errorf("account %d: signer %v, writable %v, want %+v", i, message.IsSigner(i), message.IsWritable(i), role)
		}
	}
	if message.IsWritable(len(want)) || message.IsSigner(len(want)) {
		t.Error("an account that is not there has a role")
	}
}

func TestSanitizeRefusesALegacyMessageWithTables(t *testing.T) {
	message := sample().Message
	message.Version = solana.Legacy
	if err := message.Sanitize(); err == nil {
		t.Error("a legacy message with lookup tables was accepted")
	}
}

func TestIDIsTheFirstSignature(t *testing.T) {
	if got := sample().ID(); got != (solana.Signature{1}) {
		t.Errorf("ID = %s", got)
	}
	unsigned := sample()
	unsigned.Signatures[0] = solana.Signature{}
	if !unsigned.ID().IsZero() || !(solana.Transaction{}).ID().IsZero() {
		t.Error("a transaction whose payer has not signed has an id")
	}
}

func TestVersionsHaveNames(t *testing.T) {
	for version, want := range map[solana.Version]string{solana.Legacy: "legacy", solana.V0: "v0", solana.V1: "v1", 9: "Version(9)"} {
		if got := version.String(); got != want {
			t.Errorf("%d is called %q, want %q", version, got, want)
		}
	}
}
