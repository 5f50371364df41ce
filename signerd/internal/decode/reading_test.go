package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

func readAll(t *testing.T, raw []byte, tables decode.Tables) decode.Reading {
	t.Helper()
	parsed, err := decode.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return decode.Read(parsed, vectorWallet, tables)
}

// TestReadAgreesWithDecode: what Decode accepts is read the same.
func TestReadAgreesWithDecode(t *testing.T) {
	for _, text := range []string{legacyClaim, sponsoredClaim} {
		tx := mustDecode(t, text, vectorTables)
		reading := readAll(t, tx.Raw(), vectorTables)
		if diff := cmp.Diff(tx.Accounts(), reading.Accounts); diff != "" {
			t.Errorf("accounts (-decoded +read):\n%s", diff)
		}
		var list []decode.Instruction
		for _, each := range reading.Instructions {
			if each.Err != nil {
				t.Error(each.Err)
			}
			list = append(list, each.Instruction)
		}
		if diff := cmp.Diff(tx.Instructions(), list); diff != "" {
			t.Errorf("instructions (-decoded +read):\n%s", diff)
		}
		if reading.Fee != tx.Fee() || reading.FeeErr != nil || len(reading.Unresolved) != 0 {
			t.Errorf("fee %+v, %v, want %+v; %d unresolved", reading.Fee, reading.FeeErr, tx.Fee(), len(reading.Unresolved))
		}
	}
}

// TestReadNamesWhatIsMissing: an address that is not known is nobody's, and an
// instruction that cannot be explained stays as it is.
func TestReadNamesWhatIsMissing(t *testing.T) {
	raw, err := base58.Decode(sponsoredClaim)
	if err != nil {
		t.Fatal(err)
	}
	reading := readAll(t, raw, nil)
	if len(reading.Unresolved) != 4 {
		t.Errorf("%d addresses are unresolved, want 4: %v", len(reading.Unresolved), reading.Unresolved)
	}
	for _, account := range reading.Accounts {
		entry, missing := reading.Unresolved[account.Key]
		if missing != account.Looked || missing && (entry.Table != bagsTable || account.Key == solana.SystemProgram) {
			t.Errorf("account %+v, entry %+v", account, entry)
		}
	}
	odd := decodetest.Legacy(vectorWallet, solana.Hash{1}, decodetest.Call{
		Program: solana.SystemProgram, Accounts: []decodetest.Meta{decodetest.SW(vectorWallet)}, Data: []byte{99, 0, 0, 0, 5},
	}, decodetest.Memo("after it"))
	reading = readAll(t, odd.Marshal(), nil)
	first, second := reading.Instructions[0], reading.Instructions[1]
	if first.Err == nil || first.Program != solana.SystemProgram || len(first.Data) != 5 || len(first.Accounts) != 1 {
		t.Errorf("an unknown opcode: %+v", first)
	}
	if second.Err != nil || second.Name != "Memo.Memo" {
		t.Errorf("what follows it: %+v", second)
	}
}
