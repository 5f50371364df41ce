package ledger

import (
	"context"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/policy"
)

// Limits are caps that a test chooses itself.
type Limits struct {
	Assets        []policy.AssetCap
	PerHour       int
	AllowUncapped bool
}

// ReserveAs is Reserve from behind the stages that stamp its input.
func (l *Ledger) ReserveAs(ctx context.Context, proposal, session string, position int,
	charge map[solana.PublicKey]amount.Units, limits Limits, now time.Time,
) (string, error) {
	return l.ReservePaying(ctx, proposal, session, position, charge, nil, limits, now)
}

// ReservePaying is ReserveAs for a transaction that pays somebody.
func (l *Ledger) ReservePaying(ctx context.Context, proposal, session string, position int,
	charge map[solana.PublicKey]amount.Units, payments map[policy.Destination]amount.Units, limits Limits, now time.Time,
) (string, error) {
	c := caps{assets: make(map[solana.PublicKey]policy.AssetCap), transactionsPerHour: limits.PerHour, allowUncapped: limits.AllowUncapped}
	for _, asset := range limits.Assets {
		c.assets[asset.Mint] = asset
	}
	return l.reserve(ctx, Entry{ProposalID: proposal, Session: session, Position: position, Charge: charge, Payments: payments, LastValidHeight: 1 << 63}, c, now)
}
