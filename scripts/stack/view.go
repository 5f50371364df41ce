package stack

import (
	"context"
	"fmt"
)

// View is what the observer sees of the wallet and one token. It is
// comparable, so that "nothing changed" is one comparison.
type View struct {
	Lamports   uint64
	Tokens     uint64
	Wrapped    uint64
	Signatures int
}

func (v View) String() string {
	return fmt.Sprintf("%d lamports, %d base units of the token, %d wrapped, %d transactions", v.Lamports, v.Tokens, v.Wrapped, v.Signatures)
}

// Observe looks at the wallet through the observer. What it reads begins at
// confirmed, so blocks are let pass first: "nothing changed" must not mean that
// it was looked at too early.
func (s *Stack) Observe(ctx context.Context, mint string) (View, error) {
	var v View
	err := s.Chain.Advance(ctx, 2)
	if err != nil {
		return v, err
	}
	if v.Lamports, err = s.Eye.Balance(ctx, s.Wallet); err != nil {
		return v, err
	}
	if v.Tokens, _, err = s.Eye.TokenAmount(ctx, s.TokenAccount(mint)); err != nil {
		return v, err
	}
	if v.Wrapped, _, err = s.Eye.TokenAmount(ctx, s.TokenAccount(s.World.WSOL)); err != nil {
		return v, err
	}
	signatures, err := s.Eye.Signatures(ctx, s.Wallet)
	v.Signatures = len(signatures)
	return v, err
}
