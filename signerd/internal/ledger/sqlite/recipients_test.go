package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/recipients"
)

var (
	alice = effects.Recipient{Name: "Alice", Address: solana.PublicKey{1}}
	bob   = effects.Recipient{Name: "bob", Address: solana.PublicKey{2}}
)

func TestKeepRecipients(t *testing.T) {
	store, path := create(t)
	if err := errors.Join(store.AddRecipient(t.Context(), bob, noon), store.AddRecipient(t.Context(), alice, noon)); err != nil {
		t.Fatal(err)
	}
	for name, twice := range map[string]effects.Recipient{
		"the name again":    {Name: "ALICE", Address: solana.PublicKey{3}},
		"the address again": {Name: "carol", Address: solana.PublicKey{1}},
	} {
		if err := store.AddRecipient(t.Context(), twice, noon); err == nil {
			t.Errorf("%s was added", name)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, err := again.Recipients(t.Context())
	if diff := cmp.Diff([]effects.Recipient{alice, bob}, got); err != nil || diff != "" {
		t.Errorf("%v; want -, got +\n%s", err, diff)
	}
	if err := errors.Join(again.RemoveRecipient(t.Context(), "Alice")); err != nil {
		t.Fatal(err)
	}
	if err := again.RemoveRecipient(t.Context(), "Alice"); !errors.Is(err, recipients.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if got, err := again.Recipients(t.Context()); err != nil || !cmp.Equal(got, []effects.Recipient{bob}) {
		t.Errorf("left: %v, %v", got, err)
	}
}

// version1 is a file that was written before there was an address book.
func version1(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := execute(path, string(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBringVersionOneForward(t *testing.T) {
	path := version1(t)
	for range 2 { // The second time there is nothing left to do.
		store, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		totals, err := store.Totals(t.Context(), ledger.Window{Scope: "scope", Session: "s"})
		if err != nil || totals.Day[amount.SOL].Reserved != 5 {
			t.Errorf("reserved %+v, %v; want the 5 from before", totals.Day, err)
		}
		book, err := store.Recipients(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(book) == 0 {
			err = store.AddRecipient(t.Context(), bob, noon)
		} else if !cmp.Equal(book, []effects.Recipient{bob}) {
			t.Errorf("book: %v", book)
		}
		if err := errors.Join(err, store.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefuseMigrationThatDoesNotFit(t *testing.T) {
	path := version1(t)
	// A table that a migration brings is there already: not a file of ours.
	if err := execute(path, "CREATE TABLE recipient (name)"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // The first attempt changed nothing.
		if store, err := sqlite.Open(t.Context(), path); !fault.Is(err, fault.StateLocked) {
			t.Errorf("opened with %v, want a StateLocked fault", err)
			_ = store.Close()
		}
	}
}
