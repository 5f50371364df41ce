// Command signerd holds the wallet's key and decides for itself what it signs.
package main

import (
	"os"

	"countersign/signerd/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
