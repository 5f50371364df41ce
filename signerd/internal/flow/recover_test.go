package flow_test

import (
	"path/filepath"
	"testing"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/submit"
)

// A process that ends between the ledger and the receipt leaves a transaction
// that nobody looks for any more. The next one tells what the ledger has
// proven, fetches the chain's own account of it, and forgets the fault of the
// stop.
func TestRecoverTellsWhatTheLedgerHasProven(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	grant, err := w.book.Consume(t.Context(), confirmed.Code, confirmed.Fingerprint, session, time.Now())
	check(t, err)
	judged, err := judge.New(w.chain, w.signer.PublicKey()).Judge(t.Context(), confirmed.Transactions[0],
		judge.Request{Flow: effects.Transfer, Bounds: grant.Proposal().Bounds})
	check(t, err)
	height, err := w.chain.BlockHeight(t.Context(), "confirmed")
	check(t, err)
	held, err := w.ledger.Reserve(t.Context(), grant, judged, w.rules, 0, height+150, time.Now())
	check(t, err)
	signed, err := w.signer.Sign(held)
	check(t, err)
	check(t, w.ledger.RecordSigned(t.Context(), held.ID(), signed.Raw(), signed.ID()))
	sender, err := submit.New([]string{w.net.RPCURL}, submit.Options{Wallet: w.signer.PublicKey(), Interval: 100 * time.Millisecond})
	check(t, err)
	result := sender.Submit(t.Context(), signed, height+150, func(string) {})
	if result.Outcome != submit.Landed {
		t.Fatalf("outcome %v, %v", result.Outcome, result.Fault)
	}
	check(t, w.ledger.Settle(t.Context(), held.ID(), ledger.Settlement{Outcome: submit.Landed, At: time.Now()}))

	w.flow.Close()
	w.start()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
		check(t, err)
		if receipt.Outcome != flow.Landed || len(receipt.Transactions) != 1 {
			t.Fatalf("outcome %s of %d transactions: the ledger had proven that it landed", receipt.Outcome, len(receipt.Transactions))
		}
		told := receipt.Transactions[0]
		if told.Slot == result.Slot && told.Fee == result.Fee && len(told.Changes) == 1 && receipt.Fault == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the receipt still says %+v, fault %v", told, receipt.Fault)
		}
	}
}

// A ledger that is older than the audit log, or has lost its -wal file, would
// start its caps anew.
func TestNewRefusesLedgerOlderThanAuditLog(t *testing.T) {
	w := newWorld(t)
	older, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	check(t, err)
	defer older.Close()
	w.propose()
	w.flow.Close()
	if _, err := flow.New(t.Context(), flow.Stages{Book: approval.NewBook(older), Audit: w.audit}); !fault.Is(err, fault.StateLocked) {
		t.Errorf("%v, want %s", err, fault.StateLocked)
	}
}
