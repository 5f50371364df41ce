package chain

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// Account is one account as the chain holds it.
type Account struct {
	Key        solana.PublicKey
	Lamports   amount.Units
	Owner      solana.PublicKey
	Executable bool
	Data       []byte
}

// contextual is an answer with the slot that it was made at.
type contextual[T any] struct {
	Context *struct {
		Slot *uint64 `json:"slot"`
	} `json:"context"`
	Value T `json:"value"`
}

var errNoContext = errors.New("no slot in the answer")

func (a contextual[T]) slot() (uint64, error) {
	if a.Context == nil || a.Context.Slot == nil {
		return 0, errNoContext
	}
	return *a.Context.Slot, nil
}

// wireAccount is an account in an answer.
type wireAccount struct {
	Lamports   *uint64           `json:"lamports"`
	Owner      *solana.PublicKey `json:"owner"`
	Executable *bool             `json:"executable"`
	Data       []string          `json:"data"`
}

// maxAccountData is the runtime's limit for one account.
const maxAccountData = 10 << 20

func (w *wireAccount) read(key solana.PublicKey) (Account, error) {
	if w.Lamports == nil || w.Owner == nil || w.Executable == nil || len(w.Data) != 2 || w.Data[1] != "base64" {
		return Account{}, fmt.Errorf("account %s: a field is missing or of another kind", key)
	}
	if len(w.Data[0]) > base64.StdEncoding.EncodedLen(maxAccountData) {
		return Account{}, fmt.Errorf("account %s: too much data", key)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(w.Data[0])
	if err != nil {
		return Account{}, fmt.Errorf("account %s: data is not base64", key)
	}
	return Account{Key: key, Lamports: amount.Units(*w.Lamports), Owner: *w.Owner, Executable: *w.Executable, Data: data}, nil
}

// readAccounts pairs the keys asked for with the accounts answered. An account
// without lamports does not exist.
func readAccounts(keys []solana.PublicKey, wire []*wireAccount) (map[solana.PublicKey]Account, error) {
	if len(wire) != len(keys) {
		return nil, fmt.Errorf("%d accounts for %d keys", len(wire), len(keys))
	}
	accounts := make(map[solana.PublicKey]Account, len(keys))
	for i, key := range keys {
		if wire[i] == nil {
			continue
		}
		account, err := wire[i].read(key)
		if err != nil {
			return nil, err
		}
		if account.Lamports > 0 {
			accounts[key] = account
		}
	}
	return accounts, nil
}

type manyAccounts = contextual[[]*wireAccount]

// accountsPerCall is the limit of getMultipleAccounts.
const accountsPerCall = 100

// Accounts reads accounts; a key without an account is absent from the map.
func (c *Client) Accounts(ctx context.Context, keys []solana.PublicKey) (map[solana.PublicKey]Account, error) {
	all := make(map[solana.PublicKey]Account, len(keys))
	for len(keys) > 0 {
		batch := keys[:min(len(keys), accountsPerCall)]
		keys = keys[len(batch):]
		answer, err := ask(ctx, c, methodMany, manyParams(batch), checkMany(batch))
		if err != nil {
			return nil, err
		}
		accounts, err := readAccounts(batch, answer.Value)
		if err != nil {
			return nil, jsonrpc.BadAnswer(methodMany, err)
		}
		maps.Copy(all, accounts)
	}
	return all, nil
}

const methodMany = "getMultipleAccounts"

func manyParams(keys []solana.PublicKey) []any {
	return []any{keys, map[string]any{"encoding": "base64", "commitment": confirmed}}
}

func checkMany(keys []solana.PublicKey) func(manyAccounts) error {
	return func(answer manyAccounts) error {
		if _, err := answer.slot(); err != nil {
			return err
		}
		_, err := readAccounts(keys, answer.Value)
		return err
	}
}

// HighestBalance is the largest balance that any node reports. A guard's floor
// rests on it, so that a node that hides money cannot lower the floor while
// another tells the truth.
func (c *Client) HighestBalance(ctx context.Context, key solana.PublicKey) (amount.Units, error) {
	type answer = contextual[*uint64]
	answers, err := askAll(ctx, c, "getBalance", []any{key, map[string]any{"commitment": confirmed}}, func(a answer) error {
		if a.Value == nil {
			return errors.New("no balance in the answer")
		}
		_, err := a.slot()
		return err
	})
	if err != nil {
		return 0, err
	}
	highest := amount.Units(0)
	for _, each := range answers {
		highest = max(highest, amount.Units(*each.Value))
	}
	return highest, nil
}

// HighestTokens is, for each key that any node shows as a token
// account of owner, the largest amount that any reports.
func (c *Client) HighestTokens(ctx context.Context, owner solana.PublicKey, keys []solana.PublicKey) (map[solana.PublicKey]amount.Units, error) {
	highest := make(map[solana.PublicKey]amount.Units, len(keys))
	for len(keys) > 0 {
		batch := keys[:min(len(keys), accountsPerCall)]
		keys = keys[len(batch):]
		answers, err := askAll(ctx, c, methodMany, manyParams(batch), checkMany(batch))
		if err != nil {
			return nil, err
		}
		for _, answer := range answers {
			accounts, err := readAccounts(batch, answer.Value)
			if err != nil {
				return nil, jsonrpc.BadAnswer(methodMany, err)
			}
			for key, account := range accounts {
				if token, ok := ParseToken(account); ok && token.Owner == owner {
					highest[key] = max(highest[key], token.Amount)
				}
			}
		}
	}
	return highest, nil
}

// RentExempt is the balance that keeps an account of this size alive.
func (c *Client) RentExempt(ctx context.Context, size int) (amount.Units, error) {
	lamports, err := ask(ctx, c, "getMinimumBalanceForRentExemption", []any{size, map[string]any{"commitment": confirmed}}, func(n *uint64) error {
		if n == nil || *n == 0 {
			return errors.New("no amount in the answer")
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return amount.Units(*lamports), nil
}

type validity = contextual[*bool]

const methodValid = "isBlockhashValid"

func validParams(blockhash solana.Hash) []any {
	return []any{blockhash, map[string]any{"commitment": confirmed}}
}

func checkValidity(a validity) error {
	if a.Value == nil {
		return errors.New("no verdict in the answer")
	}
	_, err := a.slot()
	return err
}

// BlockhashValid asks whether the network still takes this blockhash: every
// node that answers must think so. On another network it is unknown, and so not
// valid.
func (c *Client) BlockhashValid(ctx context.Context, blockhash solana.Hash) (bool, error) {
	answers, err := askAll(ctx, c, methodValid, validParams(blockhash), checkValidity)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(answers, func(a validity) bool { return !*a.Value }), nil
}

const (
	methodHeight = "getBlockHeight"
	// maxHeight is more blocks than a chain makes in a hundred thousand years.
	maxHeight = 1 << 43
)

func heightParams(commitment string) []any { return []any{map[string]any{"commitment": commitment}} }

func checkHeight(n *uint64) error {
	if n == nil || *n > maxHeight {
		return errors.New("no height in the answer")
	}
	return nil
}

// MostBehind is how many blocks two nodes may be apart.
const MostBehind = solana.BlockhashLifetime

// highest is the highest of several nodes' heights. What is counted from it, such
// as the last height at which a transaction can land, must not be too low: one
// that is thought to have expired could still land. Nor may it be far too high,
// or it would never be thought so: nodes that are further apart than a blockhash
// lives are not believed.
func highest(heights []*uint64) (uint64, error) {
	low, high := *heights[0], *heights[0]
	for _, height := range heights {
		low, high = min(low, *height), max(high, *height)
	}
	if high-low > MostBehind {
		return 0, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about the block height, by %d blocks: one of them is far behind, or lies; take it out of [network] rpc in signerd.toml", high-low)
	}
	return high, nil
}

// BlockHeight is the highest block height that any node reports at a commitment.
func (c *Client) BlockHeight(ctx context.Context, commitment string) (uint64, error) {
	heights, err := askAll(ctx, c, methodHeight, heightParams(commitment), checkHeight)
	if err != nil {
		return 0, err
	}
	return highest(heights)
}

// LastValidHeight is the last block height at which a transaction with this
// blockhash can land, at most. Only a node that knows the blockhash is believed
// about the height: one that is behind it would count from too low.
func (c *Client) LastValidHeight(ctx context.Context, blockhash solana.Hash) (uint64, error) {
	heights, err := gatherAll(ctx, c, func(ctx context.Context, n *node) (*uint64, error) {
		valid, err := askNode(ctx, n, methodValid, validParams(blockhash), checkValidity)
		if err != nil {
			return nil, err
		}
		if !*valid.Value {
			return new(uint64), nil
		}
		return askNode(ctx, n, methodHeight, heightParams(confirmed), checkHeight)
	})
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(heights, func(height *uint64) bool { return *height == 0 }) {
		return 0, fault.New(fault.BlockhashExpired, "the transaction's blockhash is no longer valid on the pinned network")
	}
	height, err := highest(heights)
	return height + solana.BlockhashLifetime, err // Of maxHeight at most, so this cannot overflow.
}
