package effects

import (
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/guard"
)

// Watch lists what a simulation must show: everything that can change.
func (d Draft) Watch() []solana.PublicKey { return d.tx.Writable() }

// Guarded reports whether the final bytes hold a guard that covers plan.
func (d Draft) Guarded(plan guard.Plan) bool { return d.covered(plan) }

// Finish compares the draft with a simulation of the very same bytes and
// gives the transaction its class. The simulation is nil where an earlier
// transaction must land first. guarded says that a covering guard is in the
// bytes.
func (d Draft) Finish(simulation *chain.Simulation, guarded bool) (Effects, error) {
	e := Effects{draft: d, class: Unguarded, simulated: simulation != nil, stamped: true}
	switch {
	case len(d.opaque) == 0:
		e.class = Complete
	case guarded:
		e.class = Guarded
	}
	var err error
	if e.held, err = d.sumHeld(); err != nil {
		return Effects{}, err
	}
	if simulation == nil {
		e.assets = d.listAssets(nil)
		return e, nil
	}
	if e.inner, err = d.judgeInner(simulation.Inner); err != nil {
		return Effects{}, err
	}
	after := simulation.After
	if err := d.compareWallet(after); err != nil {
		return Effects{}, err
	}
	for _, key := range d.ownKeys() {
		if err := d.compareOwn(d.own[key], after); err != nil {
			return Effects{}, err
		}
	}
	if err := d.compareStrangers(after); err != nil {
		return Effects{}, err
	}
	if e.changes, err = d.compareAmounts(after); err != nil {
		return Effects{}, err
	}
	e.assets = d.listAssets(e.changes)
	return e, nil
}

// compareWallet looks at what a take-over changes without moving a lamport.
func (d Draft) compareWallet(after map[solana.PublicKey]chain.Account) error {
	if !d.tx.WalletWritable() {
		return nil
	}
	account, ok := after[d.wallet]
	switch {
	case !ok:
		return fault.New(fault.OutsideBounds, "simulation shows the wallet emptied")
	case account.Owner != solana.SystemProgram:
		return fault.New(fault.OutsideBounds, "simulation shows the wallet handed to program %s", account.Owner)
	case len(account.Data) > 0 || account.Executable:
		return fault.New(fault.OutsideBounds, "simulation shows the wallet turned into another kind of account")
	}
	return nil
}

// compareOwn looks at everything of a token account but its amount.
func (d Draft) compareOwn(own *ownAccount, after map[solana.PublicKey]chain.Account) error {
	if !d.tx.Writes(own.key) {
		return nil
	}
	token, exists := parseToken(after, own.key)
	switch {
	case own.closed && exists && token.Owner == d.wallet:
		return fault.New(fault.OutsideBounds, "simulation shows token account %s open, which should be closed", own.key)
	case own.closed && !exists:
		return nil
	case !exists:
		return fault.New(fault.OutsideBounds, "simulation shows the wallet's token account %s closed", own.key)
	case token.Owner != d.wallet:
		return fault.New(fault.OutsideBounds, "simulation shows the wallet's token account %s handed to %s", own.key, token.Owner)
	case token.Mint != own.mint || token.Program != own.program:
		return fault.New(fault.OutsideBounds, "simulation shows token account %s turned into another", own.key)
	case token.HasDelegate && (!own.before.HasDelegate || token.Delegate != own.before.Delegate || token.Delegated > own.before.Delegated):
		return fault.New(fault.OutsideBounds, "simulation shows that %s may spend from token account %s afterwards", token.Delegate, own.key)
	case token.HasCloser && token.CloseAuthority != d.wallet && (!own.before.HasCloser || token.CloseAuthority != own.before.CloseAuthority):
		return fault.New(fault.OutsideBounds, "simulation shows that %s may close token account %s afterwards", token.CloseAuthority, own.key)
	case !own.before.Native && after[own.key].Lamports < own.lamports:
		return fault.New(fault.OutsideBounds, "simulation takes SOL that lies in token account %s", own.key)
	case token.State == chain.TokenFrozen && !own.frozen():
		return fault.New(fault.OutsideBounds, "simulation shows token account %s frozen", own.key)
	}
	return nil
}

func (o *ownAccount) frozen() bool { return !o.created && o.before.State == chain.TokenFrozen }

