package solana_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	reference "github.com/gagliardetto/solana-go"

	"countersign/shared/solana"
)

// drawTransaction draws any valid transaction that fits into a packet.
func drawTransaction(t *rapid.T) solana.Transaction {
	return drawVersion(t, rapid.SampledFrom([]solana.Version{solana.Legacy, solana.V0, solana.V1}).Draw(t, "version"))
}

func drawVersion(t *rapid.T, version solana.Version) solana.Transaction {
	keys := rapid.SliceOfNDistinct(drawKey(), 2, 10, rapid.ID[solana.PublicKey]).Draw(t, "keys")
	signers := rapid.IntRange(1, min(4, len(keys))).Draw(t, "signers")
	m := solana.Message{
		Version:            version,
		RequiredSignatures: uint8(signers),
		ReadonlySigned:     uint8(rapid.IntRange(0, signers-1).Draw(t, "readonly signed")),
		ReadonlyUnsigned:   uint8(rapid.IntRange(0, len(keys)-signers).Draw(t, "readonly unsigned")),
		Keys:               keys,
		Blockhash:          solana.Hash(drawKey().Draw(t, "blockhash")),
	}
	if m.Version == solana.V0 {
		tables := rapid.SliceOfNDistinct(drawKey(), 0, 2, rapid.ID[solana.PublicKey]).Draw(t, "tables")
		for _, table := range tables {
			indexes := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "indexes")
			split := rapid.IntRange(0, len(indexes)).Draw(t, "split")
			m.Lookups = append(m.Lookups, solana.Lookup{Table: table, Writable: indexes[:split], Readonly: indexes[split:]})
		}
	}
	if m.Version == solana.V1 {
		m.Config = drawConfig(t)
	}
	account := rapid.Uint8Range(0, uint8(m.AccountCount()-1))
	for i := range rapid.IntRange(0, 4).Draw(t, "instructions") {
		longest := 24
		if i == 0 {
			longest = 300 // so that a length takes two bytes
		}
		m.Instructions = append(m.Instructions, solana.Instruction{
			Program:  rapid.Uint8Range(1, uint8(len(keys)-1)).Draw(t, "program"),
			Accounts: rapid.SliceOfN(account, 0, 12).Draw(t, "accounts"),
			Data:     rapid.SliceOfN(rapid.Byte(), 0, longest).Draw(t, "data"),
		})
	}
	tx := solana.Transaction{Message: m}
	for range signers {
		tx.Signatures = append(tx.Signatures, solana.Signature(rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "signature")))
	}
	return tx
}

func drawConfig(t *rapid.T) solana.Config {
	number := rapid.Uint32()
	return solana.Config{
		PriorityFee:     rapid.Ptr(rapid.Uint64(), true).Draw(t, "priority fee"),
		UnitLimit:       rapid.Ptr(number, true).Draw(t, "unit limit"),
		LoadedDataLimit: rapid.Ptr(number, true).Draw(t, "loaded data"),
		HeapSize:        rapid.Ptr(rapid.Map(rapid.Uint32Range(32, 256), func(kib uint32) uint32 { return kib << 10 }), true).Draw(t, "heap"),
	}
}

func drawKey() *rapid.Generator[solana.PublicKey] {
	return rapid.Custom(func(t *rapid.T) solana.PublicKey {
		return solana.PublicKey(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
	})
}

func TestEveryValidTransactionRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTransaction(t)
		raw := want.Marshal()
		got, err := solana.ParseTransaction(raw)
		if err != nil {
			t.Fatalf("%x: %v", raw, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("transaction (-want +got):\n%s", diff)
		}
		if again := got.Marshal(); !bytes.Equal(again, raw) {
			t.Fatalf("encodes to\n%x, want\n%x", again, raw)
		}
		message, err := solana.ParseMessage(got.Message.Marshal())
		if err != nil {
			t.Fatalf("message: %v", err)
		}
		if diff := cmp.Diff(got.Message, message); diff != "" {
			t.Fatalf("message (-of the transaction +alone):\n%s", diff)
		}
		agree(t, raw)
	})
}

