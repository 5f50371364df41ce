package liar

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	lib "github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/bagsandbox"
)

// payThief pays what one transaction may pay, or nearly.
func (l *Liar) payThief(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, l.Room-5_000-r.Uint64N(l.Room/10))
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

func (l *Liar) trades(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.trade(ctx, l.people.wsol, l.people.token2022, l.Room*8/10+r.Uint64N(l.Room/20), bagsandbox.Misbehaviour{Mode: bagsandbox.LowMinimum})
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

func (l *Liar) sales(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	units := l.TokenRoom - r.Uint64N(l.TokenRoom/10)
	o, err := l.trade(ctx, l.people.token, l.people.wsol, units, bagsandbox.Misbehaviour{})
	if r.IntN(2) == 0 {
		o, err = l.tokenPayment(ctx, l.people.token, l.people.thief, units)
	}
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

// burnFees pays nearly nothing, at a priority fee of nearly the ceiling.
func (l *Liar) burnFees(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	const ceiling = 5_000_000 // fees.max_priority_fee
	fee := ceiling - r.Uint64N(2) + r.Uint64N(2)
	o, err := l.payment(ctx, l.people.thief, 1+r.Uint64N(1_000), unitPrice(fee*5)) // 200,000 units
	if err != nil {
		return 0, err
	}
	o.bounds.MaxFee = fee + 5_000
	return l.carryOut(ctx, s, o, o.batch)
}

func (l *Liar) payTips(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	const ceiling = 1_000_000 // fees.max_tip
	tip := lib.MustPublicKeyFromBase58("96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5")
	o, err := l.payment(ctx, l.people.thief, 1+r.Uint64N(1_000), transfer(l.people.wallet, tip, ceiling))
	if err != nil {
		return 0, err
	}
	o.bounds.MaxFee = ceiling + 50_000
	return l.carryOut(ctx, s, o, o.batch)
}

// payRents opens accounts for strangers, who may close them and keep the rent.
func (l *Liar) payRents(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.tokenPayment(ctx, l.people.token, newcomer(r), 1)
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

func (l *Liar) claims(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.anyClaim(ctx, bagsandbox.LegacyClaims, bagsandbox.Misbehaviour{}, r)
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

// raceCodes confirms at the same moment several payments of which each fits.
func (l *Liar) raceCodes(ctx context.Context, s *session, _ *rand.Rand) (Outcome, error) {
	const runners = 4
	var racing sync.WaitGroup
	outcomes := make([]Outcome, runners)
	for i := range runners {
		o, err := l.payment(ctx, l.people.thief, l.Room*9/10-uint64(i))
		if err != nil {
			return 0, err
		}
		proposal, err := l.propose(ctx, s, o)
		if err != nil {
			outcomes[i] = Refused
			continue
		}
		racing.Go(func() {
			outcomes[i], _ = conclude(s.execute(ctx, proposal.GetConfirmationCode(), o.fingerprint(), o.batch))
		})
	}
	racing.Wait()
	return best(outcomes), nil
}

// raceOneCode confirms one payment several times at the same moment.
func (l *Liar) raceOneCode(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, 1+r.Uint64N(l.Room/2))
	if err != nil {
		return 0, err
	}
	proposal, err := l.propose(ctx, s, o)
	if err != nil {
		return Refused, err
	}
	const runners = 8
	var racing sync.WaitGroup
	outcomes := make([]Outcome, runners)
	for i := range runners {
		racing.Go(func() {
			outcomes[i], _ = conclude(s.execute(ctx, proposal.GetConfirmationCode(), o.fingerprint(), o.batch))
		})
	}
	racing.Wait()
	landed := 0
	for _, outcome := range outcomes {
		if outcome == Landed {
			landed++
		}
	}
	if landed > 1 {
		return 0, errors.New("one code was executed more than once")
	}
	return best(outcomes), nil
}

func best(outcomes []Outcome) Outcome {
	for _, wanted := range []Outcome{Landed, Failed, Unsettled} {
		if slices.Contains(outcomes, wanted) {
			return wanted
		}
	}
	return Refused
}
