package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/scripts/mcpclient"
	"countersign/scripts/sandbox/bagsandbox"
)

// commands are what scripts can say beside testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"start":         start,
	"connect":       connect,
	"disconnect":    disconnect,
	"call":          call,
	"code":          code,
	"look":          look,
	"unchanged":     unchanged,
	"as-told":       asTold,
	"landed":        landed,
	"misbehave":     misbehave,
	"claims":        claims,
	"endow":         endow,
	"mark-requests": markRequests,
	"not-asked":     notAsked,
	"fault":         fault,
	"await-asked":   awaitAsked,
	"trigger":       trigger,
	"chain":         chain,
	"signer":        signer,
	"signerd":       signerd,
	"await":         await,
	"start-confirm": startConfirm,
	"await-landed":  awaitLanded,
	"end-confirm":   endConfirm,
	"huge":          huge,
	"no-secrets":    noSecrets,
	"holds":         holds,
	"edit":          edit,
	"hang-up":       hangUp,
	"await-log":     awaitLog,
	"readme":        readme,
}

func need(ts *testscript.TestScript, holds bool, usage string) {
	if !holds {
		ts.Fatalf("usage: %s", usage)
	}
}

func start(ts *testscript.TestScript, _ bool, args []string) { worldOf(ts).start(ts, args) }

func connect(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	era := mcpclient.Modern
	if len(args) == 1 && args[0] == "legacy" {
		era = mcpclient.Legacy
	}
	client, err := w.stack.Connect(w.ctx, era)
	ts.Check(err)
	w.client = client
	tools, err := client.Tools(w.ctx)
	ts.Check(err)
	for _, tool := range tools {
		_, err := fmt.Fprintln(ts.Stdout(), tool.Name)
		ts.Check(err)
	}
}

// disconnect closes mcpd's input and demands a clean end without a stray line.
func disconnect(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	exit, err := w.client.Close()
	ts.Check(err)
	if exit.Code != 0 {
		ts.Fatalf("mcpd ended with code %d", exit.Code)
	}
	if strays := w.client.Strays(); len(strays) > 0 {
		ts.Fatalf("mcpd wrote to stdout what is not JSON-RPC: %q", strays[0])
	}
}

// call [!] TOOL ARGUMENTS: with ! the tool must refuse, without it must not.
func call(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, len(args) == 1 || len(args) == 2, "[!] call TOOL [ARGUMENTS]")
	arguments := "{}"
	if len(args) == 2 {
		arguments = args[1]
	}
	w := worldOf(ts)
	w.call(ts, args[0], arguments)
	if w.last.IsError != neg {
		ts.Fatalf("%s answered (error: %t):\n%s", args[0], w.last.IsError, w.last.Text)
	}
}

// code NAME: the last preview's confirmation code, into a variable.
func code(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	given := w.last.Proposal.ConfirmationCode
	if neg {
		if given != "" {
			ts.Fatalf("a code was given")
		}
		return
	}
	need(ts, len(args) == 1, "[!] code NAME")
	if given == "" || w.last.Status != "preview" {
		ts.Fatalf("no code was given:\n%s", w.last.Text)
	}
	w.codes = append(w.codes, given)
	ts.Setenv(args[0], given)
	ts.Setenv(args[0]+"_PROPOSAL", w.last.Proposal.ID)
}

// look NAME [MINT]: what the observer sees now.
func look(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 1 || len(args) == 2, "look NAME [MINT]")
	w := worldOf(ts)
	view, err := w.stack.Observe(w.ctx, w.mint(args))
	ts.Check(err)
	w.views[args[0]] = view
}

func (w *scriptWorld) mint(args []string) string {
	if len(args) == 2 {
		return args[1]
	}
	return w.stack.World.TokenMint
}

// unchanged NAME [MINT]: the observer sees what it saw at look NAME.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, len(args) == 1 || len(args) == 2, "[!] unchanged NAME [MINT]")
	w := worldOf(ts)
	now, err := w.stack.Observe(w.ctx, w.mint(args))
	ts.Check(err)
	if then := w.views[args[0]]; (now == then) == neg {
		ts.Fatalf("then %s\nnow  %s", then, now)
	}
}

// as-told NAME [MINT]: since look NAME the chain has changed by exactly what
// the last result said, and by something.
func asTold(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 1 || len(args) == 2, "as-told NAME [MINT]")
	w := worldOf(ts)
	mint := w.mint(args)
	then := w.views[args[0]]
	now, err := w.stack.Observe(w.ctx, mint)
	ts.Check(err)
	solOut, solIn, err := w.last.Told(w.stack.World.WSOL)
	ts.Check(err)
	tokenOut, tokenIn, err := w.last.Told(mint)
	ts.Check(err)
	switch {
	case now == then:
		ts.Fatalf("nothing has changed on chain: %s", now)
	case now.Lamports+now.Wrapped+solOut != then.Lamports+then.Wrapped+solIn:
		ts.Fatalf("told -%d +%d lamports\nthen %s\nnow  %s", solOut, solIn, then, now)
	case now.Tokens+tokenOut != then.Tokens+tokenIn:
		ts.Fatalf("told -%d +%d base units\nthen %s\nnow  %s", tokenOut, tokenIn, then, now)
	case now.Signatures != then.Signatures+len(w.last.Receipt.Transactions):
		ts.Fatalf("told of %d transactions\nthen %s\nnow  %s", len(w.last.Receipt.Transactions), then, now)
	}
}

// landed N: since the start the observer sees N transactions of the wallet
// beside the one that funded it.
func landed(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 1, "landed N")
	w := worldOf(ts)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	view, err := w.stack.Observe(w.ctx, w.stack.World.TokenMint)
	ts.Check(err)
	if view.Signatures-1 != want {
		ts.Fatalf("the observer sees %d transactions, want %d", view.Signatures-1, want)
	}
}

