package effects

import (
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/guard"
)

// Holdings is what the wallet holds at most, over all nodes that answer. A
// node that reports too little must not lower what the guard asserts.
type Holdings struct {
	Lamports amount.Units
	Tokens   map[solana.PublicKey]amount.Units
	// InFlight is what other transactions under way may still take, in lamports.
	InFlight amount.Units
	// Wrapped is how much of the SOL that may leave is expected to leave from a
	// wrapped-SOL account that stays open, and not from the wallet itself. The
	// guard asserts each of the two, so it needs to know; a wrong word makes
	// honest transactions fail and lets no more leave, since what is allowed to
	// one is taken from the other.
	Wrapped amount.Units
}

// exposed lists own token accounts that can change and are there after the
// last instruction: those that a known instruction closes to the wallet are
// covered by the floor.
func (d *Draft) exposed() []*ownAccount {
	var list []*ownAccount
	for _, key := range d.tx.Writable() {
		if own, ours := d.own[key]; ours && !own.closed {
			list = append(list, own)
		}
	}
	return list
}

// Plan is the guard that the bounds call for: whatever the programs do in
// between, at the end each exposed account holds at least what it held, less
// what may leave and plus what must arrive, and the wallet likewise.
func (d Draft) Plan(h Holdings) (guard.Plan, error) {
	var plan guard.Plan
	if err := d.compareHoldings(h); err != nil {
		return plan, err
	}
	h.Wrapped = min(h.Wrapped, d.bounds.MaxOut[amount.SOL])
	lines := make(map[solana.PublicKey]bool)
	for _, own := range d.exposed() {
		mint := amount.Asset(own.mint)
		if lines[mint] {
			return plan, fault.New(fault.GuardImpossible, "two token accounts of the wallet hold %s, so what each must keep is not determined", own.mint)
		}
		lines[mint] = true
		line, err := d.line(own, h)
		if err != nil {
			return plan, err
		}
		plan.Lines = append(plan.Lines, line)
	}
	if !lines[amount.SOL] {
		h.Wrapped = 0
	}
	var err error
	plan.Floor, err = d.floor(h, !lines[amount.SOL])
	return plan, err
}

// compareHoldings refuses a guard that would rest on one node's word: an
// account of the wallet that another node shows, or tokens that could leave
// with an account that is closed, which no assertion can cover afterwards.
func (d Draft) compareHoldings(h Holdings) error {
	for key := range h.Tokens {
		if own, ok := d.own[key]; !ok || own.created {
			return fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about token account %s of the wallet", key)
		}
	}
	for _, own := range d.own {
		held, err := d.heldInClosed(own.mint, h)
		if err != nil {
			return err
		}
		if most := d.bounds.MaxOut[own.mint]; held > most {
			return fault.New(fault.OutsideBounds, "accounts of token %s are closed, and they hold %s base units of which %s may leave", own.mint, held, most)
		}
	}
	return nil
}

// heldInClosed is what the accounts of one token that are closed held, all
// together: it may leave, or must be found in the account that stays. Wrapped
// SOL comes to the wallet, and the floor sees to that.
func (d Draft) heldInClosed(mint solana.PublicKey, h Holdings) (amount.Units, error) {
	var total amount.Units
	for _, own := range d.own {
		if !own.closed || own.created || own.mint != mint || mint == solana.WrappedSOL {
			continue
		}
		sum, err := amount.Sum(total, max(own.before.Amount, h.Tokens[own.key]))
		if err != nil {
			return 0, overflow(err)
		}
		total = sum
	}
	return total, nil
}

// line is the assertion of one account. Wrapped SOL that stays open keeps what
// it held, less what is expected to leave from there, and gets what must
// arrive; what else leaves in SOL is the floor's affair.
func (d Draft) line(own *ownAccount, h Holdings) (guard.Line, error) {
	mint, known := d.state.Mints[own.mint]
	switch {
	case !known:
		return guard.Line{}, fault.New(fault.GuardImpossible, "the mint of token account %s cannot be read", own.key)
	case own.frozen() || mint.DefaultFrozen || mint.Paused || mint.NonTransferable || own.before.MemoRequired:
		return guard.Line{}, fault.New(fault.GuardImpossible, "token account %s is frozen, paused or restricted, so the chain cannot protect it", own.key)
	}
	closed, err := d.heldInClosed(own.mint, h)
	if err != nil {
		return guard.Line{}, err
	}
	held, err := amount.Sum(max(own.before.Amount, h.Tokens[own.key]), closed)
	if err != nil {
		return guard.Line{}, overflow(err)
	}
	if own.mint == solana.WrappedSOL {
		held = held.Less(h.Wrapped)
	} else {
		held = held.Less(d.bounds.MaxOut[own.mint])
	}
	least, err := amount.Sum(held, d.bounds.MinIn[amount.Asset(own.mint)])
	if err != nil {
		return guard.Line{}, overflow(err)
	}
	return guard.Line{Account: own.key, Mint: own.mint, Program: own.program, Decimals: mint.Decimals, Least: least}, nil
}

