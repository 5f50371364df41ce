package observer

import (
	"context"
	"encoding/json"
	"fmt"
)

// maxSignatures is one page of history; the tests' wallets do less.
const maxSignatures = 1000

// SigInfo is one transaction in the history of an address.
type SigInfo struct {
	Signature string
	Slot      uint64
	// Err is the chain's own account of a failure, empty for a success.
	Err string
}

// Signatures is the history of an address, newest first.
func (o *Observer) Signatures(ctx context.Context, address string) ([]SigInfo, error) {
	// The chain keeps history from confirmed on.
	commitment := o.commitment
	if commitment == Processed {
		commitment = Confirmed
	}
	var answer []struct {
		Signature string          `json:"signature"`
		Slot      uint64          `json:"slot"`
		Err       json.RawMessage `json:"err"`
	}
	config := map[string]any{"commitment": commitment, "limit": maxSignatures}
	if err := o.rpc.call(ctx, &answer, "getSignaturesForAddress", address, config); err != nil {
		return nil, err
	}
	if len(answer) >= maxSignatures {
		return nil, fmt.Errorf("%s has more history than the %d transactions that are read", address, maxSignatures)
	}
	list := make([]SigInfo, len(answer))
	for i, found := range answer {
		list[i] = SigInfo{Signature: found.Signature, Slot: found.Slot, Err: failure(found.Err)}
	}
	return list, nil
}

// Balances are the lamports of an account around a transaction.
type Balances struct{ Pre, Post uint64 }

// Transaction is what a landed transaction did.
type Transaction struct {
	Slot uint64
	Fee  uint64
	// Err is the chain's own account of a failure, empty for a success.
	Err string
	// Payer is who paid the fee.
	Payer string
	// Balances are those of every account the transaction names.
	Balances map[string]Balances
	Logs     []string
}

type transactionJSON struct {
	Slot        uint64 `json:"slot"`
	Transaction struct {
		Message struct {
			AccountKeys []string `json:"accountKeys"`
		} `json:"message"`
	} `json:"transaction"`
	Meta *struct {
		Err    json.RawMessage `json:"err"`
		Fee    *uint64         `json:"fee"`
		Pre    []uint64        `json:"preBalances"`
		Post   []uint64        `json:"postBalances"`
		Logs   []string        `json:"logMessages"`
		Loaded struct {
			Writable []string `json:"writable"`
			Readonly []string `json:"readonly"`
		} `json:"loadedAddresses"`
	} `json:"meta"`
}

// Transaction reads a transaction by its signature, and whether the chain has
// it.
func (o *Observer) Transaction(ctx context.Context, signature string) (Transaction, bool, error) {
	commitment := o.commitment
	if commitment == Processed {
		commitment = Confirmed
	}
	var found *transactionJSON
	config := map[string]any{"commitment": commitment, "encoding": "json", "maxSupportedTransactionVersion": 1}
	if err := o.rpc.call(ctx, &found, "getTransaction", signature, config); err != nil {
		return Transaction{}, false, err
	}
	if found == nil {
		return Transaction{}, false, nil
	}
	transaction, err := found.read()
	if err != nil {
		return Transaction{}, false, fmt.Errorf("transaction %s: %w", signature, err)
	}
	return transaction, true, nil
}

func (t *transactionJSON) read() (Transaction, error) {
	if t.Meta == nil || t.Meta.Fee == nil {
		return Transaction{}, fmt.Errorf("no fee")
	}
	keys := t.Transaction.Message.AccountKeys
	keys = append(keys, t.Meta.Loaded.Writable...)
	keys = append(keys, t.Meta.Loaded.Readonly...)
	if len(keys) == 0 || len(t.Meta.Pre) != len(keys) || len(t.Meta.Post) != len(keys) {
		return Transaction{}, fmt.Errorf("%d accounts, balances of %d before and %d after", len(keys), len(t.Meta.Pre), len(t.Meta.Post))
	}
	balances := make(map[string]Balances, len(keys))
	for i, key := range keys {
		balances[key] = Balances{Pre: t.Meta.Pre[i], Post: t.Meta.Post[i]}
	}
	return Transaction{
		Slot: t.Slot, Fee: *t.Meta.Fee, Err: failure(t.Meta.Err), Payer: keys[0], Balances: balances, Logs: t.Meta.Logs,
	}, nil
}

func failure(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return string(raw)
}
