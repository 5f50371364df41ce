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

// fetch reads, from one node, everything that the transaction and its bounds
// name. named are their mints.
func fetch(ctx context.Context, node *chain.Client, tx decode.Tx, named []solana.PublicKey) (effects.State, error) {
	keys := []solana.PublicKey{tx.Wallet()}
	for _, account := range tx.Accounts() {
		keys = append(keys, account.Key)
	}
	metadata := make(map[solana.PublicKey]solana.PublicKey, len(named))
	for _, mint := range named {
		if address, ok := chain.MetadataAddress(mint); ok {
			metadata[mint] = address
			keys = append(keys, address)
		}
	}
	before, err := node.Accounts(ctx, distinct(keys))
	if err != nil {
		return effects.State{}, err
	}
	state := effects.State{Before: before, Names: make(map[solana.PublicKey]chain.TokenName)}
	for mint, address := range metadata {
		if name, ok := chain.ParseMetadata(before[address], mint); ok {
			state.Names[mint] = name
		}
	}
	if state.Mints, err = fetchMints(ctx, node, tx.Wallet(), named, before); err != nil {
		return effects.State{}, err
	}
	state.Rent, err = fetchRents(ctx, node, tx, state)
	return state, err
}

// distinct keeps the first of each key, and not the one that stands for SOL.
func distinct(keys []solana.PublicKey) []solana.PublicKey {
	seen := map[solana.PublicKey]struct{}{amount.SOL: {}}
	return slices.DeleteFunc(keys, func(key solana.PublicKey) bool {
		_, known := seen[key]
		seen[key] = struct{}{}
		return known
	})
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

// fetchMints reads the mints of every account opened and every asset of the
// bounds, which are named, and of every own account.
func fetchMints(ctx context.Context, node *chain.Client, wallet solana.PublicKey, named []solana.PublicKey, before map[solana.PublicKey]chain.Account) (map[solana.PublicKey]chain.MintInfo, error) {
	keys := slices.Clone(named)
	for _, account := range before {
		if token, ok := chain.ParseToken(account); ok && token.Owner == wallet {
			keys = append(keys, token.Mint)
		}
	}
	if keys = distinct(keys); len(keys) == 0 {
		return map[solana.PublicKey]chain.MintInfo{}, nil
	}
	return node.Mints(ctx, keys)
}

// fetchRents asks the rent of every size of account that the transaction opens,
// and of the wallet's token accounts where an opaque program could take what
// lies in them beyond it.
func fetchRents(ctx context.Context, node *chain.Client, tx decode.Tx, state effects.State) (map[int]amount.Units, error) {
	var sizes []int
	opaque := false
	for _, instruction := range tx.Instructions() {
		opaque = opaque || instruction.Kind == decode.Opaque
		if instruction.Kind == decode.CreateAssociated {
			sizes = append(sizes, state.Mints[instruction.Mint].AccountSize)
		}
	}
	for _, account := range state.Before {
		if token, ok := chain.ParseToken(account); opaque && ok && token.Owner == tx.Wallet() && !token.Native {
			sizes = append(sizes, len(account.Data))
		}
	}
	slices.Sort(sizes)
	rents := make(map[int]amount.Units)
	for _, size := range slices.Compact(sizes) {
		rent, err := node.RentExempt(ctx, size)
		if err != nil {
			return nil, err
		}
		rents[size] = rent
	}
	return rents, nil
}