// floor is the least balance of the wallet at the end. arrivesNatively says
// that incoming SOL ends up in the wallet itself.
func (d Draft) floor(h Holdings, arrivesNatively bool) (amount.Units, error) {
	gains := []amount.Units{h.Lamports}
	costs := []amount.Units{h.InFlight, d.bounds.MaxOut[amount.SOL].Less(h.Wrapped), d.baseFee, d.priorityFee, d.tip, d.rent.Less(d.rentReturned)}
	for _, own := range d.own {
		if own.closed && !own.created {
			gains = append(gains, max(own.lamports, own.shownElsewhere(h)))
		}
	}
	if arrivesNatively {
		gains = append(gains, d.bounds.MinIn[amount.SOL])
	}
	gain, err := amount.Sum(gains...)
	if err != nil {
		return 0, overflow(err)
	}
	cost, err := amount.Sum(costs...)
	if err != nil {
		return 0, overflow(err)
	}
	if cost >= gain {
		return 0, fault.New(fault.InsufficientFunds, "the wallet holds %s SOL, and this could take %s SOL in all",
			h.Lamports.Decimal(amount.SOLDecimals), cost.Decimal(amount.SOLDecimals))
	}
	return gain - cost, nil
}

// SpentWrapped is how much wrapped SOL a simulation takes from an account of
// the wallet that stays open.
func (d Draft) SpentWrapped(after map[solana.PublicKey]chain.Account) amount.Units {
	for _, own := range d.exposed() {
		if token, ok := parseToken(after, own.key); ok && own.mint == solana.WrappedSOL {
			return own.before.Amount.Less(token.Amount)
		}
	}
	return 0
}

// GuardedWrapped is how much may leave from there by the guard in the bytes.
func (d Draft) GuardedWrapped(h Holdings) amount.Units {
	for _, own := range d.exposed() {
		line, ok := d.guard.Line(own.key)
		if !ok || own.mint != solana.WrappedSOL {
			continue
		}
		least, err := d.line(own, h)
		if err != nil {
			return 0 // Plan says why.
		}
		return least.Least.Less(line.Least)
	}
	return 0
}

// shownElsewhere is what a wrapped-SOL account holds in lamports by the word
// of the node that shows most.
func (o *ownAccount) shownElsewhere(h Holdings) amount.Units {
	if !o.before.Native {
		return 0
	}
	lamports, err := amount.Sum(o.before.Reserve, h.Tokens[o.key])
	if err != nil {
		return 0 // More than all SOL: not to be believed.
	}
	return lamports
}

// covered reports whether the guard in the bytes asserts everything that plan
// calls for, or more.
func (d Draft) covered(plan guard.Plan) bool {
	if !d.guard.Present() || d.guard.Floor < plan.Floor {
		return false
	}
	for _, want := range plan.Lines {
		got, ok := d.guard.Line(want.Account)
		if !ok || got.Mint != want.Mint || got.Program != want.Program || got.Least < want.Least {
			return false
		}
	}
	return true
}

// GuardMeaning says what it means that the instruction at index failed, if it
// belongs to the guard.
func (d Draft) GuardMeaning(index int) (string, bool) {
	switch {
	case !d.guard.Present() || index < d.guard.Start:
		return "", false
	case index == len(d.tx.Instructions())-1:
		return "the wallet would hold less SOL than agreed, or not be a plain account any more", true
	}
	line := d.guard.Lines[(index-d.guard.Start)/guard.InstructionsPerLine]
	return "the wallet's token account " + line.Account.String() + " would hold less than agreed, or be out of the wallet's hands", true
}

// GuardMeaning says what it means that the instruction at index failed, if it
// belongs to the guard.
func (e Effects) GuardMeaning(index int) (string, bool) { return e.draft.GuardMeaning(index) }
