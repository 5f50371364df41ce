package flow_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/scripts/localnet"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/submit"
)

func TestExecuteLandsWhatWasConfirmed(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	if n := w.sent(); n != 0 {
		t.Fatalf("the proposal sent %d transactions", n)
	}
	var stages []string
	receipt, err := w.flow.Execute(t.Context(), confirmed, func(p flow.Progress) { stages = append(stages, p.Stage) })
	check(t, err)
	balance, err := w.eye.Balance(t.Context(), payee.String())
	check(t, err)
	if receipt.Outcome != flow.Landed || balance != lamports || w.sent() != 1 {
		t.Errorf("outcome %s, payee has %d, %d sent", receipt.Outcome, balance, w.sent())
	}
	if got := strings.Join(stages, " "); got != "judged reserved signed sent landed" {
		t.Errorf("stages %q", got)
	}
}

// Invariant I1: fails when the record before custody.Sign is not demanded.
func TestExecuteSignsNothingWithoutAuditRecord(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	check(t, w.audit.Close())
	receipt, err := w.flow.Execute(t.Context(), confirmed, ignore)
	check(t, err)
	if receipt.Outcome != flow.NothingSent || receipt.Fault.Fault().Code != fault.StateLocked {
		t.Errorf("receipt: %+v", receipt)
	}
	entries, err := w.ledger.OfProposal(t.Context(), receipt.ProposalID)
	check(t, err)
	for _, entry := range entries {
		if entry.Signed {
			t.Error("signed without an audit record")
		}
	}
	if n := w.sent(); n != 0 {
		t.Errorf("%d sent", n)
	}
}

// Invariant I3: of many callers with one code, one executes and all get the
// same outcome.
func TestExecuteOnceForManyCallers(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	const callers = 20
	receipts := make([]flow.Receipt, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			var err error
			if receipts[i], err = w.flow.Execute(t.Context(), confirmed, ignore); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fresh := 0
	for _, receipt := range receipts {
		if !receipt.Replayed {
			fresh++
		}
		if receipt.Outcome != flow.Landed && receipt.Outcome != flow.InProgress {
			t.Errorf("outcome %s", receipt.Outcome)
		}
	}
	if fresh != 1 || w.sent() != 1 {
		t.Errorf("%d executions, %d sent", fresh, w.sent())
	}
}

func TestCodeIsGoodForItsSessionAndIntentOnly(t *testing.T) {
	w := newWorld(t)
	for name, spoil := range map[string]func(*flow.Confirmed){
		"another session":    func(c *flow.Confirmed) { c.Session = "s_other" },
		"another intent":     func(c *flow.Confirmed) { c.Fingerprint[0]++ },
		"another code":       func(c *flow.Confirmed) { c.Code = strings.Repeat("A", len(c.Code)) },
		"another recipient":  func(c *flow.Confirmed) { c.Transactions = [][]byte{w.transfer(11_000_000)} },
		"another batch":      func(c *flow.Confirmed) { c.Transactions = append(c.Transactions, w.transfer(lamports)) },
		"nothing to execute": func(c *flow.Confirmed) { c.Transactions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			confirmed := w.propose()
			honest := confirmed
			spoil(&confirmed)
			receipt, err := w.flow.Execute(t.Context(), confirmed, ignore)
			if err == nil && receipt.Outcome != flow.NothingSent {
				t.Errorf("outcome %s", receipt.Outcome)
			}
			if name == "another code" {
				return // The right code was never shown.
			}
			// Shown once, whatever for, it is good for nothing more.
			receipt, err = w.flow.Execute(t.Context(), honest, ignore)
			if err == nil && receipt.Outcome != flow.NothingSent {
				t.Errorf("the spent code gave outcome %s", receipt.Outcome)
			}
		})
	}
	if n := w.sent(); n != 0 {
		t.Errorf("%d sent", n)
	}
}

