// Command testreport reads the events of `go test -json` and prints what plain
// `go test` prints, then one line that counts the tests: those of the events
// and those of the TAP files it is given. It exits with 1 where anything failed,
// or where there was nothing to count. Nobody imports it.
//
// Every test and subtest counts as one. A package that does not build, or that
// breaks outside a test, counts as one failure.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(tapFiles []string, events io.Reader, stdout, stderr io.Writer) int {
	var total counts
	for _, name := range tapFiles {
		file, err := os.Open(name)
		if err != nil {
			fmt.Fprintf(stderr, "testreport: %v\n", err)
			return 1
		}
		found, err := countTAP(file)
		_ = file.Close() // only read
		if err != nil {
			fmt.Fprintf(stderr, "testreport: %s: %v\n", name, err)
			return 1
		}
		total.add(found)
	}
	found, err := report(events, stdout)
	if err != nil {
		fmt.Fprintf(stderr, "testreport: %v\n", err)
		return 1
	}
	total.add(found)
	if total.skipped > 0 {
		fmt.Fprintf(stdout, "%d skipped\n", total.skipped)
	}
	fmt.Fprintf(stdout, "%d passed, %d failed\n", total.passed, total.failed)
	if total.failed > 0 || total.passed == 0 {
		return 1
	}
	return 0
}
