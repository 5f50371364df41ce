package effects

import (
	"bytes"
	"fmt"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
)

func parseToken(accounts map[solana.PublicKey]chain.Account, key solana.PublicKey) (chain.Token, bool) {
	account, ok := accounts[key]
	if !ok {
		return chain.Token{}, false
	}
	return chain.ParseToken(account)
}

// checkWallet refuses a wallet that is not a plain account: its assertions and
// balances would mean something else.
func (d *Draft) checkWallet() error {
	account, ok := d.state.Before[d.wallet]
	switch {
	case !ok:
		return fault.New(fault.InsufficientFunds, "the wallet %s holds no SOL", d.wallet)
	case account.Owner != solana.SystemProgram || len(account.Data) > 0 || account.Executable:
		return fault.New(fault.TransactionRefused, "the wallet %s is not a plain account any more", d.wallet)
	}
	return nil
}

// checkWritable explains every account that can change: only accounts that are
// writable in the message can. Each is the wallet, a token account of the
// wallet that this transaction is about, or one in which the wallet has no
// stake.
func (d *Draft) checkWritable() error {
	wouldBeOwn := d.wouldBeOwn()
	for _, key := range d.tx.Writable() {
		if key == d.wallet {
			continue
		}
		if own, ok := d.own[key]; ok {
			if !own.touched && !d.concerns(own.mint) {
				return fault.New(fault.TransactionRefused, "the transaction can change the wallet's token account %s, which it has no business with", key)
			}
			continue
		}
		if _, ours := wouldBeOwn[key]; ours {
			return fault.New(fault.TransactionRefused, "the transaction can open the wallet's token account %s, and no instruction explains that", key)
		}
		if err := d.checkStake(key); err != nil {
			return err
		}
	}
	return nil
}

// wouldBeOwn are the addresses of the associated accounts of the wallet, for
// each mint that the transaction names. One that is no account of the wallet yet
// could be opened by a program that has the wallet's signature, and that keeps
// control of it; and the guard asserts only accounts that are explained.
func (d *Draft) wouldBeOwn() map[solana.PublicKey]struct{} {
	addresses := make(map[solana.PublicKey]struct{})
	for _, account := range d.tx.Accounts() {
		if mint, ok := chain.ParseMint(d.state.Before[account.Key]); ok {
			addresses[solana.AssociatedTokenAddress(d.wallet, account.Key, mint.Program)] = struct{}{}
		}
	}
	return addresses
}

// checkMultisigs refuses a multisig that the wallet is one of: where the
// wallet's signature would go, the bytes alone do not tell.
func (d *Draft) checkMultisigs() error {
	for _, account := range d.tx.Accounts() {
		before, exists := d.state.Before[account.Key]
		if exists && chain.IsMultisig(before) && bytes.Contains(before.Data, d.wallet[:]) {
			return fault.New(fault.TransactionRefused, "the transaction names the multisig %s, in which the wallet has a part", account.Key)
		}
	}
	return nil
}

// concerns reports that the bounds are about a mint.
func (d *Draft) concerns(mint solana.PublicKey) bool {
	_, out := d.bounds.MaxOut[amount.Asset(mint)]
	_, in := d.bounds.MinIn[amount.Asset(mint)]
	return out || in
}

// custodians are programs whose accounts give rights to keys named in them.
var custodians = []solana.PublicKey{
	solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.StakeProgram, solana.VoteProgram,
	solana.LookupTableProgram, solana.UpgradeableLoader, solana.LoaderV1, solana.LoaderV2, solana.LoaderV4, solana.ConfigProgram,
}

// checkStake refuses an account of somebody else in which the wallet has
// rights: a nonce, stake, vote, mint, lookup table or program that names it,
// or a token account that it may spend from or close.
func (d *Draft) checkStake(key solana.PublicKey) error {
	account, exists := d.state.Before[key]
	if !exists || !slices.Contains(custodians, account.Owner) {
		return nil
	}
	if bytes.Contains(account.Data, d.wallet[:]) {
		return fault.New(fault.TransactionRefused, "the transaction can change account %s, in which the wallet has rights", key)
	}
	return nil
}

// checkFlow compares what the bytes pay with what was asked for.
func (d *Draft) checkFlow() error {
	for _, payment := range d.payments {
		if !slices.Contains(d.bounds.Recipients, payment.Recipient) {
			return fault.New(fault.IntentMismatch, "the transaction pays %s to %s, who has no part in this %s",
				d.money(payment), payment.Recipient, d.flow)
		}
	}
	for account, owner := range d.opened {
		// Its rent is the owner's from then on, so it is paid to them.
		if !slices.ContainsFunc(d.payments, func(p Payment) bool { return p.Recipient == owner }) {
			return fault.New(fault.IntentMismatch, "the transaction opens token account %s for %s, who is paid nothing", account, owner)
		}
	}
	if d.flow == Transfer {
		return d.checkTransfer()
	}
	if len(d.opaque) == 0 {
		return fault.New(fault.IntentMismatch, "the transaction calls no program that could make a %s", d.flow)
	}
	return d.checkCommission()
}

