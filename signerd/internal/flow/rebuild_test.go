package flow_test

import (
	"path/filepath"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/amount"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/rebuild"
)

// makeAnew puts a ledger made from the audit log in the place of the world's own.
func (w *world) makeAnew() {
	w.t.Helper()
	w.flow.Close()
	_, genesis := w.rules.Network()
	plan, err := rebuild.Read(audit.Records(filepath.Join(w.dir, "audit.jsonl")), rebuild.Wallet{}, nil)
	check(w.t, err)
	fresh, err := sqlite.Create(w.t.Context(), filepath.Join(w.t.TempDir(), "ledger.db"))
	check(w.t, err)
	check(w.t, fresh.Together(w.t.Context(), func(s *sqlite.Store) error { return plan.Write(w.t.Context(), s) }))
	check(w.t, w.store.Close())
	w.store = fresh
	w.ledger, w.book = ledger.New(fresh, w.signer.PublicKey(), genesis), approval.NewBook(fresh)
	if names, count, err := plan.Missing(w.t.Context(), w.book, w.ledger, 9); err != nil || count != 0 {
		w.t.Fatalf("the ledger that was made of the log lacks %v of it, %v", names, err)
	}
}

// TestGoOnWithLedgerMadeAnew: what was executed is known by its code and by its
// key and is not executed again, and it counts against the day, the session and
// its recipient.
func TestGoOnWithLedgerMadeAnew(t *testing.T) {
	w := newWorld(t)
	p := w.proposed()
	p.Key = "rent"
	verdict, err := w.flow.Propose(t.Context(), p)
	check(t, err)
	confirmed := flow.Confirmed{Session: session, Code: verdict.Code, Fingerprint: p.Fingerprint, Transactions: [][]byte{w.transfer(lamports)}}
	w.pay(confirmed)
	open := w.propose()
	before, err := w.ledger.Usage(t.Context(), session, time.Now())
	check(t, err)

	w.makeAnew()
	w.start()
	after, err := w.ledger.Usage(t.Context(), session, time.Now())
	check(t, err)
	to := policy.Destination{Recipient: payee, Mint: amount.SOL}
	if after.Day[amount.SOL].Used < before.Day[amount.SOL].Used || after.Session[amount.SOL].Used < before.Session[amount.SOL].Used ||
		after.Destination[to].Used != lamports || after.TransactionsLastHour != before.TransactionsLastHour {
		t.Errorf("less counts than before: %+v, was %+v", after, before)
	}
	receipt, err := w.flow.Execute(t.Context(), confirmed, ignore)
	if err != nil || !receipt.Replayed || receipt.Outcome != flow.Landed || len(receipt.Transactions) != 1 || receipt.Transactions[0].Slot == 0 {
		t.Errorf("the code once more: %+v, %v", receipt, err)
	}
	again, err := w.flow.Propose(t.Context(), p)
	if err != nil || again.Earlier == nil || again.Earlier.Outcome != flow.Landed {
		t.Errorf("the key once more: %+v, %v", again.Earlier, err)
	}
	if found, err := w.flow.ReceiptBySignature(t.Context(), receipt.Transactions[0].Signature); err != nil || found.ProposalID != verdict.Proposal.ID {
		t.Errorf("by its signature: %+v, %v", found, err)
	}
	if receipt, err := w.flow.Execute(t.Context(), open, ignore); err == nil {
		t.Errorf("a code that was open was good: %+v", receipt)
	}
	if sent := w.sent(); sent != 1 {
		t.Errorf("the observer sees %d transactions, want 1", sent)
	}
}

// TestLedgerMadeAnewHoldsWhatMayLand: what was signed and has no end in the log
// stays held, although its bytes are lost, until the chain tells what became of
// it.
func TestLedgerMadeAnewHoldsWhatMayLand(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	for _, method := range []string{"getSignatureStatuses", "getTransaction"} {
		check(t, w.net.Fault(t.Context(), localnet.Fault{Method: method, Kind: localnet.HTTP500, Count: 1 << 30}))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.flow.Execute(t.Context(), confirmed, ignore) // It ends with the flow.
	}()
	for deadline := time.Now().Add(20 * time.Second); w.sent() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("nothing was sent")
		}
	}
	w.makeAnew()
	<-done
	held, count, err := w.ledger.InFlight(t.Context())
	if err != nil || count != 1 || held < lamports {
		t.Errorf("in flight: %d in %d, %v", held, count, err)
	}
	w.start()
	if _, count, err := w.ledger.InFlight(t.Context()); err != nil || count != 1 {
		t.Errorf("recovery gave back what may have landed: %d in flight, %v", count, err)
	}
	check(t, w.net.ClearFaults(t.Context()))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
		check(t, err)
		if receipt.Outcome == flow.Landed && receipt.Fault == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the receipt says %s, %v", receipt.Outcome, receipt.Fault)
		}
	}
}
