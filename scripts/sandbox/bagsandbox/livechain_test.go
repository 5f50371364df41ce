package bagsandbox

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/shared/jsonrpc"
)

// live is a local chain, moved by its development methods, told by the
// observer.
type live struct {
	t        *testing.T
	chain    *localnet.Chain
	observer *observer.Observer
	rpc      *jsonrpc.Client
}

func startLive(t *testing.T) live {
	t.Helper()
	chain, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chain.Stop)
	rpc, err := jsonrpc.New(chain.RPCURL, jsonrpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return live{t: t, chain: chain, observer: observer.New(chain.RPCURL), rpc: rpc}
}

// in is the same chain for a subtest.
func (l live) in(t *testing.T) live {
	l.t = t
	return l
}

// fund makes key a plain wallet with exactly these lamports, whatever an
// attack has made of it.
func (l live) fund(key solana.PublicKey, lamports uint64) {
	l.t.Helper()
	account := localnet.Account{Lamports: lamports, Owner: solana.SystemProgramID.String()}
	if err := l.chain.SetAccount(l.t.Context(), key.String(), account); err != nil {
		l.t.Fatal(err)
	}
}

func (l live) account(key solana.PublicKey) observer.Account {
	l.t.Helper()
	account, _, err := l.observer.Account(l.t.Context(), key.String())
	if err != nil {
		l.t.Fatal(err)
	}
	return account
}

func (l live) lamports(key solana.PublicKey) uint64 { return l.account(key).Lamports }

func (l live) token(key solana.PublicKey) observer.TokenAccount {
	l.t.Helper()
	token, _, err := l.observer.TokenAccount(l.t.Context(), key.String())
	if err != nil {
		l.t.Fatal(err)
	}
	return token
}

// landTime is what a transaction may take to be confirmed.
const landTime = 10 * time.Second

// send sends without preflight and waits until the chain has decided. It
// returns the transaction's error, empty if it landed.
func (l live) send(raw []byte) string {
	l.t.Helper()
	var signature string
	options := map[string]any{"encoding": "base64", "skipPreflight": true}
	l.call(&signature, "sendTransaction", base64.StdEncoding.EncodeToString(raw), options)
	for deadline := time.Now().Add(landTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var answer struct {
			Value []*struct {
				Err    json.RawMessage `json:"err"`
				Status string          `json:"confirmationStatus"`
			} `json:"value"`
		}
		l.call(&answer, "getSignatureStatuses", []string{signature})
		if status := answer.Value[0]; status != nil && status.Status != observer.Processed {
			if string(status.Err) == "null" {
				return ""
			}
			return string(status.Err)
		}
	}
	return "not confirmed"
}

func (l live) mustLand(raw []byte) {
	l.t.Helper()
	if failure := l.send(raw); failure != "" {
		l.t.Fatalf("the transaction failed: %s", failure)
	}
}

// simulate returns the error of a simulation, empty if it passed.
func (l live) simulate(raw []byte) string {
	l.t.Helper()
	var answer struct {
		Value struct{ Err json.RawMessage } `json:"value"`
	}
	options := map[string]any{"encoding": "base64", "commitment": "confirmed", "sigVerify": true}
	l.call(&answer, "simulateTransaction", base64.StdEncoding.EncodeToString(raw), options)
	if string(answer.Value.Err) == "null" {
		return ""
	}
	return string(answer.Value.Err)
}

func (l live) call(result any, method string, params ...any) {
	l.t.Helper()
	if err := l.rpc.Call(l.t.Context(), method, params, result); err != nil {
		l.t.Fatalf("%s: %v", method, err)
	}
}
