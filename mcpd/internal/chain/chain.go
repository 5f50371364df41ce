// Package chain is mcpd's read-only view of Solana, through the first of the RPC
// nodes in mcpd.toml that answers: snapshots for plan, runs for simulate, balances
// for the wallet's overview. The signer has its own and believes none of this. It
// promises bounded answers, a deadline on every call, and faults that name
// neither the node nor its words.
package chain

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/mcpd/internal/plan"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

const (
	callTimeout = 10 * time.Second
	// confirmed everywhere: a blockhash taken at one level and used at a
	// stricter one is unknown there for half a minute.
	commitment = "confirmed"
	// maxKeys is the runtime's own limit of getMultipleAccounts.
	maxKeys = 100
)

var errShape = fault.New(fault.RPCBadAnswer, "the RPC node sent an answer of another shape than expected")

type wireAccount struct {
	Lamports   uint64           `json:"lamports"`
	Owner      solana.PublicKey `json:"owner"`
	Executable bool             `json:"executable"`
	Data       []string         `json:"data"`
}

func (w wireAccount) account() (plan.Account, error) {
	if len(w.Data) != 2 || w.Data[1] != "base64" {
		return plan.Account{}, errShape
	}
	data, err := base64.StdEncoding.DecodeString(w.Data[0])
	if err != nil {
		return plan.Account{}, errShape
	}
	return plan.Account{Lamports: amount.Units(w.Lamports), Owner: w.Owner, Executable: w.Executable, Data: data}, nil
}

// Accounts reads accounts; missing ones are absent from the map.
func (c *Client) Accounts(ctx context.Context, keys []solana.PublicKey) (map[solana.PublicKey]plan.Account, error) {
	accounts := make(map[solana.PublicKey]plan.Account, len(keys))
	for part := range slices.Chunk(keys, maxKeys) {
		var answer struct {
			Value []*wireAccount `json:"value"`
		}
		options := map[string]any{"encoding": "base64", "commitment": commitment}
		if err := c.call(ctx, "getMultipleAccounts", []any{part, options}, &answer); err != nil {
			return nil, err
		}
		if len(answer.Value) != len(part) {
			return nil, errShape
		}
		for i, wire := range answer.Value {
			if wire == nil {
				continue
			}
			account, err := wire.account()
			if err != nil {
				return nil, err
			}
			accounts[part[i]] = account
		}
	}
	return accounts, nil
}

// Rent is the rent-exempt minimum of an account of size data bytes.
func (c *Client) Rent(ctx context.Context, size int) (amount.Units, error) {
	var lamports *uint64
	if err := c.call(ctx, "getMinimumBalanceForRentExemption", []any{size}, &lamports); err != nil {
		return 0, err
	}
	if lamports == nil || *lamports == 0 {
		return 0, errShape
	}
	return amount.Units(*lamports), nil
}

func (c *Client) blockhash(ctx context.Context) (solana.Hash, error) {
	var answer struct {
		Value struct {
			Blockhash solana.Hash `json:"blockhash"`
		} `json:"value"`
	}
	err := c.call(ctx, "getLatestBlockhash", []any{map[string]any{"commitment": commitment}}, &answer)
	if err == nil && answer.Value.Blockhash.IsZero() {
		err = errShape
	}
	return answer.Value.Blockhash, err
}

// Snapshot reads accounts, a fresh blockhash and the rents that the mints
// among them call for.
func (c *Client) Snapshot(ctx context.Context, keys []solana.PublicKey) (plan.Snapshot, error) {
	snapshot := plan.Snapshot{Rent: map[int]amount.Units{}}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		snapshot.Accounts, err = c.Accounts(groupCtx, keys)
		return err
	})
	group.Go(func() (err error) {
		snapshot.Blockhash, err = c.blockhash(groupCtx)
		return err
	})
	if err := group.Wait(); err != nil {
		return plan.Snapshot{}, err
	}
	for _, size := range accountSizes(keys, snapshot) {
		rent, err := c.Rent(ctx, size)
		if err != nil {
			return plan.Snapshot{}, err
		}
		snapshot.Rent[size] = rent
	}
	return snapshot, nil
}

// accountSizes are the sizes whose rent may matter: a bare wallet, and a token
// account of every mint in the snapshot.
func accountSizes(keys []solana.PublicKey, snapshot plan.Snapshot) []int {
	plain, _ := plan.TokenAccountSize(solana.TokenProgram, solana.WrappedSOL, snapshot)
	sizes := []int{0, plain}
	for _, key := range keys {
		if account, exists := snapshot.Accounts[key]; !exists || account.Owner != solana.Token2022Program {
			continue
		}
		// Not every account of the program is a mint.
		if size, err := plan.TokenAccountSize(solana.Token2022Program, key, snapshot); err == nil && !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// Layout of a lookup table, from the Address Lookup Table program.
const (
	tableHeader        = 56
	tableDiscriminator = 1
)

// Tables reads lookup tables. One that cannot be read is a fault: a route
// through an unknown account is not a route.
func (c *Client) Tables(ctx context.Context, keys []solana.PublicKey) (map[solana.PublicKey]plan.Table, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	accounts, err := c.Accounts(ctx, keys)
	if err != nil {
		return nil, err
	}
	tables := make(map[solana.PublicKey]plan.Table, len(keys))
	for _, key := range keys {
		account, exists := accounts[key]
		data := account.Data
		if !exists || account.Owner != solana.LookupTableProgram || len(data) < tableHeader ||
			binary.LittleEndian.Uint32(data) != tableDiscriminator || (len(data)-tableHeader)%len(solana.PublicKey{}) != 0 {
			return nil, fault.New(fault.TransactionMalformed, "a lookup table of the transaction cannot be resolved")
		}
		var table plan.Table
		for entry := range slices.Chunk(data[tableHeader:], len(solana.PublicKey{})) {
			table = append(table, solana.PublicKey(entry))
		}
		tables[key] = table
	}
	return tables, nil
}
