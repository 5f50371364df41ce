// Command mcpd serves MCP to a model's client and proposes what the model asks
// for to signerd, which holds the key and decides. See docs/architecture.md.
package main

import (
	"os"

	"countersign/mcpd/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
