package flow

import (
	"context"

	"countersign/mcpd/internal/chain"
	"countersign/mcpd/internal/plan"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Gate asks the wallet to hold something before it may write. The zero gate is
// open.
type Gate struct {
	// Mint is amount.SOL for SOL.
	Mint solana.PublicKey
	// Minimum is a decimal of whole units, empty for no gate.
	Minimum string
}

// Open reports that no gate is configured.
func (g Gate) Open() bool { return g.Minimum == "" }

// Check says whether wallet passes.
func (g Gate) Check(ctx context.Context, node *chain.Client, wallet solana.PublicKey) error {
	if g.Open() {
		return nil
	}
	held, decimals, err := g.held(ctx, node, wallet)
	if err != nil {
		return err
	}
	least, err := amount.ParseDecimal(g.Minimum, decimals)
	if err != nil {
		return fault.New(fault.GateNotMet, "[gate] minimum in mcpd.toml has more digits than the token").Because(err)
	}
	if held < least {
		name := g.Mint.String()
		if g.Mint == amount.SOL {
			name = "SOL"
		}
		return fault.New(fault.GateNotMet, "the wallet holds %s of %s; the owner's gate asks for %s", held.Decimal(decimals), name, least.Decimal(decimals))
	}
	return nil
}

func (g Gate) held(ctx context.Context, node *chain.Client, wallet solana.PublicKey) (amount.Units, uint8, error) {
	if g.Mint == amount.SOL {
		balance, err := node.Balance(ctx, wallet)
		return balance, amount.SOLDecimals, err
	}
	accounts, err := node.Accounts(ctx, []solana.PublicKey{g.Mint})
	if err != nil {
		return 0, 0, err
	}
	mint, err := plan.ReadMint(g.Mint, plan.Snapshot{Accounts: accounts})
	if err != nil {
		return 0, 0, err
	}
	holdings, err := node.Holdings(ctx, wallet)
	if err != nil {
		return 0, 0, err
	}
	sum := amount.Units(0)
	for _, holding := range holdings {
		if holding.Mint != g.Mint {
			continue
		}
		if sum, err = amount.Sum(sum, holding.Amount); err != nil {
			return 0, 0, fault.New(fault.RPCBadAnswer, "the wallet's balance is too large").Because(err)
		}
	}
	return sum, mint.Decimals, nil
}
