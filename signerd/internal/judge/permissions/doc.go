// Package permissions holds no code: its tests take every instruction of every
// known program in every role that the wallet can play in it and every message
// format, have it judged, and compare the verdicts with what the design says
// (expected_test.go) and with docs/permissions.md. What is allowed is signed
// and sent to the local chain, which must do what the effects said. Nothing
// imports it.
package permissions
