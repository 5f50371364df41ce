//go:build linux

package crash_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/scripts/crashpoint"
	"countersign/scripts/mcpclient"
	"countersign/scripts/stack"
)

func swap(s *stack.Stack) action {
	return action{
		tool: "bags_execute_trade", transactions: 1,
		arguments: map[string]any{
			"input_mint": s.World.WSOL, "output_mint": s.World.TokenMint, "amount": "0.01", "slippage_bps": 100,
		},
	}
}

func claim(s *stack.Stack) action {
	return action{
		tool: "bags_claim_fees", transactions: 3,
		arguments: map[string]any{"token_mints": []string{s.World.TokenMint}},
		renew: func(ctx context.Context, s *stack.Stack) error {
			behaviour := s.Bags.Behaviour()
			behaviour.ClaimTransactions = 3
			if err := s.Bags.SetBehaviour(behaviour); err != nil {
				return err
			}
			return s.Bags.Accrue(ctx, 1_000_000)
		},
	}
}

// ending is how a call can end badly, and which calls can end so.
type ending struct {
	fate  crashpoint.Fate
	meets func(crashpoint.Point) bool
	// targets are what must be among the calls that were met.
	targets []string
}

func anyCall(crashpoint.Point) bool       { return true }
func isFile(p crashpoint.Point) bool      { return filepath.IsAbs(p.Target) }
func isWrite(p crashpoint.Point) bool     { return strings.Contains(p.Call, "write") }
func fileWrite(p crashpoint.Point) bool   { return isFile(p) && isWrite(p) }
func socketWrite(p crashpoint.Point) bool { return !isFile(p) && p.Call == "write" }
func flush(p crashpoint.Point) bool       { return strings.HasSuffix(p.Call, "sync") }
func submission(p crashpoint.Point) bool {
	return p.Target == crashpoint.TCP && bytes.Contains(p.Start, []byte("sendTransaction"))
}

// files are what an execution must have written to.
var files = []string{"ledger.db-wal", "audit.jsonl"}

// endings are all that a disk, a person or a power cut can do to a call.
var endings = map[string]ending{
	"killed before it": {crashpoint.Kill, anyCall, []string{"ledger.db-wal", "audit.jsonl", crashpoint.TCP, crashpoint.Unix}},
	"killed after it":  {crashpoint.KillAfter, socketWrite, []string{crashpoint.TCP, crashpoint.Unix}},
	"torn":             {crashpoint.Tear, fileWrite, files},
	"disk full":        {crashpoint.Fail(unix.ENOSPC), fileWrite, files},
	"not durable":      {crashpoint.Fail(unix.EIO), flush, files},
}

// TestEndAtEachCall has the real signerd end, or be failed by its disk, at
// each of its system calls that writes, flushes, renames or sends, one after
// the other, while a swap and a claim of three transactions are proposed and
// confirmed. Afterwards the chain, as the observer sees it, the ledger, the
// receipt and the audit log agree, and nothing was executed twice.
func TestEndAtEachCall(t *testing.T) {
	for name, chosen := range map[string]func(*stack.Stack) action{"swap": swap, "claim": claim} {
		for how, e := range endings {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				w := start(t, chosen)
				met := map[string]int{}
				for at := 1; ; at++ {
					point, ok := w.round(at, e)
					if !ok {
						break
					}
					met[filepath.Base(point.Target)]++
				}
				t.Log(met)
				for _, target := range e.targets {
					if met[target] == 0 {
						t.Errorf("no call to %s was met", target)
					}
				}
			})
		}
	}
}

// TestEndAtEachCallOfRecovery kills signerd just when a transaction has left
// it, and then again at each call that it makes while it comes back and proves
// what became of that transaction.
func TestEndAtEachCallOfRecovery(t *testing.T) {
	for name, chosen := range map[string]func(*stack.Stack) action{"swap": swap, "claim": claim} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, chosen)
			at := 1
			for w.recoveryRound(at) {
				at++
			}
			if at < leastRecovery {
				t.Errorf("coming back was cut short at %d calls only", at)
			}
		})
	}
}

// leastRecovery is how many calls coming back takes at least: a few records,
// each written and flushed, and questions to the chain.
const leastRecovery = 20

// round restores the signer, performs the action with one call of signerd
// coming to a bad end, starts signerd again and compares all accounts of what
// happened. It reports whether there was such a call.
func (w *world) round(at int, e ending) (crashpoint.Point, bool) {
	w.t.Helper()
	before := w.restore()
	w.must(w.StartSigner(w.t.Context()))
	w.script.arm(at, e)
	known, err := w.perform()
	point := w.script.disarm()
	if point == nil {
		if err != nil || known.Status != "landed" {
			w.t.Fatalf("nothing was cut short, and: %v %s", err, known.Text)
		}
		w.must(w.StopSigner())
		return crashpoint.Point{}, false
	}
	_ = w.KillSigner() // It may be dead already.
	w.passTime(at)
	w.must(w.StartSigner(w.t.Context()))
	w.compare(at, *point, before, known)
	w.must(w.StopSigner())
	if e.fate == crashpoint.Kill { // The other fates leave what a kill at some call does.
		w.checkLedger(at, *point)
	}
	return *point, true
}

