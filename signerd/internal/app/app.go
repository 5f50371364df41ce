// Package app is signerd's command line and wiring: it turns a configuration
// into running stages and stops them in order. Only main imports it.
//
// It has a file for each command, and one for the wiring of serve.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"countersign/shared/buildinfo"
	"countersign/shared/fault"
	"countersign/signerd/internal/config"
)

// Exit codes of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// errReported is for commands that have printed their own verdict.
var errReported = errors.New("already reported")

// console is what a command reads and writes, and the configuration it uses.
type console struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	config string
	json   bool
}

// Main runs one command and returns the process's exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c := &console{in: in, out: out, err: errOut}
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitFailed
	case isUsage(err):
		fmt.Fprintf(errOut, "signerd: %v\nRun 'signerd --help' for usage.\n", err)
		return exitUsage
	}
	report(errOut, err)
	return exitFailed
}

// report prints a fault with its advice, or another error. What it quotes may come
// from a file that somebody else wrote.
func report(w io.Writer, err error) {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		fmt.Fprintf(w, "signerd: %s\n%s\n", unobeyed(f.Message), f.Code.Advice().Hint)
		return
	}
	fmt.Fprintf(w, "signerd: %s\n", unobeyed(err.Error()))
}

// unobeyed escapes what a terminal would obey or hide, in text that may have lines.
func unobeyed(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		fmt.Fprintf(&out, `\u{%04X}`, r)
	}
	return out.String()
}

// usageError marks a wrong call.
type usageError struct{ error }

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}

func (c *console) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "signerd",
		Short:         "Hold a Solana key, and sign only what its owner's policy agrees to",
		Version:       buildinfo.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&c.config, "config", "", "configuration file (default: signerd.toml in the platform's configuration folder)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("config") && c.config == "" {
			return usageError{errors.New("--config names no file; leave it out for the default one")}
		}
		return nil
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(c.serveCommand(), c.initCommand(), c.keyCommand(), c.limitsCommand(), c.statusCommand(), c.recipientsCommand(), c.policyCommand(), c.auditCommand(), c.ledgerCommand())
	asUsage(root)
	return root
}

// asUsage makes wrong arguments of every command count as wrong usage.
func asUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		asUsage(child)
	}
}

// group makes a command that only has subcommands.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return usageError{fmt.Errorf("%s needs one of its subcommands", cmd.CommandPath())}
	}}
	cmd.AddCommand(children...)
	return cmd
}

// load reads the configuration that --config names, or the default one.
func (c *console) load() (config.Config, error) { return config.Load(c.configPath()) }

func (c *console) configPath() string {
	if c.config != "" {
		return c.config
	}
	return config.DefaultPath()
}

// jsonFlag adds --json to a command whose output a script may read.
func (c *console) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}