func TestProposeRefusesOtherShapes(t *testing.T) {
	w := newWorld(t)
	for name, spoil := range map[string]func(*flow.Proposed){
		"fingerprint of another intent": func(p *flow.Proposed) { p.Arguments += " " },
		"no transaction":                func(p *flow.Proposed) { p.Transactions = nil },
		"a spending batch":              func(p *flow.Proposed) { p.Transactions = append(p.Transactions, w.transfer(1)) },
	} {
		p := w.proposed()
		spoil(&p)
		if _, err := w.flow.Propose(t.Context(), p); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A caller that goes away does not stop what it has confirmed.
func TestExecutionOutlivesItsCaller(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.flow.Execute(ctx, confirmed, func(p flow.Progress) {
		if p.Stage == "reserved" {
			cancel()
		}
	})
	if err != nil && !fault.Is(err, fault.OutcomeUnknown) {
		t.Fatalf("Execute: %v", err)
	}
	again, err := w.flow.Execute(t.Context(), confirmed, ignore)
	for err == nil && again.Outcome == flow.InProgress {
		time.Sleep(10 * time.Millisecond)
		again, err = w.flow.Execute(t.Context(), confirmed, ignore)
	}
	check(t, err)
	if again.Outcome != flow.Landed || !again.Replayed || w.sent() != 1 {
		t.Errorf("outcome %s, replayed %t, %d sent", again.Outcome, again.Replayed, w.sent())
	}
}

// A reservation without signed bytes was never sent: a new process gives it
// back, and the proposal gets its receipt.
func TestRecoverReleasesWhatWasNotSigned(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	grant, err := w.book.Consume(t.Context(), confirmed.Code, confirmed.Fingerprint, session, time.Now())
	check(t, err)
	judged, err := judge.New(w.chain, w.signer.PublicKey()).Judge(t.Context(), confirmed.Transactions[0],
		judge.Request{Flow: effects.Transfer, Bounds: grant.Proposal().Bounds})
	check(t, err)
	_, err = w.ledger.Reserve(t.Context(), grant, judged, w.rules, 0, 1, time.Now())
	check(t, err)
	if held, _, err := w.ledger.InFlight(t.Context()); err != nil || held == 0 {
		t.Fatalf("held %s, %v", held, err)
	}

	w.flow.Close()
	w.start()
	if held, n, err := w.ledger.InFlight(t.Context()); err != nil || held != 0 || n != 0 {
		t.Errorf("held %s in %d, %v", held, n, err)
	}
	receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
	check(t, err)
	if receipt.Outcome != flow.NothingSent || w.sent() != 0 {
		t.Errorf("outcome %s, %d sent", receipt.Outcome, w.sent())
	}
}

// A signed transaction that was never sent is looked for, not sent, after a
// crash; it counts until it is proven expired.
func TestRecoverNeverSendsWhatWasSigned(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	check(t, w.net.Fault(t.Context(), faultDrop))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.flow.Execute(t.Context(), confirmed, ignore)
	}()
	for {
		asked, err := w.net.Requests(t.Context(), "sendTransaction")
		check(t, err)
		if asked > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.flow.Close()
	<-done
	check(t, w.net.ClearFaults(t.Context()))
	before, err := w.net.Requests(t.Context(), "sendTransaction")
	check(t, err)
	w.start()
	check(t, w.net.ExpireBlockhash(t.Context()))
	for {
		receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
		check(t, err)
		if receipt.Outcome == flow.Expired {
			break
		}
		if receipt.Outcome != flow.Unknown {
			t.Fatalf("outcome %s", receipt.Outcome)
		}
		time.Sleep(50 * time.Millisecond)
	}
	after, err := w.net.Requests(t.Context(), "sendTransaction")
	check(t, err)
	if after != before || w.sent() != 0 {
		t.Errorf("%d sends after the restart, %d landed", after-before, w.sent())
	}
}

func TestSharesEmptyThePot(t *testing.T) {
	bounds := effects.Bounds{MaxFee: 100, MaxRent: 50, MinIn: map[solana.PublicKey]amount.Units{amount.SOL: 30}}
	shares := flow.NewShares(bounds, 3)
	if len(shares.Of(0).MinIn) != 0 || len(shares.Of(1).MinIn) != 0 || shares.Of(2).MinIn[amount.SOL] != 30 {
		t.Error("what must come in is not demanded of the last transaction alone")
	}
	shares.Receive([]submit.Change{{Mint: amount.SOL, In: 12}})
	if got := shares.Of(2).MinIn[amount.SOL]; got != 18 {
		t.Errorf("the last must bring %s, want 18", got)
	}
	shares.Receive([]submit.Change{{Mint: amount.SOL, In: 100}})
	if got := shares.Of(2).MinIn; len(got) != 0 {
		t.Errorf("the last must bring %v after all has come", got)
	}
}

// faultDrop takes every transaction and lets none land.
var faultDrop = localnet.Fault{Method: "sendTransaction", Kind: localnet.Drop}
