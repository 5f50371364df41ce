// Package chain is the sandbox's view of the local chain: a handful of RPC
// reads at confirmed commitment, and the development methods that put accounts
// and programs in place. Only the sandbox may import it. It promises that a
// missing account is reported as missing, never as an empty one.
package chain

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/fixtures"
	"countersign/scripts/localnet"
	"countersign/shared/jsonrpc"
)

// Client talks to one RPC endpoint.
type Client struct {
	rpc *jsonrpc.Client
	dev *localnet.Chain
}

// New makes a client of an RPC address.
func New(address string) (*Client, error) {
	rpc, err := jsonrpc.New(address, jsonrpc.Options{})
	if err != nil {
		return nil, err
	}
	return &Client{rpc: rpc, dev: localnet.Connect(address)}, nil
}

// Account is what stands at an address.
type Account struct {
	Lamports   uint64
	Owner      solana.PublicKey
	Data       []byte
	Executable bool
}

type confirmed struct {
	Commitment string `json:"commitment"`
	Encoding   string `json:"encoding,omitempty"`
}

var atConfirmed = confirmed{Commitment: "confirmed"}

type slotContext struct {
	Slot uint64 `json:"slot"`
}

// Blockhash is a recent blockhash and the height it is valid to.
type Blockhash struct {
	Hash            solana.Hash `json:"blockhash"`
	LastValidHeight uint64      `json:"lastValidBlockHeight"`
}

// LatestBlockhash asks for a fresh confirmed blockhash.
func (c *Client) LatestBlockhash(ctx context.Context) (Blockhash, error) {
	var answer struct {
		Value Blockhash `json:"value"`
	}
	err := c.call(ctx, "getLatestBlockhash", []any{atConfirmed}, &answer)
	return answer.Value, err
}

// RentExempt asks what an account of size bytes must hold.
func (c *Client) RentExempt(ctx context.Context, size int) (uint64, error) {
	var lamports uint64
	err := c.call(ctx, "getMinimumBalanceForRentExemption", []any{size, atConfirmed}, &lamports)
	return lamports, err
}

type accountAnswer struct {
	Lamports   uint64           `json:"lamports"`
	Owner      solana.PublicKey `json:"owner"`
	Data       [2]string        `json:"data"`
	Executable bool             `json:"executable"`
}

// Accounts reads keys in one call: the accounts in order, nil where there is
// none, and the slot they were read at.
func (c *Client) Accounts(ctx context.Context, keys ...solana.PublicKey) ([]*Account, uint64, error) {
	var answer struct {
		Context slotContext      `json:"context"`
		Value   []*accountAnswer `json:"value"`
	}
	params := []any{keys, confirmed{Commitment: "confirmed", Encoding: "base64"}}
	if err := c.call(ctx, "getMultipleAccounts", params, &answer); err != nil {
		return nil, 0, err
	}
	if len(answer.Value) != len(keys) {
		return nil, 0, fmt.Errorf("getMultipleAccounts: %d accounts for %d keys", len(answer.Value), len(keys))
	}
	accounts := make([]*Account, len(keys))
	for i, found := range answer.Value {
		if found == nil {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(found.Data[0])
		if err != nil {
			return nil, 0, fmt.Errorf("getMultipleAccounts: data of %s: %w", keys[i], err)
		}
		accounts[i] = &Account{Lamports: found.Lamports, Owner: found.Owner, Data: data, Executable: found.Executable}
	}
	return accounts, answer.Context.Slot, nil
}

func (c *Client) call(ctx context.Context, method string, params []any, result any) error {
	if err := c.rpc.Call(ctx, method, params, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// SetAccount puts an account in place, whatever stood there before.
func (c *Client) SetAccount(ctx context.Context, key solana.PublicKey, account Account) error {
	return c.dev.SetAccount(ctx, key.String(), localnet.Account{
		Lamports: account.Lamports, Owner: account.Owner.String(), Data: account.Data, Executable: account.Executable,
	})
}

// InstallPrograms puts the fixtures' programs on a chain that lacks one of
// them. A program that is there already, a test's own perhaps, stays.
func (c *Client) InstallPrograms(ctx context.Context) error {
	programs := map[string][]byte{
		fixtures.AMMProgramID:        fixtures.AMM,
		fixtures.FeeShareProgramID:   fixtures.FeeShare,
		fixtures.ScriptableProgramID: fixtures.Scriptable,
	}
	for id, elf := range programs {
		found, _, err := c.Accounts(ctx, solana.MustPublicKeyFromBase58(id))
		if err != nil {
			return err
		}
		if found[0] != nil {
			continue
		}
		if err := c.dev.AddProgram(ctx, id, elf); err != nil {
			return err
		}
	}
	return nil
}
