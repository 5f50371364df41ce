package plan

import (
	"slices"

	"countersign/mcpd/internal/caps"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// SwapTerms is what was quoted, in base units.
type SwapTerms struct {
	In     amount.Units
	MinOut amount.Units
}

// ReadBatch decodes a batch that somebody else built.
func ReadBatch(batch [][]byte, tables map[solana.PublicKey]Table) ([]Read, error) {
	reads := make([]Read, 0, len(batch))
	for _, tx := range batch {
		read, err := ReadTransaction(tx, tables)
		if err != nil {
			return nil, err
		}
		reads = append(reads, read)
	}
	return reads, nil
}

// AdoptKeys are the accounts that an adopted batch needs in its snapshot.
func AdoptKeys(admitted caps.Admitted, reads []Read) []solana.PublicKey {
	keys := []solana.PublicKey{admitted.Signer().Wallet}
	add := func(key solana.PublicKey) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, read := range reads {
		for _, opening := range read.Opens {
			add(opening.Account)
			add(opening.Mint)
		}
		for _, key := range read.Writable {
			add(key)
		}
	}
	return keys
}

// AdoptSwap takes a swap that the API built. The bounds come from the intent
// and the quote, not from the bytes: the signer compares the two.
func AdoptSwap(admitted caps.Admitted, terms SwapTerms, built []byte, reads []Read, snapshot Snapshot) (Unsigned, error) {
	swap, ok := admitted.Intent().Swap()
	if !ok {
		return Unsigned{}, fault.New(fault.Internal, "a swap was planned for another intent")
	}
	if terms.In == 0 || terms.MinOut == 0 {
		return Unsigned{}, fault.New(fault.UpstreamBadAnswer, "the quote guarantees nothing")
	}
	bounds := Bounds{
		MaxOut: []Asset{{Mint: swap.Input, Amount: terms.In}},
		MinIn:  []Asset{{Mint: swap.Output, Amount: terms.MinOut}},
	}
	return assemble(admitted, FlowSwap, [][]byte{built}, reads, snapshot, bounds)
}

// claimToleranceDivisor is the part of a claimable sum, one hundredth, that may
// be missing when it is paid: the figure is rounded and a moment old.
const claimToleranceDivisor = 100

// claimFloor is the least that a claim of total must pay.
func claimFloor(total amount.Units) amount.Units {
	return total - total/claimToleranceDivisor
}

// AdoptClaim takes a claim that the API built for a claimable total.
func AdoptClaim(admitted caps.Admitted, total amount.Units, batch [][]byte, reads []Read, snapshot Snapshot) (Unsigned, error) {
	if _, ok := admitted.Intent().Claim(); !ok {
		return Unsigned{}, fault.New(fault.Internal, "a claim was planned for another intent")
	}
	if total == 0 {
		return Unsigned{}, fault.New(fault.NothingToClaim, "nothing is claimable for these tokens")
	}
	bounds := Bounds{MinIn: []Asset{{Mint: amount.SOL, Amount: claimFloor(total)}}}
	return assemble(admitted, FlowClaim, batch, reads, snapshot, bounds)
}
