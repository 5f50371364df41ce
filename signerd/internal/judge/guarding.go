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
func (j *Judge) guard(ctx context.Context, tx decode.Tx, views []view, r Request, holdings effects.Holdings) (decode.Tx, []view, error) {
	plan, err := strictestPlan(views, holdings)
	if err != nil {
		return decode.Tx{}, nil, err
	}
	if draft := views[0].draft; draft.HasGuard() {
		if !draft.Guarded(plan) {
			return decode.Tx{}, nil, fault.New(fault.OutsideBounds, "the guard in the transaction asserts less than the bounds call for")
		}
		return tx, views, nil
	}
	for range planRounds {
		final, found, err := j.append(ctx, tx, plan, views, r)
		if err != nil {
			return decode.Tx{}, nil, err
		}
		next, err := strictestPlan(found, holdings)
		if err != nil {
			return decode.Tx{}, nil, err
		}
		// A floor that is too high would revert what is honest.
		if next.Floor == plan.Floor && found[0].draft.Guarded(next) {
			return final, found, nil
		}
		plan = next
	}
	return decode.Tx{}, nil, fault.New(fault.GuardImpossible, "no guard satisfies its own cost")
}

// strictestPlan is the guard that holds whichever node tells the truth.
func strictestPlan(views []view, holdings effects.Holdings) (guard.Plan, error) {
	var strictest guard.Plan
	for i, v := range views {
		plan, err := v.draft.Plan(holdings)
		if err != nil {
			return guard.Plan{}, err
		}
		if i == 0 {
			strictest = plan
			continue
		}
		var same bool
		if strictest, same = strictest.And(plan); !same {
			return guard.Plan{}, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about the token accounts of the wallet, so what to protect is not certain")
		}
	}
	return strictest, nil
}

func (j *Judge) append(ctx context.Context, tx decode.Tx, plan guard.Plan, views []view, r Request) (decode.Tx, []view, error) {
	raw, err := guard.Append(tx, plan)
	if err != nil {
		return decode.Tx{}, nil, err
	}
	final, err := j.decode(ctx, raw)
	if err != nil {
		return decode.Tx{}, nil, err
	}
	if err := affordable(tx, final, r.Bounds); err != nil {
		return decode.Tx{}, nil, err
	}
	views, err = read(final, views, r)
	return final, views, err
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
// try, and who tries it should not be signed for. The views returned are those
// whose nodes still answer.
func (j *Judge) holdings(ctx context.Context, tx decode.Tx, views []view, r Request) ([]view, effects.Holdings, error) {
	held := effects.Holdings{InFlight: r.InFlight}
	var after map[solana.PublicKey]chain.Account
	if views[0].draft.NeedsGuard() {
		type seen struct {
			view  view
			after map[solana.PublicKey]chain.Account
		}
		each, err := everywhere(ctx, j.chain, views, func(ctx context.Context, v view) (seen, error) {
			simulation, err := v.simulate(ctx, tx, r)
			if err != nil {
				return seen{}, err
			}
			if simulation == nil {
				return seen{view: v}, nil
			}
			_, err = v.draft.Finish(simulation, false)
			return seen{v, simulation.After}, err
		})
		if err != nil {
			return nil, held, err
		}
		after, views = each[0].after, views[:0:0]
		for _, one := range each {
			views = append(views, one.view)
		}
	}
	var err error
	if held.Lamports, err = j.chain.HighestBalance(ctx, j.wallet); err != nil {
		return nil, held, err
	}
	if held.Tokens, err = j.chain.HighestTokens(ctx, j.wallet, tx.Writable()); err != nil {
		return nil, held, err
	}
	held.Wrapped = views[0].draft.SpentWrapped(after)
	if views[0].draft.HasGuard() {
		held.Wrapped = views[0].draft.GuardedWrapped(held)
	}
	return views, held, nil
}
