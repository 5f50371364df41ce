package judge

import (
	"context"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
)

// planRounds bounds how often the guard is computed: appending it can change
// the fee, since more compute units are paid for, and with it the floor, once.
const planRounds = 3

// guard appends the guard that the bounds call for and reads the result again
// from its bytes, until the guard in the bytes is the one they call for.
func (j *Judge) guard(ctx context.Context, tx decode.Tx, draft effects.Draft, r Request, state effects.State, holdings effects.Holdings) (decode.Tx, effects.Draft, error) {
	plan, err := draft.Plan(holdings)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	if draft.HasGuard() {
		if !draft.Guarded(plan) {
			return decode.Tx{}, effects.Draft{}, fault.New(fault.OutsideBounds, "the guard in the transaction asserts less than the bounds call for")
		}
		return tx, draft, nil
	}
	for range planRounds {
		final, found, err := j.append(ctx, tx, plan, r, state)
		if err != nil {
			return decode.Tx{}, effects.Draft{}, err
		}
		next, err := found.Plan(holdings)
		if err != nil {
			return decode.Tx{}, effects.Draft{}, err
		}
		// A floor that is too high would revert what is honest.
		if next.Floor == plan.Floor && found.Guarded(next) {
			return final, found, nil
		}
		plan = next
	}
	return decode.Tx{}, effects.Draft{}, fault.New(fault.GuardImpossible, "no guard satisfies its own cost")
}

func (j *Judge) append(ctx context.Context, tx decode.Tx, plan guard.Plan, r Request, state effects.State) (decode.Tx, effects.Draft, error) {
	raw, err := guard.Append(tx, plan)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	final, err := j.decode(ctx, raw)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	if err := affordable(tx, final, r.Bounds); err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	draft, err := effects.Read(final, r.Flow, r.Bounds, state, r.Known)
	return final, draft, err
}

// affordable refuses a guard whose compute units cost more than the agreed fee
// leaves room for. Without them an honest transaction would die in its guard,
// and its fee be lost.
func affordable(tx, final decode.Tx, bounds effects.Bounds) error {
	_, before := tx.Fee().OfWallet()
	base, priority := final.Fee().OfWallet()
	fee, err := amount.Sum(base, priority)
	if err != nil {
		return fault.New(fault.OutsideBounds, "the network fee is larger than any amount of SOL").Because(err)
	}
	if priority > before && fee > bounds.MaxFee {
		return fault.New(fault.OutsideBounds, "the compute units of the guard raise the network fee to %s SOL, over the ceiling of %s SOL",
			fee.Decimal(amount.SOLDecimals), bounds.MaxFee.Decimal(amount.SOLDecimals))
	}
	return nil
}

// holdings asks every node what the wallet and its token accounts hold, and
// looks at the bytes as they came: a guard would quietly undo some of what they
// try, and who tries it should not be signed for.
func (j *Judge) holdings(ctx context.Context, tx decode.Tx, draft effects.Draft, r Request) (effects.Holdings, error) {
	held := effects.Holdings{InFlight: r.InFlight}
	var after map[solana.PublicKey]chain.Account
	if draft.NeedsGuard() {
		simulation, err := j.simulate(ctx, tx, draft, r)
		if err != nil {
			return held, err
		}
		if _, err := draft.Finish(simulation, false); err != nil {
			return held, err
		}
		if simulation != nil {
			after = simulation.After
		}
	}
	var err error
	if held.Lamports, err = j.chain.HighestBalance(ctx, j.wallet); err != nil {
		return held, err
	}
	if held.Tokens, err = j.chain.HighestTokens(ctx, j.wallet, tx.Writable()); err != nil {
		return held, err
	}
	held.Wrapped = draft.SpentWrapped(after)
	if draft.HasGuard() {
		held.Wrapped = draft.GuardedWrapped(held)
	}
	return held, nil
}
