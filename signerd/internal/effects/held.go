package effects

import (
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

// Held is what the wallet held of each asset before, as far as the transaction
// names its accounts. What lies in an account that is not named is not counted,
// so the share that a transaction may take is never understated.
func (e Effects) Held() (map[solana.PublicKey]amount.Units, error) {
	d := e.draft
	held := map[solana.PublicKey]amount.Units{amount.SOL: d.state.Before[d.wallet].Lamports}
	for _, own := range d.own {
		if own.created {
			continue
		}
		mint := asset(own.mint)
		sum, err := amount.Sum(held[mint], own.before.Amount)
		if err != nil {
			return nil, overflow(err)
		}
		held[mint] = sum
	}
	return held, nil
}

// Assets are what may leave or must arrive by the bounds, or moves in
// simulation, or lies in an account of the wallet that can change.
func (e Effects) Assets() []solana.PublicKey {
	found := make(map[solana.PublicKey]struct{})
	for mint, most := range e.draft.bounds.MaxOut {
		if most > 0 {
			found[mint] = struct{}{}
		}
	}
	for mint := range e.draft.bounds.MinIn {
		found[mint] = struct{}{}
	}
	for _, change := range e.changes {
		found[change.Mint] = struct{}{}
	}
	writable := e.draft.tx.Writable()
	for _, own := range e.draft.own {
		if slices.Contains(writable, own.key) {
			found[asset(own.mint)] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(found), solana.PublicKey.Compare)
}
