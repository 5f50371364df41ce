package chain_test

import (
	"testing"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain/chaintest"
)

// TestMintsAreNoOneNodesWord: with other decimals, what was stated would be
// another amount.
func TestMintsAreNoOneNodesWord(t *testing.T) {
	show := func(decimals uint8) *node {
		return startNode(t, map[string]string{"getMultipleAccounts": atSlot(1, `[`+accountJSON(chaintest.Mint(mint, solana.TokenProgram, decimals))+`]`)})
	}
	hides := startNode(t, map[string]string{"getMultipleAccounts": atSlot(1, `[null]`)})
	for name, test := range map[string]struct {
		nodes []*node
		want  fault.Code
	}{
		"agree":            {[]*node{show(6), show(6)}, ""},
		"the first lies":   {[]*node{show(9), show(6)}, fault.RPCBadAnswer},
		"the second lies":  {[]*node{show(6), show(9)}, fault.RPCBadAnswer},
		"the first hides":  {[]*node{hides, show(6)}, fault.UnknownMint},
		"the second hides": {[]*node{show(6), hides}, fault.UnknownMint},
	} {
		mints, err := clientOf(t, test.nodes...).Mints(t.Context(), []solana.PublicKey{mint})
		if test.want == "" && (err != nil || mints[mint].Decimals != 6) || test.want != "" && !fault.Is(err, test.want) {
			t.Errorf("%s: %+v, %v", name, mints, err)
		}
	}
}
