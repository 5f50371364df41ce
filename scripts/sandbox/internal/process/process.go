// Package process runs the sandbox as a process: flags, one line of JSON when
// it is ready, an orderly end on a signal or when its parent is gone. Only
// command sandbox may import it. It promises to print nothing else to stdout
// and never to print the API key.
package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/sandbox/world"
)

// Exit codes: done, failed, wrong usage.
const (
	done   = 0
	failed = 1
	usage  = 2
)

// startTimeout bounds seeding: the chain is on the same machine.
const startTimeout = 30 * time.Second

type options struct {
	config        bagsandbox.Config
	exitWithStdin bool
}

// Ready is the line that says the sandbox is up.
type Ready struct {
	BagsURL    string      `json:"bags_url"`
	ControlURL string      `json:"control_url"`
	World      world.World `json:"world"`
}

// Main runs until a signal, or the end of stdin where that was asked for, and
// returns the exit code.
func Main(arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
	chosen, err := parse(arguments, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return done
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "sandbox:", err)
		return usage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if chosen.exitWithStdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		// Ends with the process: a read of stdin cannot be interrupted.
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	if err := run(ctx, chosen.config, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "sandbox:", err)
		return failed
	}
	return done
}

func run(ctx context.Context, config bagsandbox.Config, stdout io.Writer) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	sandbox, err := bagsandbox.Start(starting, config)
	if ctx.Err() != nil && err != nil {
		return nil // told to end before it was up
	}
	if err != nil {
		return err
	}
	ready := Ready{BagsURL: sandbox.URL(), ControlURL: sandbox.ControlURL(), World: sandbox.World()}
	if err := json.NewEncoder(stdout).Encode(ready); err != nil {
		return errors.Join(err, sandbox.Close())
	}
	<-ctx.Done()
	return sandbox.Close()
}

func parse(arguments []string, stderr io.Writer) (options, error) {
	var o options
	var key, keyFile string
	flags := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.config.RPC, "rpc", "", "`URL` of the local chain, started with --dev")
	flags.StringVar(&o.config.Wallet, "wallet", "", "base58 `address` that has something to claim")
	flags.StringVar(&keyFile, "api-key-file", "", "`file` with the API key to accept")
	flags.StringVar(&key, "api-key", "", "the API `key` itself; only a stub_… one, since arguments are public")
	flags.StringVar(&o.config.Label, "label", "", "`text` that chooses the world's addresses")
	flags.IntVar(&o.config.Port, "port", 0, "API `port`, 0 for a free one")
	flags.IntVar(&o.config.ControlPort, "control-port", 0, "control `port`, 0 for a free one")
	flags.BoolVar(&o.exitWithStdin, "exit-with-stdin", false, "end when stdin is closed")
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.config.RPC == "" || o.config.Wallet == "" {
		return options{}, errors.New("--rpc and --wallet are required")
	}
	var err error
	o.config.APIKey, err = apiKey(key, keyFile)
	return o, err
}

func apiKey(key, file string) (string, error) {
	switch {
	case (key == "") == (file == ""):
		return "", errors.New("give one of --api-key and --api-key-file")
	case key != "" && !strings.HasPrefix(key, "stub_"):
		return "", errors.New("--api-key takes a stub_… key only; put any other in a file and use --api-key-file")
	case key != "":
		return key, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the API key: %w", err)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", errors.New("the API key file is empty")
	}
	return string(raw), nil
}
