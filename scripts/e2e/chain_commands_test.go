package e2e_test

import (
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/scripts/localnet"
)

// fault METHOD KIND [COUNT [SLOTS [SKIP]]]: the chain's RPC misbehaves, after
// SKIP calls that it answers well.
func fault(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) >= 2 && len(args) <= 5, "fault METHOD KIND [COUNT [SLOTS [SKIP]]]")
	f := localnet.Fault{Method: args[0], Kind: args[1], Count: 1}
	var err error
	for i, number := range []*int{&f.Count, &f.Slots, &f.Skip} {
		if i+2 < len(args) {
			*number, err = strconv.Atoi(args[i+2])
			ts.Check(err)
		}
	}
	w := worldOf(ts)
	w.faulty, err = w.stack.Chain.Requests(w.ctx, f.Method)
	ts.Check(err)
	ts.Check(w.stack.Chain.Fault(w.ctx, f))
}

// await-asked METHOD: since the last fault the chain has been asked METHOD.
func awaitAsked(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 1, "await-asked METHOD")
	w := worldOf(ts)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		asked, err := w.stack.Chain.Requests(w.ctx, args[0])
		ts.Check(err)
		if asked > w.faulty {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s is not asked", args[0])
		}
	}
}

// trigger: the bait of bait_and_switch is switched.
func trigger(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	ts.Check(w.stack.Bags.Trigger(w.ctx, true))
}

// chain kill|expire|advance N|heal
func chain(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) >= 1, "chain kill|expire|advance N|heal")
	w := worldOf(ts)
	switch args[0] {
	case "kill":
		w.stack.Chain.Kill()
	case "expire":
		ts.Check(w.stack.Chain.ExpireBlockhash(w.ctx))
	case "advance":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		ts.Check(w.stack.Chain.Advance(w.ctx, n))
	case "heal":
		ts.Check(w.stack.Chain.ClearFaults(w.ctx))
	default:
		ts.Fatalf("chain cannot %s", args[0])
	}
}

// [!] signer stop|kill|start: with ! it must fail.
func signer(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, len(args) == 1, "[!] signer stop|kill|start")
	w := worldOf(ts)
	var err error
	switch args[0] {
	case "stop":
		err = w.stack.StopSigner()
	case "kill":
		err = w.stack.KillSigner()
	case "start":
		err = w.stack.StartSigner(w.ctx)
	default:
		ts.Fatalf("signer cannot %s", args[0])
	}
	if (err != nil) != neg {
		ts.Fatalf("signer %s: %v", args[0], err)
	}
}
