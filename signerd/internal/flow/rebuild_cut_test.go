package flow_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/rebuild"
)

// readLog reads the world's audit log as ledger check and ledger repair do.
func (w *world) readLog() *rebuild.Plan {
	w.t.Helper()
	plan, err := rebuild.Read(audit.Records(filepath.Join(w.dir, "audit.jsonl")), rebuild.Wallet{}, nil)
	if err != nil {
		w.t.Fatalf("no ledger can be made of the log any more: %v", err)
	}
	return plan
}

// TestMakeAnewAfterStopBeforeTheRecord: a process that ends between a reservation
// and its record leaves a log in which recovery ends what was never told of. A
// ledger can be made of it all the same: plan.settled keeps it.
func TestMakeAnewAfterStopBeforeTheRecord(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	grant, err := w.book.Consume(t.Context(), confirmed.Code, confirmed.Fingerprint, session, time.Now())
	check(t, err)
	judged, err := judge.New(w.chain, w.signer.PublicKey()).Judge(t.Context(), confirmed.Transactions[0],
		judge.Request{Flow: effects.Transfer, Bounds: grant.Proposal().Bounds})
	check(t, err)
	lastValid, err := w.chain.LastValidHeight(t.Context(), w.blockhash())
	check(t, err)
	_, err = w.ledger.Reserve(t.Context(), grant, judged, w.rules, 0, lastValid, time.Now())
	check(t, err)
	w.flow.Close()
	w.start()

	if s := w.readLog().Summary(); s.Proposals != 1 || s.Reservations != 0 {
		t.Errorf("the log tells of %+v, want one proposal", s)
	}
	w.makeAnew()
	if _, count, err := w.ledger.InFlight(t.Context()); err != nil || count != 0 {
		t.Errorf("%d in flight, %v", count, err)
	}
}

// leaving is a store whose caller leaves as soon as the proposal is in it.
type leaving struct {
	*sqlite.Store
	leave context.CancelFunc
}

func (l leaving) InsertProposal(ctx context.Context, record approval.Record, earlier func(*approval.Record) error) error {
	defer l.leave()
	return l.Store.InsertProposal(ctx, record, earlier)
}

// TestDecisionIsRecordedWhenTheCallerHasLeft: what the ledger has, the log tells
// of, so that whatever is recorded about it later has a beginning:
// Flow.recordDecision keeps it.
func TestDecisionIsRecordedWhenTheCallerHasLeft(t *testing.T) {
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	w.flow.Close()
	w.book = approval.NewBook(leaving{w.store, leave})
	w.start()
	_, _ = w.flow.Propose(ctx, w.proposed()) // Nobody waits for the answer.
	list, err := w.book.List(t.Context(), 1, "")
	check(t, err)
	if len(list) != 1 {
		t.Fatalf("%d proposals", len(list))
	}
	_, err = w.flow.Cancel(t.Context(), list[0].ID, session)
	check(t, err)
	if s := w.readLog().Summary(); s.Proposals != 1 {
		t.Errorf("the log tells of %d proposals, want 1", s.Proposals)
	}
}
