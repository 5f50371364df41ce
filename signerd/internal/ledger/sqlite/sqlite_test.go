package sqlite_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/lockfile"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
)

// writerVariable makes the test binary a process that writes until it is killed.
const writerVariable = "LEDGER_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func entry(i int) ledger.Entry {
	return ledger.Entry{
		ID: fmt.Sprintf("r%d", i), Scope: "scope", ProposalID: fmt.Sprintf("p%d", i), Session: "s",
		Charge: map[solana.PublicKey]amount.Units{amount.SOL: 5}, ReservedAt: noon,
		Payments: map[policy.Destination]amount.Units{{Recipient: solana.PublicKey{7}, Mint: amount.SOL}: 5},
	}
}

func writeUntilKilled(path string) {
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		panic(err)
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := worker; ; i += 4 {
				if err := store.Reserve(context.Background(), entry(i), ledger.Window{Scope: "scope"}, admitAll); err != nil {
					panic(err)
				}
				// One write call a line: what the parent reads was acknowledged.
				if _, err := os.Stdout.WriteString(entry(i).ID + "\n"); err != nil {
					return // The parent has gone.
				}
			}
		})
	}
	group.Wait()
}

func admitAll(ledger.Totals) error { return nil }

func create(t testing.TB) (*sqlite.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // Tests that close it look at the error themselves.
	return store, path
}

func TestKeepAcknowledgedAfterKill(t *testing.T) {
	store, path := create(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	acknowledged := make(map[string]bool)
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), writerVariable+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 200 {
			if !lines.Scan() {
				break
			}
			acknowledged[lines.Text()] = true
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // What was in the pipe was acknowledged too.
			acknowledged[lines.Text()] = true
		}
		_ = child.Wait() // It was killed: there is always an error.
		store, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatalf("open after kill: %v", err)
		}
		entries, err := store.Entries(t.Context(), ledger.Query{Scope: "scope", Unresolved: true})
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]bool)
		for _, e := range entries {
			found[e.ID] = true
		}
		for id := range acknowledged {
			if !found[id] {
				t.Errorf("%s was acknowledged and is lost", id)
			}
		}
		totals, err := store.Totals(t.Context(), ledger.Window{Scope: "scope", Session: "s"})
		if want := amount.Units(5 * len(entries)); err != nil || totals.Day[amount.SOL].Reserved != want {
			t.Errorf("reserved %+v, %v; want %d", totals.Day, err, want)
		}
		for id := range found { // The next child writes the same ids again.
			delete(acknowledged, id)
		}
		if err := emptyEntries(path, store); err != nil {
			t.Fatal(err)
		}
	}
}

func emptyEntries(path string, store *sqlite.Store) error {
	if err := store.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec("DELETE FROM charge; DELETE FROM entry")
	return errors.Join(err, db.Close())
}

func TestLockWhenStateIsNotWhatWasLeft(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing":   os.Remove,
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"cut short": func(path string) error { return os.Truncate(path, 4096*3) },
		"other file": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
		"flipped bytes": func(path string) error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i := 4096; i < len(content); i++ {
				content[i] ^= 0x55
			}
			return os.WriteFile(path, content, 0o600)
		},
		"later version": func(path string) error { return execute(path, "PRAGMA user_version = 99") },
		"no version":    func(path string) error { return execute(path, "PRAGMA user_version = 0") },
		"edited sum":    func(path string) error { return execute(path, "UPDATE spent_day SET amount = x'0000000000000001'") },
		"removed sum":   func(path string) error { return execute(path, "DELETE FROM spent_day") },
		"edited sum of payments": func(path string) error {
			return execute(path, "UPDATE paid_day SET amount = x'0000000000000001'")
		},
		"removed sum of payments": func(path string) error { return execute(path, "DELETE FROM paid_day") },
	} {
		t.Run(name, func(t *testing.T) {
			store, path := create(t)
			if err := store.Reserve(t.Context(), entry(1), ledger.Window{}, admitAll); err != nil {
				t.Fatal(err)
			}
			if err := store.Change(t.Context(), "r1", func(e *ledger.Entry) error {
				e.Outcome, e.Charged, e.SettledAt = ledger.Landed, e.Charge, noon
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(store.Close(), damage(path)); err != nil {
				t.Fatal(err)
			}
			again, err := sqlite.Open(t.Context(), path)
			if !fault.Is(err, fault.StateLocked) {
				t.Errorf("opened with %v, want a StateLocked fault", err)
			}
			if err == nil {
				_ = again.Close()
			}
		})
	}
}

func execute(path, statement string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

func TestRefuseSecondOpener(t *testing.T) {
	_, path := create(t)
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, lockfile.ErrHeld) {
		t.Errorf("a second opener got %v", err)
	}
	if _, err := sqlite.Create(t.Context(), path); err == nil {
		t.Error("an existing ledger was created anew")
	}
}

// TestLockWhenFileIsDamagedInUse: what cannot be read any more ends the ledger's
// life, not one call.
func TestLockWhenFileIsDamagedInUse(t *testing.T) {
	store, path := create(t)
	for _, id := range []string{"p1", "p2", "p3"} { // More than SQLite keeps in memory.
		proposal := approval.Proposal{ID: id, Arguments: strings.Repeat("x", 4<<20)}
		if err := store.InsertProposal(t.Context(), approval.Record{Proposal: proposal}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		_, err := again.FindProposal(t.Context(), approval.Key{ID: fmt.Sprint("p", i%3+1)})
		if i == 3 && !fault.Is(err, fault.StateLocked) {
			t.Errorf("after it could not be read: %v", err)
		}
	}
	if err := again.Reserve(t.Context(), entry(1), ledger.Window{}, admitAll); !fault.Is(err, fault.StateLocked) {
		t.Errorf("reserve: %v, want a StateLocked fault", err)
	}
}

// TestCloseLeavesOneFile: a copy of the file alone is a whole backup.
func TestCloseLeavesOneFile(t *testing.T) {
	store, path := create(t)
	if err := errors.Join(store.Reserve(t.Context(), entry(1), ledger.Window{}, admitAll), store.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the -wal file is still there: %v", err)
	}
}

func TestUndoFailedJobAlone(t *testing.T) {
	store, _ := create(t)
	boom := errors.New("boom")
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			err := store.Reserve(context.Background(), entry(i), ledger.Window{}, func(ledger.Totals) error {
				if i%2 == 0 {
					return boom
				}
				return nil
			})
			if errors.Is(err, boom) != (i%2 == 0) {
				t.Errorf("job %d: %v", i, err)
			}
		})
	}
	group.Wait()
	// The same id again is an error of the database; it too undoes itself alone.
	if err := store.Reserve(t.Context(), entry(1), ledger.Window{}, admitAll); err == nil {
		t.Error("an id was taken twice")
	}
	entries, err := store.Entries(t.Context(), ledger.Query{Scope: "scope"})
	if err != nil || len(entries) != 50 {
		t.Errorf("%d entries, %v; want 50", len(entries), err)
	}
}

