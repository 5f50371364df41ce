package main

import (
	"context"
	"fmt"

	"countersign/scripts/stack"
)

// solName is how results name native SOL.
const solName = "SOL"

// view is what the observer sees of the wallet. Comparable, so that "nothing
// changed" is one comparison.
type view struct {
	lamports   uint64
	tokens     uint64
	wrapped    uint64
	signatures int
}

func (v view) String() string {
	return fmt.Sprintf("%d lamports, %d base units of the token, %d wrapped, %d transactions", v.lamports, v.tokens, v.wrapped, v.signatures)
}

func observe(ctx context.Context, s *stack.Stack) (view, error) {
	var v view
	var err error
	if v.lamports, err = s.Eye.Balance(ctx, s.Wallet); err != nil {
		return v, err
	}
	if v.tokens, _, err = s.Eye.TokenAmount(ctx, stack.TokenAccount(s.Wallet, s.World.TokenMint)); err != nil {
		return v, err
	}
	if v.wrapped, _, err = s.Eye.TokenAmount(ctx, stack.TokenAccount(s.Wallet, s.World.WSOL)); err != nil {
		return v, err
	}
	signatures, err := s.Eye.Signatures(ctx, s.Wallet)
	v.signatures = len(signatures)
	return v, err
}
