package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/scripts/mcpclient"
	"countersign/scripts/stack"
)

// scriptWorld is what one script has running.
type scriptWorld struct {
	dir    string
	ctx    context.Context //nolint:containedctx // It lives exactly as long as the script.
	stack  *stack.Stack
	client *mcpclient.Client
	last   stack.Write
	// lastText is the last tool's text and structured result together.
	lastText string
	// codes are the confirmation codes that were given.
	codes []string
	views map[string]stack.View
	asked int
	// faulty is how often the spoilt method had been asked when it was spoilt.
	faulty int
	log    logBuffer
	// pending is the call that start-confirm began.
	pending chan pendingCall
}

type pendingCall struct {
	result mcpclient.Result
	err    error
}

type worldKeyType struct{}

var worldKey worldKeyType

func worldOf(ts *testscript.TestScript) *scriptWorld { return ts.Value(worldKey).(*scriptWorld) }

func (w *scriptWorld) close() {
	if w.stack != nil {
		_ = w.stack.Close() // What a script has killed cannot be stopped again.
	}
}

// logBuffer collects what the daemons log.
type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// start brings the stack up. Arguments are "policy OLD NEW", "mcpd LINE" and
// "capped", which gives the tokens caps of their own.
func (w *scriptWorld) start(ts *testscript.TestScript, args []string) {
	options := stack.Options{Dir: w.dir, Bin: bin, Chain: quick, Log: &w.log, Debug: true}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, `\n`, "\n") // Scripts are made of single lines.
	}
	for len(args) > 0 {
		switch {
		case args[0] == "capped":
			options.CapTokens = true
			args = args[1:]
		case args[0] == "policy" && len(args) >= 3:
			options.Policy = append(options.Policy, stack.Replacement{Old: args[1], New: args[2]})
			args = args[3:]
		case args[0] == "mcpd" && len(args) >= 2:
			options.MCPD += args[1] + "\n"
			args = args[2:]
		default:
			ts.Fatalf("usage: start [capped] [policy OLD NEW]... [mcpd LINE]...")
		}
	}
	s, err := stack.Start(w.ctx, options)
	ts.Check(err)
	w.stack = s
	for name, value := range map[string]string{
		"WALLET": s.Wallet, "SOL": s.World.WSOL, "TOKEN": s.World.TokenMint, "TOKEN2022": s.World.Token2022Mint,
		"THIEF": s.World.Thief, "RPC": s.Chain.RPCURL, "STATE": s.StateDir(), "CONFIG": s.SignerdConfig, "POLICY": s.PolicyFile,
	} {
		ts.Setenv(name, value)
	}
}

// call runs a tool and keeps its answer for the commands that follow.
func (w *scriptWorld) call(ts *testscript.TestScript, tool, arguments string) {
	if w.client == nil {
		ts.Fatalf("connect first")
	}
	result, err := w.client.Call(w.ctx, tool, json.RawMessage(arguments))
	ts.Check(err)
	w.last = stack.Write{Text: result.Text, IsError: result.IsError}
	if len(result.Structured) > 0 {
		ts.Check(json.Unmarshal(result.Structured, &w.last))
	}
	w.lastText = result.Text + "\n" + string(result.Structured) + "\n"
	_, err = ts.Stdout().Write([]byte(w.lastText))
	ts.Check(err)
}

// planted are the secrets that exist in a script's world.
func (w *scriptWorld) planted(ts *testscript.TestScript) map[string]string {
	secrets := map[string]string{"Bags API key": stack.APIKey, "RPC key": stack.RPCKey}
	for name, file := range map[string]string{"passphrase": "passphrase", "sealing key": "state/seal.key"} {
		raw, err := os.ReadFile(filepath.Join(w.dir, file))
		ts.Check(err)
		secrets[name] = strings.TrimSpace(string(raw))
	}
	return secrets
}