// compareStrangers refuses new accounts that name the wallet without being
// explained by an instruction: something was set up in its name.
func (d Draft) compareStrangers(after map[solana.PublicKey]chain.Account) error {
	for _, key := range d.tx.Writable() {
		if _, ours := d.own[key]; ours || key == d.wallet {
			continue
		}
		if token, ok := parseToken(after, key); ok && token.Owner == d.wallet {
			return fault.New(fault.OutsideBounds, "simulation shows a token account %s of the wallet that no instruction explains", key)
		}
	}
	return nil
}

// balance is one asset before and after, with what explains the difference.
type balance struct {
	decimals uint8
	// before and after hold the sums of all own accounts. What is explained by
	// fees and rent is added on the side that it was taken from.
	before, after []amount.Units
}

// compareAmounts sums up every asset and holds it against the bounds.
func (d Draft) compareAmounts(after map[solana.PublicKey]chain.Account) ([]Change, error) {
	sums := map[solana.PublicKey]*balance{amount.SOL: d.walletBalance(after)}
	order := []solana.PublicKey{amount.SOL}
	for _, key := range d.ownKeys() {
		mint := amount.Asset(d.own[key].mint)
		if sums[mint] == nil {
			sums[mint] = &balance{decimals: d.state.Mints[mint].Decimals}
			order = append(order, mint)
		}
		d.addOwn(sums[mint], d.own[key], after)
	}
	for mint := range d.bounds.MinIn {
		if sums[mint] == nil {
			return nil, fault.New(fault.PriceMoved, "nothing of token %s arrives", mint)
		}
	}
	var changes []Change
	for _, mint := range order {
		change, err := d.change(mint, sums[mint])
		if err != nil {
			return nil, err
		}
		if change.In > 0 || change.Out > 0 {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// walletBalance is the wallet's own lamports, with fees, tips and the rent of
// what it opened added back: they stand apart.
func (d Draft) walletBalance(after map[solana.PublicKey]chain.Account) *balance {
	b := &balance{decimals: amount.SOLDecimals, before: []amount.Units{d.state.Before[d.wallet].Lamports}}
	if !d.tx.WalletWritable() {
		b.after = b.before
		return b
	}
	b.after = []amount.Units{after[d.wallet].Lamports, d.baseFee, d.priorityFee, d.tip, d.rent.Less(d.rentReturned)}
	return b
}

// addOwn adds one token account, before and after.
func (d Draft) addOwn(b *balance, own *ownAccount, after map[solana.PublicKey]chain.Account) {
	if !own.created {
		b.before = append(b.before, own.before.Amount)
	}
	token, exists := parseToken(after, own.key)
	if !d.tx.Writes(own.key) {
		token, exists = own.before, !own.created
	}
	if exists && token.Owner == d.wallet {
		b.after = append(b.after, token.Amount)
	}
}

// reclaimed is the rent that closing existing accounts brings back. It comes to
// the wallet, and so it stands on the side before.
func (d Draft) reclaimed() []amount.Units {
	var list []amount.Units
	for _, own := range d.own {
		if own.closed && !own.created {
			rent := own.lamports
			if own.before.Native {
				rent = rent.Less(own.before.Amount)
			}
			list = append(list, rent)
		}
	}
	return list
}

// change nets one asset and checks it. An inflow never offsets the cap: only
// the difference to the bounds is looked at, and both are told.
func (d Draft) change(mint solana.PublicKey, b *balance) (Change, error) {
	if mint == amount.SOL {
		b.before = append(b.before, d.reclaimed()...)
	}
	before, err := amount.Sum(b.before...)
	if err != nil {
		return Change{}, overflow(err)
	}
	after, err := amount.Sum(b.after...)
	if err != nil {
		return Change{}, overflow(err)
	}
	change := Change{Mint: mint, Decimals: b.decimals, Out: before.Less(after), In: after.Less(before)}
	name := "SOL"
	if mint != amount.SOL {
		name = "of token " + mint.String()
	}
	if most := d.bounds.MaxOut[mint]; change.Out > most {
		return change, fault.New(fault.OutsideBounds, "simulation takes %s %s, %s more than agreed",
			change.Out.Decimal(b.decimals), name, (change.Out - most).Decimal(b.decimals))
	}
	if least := d.bounds.MinIn[mint]; change.In < least {
		return change, fault.New(fault.PriceMoved, "simulation brings %s %s, %s less than agreed",
			change.In.Decimal(b.decimals), name, (least - change.In).Decimal(b.decimals))
	}
	return change, nil
}
