// Command sandbox serves the Bags API on loopback over a local chain; see
// package bagsandbox for what it promises. It prints one line of JSON when it
// is ready.
package main

import (
	"os"

	"countersign/scripts/sandbox/internal/process"
)

func main() {
	os.Exit(process.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
