package soak

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
)

// heal ends all that was wrong with the world, and waits until every outcome is
// proven. Then ledger, receipts and chain must say the same.
func (w *world) heal() {
	w.stop()
	w.outside.set(func(n *nodes) { n.lie, n.down, n.refuses = honest, [2]bool{}, false })
	w.chain.fateOfNext(fate{})
	w.acceptClock()
	w.start()
	for range 60 {
		if w.run == nil {
			return
		}
		w.chain.pause(20)
		w.check()
		if _, count, err := w.run.ledger.InFlight(context.Background()); err == nil && count == 0 {
			break
		}
	}
	if w.run == nil {
		return
	}
	if _, count, err := w.run.ledger.InFlight(context.Background()); err != nil || count != 0 {
		w.fail("%d transactions have no end in a world that is well, %v", count, err)
	}
	w.compareReceipts()
	w.compareLedger()
	w.stop()
	if _, err := audit.Verify(auditFile(w.dir)); err != nil {
		w.fail("the audit log does not verify: %v", err)
	}
}

func (w *world) acceptClock() {
	store, err := sqlite.Open(context.Background(), ledgerFile(w.dir))
	if err != nil {
		w.fail("the clock cannot be accepted: %v", err)
		return
	}
	w.mu.Lock()
	w.back, w.accepted = 0, w.ahead
	w.mu.Unlock()
	reading, err := w.read()
	totals, totalsErr := store.Totals(context.Background(), ledger.Window{})
	step, _ := totals.Clock.Step(reading)
	if err = errors.Join(err, totalsErr, store.AcceptClock(context.Background(), reading, step), store.Close()); err != nil {
		w.fail("the clock cannot be accepted: %v", err)
	}
}

// compareReceipts: each payment that landed is told as landed, and no other.
func (w *world) compareReceipts() {
	landed := make(map[solana.Signature]landing)
	maps.Copy(landed, w.chain.observed())
	for _, o := range w.orders {
		receipt, err := w.run.flow.ReceiptByCode(context.Background(), o.confirmed.Code)
		if err != nil {
			w.fail("payment %d has no receipt: %v", o.units, err)
			continue
		}
		if receipt.FinishedAt.IsZero() {
			continue // It was never confirmed.
		}
		w.told(o, receipt.Outcome)
		for _, tx := range receipt.Transactions {
			l, there := landed[tx.Signature]
			delete(landed, tx.Signature)
			want := flow.Expired
			switch {
			case there && l.failed:
				want = flow.LandedFailed
			case there:
				want = flow.Landed
			case tx.Outcome == flow.NothingSent:
				want = flow.NothingSent
			}
			if tx.Outcome != want {
				w.fail("payment %d is told as %s, and is %s", o.units, tx.Outcome, want)
			}
		}
	}
	if len(landed) > 0 {
		w.fail("%d transactions of the chain are in no receipt: %v", len(landed), slices.Collect(maps.Keys(landed)))
	}
}

// compareLedger: what is settled is what left, or for what failed at most what
// was held.
func (w *world) compareLedger() {
	least := make(map[string]uint64)
	for _, l := range w.chain.observed() {
		if o := w.orderOf(l); o != nil {
			least[o.session] += l.took()
		}
	}
	for _, session := range []string{"a", "b"} {
		usage, err := w.run.ledger.Usage(context.Background(), session, time.Now())
		if err != nil {
			w.fail("the ledger cannot be read: %v", err)
			return
		}
		if held := usage.Session[amount.SOL]; held.Reserved != 0 || uint64(held.Used) < least[session] {
			w.fail("the ledger has %+v of session %s, and %d have left", held, session, least[session])
		}
	}
}
