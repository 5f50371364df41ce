package speed_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
)

// folderVariable names a folder that keeps the long ledgers from one run of the
// benchmarks to the next.
const folderVariable = "BENCH_FOLDER"

const scope = "scope"

// every is how far events lie apart: a busy signer's year and a half are half a
// million.
const every = 90 * time.Second

// history writes settled events, the newest now, as settling them one by one
// would. The same number lies in each hour, however many there are.
const history = `
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
INSERT INTO entry (id, scope, proposal, position, session, reserved_at, height, digest, outcome, settled_at)
	SELECT 'r' || i, 'scope', 'p' || i, 0, 's' || (i / 100), ?2 - (?1 - i) * ?3, zeroblob(8), zeroblob(32), 2, ?2 - (?1 - i) * ?3 FROM n;
INSERT INTO charge SELECT seq, zeroblob(32), x'0000000000000005', x'0000000000000005' FROM entry;
INSERT INTO payment SELECT seq, zeroblob(32), zeroblob(32), x'0000000000000004' FROM entry;
INSERT INTO spent_day SELECT 'scope', settled_at / 900000000000, zeroblob(32), unhex(format('%016X', 5 * count(*))) FROM entry GROUP BY 2;
INSERT INTO paid_day SELECT 'scope', settled_at / 900000000000, zeroblob(32), zeroblob(32), unhex(format('%016X', 4 * count(*))) FROM entry GROUP BY 2;
INSERT INTO spent_session SELECT 'scope', session, zeroblob(32), unhex(format('%016X', 5 * count(*))) FROM entry GROUP BY 2;
UPDATE meta SET value = ?2 WHERE name = 'newest';
`

// withHistory opens a ledger with this many events.
func withHistory(b *testing.B, events int) *sqlite.Store {
	b.Helper()
	folder := os.Getenv(folderVariable)
	if folder == "" {
		folder = b.TempDir()
	}
	path := filepath.Join(folder, fmt.Sprintf("ledger-%d.db", events))
	if _, err := os.Stat(path); err != nil {
		write(b, path, events)
	}
	store, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	return store
}

func write(b *testing.B, path string, events int) {
	b.Helper()
	store, err := sqlite.Create(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(OFF)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(b.Context(), history, events, time.Now().UnixNano(), int64(every)); err != nil {
		b.Fatal(err)
	}
}

func benchmarkCheck(b *testing.B, events int) {
	store := withHistory(b, events)
	now := time.Now()
	window := ledger.Window{Scope: scope, Session: fmt.Sprint("s", events/100), DaySince: now.Add(-24 * time.Hour), HourSince: now.Add(-time.Hour)}
	for b.Loop() {
		totals, err := store.Totals(b.Context(), window)
		if err != nil || totals.Day[amount.SOL].Used == 0 || totals.Transactions == 0 {
			b.Fatalf("%+v, %v", totals, err)
		}
	}
}

func BenchmarkCheckShortLedger(b *testing.B) { benchmarkCheck(b, 1_000) }

func BenchmarkCheckLongLedger(b *testing.B) { benchmarkCheck(b, 1_000_000) }

// reserve holds an amount, durably, and gives it back, durably: what is open
// stays as little as it is in life.
func reserve(store *sqlite.Store, n int64) error {
	now := time.Now()
	id := fmt.Sprint("n", n)
	if err := store.Reserve(context.Background(), ledger.Entry{
		ID: id, Scope: scope, ProposalID: id, Session: "s", ReservedAt: now,
		Charge: map[solana.PublicKey]amount.Units{amount.SOL: 5},
	}, ledger.Window{Scope: scope, Session: "s", DaySince: now.Add(-24 * time.Hour), HourSince: now}, func(ledger.Totals) error { return nil }); err != nil {
		return err
	}
	return store.Change(context.Background(), id, func(e *ledger.Entry) error {
		e.Outcome, e.SettledAt = ledger.NothingSent, now
		return nil
	})
}

func fresh(b *testing.B) *sqlite.Store {
	b.Helper()
	store, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "ledger.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	return store
}

func BenchmarkReserveOneByOne(b *testing.B) {
	store := fresh(b)
	for n := int64(0); b.Loop(); n++ {
		if err := reserve(store, n); err != nil {
			b.Fatal(err)
		}
	}
}

// callers is how many wait at a time.
const callers = 64

func BenchmarkReserveInParallel(b *testing.B) {
	store := fresh(b)
	var next atomic.Int64
	b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := reserve(store, next.Add(1)); err != nil {
				b.Error(err)
			}
		}
	})
}
