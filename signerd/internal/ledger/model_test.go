package ledger_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
)

// bucket is the most by which a window may be too long: the store's buckets, and
// what the ledger allows for a clock that goes wrong.
const bucket = 15*time.Minute + 4*time.Minute

// modelTx is what the model knows of one transaction.
type modelTx struct {
	id, session string
	held        amount.Units
	outcome     ledger.Outcome
	charged     amount.Units
	// gone is when the charge was proven: the money left no later than then.
	gone   time.Time
	signed bool
}

// machine runs a ledger beside a list of transactions.
type machine struct {
	folder string
	path   string
	copies int
	store  *sqlite.Store
	ledger *ledger.Ledger
	now    time.Time
	newest time.Time
	txs    []*modelTx
}

// used adds up what must count at an instant: exactly, or with the leave to
// count for slack longer.
func (m *machine) used(session string, at time.Time, slack time.Duration) (day, run amount.Units) {
	for _, tx := range m.txs {
		units := tx.charged
		if tx.outcome == ledger.Unknown {
			units = tx.held
		}
		if tx.outcome == ledger.Unknown || !tx.gone.Before(at.Add(-24*time.Hour-slack)) {
			day += units
		}
		if tx.session == session {
			run += units
		}
	}
	return day, run
}

func (m *machine) reserve(t *rapid.T) {
	session := rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "session")
	units := amount.Units(rapid.Uint64Range(1, 120).Draw(t, "units"))
	id, err := m.ledger.ReserveAs(t.Context(), fmt.Sprint("p", len(m.txs)), session, 0, charge{amount.SOL: units}, limit, m.now)
	day, run := m.used(session, m.now, 0)
	lateDay, _ := m.used(session, m.now, bucket)
	sol := limit.Assets[0]
	switch {
	case err == nil:
		if units > sol.PerTransaction || day+units > sol.PerDay || run+units > sol.PerSession {
			t.Fatalf("%d admitted on top of day %d, session %d", units, day, run)
		}
		m.txs = append(m.txs, &modelTx{id: id, session: session, held: units})
		m.saw(m.now)
	case fault.Is(err, fault.CapExceeded):
		if units <= sol.PerTransaction && lateDay+units <= sol.PerDay && run+units <= sol.PerSession {
			t.Fatalf("%d refused on top of day %d, session %d: %v", units, lateDay, run, err)
		}
	default:
		t.Fatalf("reserve: %v", err)
	}
}

func (m *machine) saw(at time.Time) {
	if at.After(m.newest) {
		m.newest = at
	}
}

func (m *machine) pick(t *rapid.T) *modelTx {
	if len(m.txs) == 0 {
		t.Skip("nothing reserved yet")
	}
	return m.txs[rapid.IntRange(0, len(m.txs)-1).Draw(t, "which")]
}

func (m *machine) sign(t *rapid.T) {
	tx := m.pick(t)
	err := m.ledger.RecordSigned(t.Context(), tx.id, []byte("signed "+tx.id), solana.Signature{byte(len(tx.id)), 1})
	if (err == nil) != (tx.outcome == ledger.Unknown) {
		t.Fatalf("sign a transaction that is %s: %v", tx.outcome, err)
	}
	tx.signed = tx.signed || err == nil
}

func (m *machine) settle(t *rapid.T) {
	tx := m.pick(t)
	outcome := ledger.Outcome(rapid.IntRange(0, 4).Draw(t, "outcome"))
	charged := amount.Units(rapid.Uint64Range(1, uint64(tx.held)).Draw(t, "charged"))
	spends := func(o ledger.Outcome) bool { return o == ledger.Landed || o == ledger.LandedFailed }
	err := m.ledger.Settle(t.Context(), tx.id, ledger.Settlement{Outcome: outcome, Charged: charge{amount.SOL: charged}, At: m.now})
	changes := outcome != ledger.Unknown && outcome != tx.outcome
	allowed := !changes || tx.outcome == ledger.Unknown || spends(outcome) && !spends(tx.outcome)
	if allowed != (err == nil) {
		t.Fatalf("settle %s as %s: %v", tx.outcome, outcome, err)
	}
	if err != nil || !changes {
		return
	}
	m.saw(m.now)
	tx.outcome, tx.charged, tx.gone = outcome, 0, m.now
	if spends(outcome) {
		tx.charged = charged
	}
}

// pass lets time pass, or the clock be set back by what is tolerated.
func (m *machine) pass(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{
		time.Second, 14 * time.Minute, time.Hour, 23 * time.Hour, 24*time.Hour - time.Second, 25 * time.Hour, -time.Second,
	}).Draw(t, "step")
	if next := m.now.Add(step); m.newest.Sub(next) <= 2*time.Second {
		m.now = next
	}
}

// crash goes on from the files as they stand, as after a kill.
func (m *machine) crash(t *rapid.T) {
	m.copies++
	next := filepath.Join(m.folder, fmt.Sprintf("copy%d.db", m.copies))
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(m.path + suffix)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(next+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t, next)
}

func (m *machine) open(t *rapid.T, path string) {
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("open after a crash: %v", err)
	}
	m.path, m.store = path, store
	m.ledger = ledger.New(store, token, solana.Hash{1})
}

// agree compares what the ledger says with the model.
func (m *machine) agree(t *rapid.T) {
	for _, session := range []string{"s1", "s2", "s3"} {
		usage, err := m.ledger.Usage(t.Context(), session, m.now)
		if err != nil {
			t.Fatal(err)
		}
		day, run := m.used(session, m.now, 0)
		most, _ := m.used(session, m.now, bucket)
		gotDay := usage.Day[amount.SOL].Used + usage.Day[amount.SOL].Reserved
		gotRun := usage.Session[amount.SOL].Used + usage.Session[amount.SOL].Reserved
		if gotDay < day || gotDay > most || gotRun != run {
			t.Fatalf("ledger says day %d, session %d; the model %d to %d, %d", gotDay, gotRun, day, most, run)
		}
	}
	pending, err := m.ledger.Unresolved(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	signed := make(map[string]bool)
	for _, p := range pending {
		signed[p.ReservationID] = p.Signed
	}
	for _, tx := range m.txs {
		isSigned, open := signed[tx.id]
		if open != (tx.outcome == ledger.Unknown) || open && isSigned != tx.signed {
			t.Fatalf("%s is open %v, signed %v; the model says %s, %v", tx.id, open, isSigned, tx.outcome, tx.signed)
		}
	}
}

// TestAgreeWithModel runs random schedules of everything that can happen to a
// ledger, crashes included.
func TestAgreeWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "ledger")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		m := &machine{folder: folder, path: filepath.Join(folder, "first.db"), now: noon}
		if m.store, err = sqlite.Create(t.Context(), m.path); err != nil {
			t.Fatal(err)
		}
		m.ledger = ledger.New(m.store, token, solana.Hash{1})
		defer func() {
			if err := m.store.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
				t.Fatal(err)
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"reserve": m.reserve, "reserve more": m.reserve, "sign": m.sign, "settle": m.settle,
			"pass": m.pass, "crash": m.crash, "": m.agree,
		})
	})
}
