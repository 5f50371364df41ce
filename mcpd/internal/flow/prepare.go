package flow

import (
	"context"
	"slices"

	"countersign/mcpd/internal/bags"
	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/plan"
	"countersign/mcpd/internal/simulate"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

func (e *Engine) prepare(ctx context.Context, admitted caps.Admitted) (prepared, error) {
	meant := admitted.Intent()
	if swap, ok := meant.Swap(); ok {
		return e.prepareSwap(ctx, admitted, swap)
	}
	if claim, ok := meant.Claim(); ok {
		return e.prepareClaim(ctx, admitted, claim)
	}
	return e.prepareTransfer(ctx, admitted)
}

func (e *Engine) prepareTransfer(ctx context.Context, admitted caps.Admitted) (prepared, error) {
	transfer, _ := admitted.Intent().Transfer()
	snapshot, err := e.Chain.Snapshot(ctx, plan.TransferKeys(admitted))
	if err != nil {
		return prepared{}, err
	}
	unsigned, err := plan.Transfer(admitted, snapshot)
	if err != nil {
		return prepared{}, err
	}
	mints, err := decimalsOf(snapshot, transfer.Mint)
	if err != nil {
		return prepared{}, err
	}
	batch, err := simulate.Run(ctx, e.Chain, unsigned, snapshot)
	_, used := snapshot.Accounts[transfer.To]
	return prepared{batch: batch, mints: mints, unused: !used}, err
}

// decimalsOf reads the decimals of assets whose mints are in the snapshot.
func decimalsOf(snapshot plan.Snapshot, assets ...solana.PublicKey) (map[solana.PublicKey]uint8, error) {
	decimals := map[solana.PublicKey]uint8{amount.SOL: amount.SOLDecimals}
	for _, asset := range assets {
		mint, err := plan.ReadMint(asset, snapshot)
		if err != nil {
			return nil, err
		}
		decimals[asset] = mint.Decimals
	}
	return decimals, nil
}

// Quoted is a price with what is needed to show it.
type Quoted struct {
	Quote bags.Quote
	Mints map[solana.PublicKey]uint8
}

// Quote asks for a price. It needs no signer and proposes nothing.
func (e *Engine) Quote(ctx context.Context, swap intent.Swap) (Quoted, error) {
	snapshot, err := e.mintsOf(ctx, swap, nil)
	if err != nil {
		return Quoted{}, err
	}
	decimals, err := decimalsOf(snapshot, swap.Input, swap.Output)
	if err != nil {
		return Quoted{}, err
	}
	units, err := amount.ParseDecimal(swap.Amount, decimals[swap.Input])
	if err != nil {
		return Quoted{}, intent.AmountFault(err)
	}
	quote, err := e.Bags.Quote(ctx, quoteRequest(swap, units))
	return Quoted{Quote: quote, Mints: decimals}, err
}

// mintsOf reads the mints of a swap, and more accounts with them.
func (e *Engine) mintsOf(ctx context.Context, swap intent.Swap, more []solana.PublicKey) (plan.Snapshot, error) {
	keys := slices.Clone(more)
	for _, asset := range []solana.PublicKey{swap.Input, swap.Output} {
		if asset != amount.SOL {
			keys = append(keys, asset)
		}
	}
	accounts, err := e.Chain.Accounts(ctx, keys)
	return plan.Snapshot{Accounts: accounts}, err
}

func quoteRequest(swap intent.Swap, units amount.Units) bags.QuoteRequest {
	return bags.QuoteRequest{Input: swap.Input, Output: swap.Output, Amount: units, SlippageBps: swap.SlippageBps}
}

func (e *Engine) prepareSwap(ctx context.Context, admitted caps.Admitted, swap intent.Swap) (prepared, error) {
	mints, err := e.mintsOf(ctx, swap, plan.PurseKeys(admitted.Signer().Wallet, swap.Input))
	if err != nil {
		return prepared{}, err
	}
	decimals, err := decimalsOf(mints, swap.Input, swap.Output)
	if err != nil {
		return prepared{}, err
	}
	units, err := plan.Spend(admitted, swap.Input, swap.Amount, mints)
	if err != nil {
		return prepared{}, err
	}
	if err := plan.CheckPurse(admitted.Signer().Wallet, swap.Input, units, mints); err != nil {
		return prepared{}, err
	}
	quote, err := e.Bags.Quote(ctx, quoteRequest(swap, units))
	if err != nil {
		return prepared{}, err
	}
	built, err := e.Bags.Swap(ctx, quote, admitted.Signer().Wallet)
	if err != nil {
		return prepared{}, err
	}
	reads, snapshot, err := e.study(ctx, admitted, [][]byte{built})
	if err != nil {
		return prepared{}, err
	}
	unsigned, err := plan.AdoptSwap(admitted, plan.SwapTerms{In: units, MinOut: quote.MinOut}, built, reads, snapshot)
	if err != nil {
		return prepared{}, err
	}
	batch, err := simulate.Run(ctx, e.Chain, unsigned, snapshot)
	return prepared{batch: batch, quote: &quote, mints: decimals}, err
}

// study decodes a foreign batch and looks up what it touches.
func (e *Engine) study(ctx context.Context, admitted caps.Admitted, batch [][]byte) ([]plan.Read, plan.Snapshot, error) {
	var names []solana.PublicKey
	for _, raw := range batch {
		more, err := plan.Tables(raw)
		if err != nil {
			return nil, plan.Snapshot{}, err
		}
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	tables, err := e.Chain.Tables(ctx, names)
	if err != nil {
		return nil, plan.Snapshot{}, err
	}
	reads, err := plan.ReadBatch(batch, tables)
	if err != nil {
		return nil, plan.Snapshot{}, err
	}
	snapshot, err := e.Chain.Snapshot(ctx, plan.AdoptKeys(admitted, reads))
	return reads, snapshot, err
}

func (e *Engine) prepareClaim(ctx context.Context, admitted caps.Admitted, claim intent.Claim) (prepared, error) {
	wallet := admitted.Signer().Wallet
	total, err := e.claimable(ctx, wallet, claim.Mints)
	if err != nil {
		return prepared{}, err
	}
	var transactions [][]byte
	for _, mint := range claim.Mints {
		built, err := e.Bags.Claim(ctx, wallet, mint)
		if err != nil {
			return prepared{}, err
		}
		transactions = append(transactions, built...)
	}
	if len(transactions) > maxBatch {
		return prepared{}, fault.New(fault.InvalidArguments, "this claim needs %d transactions; claim fewer tokens at once (%d transactions at most)", len(transactions), maxBatch)
	}
	reads, snapshot, err := e.study(ctx, admitted, transactions)
	if err != nil {
		return prepared{}, err
	}
	unsigned, err := plan.AdoptClaim(admitted, total, transactions, reads, snapshot)
	if err != nil {
		return prepared{}, err
	}
	batch, err := simulate.Run(ctx, e.Chain, unsigned, snapshot)
	return prepared{batch: batch, mints: map[solana.PublicKey]uint8{amount.SOL: amount.SOLDecimals}}, err
}

// claimable sums what the tokens hold for the wallet. A token that holds
// nothing is named: it would fail the whole batch.
func (e *Engine) claimable(ctx context.Context, wallet solana.PublicKey, mints []solana.PublicKey) (amount.Units, error) {
	positions, err := e.Bags.Positions(ctx, wallet)
	if err != nil {
		return 0, err
	}
	sums := map[solana.PublicKey]amount.Units{}
	for _, position := range positions {
		if sums[position.Mint], err = amount.Sum(sums[position.Mint], position.Claimable); err != nil {
			return 0, fault.New(fault.UpstreamBadAnswer, "the claimable sum is too large").Because(err)
		}
	}
	total := amount.Units(0)
	for _, mint := range mints {
		if sums[mint] == 0 {
			return 0, fault.New(fault.NothingToClaim, "nothing is claimable for token %s", mint)
		}
		if total, err = amount.Sum(total, sums[mint]); err != nil {
			return 0, fault.New(fault.UpstreamBadAnswer, "the claimable sum is too large").Because(err)
		}
	}
	return total, nil
}
