package ledger_test

import (
	"context"
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
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
)

// wound is a computer whose clock can be set. True time is its Since.
type wound struct {
	path  string
	now   clock.Reading
	store *sqlite.Store
	*ledger.Ledger
}

func wind(t testing.TB) *wound {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &wound{now: clock.Reading{Boot: "first", Since: time.Hour, Wall: noon}, store: store, path: path}
	w.Ledger = ledger.New(store, token, solana.Hash{1}).WatchClock(func() (clock.Reading, error) { return w.now, nil })
	w.start(t)
	return w
}

// start is what signerd does when it starts.
func (w *wound) start(t interface {
	Fatal(args ...any)
	Helper()
}) {
	t.Helper()
	if err := w.store.StartClock(context.Background(), w.now); err != nil {
		t.Fatal(err)
	}
}

// pass lets true time pass; set sets the clock.
func (w *wound) pass(d time.Duration) {
	w.now.Since += d
	w.set(d)
}

func (w *wound) set(step time.Duration) { w.now.Wall = w.now.Wall.Add(step) }

func (w *wound) reserve(proposal string, units amount.Units) (string, error) {
	return w.ReserveAs(context.Background(), proposal, proposal, 0, charge{amount.SOL: units}, limit, w.now.Wall)
}

func TestStopWhenClockIsSet(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": 25 * time.Hour, "back": -30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := wind(t)
			w.pass(time.Hour)
			w.set(step)
			for _, restarted := range []bool{false, true} {
				if restarted {
					w.start(t)
				}
				_, err := w.reserve("p", 1)
				expectFault(t, err, fault.StateLocked)
				if err == nil || !strings.Contains(err.Error(), "set "+name) || !strings.Contains(err.Error(), "signerd ledger accept-clock") {
					t.Errorf("%v does not say what happened and how to go on", err)
				}
				_, err = w.Usage(t.Context(), "s", w.now.Wall)
				expectFault(t, err, fault.StateLocked)
			}
			w.set(-step)
			if _, err := w.reserve("p", 1); err != nil {
				t.Errorf("once the clock is right again: %v", err)
			}
		})
	}
}

// TestAcceptClock: a ledger that was written while the clock stood in another
// year goes on at its owner's word, and forgets nothing.
func TestAcceptClock(t *testing.T) {
	w := wind(t)
	const year = 300 * 24 * time.Hour
	w.set(year)
	if err := w.store.AcceptClock(t.Context(), w.now, year); err != nil {
		t.Fatal(err)
	}
	id, err := w.reserve("p", 100)
	if err != nil {
		t.Fatal(err)
	}
	settle(t, w.Ledger, id, ledger.Settlement{Outcome: ledger.Landed, Charged: charge{amount.SOL: 70}, At: w.now.Wall})
	if _, err := w.reserve("q", 20); err != nil {
		t.Fatal(err)
	}
	w.set(-year)
	_, err = w.reserve("r", 1)
	expectFault(t, err, fault.StateLocked)
	if err := w.store.AcceptClock(t.Context(), w.now, -year); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after          time.Duration
		used, reserved amount.Units
	}{{0, 70, 20}, {24 * time.Hour, 70, 20}, {25 * time.Hour, 0, 20}} {
		usage, err := w.Usage(t.Context(), "p", w.now.Wall.Add(c.after))
		if c.after > 0 {
			later := *w
			later.pass(c.after)
			usage, err = later.WatchClock(func() (clock.Reading, error) { return later.now, nil }).Usage(t.Context(), "p", later.now.Wall)
		}
		if held := usage.Day[amount.SOL]; err != nil || held.Used != c.used || held.Reserved != c.reserved {
			t.Errorf("after %s: %+v, %v", c.after, held, err)
		}
	}
}

