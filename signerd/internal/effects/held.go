package effects

import (
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

// sumHeld adds up what Held tells.
func (d Draft) sumHeld() (map[solana.PublicKey]amount.Units, error) {
	held := map[solana.PublicKey]amount.Units{amount.SOL: d.state.Before[d.wallet].Lamports}
	for _, own := range d.own {
		if own.created {
			continue
		}
		mint := amount.Asset(own.mint)
		sum, err := amount.Sum(held[mint], own.before.Amount)
		if err != nil {
			return nil, overflow(err)
		}
		held[mint] = sum
	}
	return held, nil
}

// listAssets is what Assets tells.
func (d Draft) listAssets(changes []Change) []solana.PublicKey {
	found := make(map[solana.PublicKey]struct{})
	for mint, most := range d.bounds.MaxOut {
		if most > 0 {
			found[mint] = struct{}{}
		}
	}
	for mint := range d.bounds.MinIn {
		found[mint] = struct{}{}
	}
	for _, change := range changes {
		found[change.Mint] = struct{}{}
	}
	for _, own := range d.own {
		if d.tx.Writes(own.key) {
			found[amount.Asset(own.mint)] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(found), solana.PublicKey.Compare)
}
