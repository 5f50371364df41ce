package judge

import (
	"context"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
)

// state fetches everything that the transaction and its bounds name.
func (j *Judge) state(ctx context.Context, tx decode.Tx, bounds effects.Bounds) (effects.State, error) {
	keys := []solana.PublicKey{}
	add := func(key solana.PublicKey) {
		if key != amount.SOL && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	add(j.wallet)
	for _, account := range tx.Accounts() {
		add(account.Key)
	}
	named := namedMints(tx, bounds)
	for _, mint := range named {
		if address, ok := chain.MetadataAddress(mint); ok {
			add(address)
		}
	}
	before, err := j.chain.Accounts(ctx, keys)
	if err != nil {
		return effects.State{}, err
	}
	state := effects.State{Before: before, Names: make(map[solana.PublicKey]chain.TokenName)}
	for _, mint := range named {
		if address, ok := chain.MetadataAddress(mint); ok {
			if name, ok := chain.ParseMetadata(before[address], mint); ok {
				state.Names[mint] = name
			}
		}
	}
	if state.Mints, err = j.mints(ctx, tx, bounds, before); err != nil {
		return effects.State{}, err
	}
	state.Rent, err = j.rents(ctx, tx, state)
	return state, err
}

// namedMints are those of the bounds and of every account that is opened.
func namedMints(tx decode.Tx, bounds effects.Bounds) []solana.PublicKey {
	keys := slices.Concat(slices.Collect(maps.Keys(bounds.MaxOut)), slices.Collect(maps.Keys(bounds.MinIn)))
	for _, instruction := range tx.Instructions() {
		if instruction.Kind == decode.CreateAssociated {
			keys = append(keys, instruction.Mint)
		}
	}
	slices.SortFunc(keys, solana.PublicKey.Compare)
	keys = slices.Compact(keys)
	return slices.DeleteFunc(keys, func(mint solana.PublicKey) bool { return mint == amount.SOL })
}

// mints reads the mints of every account opened, every own account, and every
// asset of the bounds.
func (j *Judge) mints(ctx context.Context, tx decode.Tx, bounds effects.Bounds, before map[solana.PublicKey]chain.Account) (map[solana.PublicKey]chain.MintInfo, error) {
	var keys []solana.PublicKey
	add := func(key solana.PublicKey) {
		if key != amount.SOL && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, mint := range namedMints(tx, bounds) {
		add(mint)
	}
	for _, account := range before {
		if token, ok := chain.ParseToken(account); ok && token.Owner == j.wallet {
			add(token.Mint)
		}
	}
	if len(keys) == 0 {
		return map[solana.PublicKey]chain.MintInfo{}, nil
	}
	return j.chain.Mints(ctx, keys)
}

// rents asks the rent of every size of account that the transaction opens, and
// of the wallet's token accounts where an opaque program could take what lies in
// them beyond it.
func (j *Judge) rents(ctx context.Context, tx decode.Tx, state effects.State) (map[int]amount.Units, error) {
	var sizes []int
	opaque := false
	for _, instruction := range tx.Instructions() {
		opaque = opaque || instruction.Kind == decode.Opaque
		if instruction.Kind == decode.CreateAssociated {
			sizes = append(sizes, state.Mints[instruction.Mint].AccountSize)
		}
	}
	for _, account := range state.Before {
		if token, ok := chain.ParseToken(account); opaque && ok && token.Owner == j.wallet && !token.Native {
			sizes = append(sizes, len(account.Data))
		}
	}
	slices.Sort(sizes)
	rents := make(map[int]amount.Units)
	for _, size := range slices.Compact(sizes) {
		rent, err := j.chain.RentExempt(ctx, size)
		if err != nil {
			return nil, err
		}
		rents[size] = rent
	}
	return rents, nil
}