// misbehave MODE [PARAM] [COUNT]: the sandbox misbehaves in the next requests.
func misbehave(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) >= 1 && len(args) <= 3, "misbehave MODE [PARAM] [COUNT]")
	m := bagsandbox.Misbehaviour{Mode: bagsandbox.Mode(args[0]), Count: 1}
	var err error
	if len(args) >= 2 {
		m.Param, err = strconv.ParseUint(args[1], 10, 64)
		ts.Check(err)
	}
	if len(args) == 3 {
		m.Count, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	ts.Check(worldOf(ts).stack.Bags.Misbehave(m))
}

// claims STYLE N: how the sandbox makes up claims.
func claims(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 2, "claims STYLE N")
	bags := worldOf(ts).stack.Bags
	behaviour := bags.Behaviour()
	behaviour.ClaimStyle = bagsandbox.ClaimStyle(args[0])
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	behaviour.ClaimTransactions = n
	ts.Check(bags.SetBehaviour(behaviour))
}

// endow MINT UNITS: the wallet is given tokens.
func endow(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 2, "endow MINT UNITS")
	units, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	w := worldOf(ts)
	ts.Check(w.stack.Bags.Endow(w.ctx, args[0], units))
}

func markRequests(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	w.asked = len(w.stack.Bags.Requests())
}

// not-asked: since mark-requests the Bags API was not asked anything.
func notAsked(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	if requests := w.stack.Bags.Requests(); len(requests) != w.asked {
		ts.Fatalf("the Bags API was asked: %s %s", requests[w.asked].Method, requests[w.asked].Path)
	}
}

// signerd ARGS...: one command of signerd; with ! it must fail.
func signerd(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	out, err := w.stack.Signerd(w.ctx, "", args...)
	_, writeErr := fmt.Fprintln(ts.Stdout(), out)
	ts.Check(writeErr)
	if err != nil {
		_, writeErr := fmt.Fprintln(ts.Stderr(), err)
		ts.Check(writeErr)
	}
	if (err != nil) != neg {
		ts.Fatalf("signerd %s: %v", strings.Join(args, " "), err)
	}
}

// await TEXT TOOL ARGUMENTS: the tool's answer comes to hold the text.
func await(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 3, "await TEXT TOOL ARGUMENTS")
	w := worldOf(ts)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		w.call(ts, args[1], args[2])
		if strings.Contains(w.lastText, args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q does not come; last answer:\n%s", args[0], w.lastText)
		}
	}
}

// start-confirm TOOL ARGUMENTS: a call that goes on while the script does.
func startConfirm(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 2, "start-confirm TOOL ARGUMENTS")
	w := worldOf(ts)
	w.pending = make(chan pendingCall, 1)
	client := w.client
	go func() {
		result, err := client.Call(w.ctx, args[0], json.RawMessage(args[1]))
		w.pending <- pendingCall{result, err}
	}()
}

// await-landed N: the observer comes to see N transactions of the wallet.
func awaitLanded(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 1, "await-landed N")
	w := worldOf(ts)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		view, err := w.stack.Observe(w.ctx, w.stack.World.TokenMint)
		ts.Check(err)
		if view.Signatures-1 >= want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the observer sees %d transactions, waited for %d", view.Signatures-1, want)
		}
	}
}

// end-confirm: what the call that start-confirm began has answered.
func endConfirm(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	ended := <-w.pending
	ts.Check(ended.err)
	if !ended.result.IsError {
		ts.Fatalf("the call succeeded:\n%s", ended.result.Text)
	}
	_, err := fmt.Fprintln(ts.Stdout(), ended.result.Text)
	ts.Check(err)
}

// huge TOOL BYTES: arguments of that size are refused as invalid.
func huge(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 2, "huge TOOL BYTES")
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	w := worldOf(ts)
	result, err := w.client.Call(w.ctx, args[0], map[string]string{"amount": strings.Repeat("1", size)})
	if err != nil {
		if _, refused := errors.AsType[*mcpclient.RPCError](err); !refused {
			ts.Fatalf("%d bytes of arguments: %v", size, err)
		}
		return
	}
	if !result.IsError || !strings.HasPrefix(result.Text, "validation") {
		ts.Fatalf("%d bytes of arguments answered: %s", size, result.Text)
	}
}

// no-secrets: none of the planted secrets stands in a log, an answer, a file
// that is not its own, or the arguments of a process; and no confirmation code
// stands anywhere but in the answer that gave it.
func noSecrets(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	places := map[string]string{"the log": w.log.String()}
	if w.client != nil {
		for _, message := range w.client.Messages() {
			places["an MCP message"] += string(message.Result) + string(message.Params)
		}
	}
	stored := ""
	for _, name := range []string{"audit.jsonl", "ledger.db", "ledger.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(w.stack.StateDir(), name))
		ts.Check(err)
		stored += string(raw)
	}
	places["signerd's files"] = stored
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.stack.SignerPID()))
	ts.Check(err)
	places["signerd's arguments"] = string(arguments)
	for secret, value := range w.planted(ts) {
		for place, text := range places {
			if strings.Contains(text, value) {
				ts.Fatalf("%s stands in %s", secret, place)
			}
		}
	}
	for _, code := range w.codes {
		if strings.Contains(w.log.String()+stored, code) {
			ts.Fatalf("a confirmation code is logged or stored")
		}
	}
	if !strings.Contains(places["the log"], "level=DEBUG") && !strings.Contains(places["the log"], `"level":"DEBUG"`) {
		ts.Fatalf("nothing was logged for debugging, so little was tested")
	}
}
