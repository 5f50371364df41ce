package chain

import (
	"cmp"
	"context"
	"slices"

	"countersign/mcpd/internal/plan"
	"countersign/shared/amount"
	"countersign/shared/solana"
)

// Holding is one token account of a wallet.
type Holding struct {
	Account  solana.PublicKey
	Mint     solana.PublicKey
	Program  solana.PublicKey
	Decimals uint8
	Amount   amount.Units
}

// Balance is the wallet's native SOL.
func (c *Client) Balance(ctx context.Context, wallet solana.PublicKey) (amount.Units, error) {
	var answer struct {
		Value *uint64 `json:"value"`
	}
	if err := c.call(ctx, "getBalance", []any{wallet, map[string]any{"commitment": commitment}}, &answer); err != nil {
		return 0, err
	}
	if answer.Value == nil {
		return 0, errShape
	}
	return amount.Units(*answer.Value), nil
}

// Holdings lists the token accounts of a wallet that hold something, ordered by
// mint. Decimals come from the mints.
func (c *Client) Holdings(ctx context.Context, wallet solana.PublicKey) ([]Holding, error) {
	var holdings []Holding
	for _, program := range []solana.PublicKey{solana.TokenProgram, solana.Token2022Program} {
		part, err := c.holdingsUnder(ctx, wallet, program)
		if err != nil {
			return nil, err
		}
		holdings = append(holdings, part...)
	}
	var mints []solana.PublicKey
	for _, holding := range holdings {
		if !slices.Contains(mints, holding.Mint) {
			mints = append(mints, holding.Mint)
		}
	}
	accounts, err := c.Accounts(ctx, mints)
	if err != nil {
		return nil, err
	}
	for i, holding := range holdings {
		mint, err := plan.ReadMint(holding.Mint, plan.Snapshot{Accounts: accounts})
		if err != nil {
			return nil, errShape
		}
		holdings[i].Decimals = mint.Decimals
	}
	slices.SortFunc(holdings, func(a, b Holding) int {
		return cmp.Or(a.Mint.Compare(b.Mint), a.Account.Compare(b.Account))
	})
	return holdings, nil
}

func (c *Client) holdingsUnder(ctx context.Context, wallet, program solana.PublicKey) ([]Holding, error) {
	var answer struct {
		Value []struct {
			Pubkey  solana.PublicKey `json:"pubkey"`
			Account wireAccount      `json:"account"`
		} `json:"value"`
	}
	params := []any{wallet, map[string]any{"programId": program}, map[string]any{"encoding": "base64", "commitment": commitment}}
	if err := c.call(ctx, "getTokenAccountsByOwner", params, &answer); err != nil {
		return nil, err
	}
	var holdings []Holding
	for _, entry := range answer.Value {
		account, err := entry.Account.account()
		if err != nil {
			return nil, err
		}
		if len(account.Data) < 165 || account.Owner != program {
			return nil, errShape
		}
		held := plan.TokenBalance(entry.Pubkey, plan.Snapshot{Accounts: map[solana.PublicKey]plan.Account{entry.Pubkey: account}})
		if held == 0 {
			continue
		}
		holdings = append(holdings, Holding{Account: entry.Pubkey, Mint: solana.PublicKey(account.Data[:32]), Program: program, Amount: held})
	}
	return holdings, nil
}
