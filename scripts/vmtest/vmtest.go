// Package vmtest runs the transactions of tests on the local chain: what a
// real Solana VM makes of bytes is what a decoder is compared with. It knows
// the chain and the layout of accounts, and shares no logic with what it
// tests. Only tests import it.
package vmtest

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// VM is a local chain of one test.
type VM struct {
	t   testing.TB
	net *localnet.Chain
	rpc *jsonrpc.Client
	eye *observer.Observer
}

// Start starts a chain that ends with the test.
func Start(t testing.TB) *VM {
	t.Helper()
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Stop)
	rpc, err := jsonrpc.New(net.RPCURL, jsonrpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &VM{t: t, net: net, rpc: rpc, eye: observer.New(net.RPCURL)}
}

func (v *VM) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// Fund makes key a wallet with so many lamports.
func (v *VM) Fund(key solana.PublicKey, lamports uint64) {
	v.t.Helper()
	v.Put(key, solana.SystemProgram, lamports, nil)
}

// Put places an account.
func (v *VM) Put(key, owner solana.PublicKey, lamports uint64, data []byte) {
	v.t.Helper()
	v.must(v.net.SetAccount(v.t.Context(), key.String(), localnet.Account{Lamports: lamports, Owner: owner.String(), Data: data}))
}

// Fixtures installs the opaque programs of package fixtures.
func (v *VM) Fixtures() {
	v.t.Helper()
	v.must(localnet.AddFixtures(v.t.Context(), v.net))
}

// Blockhash is the latest.
func (v *VM) Blockhash() solana.Hash {
	v.t.Helper()
	text, err := v.net.LatestBlockhash(v.t.Context())
	v.must(err)
	hash, err := solana.ParseHash(text)
	v.must(err)
	return hash
}

// Simulate runs unsigned bytes, and returns the units they took and how they
// failed, if they did.
func (v *VM) Simulate(raw []byte) (units uint64, failure string) {
	v.t.Helper()
	var answer struct {
		Value struct {
			Err   json.RawMessage `json:"err"`
			Units uint64          `json:"unitsConsumed"`
		} `json:"value"`
	}
	v.must(v.rpc.Call(v.t.Context(), "simulateTransaction", []any{
		base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "commitment": "processed"},
	}, &answer))
	return answer.Value.Units, words(answer.Value.Err)
}

// Land sends signed bytes without preflight and returns how they failed on
// chain, or "" if they landed.
func (v *VM) Land(raw []byte) string {
	v.t.Helper()
	var signature string
	v.must(v.rpc.Call(v.t.Context(), "sendTransaction", []any{
		base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true},
	}, &signature))
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var answer struct {
			Value []*struct {
				Err    json.RawMessage `json:"err"`
				Status string          `json:"confirmationStatus"`
			} `json:"value"`
		}
		v.must(v.rpc.Call(v.t.Context(), "getSignatureStatuses", []any{[]string{signature}}, &answer))
		if status := answer.Value[0]; status != nil && status.Status != "processed" {
			return words(status.Err)
		}
	}
	return "not confirmed"
}

func words(err json.RawMessage) string {
	if len(err) == 0 || string(err) == "null" {
		return ""
	}
	return string(err)
}

// Lamports is what key holds.
func (v *VM) Lamports(key solana.PublicKey) uint64 {
	v.t.Helper()
	lamports, err := v.eye.Balance(v.t.Context(), key.String())
	v.must(err)
	return lamports
}

// Token is the token account at key.
func (v *VM) Token(key solana.PublicKey) observer.TokenAccount {
	v.t.Helper()
	token, _, err := v.eye.TokenAccount(v.t.Context(), key.String())
	v.must(err)
	return token
}
