// Command dev runs the local chain, the Bags sandbox and signerd for people
// and their MCP clients, and leaves them running: in the foreground until
// Ctrl-C, or with --background until --stop. It writes .dev/env for shells and
// prints the lines that MCP clients need.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"countersign/scripts/stack"
)

// startTime bounds how long --background waits for everything to be up.
const startTime = time.Minute

// folder is where everything of the development setup lies.
type folder struct{ root string }

func (f folder) path(name string) string { return filepath.Join(f.root, name) }

func main() {
	dir := flag.String("dir", ".dev", "`folder` for everything that is written")
	bin := flag.String("bin", "bin", "`folder` with the binaries mcpd and signerd")
	background := flag.Bool("background", false, "start in the background and return when ready")
	stop := flag.Bool("stop", false, "stop what --background started")
	flag.Parse()
	if err := run(*dir, *bin, *background, *stop); err != nil {
		fmt.Fprintf(os.Stderr, "dev: %v\n", err)
		os.Exit(1)
	}
}

func run(dir, bin string, background, stop bool) error {
	root, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	f := folder{root}
	switch {
	case stop:
		return f.stop()
	case background:
		return f.startBackground(bin)
	}
	return f.serve(bin)
}

// serve runs everything until a signal.
func (f folder) serve(bin string) error {
	if pid, running := f.running(); running {
		return fmt.Errorf("it is running already as process %d; stop it with 'make dev-stop'", pid)
	}
	if err := f.prepare(); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	log, err := os.OpenFile(f.path("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	sockets, err := os.MkdirTemp("", "countersign-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)
	s, err := stack.Start(ctx, stack.Options{
		Dir: f.path("run"), SocketDir: sockets, Bin: bin, Log: log,
		// The default policy, but for what would need a person or is unlimited.
		CapTokens: true, Policy: []stack.Replacement{{Old: `new = "human"`, New: `new = "confirm"`}},
	})
	if err != nil {
		return fmt.Errorf("%w (see %s)", err, f.path("log"))
	}
	defer f.clear()
	if err := f.announce(s, bin); err != nil {
		return errors.Join(err, s.Close())
	}
	<-ctx.Done()
	fmt.Println("stopping")
	return s.Close()
}

// prepare makes an empty folder: every start is a new chain and a new wallet.
func (f folder) prepare() error {
	if err := os.RemoveAll(f.path("run")); err != nil {
		return err
	}
	if err := os.MkdirAll(f.path("run"), 0o700); err != nil {
		return err
	}
	f.clear()
	return nil
}

// clear removes what says that something runs.
func (f folder) clear() {
	_ = os.Remove(f.path("env"))
	_ = os.Remove(f.path("pid"))
}

// announce writes .dev/env and prints what to paste. The env file comes last:
// that it exists says that everything is up.
func (f folder) announce(s *stack.Stack, bin string) error {
	if err := os.WriteFile(f.path("pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return err
	}
	fmt.Print(clientLines(s))
	temporary := f.path("env.new")
	if err := os.WriteFile(temporary, []byte(environment(s, bin)), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, f.path("env"))
}

// environment is .dev/env, for `. .dev/env`.
func environment(s *stack.Stack, bin string) string {
	var text strings.Builder
	for _, pair := range [][2]string{
		{"RPC_URL", s.Chain.RPCURL},
		{"WS_URL", s.Chain.WSURL},
		{"BAGS_URL", s.Bags.URL()},
		{"BAGS_CONTROL_URL", s.Bags.ControlURL()},
		{"BAGS_API_KEY", stack.APIKey},
		{"AGENT_SOCKET", s.AgentSocket()},
		{"OPERATOR_SOCKET", s.OperatorSocket()},
		{"WALLET", s.Wallet},
		{"MINT_TOKEN", s.World.TokenMint},
		{"MINT_TOKEN_2022", s.World.Token2022Mint},
		{"MCPD_BIN", filepath.Join(bin, "mcpd")},
		{"MCPD_CONFIG", s.MCPDConfig},
		{"SIGNERD_BIN", filepath.Join(bin, "signerd")},
		{"SIGNERD_CONFIG", s.SignerdConfig},
		{"STATE_DIR", s.StateDir()},
	} {
		fmt.Fprintf(&text, "export %s='%s'\n", pair[0], strings.ReplaceAll(pair[1], "'", `'\''`))
	}
	return text.String()
}

// running finds a live process of an earlier start.
func (f folder) running() (int, bool) {
	raw, err := os.ReadFile(f.path("pid"))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return 0, false
	}
	return pid, true
}

// startBackground starts this very program again without a terminal and waits
// until it is up.
func (f folder) startBackground(bin string) error {
	if pid, running := f.running(); running {
		return fmt.Errorf("it is running already as process %d; stop it with 'make dev-stop'", pid)
	}
	if err := os.MkdirAll(f.root, 0o700); err != nil {
		return err
	}
	f.clear()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A copy: `go run` removes its binary when it returns.
	copied := f.path("dev")
	if err := copyFile(self, copied); err != nil {
		return err
	}
	out, err := os.Create(f.path("out"))
	if err != nil {
		return err
	}
	defer out.Close()
	command := exec.Command(copied, "--dir", f.root, "--bin", bin)
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return f.waitReady(ended)
}

func (f folder) waitReady(ended <-chan error) error {
	deadline := time.After(startTime)
	for {
		if _, err := os.Stat(f.path("env")); err == nil {
			said, err := os.ReadFile(f.path("out"))
			fmt.Printf("%s\nready; `. %s` sets the variables, 'make dev-stop' stops it\n", said, f.path("env"))
			return err
		}
		select {
		case err := <-ended:
			said, _ := os.ReadFile(f.path("out"))
			return fmt.Errorf("it ended before it was ready: %w\n%s", err, said)
		case <-deadline:
			return fmt.Errorf("it is not ready after %s; see %s", startTime, f.path("log"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(to, raw, 0o700)
}

// stop ends a background run and waits until it is gone.
func (f folder) stop() error {
	pid, running := f.running()
	if !running {
		fmt.Println("nothing is running")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, running := f.running(); !running {
			fmt.Println("stopped")
			return nil
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}
