// Command demo runs the main job end to end on this machine: a real Solana VM,
// a strict Bags sandbox, both daemons as processes, a real MCP client, and an
// observer of its own that looks at the chain before and after every step. It
// tells what it sees as a story and ends with exit code 1 if any step is not
// as it should be.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"countersign/scripts/stack"
)

// demoTime bounds the whole demonstration.
const demoTime = 3 * time.Minute

func main() {
	bin := flag.String("bin", "bin", "`folder` with the binaries mcpd and signerd")
	verbose := flag.Bool("v", false, "show what the processes log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, demoTime)
	defer cancel()
	if err := run(ctx, *bin, *verbose, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: NOT as it should be: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, verbose bool, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	options := stack.Options{Dir: dir, Bin: bin}
	options.Chain.SlotMS = 100
	if verbose {
		options.Log = os.Stderr
	}
	t := &teller{out: out}
	t.chapter("Setting up")
	s, err := stack.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := s.Close(); stopped != nil && err == nil {
			err = fmt.Errorf("not everything stopped: %w", stopped)
		}
		if err == nil {
			t.say("\nEverything has been stopped. All %d checks hold.", t.checks)
		}
	}()
	return tell(ctx, s, t)
}