// checkLedger has the ledger held against the audit log, which is how a repair reads
// it: no crash may leave a log that none can be made of.
func (w *world) checkLedger(at int, point crashpoint.Point) {
	w.t.Helper()
	if out, err := w.Signerd(w.t.Context(), "", "ledger", "check"); err != nil {
		w.t.Errorf("call %d, %s: ledger check: %v\n%s", at, point.String(), err, out)
	}
}

// recoveryRound has signerd killed when it has sent, and then again at a call
// of its coming back.
func (w *world) recoveryRound(at int) bool {
	w.t.Helper()
	before := w.restore()
	w.must(w.StartSigner(w.t.Context()))
	w.script.arm(1, ending{fate: crashpoint.KillAfter, meets: submission})
	known, _ := w.perform()
	if w.script.disarm() == nil {
		w.t.Fatal("nothing was sent")
	}
	_ = w.KillSigner()
	w.passTime(at)
	w.script.arm(at, endings["killed before it"])
	if w.StartSigner(w.t.Context()) == nil {
		_, _ = w.waitSettled() // It may die meanwhile.
	}
	point := w.script.disarm()
	if point != nil {
		_ = w.KillSigner()
		w.must(w.StartSigner(w.t.Context()))
		w.compare(at, *point, before, known)
	}
	w.must(w.StopSigner())
	return point != nil
}

// restore puts signerd back to where it has signed nothing, and looks at the
// chain.
func (w *world) restore() sight {
	w.t.Helper()
	w.must(os.RemoveAll(w.StateDir()))
	w.must(copyFolder(w.StateDir(), w.saved))
	w.must(w.renew())
	return w.look()
}

// passTime lets what was sent land, and what was not become too old to, before
// signerd comes back; but every fourth time signerd is to see that happen.
func (w *world) passTime(at int) {
	w.t.Helper()
	if at%4 != 0 {
		w.must(w.Chain.Advance(w.t.Context(), expiry))
	}
}

// expiry is more blocks than a blockhash lives.
const expiry = 250

// settleTime is how long signerd may take to prove what became of a
// transaction that can land no more: it looks every five seconds.
const settleTime = 30 * time.Second

func (w *world) compare(at int, point crashpoint.Point, before sight, known told) {
	t := w.t
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("call %d, "+point.String()+": "+format, append([]any{at}, args...)...)
	}
	client, err := w.Connect(t.Context(), mcpclient.Legacy)
	w.must(err)
	defer client.Close()
	if known.code != "" {
		// Whoever has not got an answer asks again.
		_, err := w.confirm(client, known.code)
		w.must(err)
	}
	w.must(w.Chain.Advance(t.Context(), expiry))
	sums, err := w.waitSettled()
	w.must(err)
	after := w.look()
	landed := w.landedSince(before)
	if landed > w.action.transactions || known.code == "" && landed != 0 {
		bad("%d transactions landed", landed)
	}
	if sums.reserved != 0 || sums.used > sums.cap || landed == 0 && sums.used != 0 {
		bad("%d landed and the ledger says %+v", landed, sums)
	}
	if after.lamports < before.lamports && sums.used != before.lamports-after.lamports {
		bad("%d lamports left and the ledger counts %d", before.lamports-after.lamports, sums.used)
	}
	if _, err := w.Signerd(t.Context(), "", "audit", "verify"); err != nil {
		bad("the audit log: %v", err)
	}
	if known.id == "" {
		return
	}
	receipt, err := stack.CallWrite(t.Context(), client, "get_receipt", map[string]any{"proposal_id": known.id})
	w.must(err)
	told := 0
	for _, transaction := range receipt.Receipt.Transactions {
		switch transaction.Outcome {
		case "landed":
			told++
		case "unknown":
			bad("the receipt says unknown for ever: %s", receipt.Text)
		}
	}
	if told != landed {
		bad("%d landed and the receipt tells of %d: %s", landed, told, receipt.Text)
	}
	// Once more, when all is known.
	_, err = w.confirm(client, known.code)
	w.must(err)
	if w.look(); w.landedSince(before) != landed {
		bad("asking once more had it executed")
	}
}

// waitSettled waits until nothing is held any more.
func (w *world) waitSettled() (limits, error) {
	for deadline := time.Now().Add(settleTime); ; {
		sums, err := w.limits()
		if err != nil || sums.reserved == 0 || time.Now().After(deadline) {
			return sums, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
