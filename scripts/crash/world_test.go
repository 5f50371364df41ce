//go:build linux

package crash_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"countersign/scripts/crashpoint"
	"countersign/scripts/localnet"
	"countersign/scripts/mcpclient"
	"countersign/scripts/stack"
)

// bin holds mcpd, signerd and launch.
var bin string

// worlds is how many run side by side: they wait most of the time.
const worlds = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", worlds); err != nil {
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "countersign-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-o", dir+string(filepath.Separator),
		"../../mcpd", "../../signerd", "../crashpoint/launch")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the daemons: %v\n%s", err, out)
		return 1
	}
	bin = dir
	return m.Run()
}

// action is what is confirmed and cut short.
type action struct {
	tool      string
	arguments map[string]any
	// transactions is how many it has.
	transactions int
	// renew makes it possible once more.
	renew func(context.Context, *stack.Stack) error
}

// world is a stack whose signer is put back to the same state before each
// round, while the chain goes on.
type world struct {
	t *testing.T
	*stack.Stack
	action action
	// saved is a copy of the state folder of a signer that has signed nothing.
	saved  string
	script script
}

func start(t *testing.T, chosen func(*stack.Stack) action) *world {
	t.Helper()
	dir := t.TempDir()
	sockets, err := os.MkdirTemp("", "crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	w := &world{t: t, saved: filepath.Join(dir, "saved")}
	w.Stack, err = stack.Start(t.Context(), stack.Options{
		Dir: dir, SocketDir: sockets, Bin: bin, Chain: localnet.Options{SlotMS: 20}, StartSigner: w.supervise, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	w.action = chosen(w.Stack)
	w.must(w.StopSigner())
	w.must(copyFolder(w.saved, w.StateDir()))
	// The accounts that the action opens once and for all are opened here.
	w.must(w.StartSigner(t.Context()))
	w.must(w.renew())
	if known, err := w.perform(); err != nil || known.Status != "landed" {
		t.Fatalf("without a crash: %v %s", err, known.Text)
	}
	w.must(w.StopSigner())
	return w
}

// copyFolder copies a folder with the modes of its files.
func copyFolder(to, from string) error {
	return exec.Command("cp", "-a", from, to).Run()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// supervise starts signerd under the script.
func (w *world) supervise(command *exec.Cmd) error {
	_, err := crashpoint.Start(command, filepath.Join(bin, "launch"), w.script.fate)
	return err
}

// script counts calls, and gives one of them a bad end.
type script struct {
	mu sync.Mutex // guards all
	// ending is nil where nothing is to happen.
	ending *ending
	at     int
	seen   int
	met    *crashpoint.Point
}

func (s *script) fate(p crashpoint.Point) crashpoint.Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending == nil || !s.ending.meets(p) {
		return crashpoint.Pass
	}
	s.seen++
	if s.seen != s.at {
		return crashpoint.Pass
	}
	s.met = &p
	return s.ending.fate
}

// arm has the call of this number, of those that e meets, end so.
func (s *script) arm(at int, e ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending, s.at, s.seen, s.met = &e, at, 0, nil
}

// disarm says which call it was, if there was one.
func (s *script) disarm() *crashpoint.Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = nil
	return s.met
}

// told is what a client has learned by the end of a round.
type told struct {
	stack.Write
	id, code string
}

// perform proposes and confirms as an MCP client does. A signer that ends on
// the way is not this client's fault: it knows then what it knows.
func (w *world) perform() (told, error) {
	var t told
	client, err := w.Connect(w.t.Context(), mcpclient.Legacy)
	if err != nil {
		return t, err
	}
	defer client.Close()
	t.Write, err = stack.CallWrite(w.t.Context(), client, w.action.tool, w.action.arguments)
	if err != nil || t.Proposal.ConfirmationCode == "" {
		return t, err
	}
	t.id, t.code = t.Proposal.ID, t.Proposal.ConfirmationCode
	t.Write, err = w.confirm(client, t.code)
	return t, err
}

func (w *world) renew() error {
	if w.action.renew == nil {
		return nil
	}
	return w.action.renew(w.t.Context(), w.Stack)
}

func (w *world) confirm(client *mcpclient.Client, code string) (stack.Write, error) {
	return stack.CallWrite(w.t.Context(), client, w.action.tool, stack.With(w.action.arguments, "confirm", code))
}

// limits are the rolling day's sums for SOL, in lamports.
type limits struct{ cap, used, reserved uint64 }

func (w *world) limits() (limits, error) {
	out, err := w.Signerd(w.t.Context(), "", "limits", "--json")
	if err != nil {
		return limits{}, err
	}
	var windows []struct {
		Window   string `json:"window"`
		Mint     string `json:"mint"`
		Cap      uint64 `json:"cap_base_units,string"`
		Used     uint64 `json:"used_base_units,string"`
		Reserved uint64 `json:"reserved_base_units,string"`
	}
	if err := json.Unmarshal([]byte(out), &windows); err != nil {
		return limits{}, fmt.Errorf("limits: %w in %s", err, out)
	}
	for _, window := range windows {
		if window.Window == "day" && (window.Mint == "" || window.Mint == w.World.WSOL) {
			return limits{window.Cap, window.Used, window.Reserved}, nil
		}
	}
	return limits{}, fmt.Errorf("no day's limit for SOL in %s", out)
}

// sight is what the observer sees of the wallet.
type sight struct {
	lamports uint64
	newest   string
}

func (w *world) look() sight {
	w.t.Helper()
	w.must(w.Chain.Advance(w.t.Context(), 2))
	lamports, err := w.Eye.Balance(w.t.Context(), w.Wallet)
	w.must(err)
	history, err := w.Eye.Signatures(w.t.Context(), w.Wallet)
	w.must(err)
	if len(history) == 0 {
		return sight{lamports: lamports}
	}
	return sight{lamports, history[0].Signature}
}

// landedSince is how many of the wallet's transactions the chain has had since
// then.
func (w *world) landedSince(then sight) int {
	w.t.Helper()
	history, err := w.Eye.Signatures(w.t.Context(), w.Wallet)
	w.must(err)
	for i, transaction := range history {
		if transaction.Signature == then.newest {
			return i
		}
	}
	w.t.Fatalf("the chain has forgotten %s", then.newest)
	return 0
}