// TestAcceptedClockFreesNothing: a clock that was set ahead by more than a day, and
// then taken for right, makes nothing older than it is. The line that keeps it is
// "settled_at + ?2" in AcceptClock.
func TestAcceptedClockFreesNothing(t *testing.T) {
	w := wind(t)
	id, err := w.reserve("p", 100)
	if err != nil {
		t.Fatal(err)
	}
	settle(t, w.Ledger, id, ledger.Settlement{Outcome: ledger.Landed, Charged: charge{amount.SOL: 70}, At: w.now.Wall})
	w.pass(time.Hour)
	const step = 26 * time.Hour
	w.set(step)
	if err := w.store.AcceptClock(t.Context(), w.now, step); err != nil {
		t.Fatal(err)
	}
	for after, used := range map[time.Duration]amount.Units{0: 70, 22 * time.Hour: 70, 25 * time.Hour: 0} {
		later := *w
		later.pass(after)
		usage, err := later.WatchClock(func() (clock.Reading, error) { return later.now, nil }).Usage(t.Context(), "p", later.now.Wall)
		if held := usage.Day[amount.SOL]; err != nil || held.Used != used {
			t.Errorf("%s later: %+v, %v, want %d used", after, held, err, used)
		}
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), w.path)
	if err != nil {
		t.Fatalf("its sums disagree: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// clockedTx is what the model knows of one transaction, in true time.
type clockedTx struct {
	id    string
	units amount.Units
	gone  time.Duration
	open  bool
}

// TestSetClockFreesNoCap: whatever the clock is set to, and however often signerd
// is started anew, what is admitted fits under the day's cap in true time.
func TestSetClockFreesNoCap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		folder, err := os.MkdirTemp("", "ledger")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(folder)
		w := &wound{now: clock.Reading{Boot: "first", Since: time.Hour, Wall: noon}}
		if w.store, err = sqlite.Create(context.Background(), filepath.Join(folder, "ledger.db")); err != nil {
			r.Fatal(err)
		}
		defer func() { _ = w.store.Close() }()
		w.Ledger = ledger.New(w.store, token, solana.Hash{1}).WatchClock(func() (clock.Reading, error) { return w.now, nil })
		w.start(r)
		var txs []*clockedTx
		reserve := func(r *rapid.T) {
			units := amount.Units(rapid.SampledFrom([]uint64{60, 100}).Draw(r, "units"))
			id, err := w.reserve(fmt.Sprint("p", len(txs)), units)
			if err != nil {
				if !fault.Is(err, fault.StateLocked) && !fault.Is(err, fault.CapExceeded) {
					r.Fatal(err)
				}
				return
			}
			used := units
			for _, tx := range txs {
				if tx.open || tx.gone > w.now.Since-24*time.Hour {
					used += tx.units
				}
			}
			if used > limit.Assets[0].PerDay {
				r.Fatalf("%d admitted, and with it %d in a day of true time", units, used)
			}
			txs = append(txs, &clockedTx{id: id, units: units, open: true})
		}
		r.Repeat(map[string]func(*rapid.T){
			"reserve": reserve,
			"land": func(r *rapid.T) {
				for _, tx := range txs {
					if tx.open {
						if err := w.Settle(context.Background(), tx.id, ledger.Settlement{Outcome: ledger.Landed, At: w.now.Wall}); err != nil {
							r.Fatal(err)
						}
						tx.open, tx.gone = false, w.now.Since
					}
				}
			},
			"pass": func(r *rapid.T) {
				w.pass(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 12 * time.Hour, 23*time.Hour + 50*time.Minute, 25 * time.Hour}).Draw(r, "time"))
			},
			"set": func(r *rapid.T) {
				w.set(rapid.SampledFrom([]time.Duration{time.Second, 59 * time.Second, -time.Second, -59 * time.Second, time.Hour, 25 * time.Hour, -time.Hour, -25 * time.Hour}).Draw(r, "step"))
			},
			"reserve more": reserve, "reserve again": reserve,
			"set right": func(*rapid.T) { w.now.Wall = noon.Add(w.now.Since - time.Hour) },
			"restart":   func(r *rapid.T) { w.start(r) },
		})
	})
}