// checkCommission bounds what a swap or claim pays beside the program, such as
// the fee of the service that built it. It comes out of what may leave, or out
// of what arrives, of which the least is what is left after it.
func (d *Draft) checkCommission() error {
	for mint, paid := range d.paid {
		most, bounded := d.bounds.MaxOut[mint]
		if _, arrives := d.bounds.MinIn[mint]; !bounded && arrives {
			continue
		}
		if paid > most {
			return fault.New(fault.OutsideBounds, "the transaction pays %s to others, and %s may leave",
				d.money(Payment{Mint: mint, Amount: paid}), d.money(Payment{Mint: mint, Amount: most}))
		}
	}
	return nil
}

// checkTransfer demands that exactly the stated amounts are paid.
func (d *Draft) checkTransfer() error {
	for mint, most := range d.bounds.MaxOut {
		if d.paid[mint] != most {
			return fault.New(fault.IntentMismatch, "the transaction pays %s, and %s was asked for",
				d.money(Payment{Mint: mint, Amount: d.paid[mint]}), d.money(Payment{Mint: mint, Amount: most}))
		}
	}
	if len(d.paid) == 0 || len(d.paid) != len(d.bounds.MaxOut) {
		return fault.New(fault.IntentMismatch, "the transaction pays other assets than were asked for")
	}
	return nil
}

// money writes a payment for people.
func (d *Draft) money(payment Payment) string {
	if payment.Mint == amount.SOL {
		return payment.Amount.Decimal(amount.SOLDecimals) + " SOL"
	}
	return fmt.Sprintf("%s of token %s", payment.Amount.Decimal(d.state.Mints[payment.Mint].Decimals), payment.Mint)
}

// checkCost holds fees and rent against their ceilings.
func (d *Draft) checkCost() error {
	fee, err := amount.Sum(d.baseFee, d.priorityFee, d.tip)
	if err != nil {
		return overflow(err)
	}
	if fee > d.bounds.MaxFee {
		return fault.New(fault.OutsideBounds, "network fees and tips of %s SOL are over the ceiling of %s SOL",
			fee.Decimal(amount.SOLDecimals), d.bounds.MaxFee.Decimal(amount.SOLDecimals))
	}
	if d.rent > d.bounds.MaxRent {
		return fault.New(fault.OutsideBounds, "rent of %s SOL is over the ceiling of %s SOL",
			d.rent.Decimal(amount.SOLDecimals), d.bounds.MaxRent.Decimal(amount.SOLDecimals))
	}
	return nil
}

// countLoose adds up lamports that lie in token accounts of the wallet beyond
// what the accounts need. The token program lets their owner's signature take
// them out, and no instruction exists that would assert them; so they are
// charged as if they left.
func (d *Draft) countLoose() error {
	if len(d.opaque) == 0 {
		return nil
	}
	for _, own := range d.exposed() {
		if own.created {
			continue
		}
		needs := d.state.Rent[len(d.state.Before[own.key].Data)]
		if own.before.Native {
			sum, err := amount.Sum(own.before.Reserve, own.before.Amount)
			if err != nil {
				return overflow(err)
			}
			needs = sum
		}
		beyond := own.lamports.Less(needs)
		if needs == 0 || beyond == 0 {
			continue
		}
		sum, err := amount.Sum(d.loose, beyond)
		if err != nil {
			return overflow(err)
		}
		d.loose = sum
		d.find(LooseLamports, fmt.Sprintf("token account %s holds %s SOL beyond its rent, which nothing on chain protects from the programs called",
			own.key, beyond.Decimal(amount.SOLDecimals)))
	}
	return nil
}

// inspectMints notes what a token's maker can do to its holders.
func (d *Draft) inspectMints() {
	for _, key := range d.ownKeys() {
		mint, ok := d.state.Mints[d.own[key].mint]
		if !ok || mint.Mint == solana.WrappedSOL {
			continue
		}
		for _, each := range []struct {
			holds      bool
			code, text string
		}{
			{mint.Freezable, Freezable, "can be frozen by its maker"},
			{mint.PermanentDelegate, PermanentDelegate, "can be taken back by its maker at any time"},
			{mint.Pausable, Pausable, "can be paused by its maker"},
			{mint.Hook, TransferHook, "runs its maker's program at every transfer"},
			{mint.HookLater, TransferHook, "can be made to run its maker's program at every transfer, which may then refuse every sale"},
			{mint.FeeLater, TransferFee, "can be made to charge a fee at every transfer"},
			{mint.FeeBasisPoints > 0, TransferFee, fmt.Sprintf("charges a fee of %d hundredths of a percent at every transfer", mint.FeeBasisPoints)},
			{mint.Confidential, Confidential, "can hide amounts"},
		} {
			if each.holds {
				d.find(each.code, fmt.Sprintf("token %s %s", mint.Mint, each.text))
			}
		}
	}
	for _, key := range d.ownKeys() {
		if before := d.own[key].before; before.HasDelegate && before.Delegate != d.wallet {
			d.find(Delegate, fmt.Sprintf("token account %s can already be spent from by %s", key, before.Delegate))
		}
	}
}
