package flow_test

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
)

var (
	noon  = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	meant = [32]byte{1}
)

// decision is one that asks for a confirmation.
func (w *world) decision() policy.Decision {
	return w.rules.Evaluate(effects.Transfer, []judge.Judged{w.judged()}, policy.Circumstances{Now: noon})
}

// TestKeyStandsForOneAction: whoever names an action gets one code for it at a
// time, and once it is executed, its outcome.
func TestKeyStandsForOneAction(t *testing.T) {
	w := newWorld(t)
	book, auto := w.book, w.decision()
	open := func(key approval.ActionKey, fingerprint [32]byte, at time.Time) (string, string, error) {
		p, code, err := book.Open(t.Context(), approval.Draft{
			Session: "s1", Fingerprint: fingerprint, Decision: auto, TTL: time.Minute, Key: key,
		}, at)
		return p.ID, code, err
	}
	key := approval.ActionKey{Name: "k"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, first, err := open(key, meant, noon)
	must(err)
	id, second, err := open(key, meant, noon)
	must(err)
	if _, err := book.Consume(t.Context(), first, meant, "s1", noon); !fault.Is(err, fault.CodeVoid) {
		t.Errorf("the first code of an action that was proposed again: %v", err)
	}
	if _, _, err := open(key, [32]byte{2}, noon); !fault.Is(err, fault.KeyConflict) {
		t.Errorf("another action under the same key: %v", err)
	}
	_, err = book.Consume(t.Context(), second, meant, "s1", noon)
	must(err)
	used := new(approval.UsedError)
	if _, _, err := open(key, meant, noon); !errors.As(err, &used) || used.Proposal.ID != id || used.Proposal.State != approval.Executing {
		t.Errorf("while it is executed: %v", err)
	}
	must(book.Finish(t.Context(), id, []byte("receipt"), noon))
	if err := book.Used(t.Context(), key, meant, noon.Add(1000*time.Hour)); !errors.As(err, &used) || string(used.Proposal.Receipt) != "receipt" {
		t.Errorf("once it has been executed: %v", err)
	}
	if found, err := book.ByKey(t.Context(), "k"); err != nil || found.ID != id {
		t.Errorf("by its key: %s, %v, want %s", found.ID, err, id)
	}
	// A name that stands for a while, and one whose action may be tried again.
	for name, again := range map[string]approval.ActionKey{
		"later": {Name: "k", For: time.Minute}, "tried again": {Name: "k", Again: func(p approval.Proposal) bool { return string(p.Receipt) == "receipt" }},
	} {
		if err := book.Used(t.Context(), again, meant, noon.Add(time.Hour)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := book.Used(t.Context(), approval.ActionKey{Name: "k", For: 2 * time.Hour}, meant, noon.Add(time.Hour)); !errors.As(err, &used) {
		t.Errorf("before its time: %v", err)
	}
}

// TestKeyIsTakenOnce: of many who propose one action at once, one can execute.
func TestKeyIsTakenOnce(t *testing.T) {
	w := newWorld(t)
	book, auto := w.book, w.decision()
	var executed atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, code, err := book.Open(t.Context(), approval.Draft{
				Session: "s1", Fingerprint: meant, Decision: auto, TTL: time.Minute, Key: approval.ActionKey{Name: "k"},
			}, noon)
			if err != nil {
				return
			}
			if _, err := book.Consume(t.Context(), code, meant, "s1", noon); err == nil {
				executed.Add(1)
			}
		})
	}
	group.Wait()
	if executed.Load() != 1 {
		t.Errorf("executed %d times", executed.Load())
	}
}

// An action that nobody is asked to confirm is executed once, however often its
// caller repeats the call: within a while, and with a name for ever. What took
// nothing may be tried again.
func TestProposeExecutesAnActionOnce(t *testing.T) {
	w := newWorld(t)
	w.flow.Close()
	w.people = people{{Name: "Ann", Address: payee}}
	w.rules = w.policy("[tiers]\n", "[tiers]\nauto_up_to = \"0.06 SOL\"\n")
	w.start()
	call := func(key string) flow.Receipt {
		t.Helper()
		p := w.proposed()
		p.Key = key
		verdict, err := w.flow.Propose(t.Context(), p)
		check(t, err)
		if verdict.Earlier != nil {
			return *verdict.Earlier
		}
		if verdict.Tier != policy.Auto {
			t.Fatalf("tier %s, %v", verdict.Tier, verdict.Refused)
		}
		receipt, err := w.flow.Execute(t.Context(), flow.Confirmed{
			Session: session, Code: verdict.Code, Fingerprint: p.Fingerprint, Transactions: [][]byte{w.transfer(lamports)},
		}, ignore)
		check(t, err)
		return receipt
	}
	for i, step := range []struct {
		key      string
		replayed bool
		sent     int
	}{{"", false, 1}, {"", true, 1}, {"a", false, 2}, {"a", true, 2}, {"b", false, 3}, {"", true, 3}} {
		receipt := call(step.key)
		if receipt.Outcome != flow.Landed || receipt.Replayed != step.replayed {
			t.Errorf("step %d: %s, replayed %v", i, receipt.Outcome, receipt.Replayed)
		}
		if sent := w.sent(); sent != step.sent {
			t.Errorf("step %d: the observer sees %d transactions, want %d", i, sent, step.sent)
		}
	}
	found, err := w.flow.ReceiptByKey(t.Context(), "a")
	if err != nil || found.Outcome != flow.Landed {
		t.Errorf("by its key: %s, %v", found.Outcome, err)
	}
	other := w.proposed()
	other.Key, other.Arguments = "a", "{}"
	other.Fingerprint = sha256.Sum256([]byte(other.Tool + "\x00" + other.Arguments))
	if _, err := w.flow.Propose(t.Context(), other); !fault.Is(err, fault.KeyConflict) {
		t.Errorf("another action under the same key: %v", err)
	}
}

// TestKeyIsRecordedAsItIs: the audit log escapes what cannot be printed, and after a
// repair the key would be another, and good for a second execution. checkProposed
// keeps it.
func TestKeyIsRecordedAsItIs(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{"rent\u00a0may", "rent\nmay", "\x00", "\xff", "r\u200bent", "rent may"} {
		p := w.proposed()
		p.Key = key
		if _, err := w.flow.Propose(t.Context(), p); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%q: %v", key, err)
		}
	}
	p := w.proposed()
	p.Key = `rent-May_2026:"x"\`
	_, err := w.flow.Propose(t.Context(), p)
	check(t, err)
	w.makeAnew()
	if _, err := w.book.ByKey(t.Context(), flow.GivenKey(p.Key).Name); err != nil {
		t.Errorf("after a repair: %v", err)
	}
}