// One changed byte is either refused or a different transaction. There are no
// two encodings of one.
func TestNoByteIsIgnored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTransaction(t)
		raw := want.Marshal()
		at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		raw[at] ^= rapid.Uint8Range(1, 255).Draw(t, "flip")
		got, err := solana.ParseTransaction(raw)
		if err == nil && cmp.Equal(want, got, cmpopts.EquateEmpty()) {
			t.Fatalf("byte %d of %x does not matter", at, raw)
		}
		agree(t, raw)
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agree checks our parser against solana-go's. Ours accepts exactly what the
// library accepts and calls sound, less what the library is lenient about:
// bytes that it would not write back, a key or a table that stands twice, and
// a size over the packet limit.
func agree(t fataler, raw []byte) {
	t.Helper()
	ours, err := solana.ParseTransaction(raw)
	theirs, theirErr := reference.TransactionFromBytes(raw)
	if err != nil {
		if theirErr == nil && strictlySound(theirs, raw) {
			t.Fatalf("refused %x, which is sound: %v", raw, err)
		}
		return
	}
	if theirErr != nil {
		t.Fatalf("accepted %x, which solana-go refuses: %v", raw, theirErr)
	}
	if err := theirs.Sanitize(); err != nil {
		t.Fatalf("accepted %x, which solana-go calls unsound: %v", raw, err)
	}
	again, err := theirs.MarshalBinary()
	if err != nil || !bytes.Equal(again, raw) {
		t.Fatalf("solana-go writes %x back as %x, %v", raw, again, err)
	}
	if diff := cmp.Diff(ours, fromReference(theirs), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%x differs (-ours +theirs):\n%s", raw, diff)
	}
	for i := range ours.Message.Keys {
		k := theirs.Message.AccountKeys[i]
		if signer := theirs.Message.IsSigner(k); signer != ours.Message.IsSigner(i) {
			t.Fatalf("%x: account %d signs: ours %v, theirs %v", raw, i, !signer, signer)
		}
		if writable := theirs.Message.IsWritableStatic(k); writable != ours.Message.IsWritable(i) {
			t.Fatalf("%x: account %d is writable: ours %v, theirs %v", raw, i, !writable, writable)
		}
	}
}

func strictlySound(tx *reference.Transaction, raw []byte) bool {
	limit := solana.MaxTransactionSize
	if tx.Message.GetVersion() == reference.MessageVersionV1 {
		limit = solana.MaxTransactionSizeV1
	}
	if len(raw) > limit {
		return false
	}
	again, err := tx.MarshalBinary()
	if err != nil || !bytes.Equal(again, raw) || tx.Sanitize() != nil || tx.Message.HasDuplicates() {
		return false
	}
	tables := tx.Message.GetAddressTableLookups()
	return len(tables.GetTableIDs()) == len(tables)
}

func fromReference(tx *reference.Transaction) solana.Transaction {
	var out solana.Transaction
	for _, signature := range tx.Signatures {
		out.Signatures = append(out.Signatures, solana.Signature(signature))
	}
	m := &out.Message
	switch tx.Message.GetVersion() {
	case reference.MessageVersionV0:
		m.Version = solana.V0
	case reference.MessageVersionV1:
		m.Version = solana.V1
	case reference.MessageVersionLegacy:
	}
	config := tx.Message.TransactionConfig
	m.Config = solana.Config{
		PriorityFee: config.PriorityFee, UnitLimit: config.ComputeUnitLimit,
		LoadedDataLimit: config.LoadedAccountsDataSizeLimit, HeapSize: config.HeapSize,
	}
	header := tx.Message.Header
	m.RequiredSignatures, m.ReadonlySigned, m.ReadonlyUnsigned =
		header.NumRequiredSignatures, header.NumReadonlySignedAccounts, header.NumReadonlyUnsignedAccounts
	for _, k := range tx.Message.AccountKeys {
		m.Keys = append(m.Keys, solana.PublicKey(k))
	}
	m.Blockhash = solana.Hash(tx.Message.RecentBlockhash)
	for _, each := range tx.Message.Instructions {
		instruction := solana.Instruction{Program: uint8(each.ProgramIDIndex), Data: each.Data}
		for _, account := range each.Accounts {
			instruction.Accounts = append(instruction.Accounts, uint8(account))
		}
		m.Instructions = append(m.Instructions, instruction)
	}
	for _, each := range tx.Message.AddressTableLookups {
		m.Lookups = append(m.Lookups, solana.Lookup{
			Table: solana.PublicKey(each.AccountKey), Writable: each.WritableIndexes, Readonly: each.ReadonlyIndexes,
		})
	}
	return out
}
