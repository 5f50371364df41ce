// Package app puts mcpd together: its commands, its logger, what it connects
// to, and the order in which it stops. Only main imports it. It promises the
// exit codes of the design: 0 done, 1 refused or failed, 2 wrong usage.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"countersign/mcpd/internal/config"
	"countersign/shared/buildinfo"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command that was called wrongly.
type usageError struct{ error }

// Main runs one command.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand(stdin, stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(stderr, "mcpd:", err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailed
}

func rootCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var configPath string
	root := &cobra.Command{
		Use:               "mcpd",
		Short:             "Propose Solana transactions to signerd, over MCP",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("config") && configPath == "" {
			return usageError{errors.New("--config names no file; leave it out for the default one")}
		}
		return nil
	}
	root.PersistentFlags().StringVar(&configPath, "config", "", "configuration file (default: "+config.FileName+" in the platform's configuration folder)")
	root.AddCommand(serveCommand(&configPath, stdin, stdout, stderr), versionCommand(stdout), configCommand(&configPath, stdout))
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{errors.New("unknown command or argument; see mcpd --help")}
	}
	return nil
}

func versionCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(stdout, buildinfo.Version())
			return err
		},
	}
}

func configCommand(path *string, stdout io.Writer) *cobra.Command {
	group := &cobra.Command{
		Use:   "config",
		Short: "Work with the configuration",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("name a command: mcpd config check")}
		},
	}
	group.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration without starting anything",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			checked, err := config.Load(*path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "The configuration is good: %s. Nothing was contacted.\n", checked)
			return err
		},
	})
	return group
}
