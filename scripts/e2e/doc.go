// Package e2e tells what Countersign does, in scripts that run the real
// binaries against the local chain and the Bags sandbox. It holds tests only.
//
// Each script of testdata is one story; the commands that scripts use are in
// commands_test.go. What a script says about the chain is read by the observer,
// never by the code under test.
package e2e
