package effects

import (
	"fmt"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
)

// inside judges what programs call from within. Whatever has the wallet's
// signature may call any program with it, so a call in which the wallet or an
// account of the wallet takes part obeys the rules of the top level.
type inside struct {
	*Draft
	// out and in are what the calls so far took from the wallet and brought it.
	out, in map[solana.PublicKey]amount.Units
	unknown []solana.PublicKey
}

// judgeInner refuses calls from within that no rule allows, and returns what a
// person should know of the others.
func (d *Draft) judgeInner(calls []chain.InnerCall) ([]Finding, error) {
	j := inside{Draft: d, out: make(map[solana.PublicKey]amount.Units), in: make(map[solana.PublicKey]amount.Units)}
	// What the top level pays out of a bounded asset is paid already.
	for mint, paid := range d.paid {
		if _, bounded := d.bounds.MaxOut[mint]; bounded {
			j.out[mint] = paid
		}
	}
	for _, call := range calls {
		if err := j.explain(call); err != nil {
			return nil, err
		}
	}
	return j.findings(), nil
}

func (j *inside) explain(c chain.InnerCall) error {
	if !decode.Knows(c.Program) && !slices.Contains(j.unknown, c.Program) {
		j.unknown = append(j.unknown, c.Program)
	}
	switch c.Kind {
	case decode.Inert:
		return nil
	case decode.SystemTransfer:
		return j.systemTransfer(c)
	case decode.CreateAssociated:
		return j.createAssociated(c)
	case decode.TokenTransfer:
		return j.tokenTransfer(c)
	case decode.TokenClose:
		return j.tokenClose(c)
	case decode.TokenSync:
		return nil
	case decode.Opaque:
		if c.Refusal != "" && j.concernsUs(c) {
			return j.refuse(c, "%s", c.Refusal)
		}
		return nil
	case decode.TokenApprove, decode.TokenRevoke, decode.TokenSetAuthority, decode.Forbidden:
		return j.forbidden(c)
	}
	return j.refuse(c, "its kind is not known")
}

// refuse names the call and the top-level instruction that led to it.
func (j *inside) refuse(c chain.InnerCall, format string, args ...any) error {
	outer := j.tx.Instructions()[c.Top]
	return fault.New(fault.OutsideBounds, "instruction %d (%s) calls %s from within: "+format,
		append([]any{c.Top + 1, outer.Name, c.Name}, args...)...)
}

// concernsUs reports that the wallet or an account of the wallet takes part.
func (j *inside) concernsUs(c chain.InnerCall) bool {
	return slices.ContainsFunc(c.Accounts, func(a decode.Account) bool {
		_, ours := j.own[a.Key]
		return ours || a.Key == j.wallet
	})
}

// opening reports a call that is part of an instruction at top level that opens
// this very account, and which has been explained.
func (j *inside) opening(c chain.InnerCall, account solana.PublicKey) bool {
	outer := j.tx.Instructions()[c.Top]
	return outer.Kind == decode.CreateAssociated && outer.To == account
}

func (j *inside) systemTransfer(c chain.InnerCall) error {
	switch {
	case c.To == j.wallet && c.From != j.wallet:
		return j.receive(amount.SOL, c.Amount)
	case c.From != j.wallet || c.To == j.wallet || j.opening(c, c.To):
		return nil
	}
	if own, ours := j.own[c.To]; ours {
		if own.mint != solana.WrappedSOL {
			return j.refuse(c, "it sends SOL to a token account, where it would be locked")
		}
		return nil // Wrapping: it stays the wallet's SOL.
	}
	return j.spend(c, amount.SOL)
}

func (j *inside) createAssociated(c chain.InnerCall) error {
	before, exists := j.state.Before[c.To]
	_, ours := j.own[c.To]
	_, others := j.opened[c.To]
	switch {
	case exists && before.Owner != solana.SystemProgram, ours, others:
		return nil // It is there, and stays as it is.
	case c.Owner == j.wallet:
		return j.refuse(c, "it opens a token account of the wallet, which no guard would cover")
	case c.From == j.wallet:
		return j.refuse(c, "it opens a token account for %s at the wallet's cost", c.Owner)
	}
	return nil
}

