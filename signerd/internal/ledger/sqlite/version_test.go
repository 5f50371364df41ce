package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
)

// version is a file as that version of signerd wrote it.
func version(t *testing.T, number int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/version%d.sql", number))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := execute(path, string(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBringEveryVersionForward needs a file of each version but the last: whoever
// adds a migration adds one.
func TestBringEveryVersionForward(t *testing.T) {
	_, latest := create(t)
	db, err := sql.Open("sqlite", latest)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var last int
	if err := db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&last); err != nil {
		t.Fatal(err)
	}
	for number := 1; number < last; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			path := version(t, number)
			for range 2 { // The second time there is nothing left to do.
				store, err := sqlite.Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				expectKept(t, store, number)
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// expectKept looks for what a file of this version held.
func expectKept(t *testing.T, store *sqlite.Store, number int) {
	t.Helper()
	carol := effects.Recipient{Name: "carol", Address: solana.PublicKey(bytes.Repeat([]byte{9}, 32))}
	totals, err := store.Totals(t.Context(), ledger.Window{Scope: "scope", Session: "s"})
	if err != nil || totals.Day[amount.SOL].Reserved != 5 {
		t.Errorf("reserved %+v, %v; want the 5 from before", totals.Day, err)
	}
	if paid := totals.Destination[policy.Destination{Recipient: carol.Address, Mint: amount.SOL}].Reserved; (paid == 4) != (number >= 3) {
		t.Errorf("carol is paid %d", paid)
	}
	book, err := store.Recipients(t.Context())
	if err != nil || cmp.Equal(book, []effects.Recipient{carol}) != (number >= 2) {
		t.Errorf("book: %v, %v", book, err)
	}
	executed, err := store.FindProposal(t.Context(), approval.Key{Idempotency: "given rent"})
	if (err == nil && executed.ID == "p1" && string(executed.Receipt) == "{}") != (number >= 4) {
		t.Errorf("by its key: %+v, %v", executed, err)
	}
	reading := clock.Reading{Boot: "b", Since: time.Hour, Wall: noon}
	if err := store.StartClock(t.Context(), reading); err != nil {
		t.Error(err)
	}
	if totals, err := store.Totals(t.Context(), ledger.Window{}); err != nil || !cmp.Equal(totals.Clock, reading) {
		t.Errorf("the clock is read back as %+v, %v", totals.Clock, err)
	}
}

func TestRefuseMigrationThatDoesNotFit(t *testing.T) {
	path := version(t, 1)
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
