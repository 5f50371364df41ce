// Command bench measures the daemons against floors that it measures in the same
// call, prints a table and writes bench/latest.json. Nobody imports it.
//
// It promises no verdict: machines differ and neighbours are noisy, so it exits
// with 0 whether the targets hold or not, and says "no" in plain sight where one
// does not. It exits with 1 only where something could not be measured.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

// output is where the table is kept for later comparison.
const output = "bench/latest.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "cs-bench")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(folder)
	// What can be measured is shown even where a later part fails.
	var table []row
	var failed error
	for _, part := range []func(context.Context, string) ([]row, error){measureMcpd, measureSignerd, measureAudit, measureJudging, measureLedger, measureFlow} {
		rows, err := part(ctx, folder)
		table = append(table, rows...)
		failed = errors.Join(failed, err)
	}
	printTable(os.Stdout, table)
	return errors.Join(failed, writeTable(output, table))
}
