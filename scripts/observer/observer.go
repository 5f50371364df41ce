// Package observer is the independent eye of the tests: what a wallet really
// has, read from a chain's RPC. Tests and the demonstration may import it. It
// shares no code with what it watches: its own calls, its own reading of
// account data, the standard library and nothing else. It promises to tell a
// missing account from an empty one and to fail on what it cannot read.
package observer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Commitments at which to look.
const (
	Processed = "processed"
	Confirmed = "confirmed"
	Finalized = "finalized"
)

// maxKeys is how many accounts one call may ask for.
const maxKeys = 100

// Observer reads one RPC at one commitment.
type Observer struct {
	rpc        *client
	commitment string
}

// New looks at an RPC, at commitment confirmed.
func New(rpcURL string) *Observer {
	return &Observer{rpc: newClient(rpcURL), commitment: Confirmed}
}

// At is the same eye at another commitment.
func (o *Observer) At(commitment string) *Observer {
	return &Observer{rpc: o.rpc, commitment: commitment}
}

// Account is what stands at an address.
type Account struct {
	Lamports   uint64
	Owner      string
	Data       []byte
	Executable bool
}

// Balance is the lamports of an address: zero where there is no account.
func (o *Observer) Balance(ctx context.Context, pubkey string) (uint64, error) {
	var answer struct {
		Value *uint64 `json:"value"`
	}
	if err := o.rpc.call(ctx, &answer, "getBalance", pubkey, map[string]any{"commitment": o.commitment}); err != nil {
		return 0, err
	}
	if answer.Value == nil {
		return 0, fmt.Errorf("getBalance: no value for %s", pubkey)
	}
	return *answer.Value, nil
}

// Account reads an account, and whether there is one.
func (o *Observer) Account(ctx context.Context, pubkey string) (Account, bool, error) {
	seen, err := o.Snapshot(ctx, pubkey)
	account, ok := seen[pubkey]
	return account, ok, err
}

// Snapshot is the accounts of some addresses at one moment. An address without
// an account is not in it.
type Snapshot map[string]Account

type accountJSON struct {
	Lamports   *uint64   `json:"lamports"`
	Owner      string    `json:"owner"`
	Data       [2]string `json:"data"`
	Executable bool      `json:"executable"`
}

// Snapshot reads up to 100 addresses in one call.
func (o *Observer) Snapshot(ctx context.Context, addresses ...string) (Snapshot, error) {
	if len(addresses) > maxKeys {
		return nil, fmt.Errorf("snapshot of %d addresses: %d at most", len(addresses), maxKeys)
	}
	seen := Snapshot{}
	if len(addresses) == 0 {
		return seen, nil
	}
	var answer struct {
		Value []json.RawMessage `json:"value"`
	}
	config := map[string]any{"commitment": o.commitment, "encoding": "base64"}
	if err := o.rpc.call(ctx, &answer, "getMultipleAccounts", addresses, config); err != nil {
		return nil, err
	}
	if len(answer.Value) != len(addresses) {
		return nil, fmt.Errorf("getMultipleAccounts: %d accounts for %d addresses", len(answer.Value), len(addresses))
	}
	for i, raw := range answer.Value {
		account, ok, err := parseAccount(raw)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", addresses[i], err)
		}
		if ok {
			seen[addresses[i]] = account
		}
	}
	return seen, nil
}

func parseAccount(raw json.RawMessage) (Account, bool, error) {
	var found *accountJSON
	if err := json.Unmarshal(raw, &found); err != nil {
		return Account{}, false, err
	}
	if found == nil {
		return Account{}, false, nil
	}
	if found.Lamports == nil || found.Owner == "" || found.Data[1] != "base64" {
		return Account{}, false, fmt.Errorf("cannot be read: %.200q", raw)
	}
	data, err := base64.StdEncoding.DecodeString(found.Data[0])
	if err != nil {
		return Account{}, false, fmt.Errorf("data: %w", err)
	}
	return Account{Lamports: *found.Lamports, Owner: found.Owner, Data: data, Executable: found.Executable}, true, nil
}