func (j *inside) tokenTransfer(c chain.InnerCall) error {
	from, ours := j.own[c.From]
	to, arrives := j.own[c.To]
	switch {
	case !ours && j.signs(c.Instruction):
		return j.refuse(c, "it spends from an account that is not the wallet's")
	case !ours && arrives:
		return j.receive(amount.Asset(to.mint), c.Amount)
	case !ours:
		return nil
	case c.Authority != j.wallet:
		return j.refuse(c, "somebody else spends from the wallet's token account")
	case slices.ContainsFunc(c.Extra, func(a decode.Account) bool { _, own := j.own[a.Key]; return own || a.Key == j.wallet }):
		return j.refuse(c, "it hands the wallet to a transfer hook or multisig")
	case arrives && amount.Asset(to.mint) == amount.Asset(from.mint):
		return nil
	}
	return j.spend(c, amount.Asset(from.mint))
}

func (j *inside) tokenClose(c chain.InnerCall) error {
	_, ours := j.own[c.From]
	switch {
	case !ours && j.signs(c.Instruction):
		return j.refuse(c, "it closes an account that is not the wallet's")
	case !ours:
		return nil
	case c.To != j.wallet:
		return j.refuse(c, "it closes the wallet's token account to %s", c.To)
	}
	return j.refuse(c, "it closes the wallet's token account, which only an instruction of the transaction itself may do")
}

// forbidden looks at what is never signed at top level. A program may do it
// with accounts of its own.
func (j *inside) forbidden(c chain.InnerCall) error {
	if account, ok := c.SetsUp(); ok && j.opening(c, account) {
		return nil // Part of opening an account, which the top level has explained.
	}
	if mint, to, authority, units, ok := c.Minted(); ok && authority != j.wallet && !j.signs(c.Instruction) {
		if own, arrives := j.own[to]; arrives {
			if own.mint != mint {
				return j.refuse(c, "it names another mint than the account's")
			}
			return j.receive(amount.Asset(mint), units)
		}
	}
	if !j.concernsUs(c) {
		return nil
	}
	if account, ok := c.SetsUp(); ok && account != j.wallet {
		return j.refuse(c, "it opens account %s at the wallet's cost", account)
	}
	return j.refuse(c, "%s", c.Refusal)
}

func (j *inside) receive(mint solana.PublicKey, units amount.Units) error {
	total, err := amount.Sum(j.in[mint], units)
	j.in[mint] = total
	return overflow(err)
}

// spend counts a payment out of the wallet. An asset that the bounds let out
// may leave up to that, whatever comes back. Of any other, such as the token in
// the middle of a route, no more may leave than was brought before.
func (j *inside) spend(c chain.InnerCall, mint solana.PublicKey) error {
	total, err := amount.Sum(j.out[mint], c.Amount)
	if err != nil {
		return overflow(err)
	}
	j.out[mint] = total
	most, bounded := j.bounds.MaxOut[mint]
	if !bounded {
		most = j.in[mint]
	}
	if total > most {
		return j.refuse(c, "with it %s leave the wallet, and %s may", j.money(Payment{Mint: mint, Amount: total}), j.money(Payment{Mint: mint, Amount: most}))
	}
	return nil
}

// mostUnknown bounds how many unknown programs are told one by one.
const mostUnknown = 8

func (j *inside) findings() []Finding {
	var list []Finding
	for i, program := range j.unknown {
		if i == mostUnknown {
			list = append(list, Finding{UnknownInnerProgram, fmt.Sprintf("and %d more programs that are not known are called from within", len(j.unknown)-i)})
			break
		}
		list = append(list, Finding{UnknownInnerProgram, fmt.Sprintf("program %s, which is not known, is called from within", program)})
	}
	return list
}
