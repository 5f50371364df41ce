// Package localnet starts the local chain of scripts/devchain as a child
// process and speaks its development methods: funds, slots, accounts,
// programs, faults. Tests, the demonstration and the development setup may
// import it. It promises that a chain it started ends when it is stopped, and
// at the latest with the process that started it. Addresses are base58 text:
// the callers' own view of them, not that of the code under test.
package localnet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// startTime is what starting may take; a cold machine needs a few seconds.
	startTime = 30 * time.Second
	// stopTime is what ending may take before the process is killed.
	stopTime = 5 * time.Second
	// maxReady bounds the line that says the chain is up.
	maxReady = 64 << 10
	// maxTail is how much of stderr an error repeats.
	maxTail = 4 << 10
)

// NoLag as a lag makes a block reach the commitment at once.
const NoLag = -1

// Options adjust a chain. Zero values are the chain's own defaults.
type Options struct {
	// SlotMS is the length of a slot in milliseconds.
	SlotMS int
	// ConfirmedLag and FinalizedLag are how many slots later a block is
	// confirmed and finalized, or NoLag.
	ConfirmedLag int
	FinalizedLag int
	// NoClock stops slots from passing by themselves: Advance does it.
	NoClock bool
	// Genesis is the genesis hash in base58; a random one if empty.
	Genesis string
	// Stderr receives what the chain logs.
	Stderr io.Writer
	// Port is where it listens; a free one if zero.
	Port int
}

func (o Options) arguments(script string) []string {
	arguments := []string{script, "--dev", "--exit-with-stdin", "--port", strconv.Itoa(o.Port)}
	if o.SlotMS != 0 {
		arguments = append(arguments, "--slot-ms", strconv.Itoa(o.SlotMS))
	}
	for _, lag := range []struct {
		flag  string
		slots int
	}{{"--confirmed-lag", o.ConfirmedLag}, {"--finalized-lag", o.FinalizedLag}} {
		if lag.slots != 0 {
			arguments = append(arguments, lag.flag, strconv.Itoa(max(lag.slots, 0)))
		}
	}
	if o.NoClock {
		arguments = append(arguments, "--no-clock")
	}
	if o.Genesis != "" {
		arguments = append(arguments, "--genesis", o.Genesis)
	}
	return arguments
}

// Chain is a running chain.
type Chain struct {
	RPCURL      string
	WSURL       string
	GenesisHash string

	rpc     *client
	process *process // nil for a chain that somebody else started
}

// Start starts a chain and returns when it answers. The context bounds the
// starting only: what ends the chain is Stop.
func Start(ctx context.Context, options Options) (*Chain, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	script, err := findScript()
	if err != nil {
		return nil, err
	}
	child, err := startProcess(options.Stderr, "node", options.arguments(script)...)
	if err != nil {
		return nil, err
	}
	chain, err := child.ready(ctx)
	if err != nil {
		child.kill()
		return nil, fmt.Errorf("local chain: %w%s", err, child.tail.quoted())
	}
	return chain, nil
}

// Connect uses a chain that runs already. Stop and Kill leave it running.
func Connect(rpcURL string) *Chain {
	return &Chain{RPCURL: rpcURL, rpc: newClient(rpcURL)}
}

// Stop ends the chain in an orderly way, and by force if that takes too long.
func (c *Chain) Stop() {
	c.rpc.close()
	if c.process != nil {
		c.process.stop()
	}
}

// Kill ends the chain at once, as a crash would.
func (c *Chain) Kill() {
	c.rpc.close()
	if c.process != nil {
		c.process.kill()
	}
}

// findScript looks for the chain from the working folder upwards: go test runs
// in the folder of a package, go run wherever the person is.
func findScript() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("local chain: %w", err)
	}
	for {
		chain := filepath.Join(folder, "scripts", "devchain")
		if _, err := os.Stat(filepath.Join(chain, "package.json")); err == nil {
			if _, err := os.Stat(filepath.Join(chain, "node_modules")); err != nil {
				return "", errors.New("the local chain is not installed: run `make setup`")
			}
			return filepath.Join(chain, "main.mjs"), nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("scripts/devchain not found: run this from inside the repository")
		}
		folder = parent
	}
}

// process is the child, with its stdin held open: the end of stdin is what
// tells it that nobody needs it any more.
type process struct {
	command *exec.Cmd
	stdin   io.Closer
	line    chan []byte   // the first line of stdout; closed without one at its end
	done    chan struct{} // closed when the process has ended
	err     error         // valid once done is closed
	tail    *tail
}

func startProcess(log io.Writer, name string, arguments ...string) (*process, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("the local chain needs Node.js 20 or newer: %w", err)
	}
	p := &process{
		command: exec.Command(path, arguments...),
		line:    make(chan []byte, 1), done: make(chan struct{}), tail: &tail{also: log},
	}
	p.command.Stderr = p.tail
	p.command.WaitDelay = stopTime
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the local chain: %w", err)
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the local chain: %w", err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start the local chain: %w", err)
	}
	go p.watch(stdout)
	return p, nil
}

// watch hands over the first line and reads on, so that the child never waits
// for a reader, until the child has ended.
func (p *process) watch(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxReady)
	if lines.Scan() {
		p.line <- append([]byte{}, lines.Bytes()...)
	}
	close(p.line)
	_, _ = io.Copy(io.Discard, stdout)
	p.err = p.command.Wait()
	close(p.done)
}

func (p *process) ready(ctx context.Context) (*Chain, error) {
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("not ready: %w", ctx.Err())
	case line, ok := <-p.line:
		if !ok {
			p.kill()
			return nil, fmt.Errorf("ended before it was ready: %w", p.ending())
		}
		var up struct {
			RPC     string `json:"rpc"`
			WS      string `json:"ws"`
			Genesis string `json:"genesisHash"`
		}
		if err := json.Unmarshal(line, &up); err != nil || up.RPC == "" || up.WS == "" || up.Genesis == "" {
			return nil, fmt.Errorf("said %q instead of where it listens", line)
		}
		return &Chain{RPCURL: up.RPC, WSURL: up.WS, GenesisHash: up.Genesis, rpc: newClient(up.RPC), process: p}, nil
	}
}

// ending is how the process ended, an error in any case.
func (p *process) ending() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

func (p *process) stop() {
	_ = p.stdin.Close() // fails only where it is closed already
	select {
	case <-p.done:
	case <-time.After(stopTime):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.stdin.Close()
	_ = p.command.Process.Kill() // fails only where it has ended
	<-p.done
}
