package effects

import (
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// walk explains every instruction before the guard.
func (d *Draft) walk() error {
	for _, instruction := range d.tx.Instructions() {
		if !slices.Contains(d.programs, instruction.Program) {
			d.programs = append(d.programs, instruction.Program)
		}
		if instruction.Index >= d.guard.Start {
			d.names = append(d.names, "guard: "+instruction.Name)
			continue
		}
		d.names = append(d.names, instruction.Name)
		if err := d.explain(instruction); err != nil {
			return err
		}
	}
	return nil
}

func (d *Draft) explain(i decode.Instruction) error {
	if i.Refusal != "" {
		return refuse(i, "%s", i.Refusal)
	}
	switch i.Kind {
	case decode.Inert:
		return nil
	case decode.SystemTransfer:
		return d.systemTransfer(i)
	case decode.CreateAssociated:
		return d.createAssociated(i)
	case decode.TokenTransfer:
		return d.tokenTransfer(i)
	case decode.TokenClose:
		return d.tokenClose(i)
	case decode.TokenSync:
		d.touch(i.From)
		return nil
	case decode.Opaque:
		return d.opaqueCall(i)
	case decode.TokenApprove, decode.TokenRevoke, decode.TokenSetAuthority, decode.Forbidden:
		return refuse(i, "it is never signed")
	}
	return refuse(i, "its kind is not known")
}

// touch notes that a known instruction names an own account.
func (d *Draft) touch(key solana.PublicKey) (*ownAccount, bool) {
	own, ok := d.own[key]
	if ok {
		own.touched = true
	}
	return own, ok
}

func (d *Draft) systemTransfer(i decode.Instruction) error {
	if i.From != d.wallet || i.To == d.wallet {
		return nil
	}
	if own, ok := d.touch(i.To); ok {
		switch {
		case own.mint != solana.WrappedSOL:
			return refuse(i, "it sends SOL to a token account, where it would be locked")
		case d.flow == Transfer:
			return refuse(i, "it wraps SOL, which no transfer needs and no guard follows")
		}
		return nil // Wrapping: it stays the wallet's SOL, and the guard's floor sees to that.
	}
	if IsTip(i.To) {
		total, err := amount.Sum(d.tip, i.Amount)
		d.tip = total
		return overflow(err)
	}
	return d.pay(Payment{Recipient: i.To, Mint: amount.SOL, Amount: i.Amount, Received: i.Amount})
}

// pay notes a payment to somebody else.
func (d *Draft) pay(p Payment) error {
	for _, recipient := range d.known.Recipients {
		if recipient.Address == p.Recipient && recipient.Name != "" {
			p.Name = recipient.Name
			break
		}
	}
	d.payments = append(d.payments, p)
	total, err := amount.Sum(d.paid[p.Mint], p.Amount)
	d.paid[p.Mint] = total
	return overflow(err)
}

func overflow(err error) error {
	if err != nil {
		return fault.New(fault.OutsideBounds, "the amounts of this transaction overflow").Because(err)
	}
	return nil
}

func (d *Draft) createAssociated(i decode.Instruction) error {
	if i.Owner != d.wallet && !slices.Contains(d.bounds.Recipients, i.Owner) {
		return refuse(i, "it opens a token account for %s, who has no part in this %s", i.Owner, d.flow)
	}
	if own, ok := d.touch(i.To); ok && own.closed {
		return refuse(i, "it opens an account again that was closed before")
	}
	// Lamports alone are no token account: anybody can send some there.
	if before, exists := d.state.Before[i.To]; exists && before.Owner != solana.SystemProgram {
		return nil
	}
	if _, again := d.opened[i.To]; again {
		return nil
	}
	if own, again := d.own[i.To]; again && own.created {
		return nil
	}
	rent, err := d.rentOf(i)
	if err != nil {
		return err
	}
	if d.rent, err = amount.Sum(d.rent, rent); err != nil {
		return overflow(err)
	}
	if i.Owner != d.wallet {
		d.opened[i.To] = i.Owner
		return nil
	}
	d.own[i.To] = &ownAccount{key: i.To, mint: i.Mint, program: i.TokenProgram, created: true, rent: rent, touched: true}
	return nil
}

// rentOf is what an opened account costs the wallet.
func (d *Draft) rentOf(i decode.Instruction) (amount.Units, error) {
	if i.From != d.wallet {
		return 0, nil
	}
	mint, ok := d.state.Mints[i.Mint]
	if !ok || mint.Program != i.TokenProgram {
		return 0, refuse(i, "%s is not a mint of that token program", i.Mint)
	}
	rent, ok := d.state.Rent[mint.AccountSize]
	if !ok {
		return 0, fault.New(fault.Internal, "the rent of a new account was not fetched")
	}
	return rent, nil
}

func (d *Draft) tokenTransfer(i decode.Instruction) error {
	from, ours := d.touch(i.From)
	to, arrives := d.touch(i.To)
	switch {
	case !ours && d.signs(i):
		return refuse(i, "it spends from an account that is not the wallet's")
	case !ours:
		return nil
	case i.Authority != d.wallet:
		return refuse(i, "somebody else spends from the wallet's token account")
	case len(i.Extra) > 0:
		return refuse(i, "it hands further accounts to a transfer hook or multisig")
	case from.closed || (arrives && to.closed):
		return refuse(i, "it uses an account that was closed before")
	case i.Checked && i.Mint != from.mint:
		return refuse(i, "it names another mint than the account's")
	case arrives && d.flow == Transfer:
		return refuse(i, "it moves tokens between the wallet's own accounts, which no transfer needs and no guard follows")
	case arrives && to.mint == from.mint:
		return nil
	case arrives:
		return refuse(i, "it moves tokens into an account of another mint")
	}
	mint, ok := d.state.Mints[from.mint]
	if !ok || mint.Hook {
		return refuse(i, "the token runs somebody's program at every transfer")
	}
	owner, ok := d.ownerOf(i.To)
	if !ok {
		return refuse(i, "the receiving token account does not exist, so who owns it is unknown")
	}
	// Whoever may close another account, or has its key, can make it anew as
	// their own before this lands. An associated account is its owner's by its
	// address, whatever a node says.
	if i.To != solana.AssociatedTokenAddress(owner, from.mint, from.program) {
		return refuse(i, "the receiving token account is not the associated account of %s, so it may be another's when this lands", owner)
	}
	return d.pay(Payment{
		Recipient: owner, Mint: amount.Asset(from.mint), Amount: i.Amount, Received: i.Amount.Less(mint.Fee(i.Amount)),
	})
}

// signs reports that a token instruction rests on the wallet's signature: as
// the authority itself, or as one of a multisig's.
func (d *Draft) signs(i decode.Instruction) bool {
	return i.Authority == d.wallet || slices.ContainsFunc(i.Extra, func(a decode.Account) bool { return a.Key == d.wallet })
}

// ownerOf finds who owns a token account that is not the wallet's.
func (d *Draft) ownerOf(account solana.PublicKey) (solana.PublicKey, bool) {
	if owner, ok := d.opened[account]; ok {
		return owner, true
	}
	token, ok := parseToken(d.state.Before, account)
	return token.Owner, ok
}

func (d *Draft) tokenClose(i decode.Instruction) error {
	own, ours := d.touch(i.From)
	switch {
	case !ours && d.signs(i):
		return refuse(i, "it closes an account that is not, or not yet, the wallet's")
	case !ours:
		return nil
	case i.To != d.wallet:
		return refuse(i, "it closes the wallet's token account to %s", i.To)
	case i.Authority != d.wallet || len(i.Extra) > 0:
		return refuse(i, "somebody else closes the wallet's token account")
	case own.closed:
		return refuse(i, "it closes the same account twice")
	}
	own.closed = true
	returned, err := amount.Sum(d.rentReturned, own.rent)
	d.rentReturned = returned
	return overflow(err)
}

func (d *Draft) opaqueCall(i decode.Instruction) error {
	var use decode.Uses
	switch d.flow {
	case Swap:
		use = decode.ForSwap
	case Claim:
		use = decode.ForClaim
	case Transfer:
	}
	if use == 0 || i.Uses&use == 0 {
		return refuse(i, "it has no place in a %s", d.flow)
	}
	if !slices.Contains(d.bounds.Programs, i.Program) {
		return fault.New(fault.IntentMismatch, "instruction %d calls program %s, which the proposal does not name", i.Index+1, i.Program)
	}
	for key, own := range d.own {
		if own.closed && i.Touches(key) {
			return refuse(i, "it could open an account again that was closed before, where no guard would see it")
		}
	}
	if !slices.Contains(d.opaque, i.Program) {
		d.opaque = append(d.opaque, i.Program)
	}
	return nil
}