func TestWithdrawCancelledJob(t *testing.T) {
	store, _ := create(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Reserve(ctx, entry(1), ledger.Window{}, admitAll); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Reserve(t.Context(), entry(2), ledger.Window{}, admitAll); !fault.Is(err, fault.StateLocked) {
		t.Errorf("after Close: %v", err)
	}
}

func TestKeepProposalExactly(t *testing.T) {
	store, _ := create(t)
	want := approval.Record{CodeHash: sha256.Sum256([]byte("code")), Proposal: approval.Proposal{
		ID: "p1", State: approval.Open, Session: "s", Client: "c", Correlation: "k", Tool: "t", Arguments: `{"a":"\u0000"}`,
		Fingerprint: [32]byte{1}, Flow: 2,
		Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: 1<<64 - 1}, MinIn: map[solana.PublicKey]amount.Units{{1}: 2},
			MaxFee: 3, MaxRent: 4, Programs: []solana.PublicKey{{5}}, Recipients: []solana.PublicKey{{6}},
		},
		Tier: policy.Confirm, Rules: []string{"a", "b"}, PolicyVersion: "v", Digests: [][32]byte{{7}, {8}},
		CreatedAt: noon, ExpiresAt: noon.Add(time.Minute),
	}}
	denied := approval.Record{Proposal: approval.Proposal{
		ID: "p2", State: approval.Denied, Denied: fault.New(fault.CapExceeded, "m").After(time.Second), CreatedAt: noon, FinishedAt: noon,
	}}
	if err := errors.Join(store.InsertProposal(t.Context(), want, nil), store.InsertProposal(t.Context(), denied, nil)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []approval.Key{{ID: "p1"}, {CodeHash: want.CodeHash}} {
		got, err := store.FindProposal(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want -, got +\n%s", diff)
		}
	}
	got, err := store.FindProposal(t.Context(), approval.Key{ID: "p2"})
	if err != nil || got.Denied == nil || got.Denied.Code != fault.CapExceeded || got.Denied.Message != "m" || got.Denied.RetryAfter != time.Second {
		t.Errorf("denied: %+v, %v", got.Denied, err)
	}
	if _, err := store.FindProposal(t.Context(), approval.Key{CodeHash: [32]byte{9}}); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("unknown code: %v", err)
	}
}

func TestListProposals(t *testing.T) {
	store, _ := create(t)
	for i := range 5 {
		state := approval.Open
		if i%2 == 1 {
			state = approval.Executing
		}
		record := approval.Record{Proposal: approval.Proposal{ID: fmt.Sprint("p", i), State: state}, CodeHash: [32]byte{byte(i + 1)}}
		if err := store.InsertProposal(t.Context(), record, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		query approval.Query
		want  []string
	}{
		"all":        {approval.Query{}, []string{"p4", "p3", "p2", "p1", "p0"}},
		"page":       {approval.Query{Limit: 2}, []string{"p4", "p3"}},
		"next page":  {approval.Query{Limit: 2, BeforeID: "p3"}, []string{"p2", "p1"}},
		"by state":   {approval.Query{State: approval.Executing}, []string{"p3", "p1"}},
		"both":       {approval.Query{State: approval.Open, BeforeID: "p4"}, []string{"p2", "p0"}},
		"none older": {approval.Query{BeforeID: "p0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := store.ListProposals(t.Context(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, record := range records {
				got = append(got, record.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
	if _, err := store.ListProposals(t.Context(), approval.Query{BeforeID: "p9"}); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("a page before nothing: %v", err)
	}
}
