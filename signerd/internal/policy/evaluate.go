package policy

import (
	"maps"
	"slices"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// evaluation collects what the rules say about one batch.
type evaluation struct {
	policy *Policy
	flow   effects.Flow
	tier   Tier
	rules  []string
	fault  *fault.Fault
}

// facts is what the rules read of one judged transaction.
type facts struct {
	class       effects.Class
	opaque      []solana.PublicKey
	payments    []effects.Payment
	priorityFee amount.Units
	tip         amount.Units
	// charge is the worst case by asset.
	charge map[solana.PublicKey]amount.Units
}

// Evaluate decides about a judged batch, as usage stands.
func (p *Policy) Evaluate(flow effects.Flow, batch []judge.Judged, usage Usage) Decision {
	var read []facts
	for _, judged := range batch {
		if !judged.Stamped() {
			return p.unjudged(fault.New(fault.Internal, "a transaction reached the policy before it was judged"))
		}
		found := judged.Effects()
		read = append(read, facts{
			class: found.Class(), opaque: found.OpaquePrograms(), payments: found.Payments(),
			priorityFee: found.PriorityFee(), tip: found.Tip(), charge: judged.Charge(),
		})
	}
	if len(read) == 0 {
		return p.unjudged(fault.New(fault.Internal, "an empty batch reached the policy"))
	}
	return p.evaluate(flow, read, usage)
}

func (p *Policy) unjudged(why *fault.Fault) Decision {
	e := evaluation{policy: p}
	e.deny("builtin.judged", why)
	return e.decision()
}

func (p *Policy) evaluate(flow effects.Flow, batch []facts, usage Usage) Decision {
	e := evaluation{policy: p, flow: flow}
	total := make(map[solana.PublicKey]amount.Units)
	for _, found := range batch {
		e.transaction(found, total)
	}
	e.windows(total, usage, len(batch))
	e.consent(total)
	return e.decision()
}

// inOrder lists assets, SOL first, so that the same batch always meets the
// same rule first.
func inOrder(units map[solana.PublicKey]amount.Units) []solana.PublicKey {
	return slices.SortedFunc(maps.Keys(units), solana.PublicKey.Compare)
}

// require raises the tier to at least this one.
func (e *evaluation) require(rule string, tier Tier) {
	switch {
	case tier > e.tier:
		e.tier, e.rules = tier, []string{rule}
	case tier == e.tier && !slices.Contains(e.rules, rule):
		e.rules = append(e.rules, rule)
	}
}

// deny refuses. The first reason is told; the names of all rules are kept.
func (e *evaluation) deny(rule string, why *fault.Fault) {
	e.require(rule, Deny)
	if e.fault == nil {
		e.fault = why
	}
}

// transaction applies the rules about one transaction, and adds its worst case
// to the batch's.
func (e *evaluation) transaction(found facts, total map[solana.PublicKey]amount.Units) {
	e.programs(found)
	e.fees(found)
	e.recipients(found)
	if found.class == effects.Unguarded {
		e.require("tiers.unguarded", e.policy.unguarded)
	}
	for _, mint := range inOrder(found.charge) {
		units := found.charge[mint]
		e.perTransaction(mint, units)
		sum, err := amount.Sum(total[mint], units)
		if err != nil {
			e.deny("builtin.overflow", fault.New(fault.CapExceeded, "the amounts of this batch overflow"))
			continue
		}
		total[mint] = sum
	}
}

func (e *evaluation) programs(found facts) {
	for _, program := range found.opaque {
		if _, ok := e.policy.programs[e.flow][program]; !ok {
			e.deny("programs", fault.New(fault.PolicyDenied, "program %s is not allowed for a %s", program, e.flow))
		}
	}
}

func (e *evaluation) fees(found facts) {
	if fee := found.priorityFee; fee > e.policy.maxPriorityFee {
		e.deny("fees.max_priority_fee", fault.New(fault.CapExceeded, "the priority fee of %s SOL is over the ceiling of %s SOL",
			inSOL(fee), inSOL(e.policy.maxPriorityFee)))
	}
	if tip := found.tip; tip > e.policy.maxTip {
		e.deny("fees.max_tip", fault.New(fault.CapExceeded, "the tip of %s SOL is over the ceiling of %s SOL", inSOL(tip), inSOL(e.policy.maxTip)))
	}
}

func (e *evaluation) recipients(found facts) {
	for _, payment := range found.payments {
		_, denied := e.policy.recipientsDenied[payment.Recipient]
		_, allowed := e.policy.recipientsAllowed[payment.Recipient]
		switch {
		case denied:
			e.deny("recipients.deny", fault.New(fault.PolicyDenied, "the owner has forbidden payments to %s", payment.Recipient))
		case allowed:
		case e.policy.newRecipient == Deny:
			e.deny("recipients.new", fault.New(fault.PolicyDenied, "%s is not among the recipients that the owner allows", payment.Recipient))
		default:
			e.require("recipients.new", e.policy.newRecipient)
		}
	}
}

// perTransaction checks one transaction's worst case of one asset.
func (e *evaluation) perTransaction(mint solana.PublicKey, units amount.Units) {
	asset, capped := e.policy.Cap(mint)
	switch {
	case units == 0:
	case !capped && !e.policy.allowUncapped:
		e.deny("caps.uncapped", Uncapped(mint))
	case capped && units > asset.PerTransaction:
		e.deny("caps.per_transaction", asset.Exceeded("transaction", asset.PerTransaction, Held{}, units))
	}
}

// windows checks the batch against what is left. The ledger checks again when
// it reserves, and it has the last word.
func (e *evaluation) windows(total map[solana.PublicKey]amount.Units, usage Usage, count int) {
	for _, mint := range inOrder(total) {
		units := total[mint]
		asset, capped := e.policy.Cap(mint)
		if !capped {
			continue
		}
		e.window("session", asset, asset.PerSession, usage.Session[mint], units)
		e.window("day", asset, asset.PerDay, usage.Day[mint], units)
	}
	if most := e.policy.transactionsHour; most > 0 && usage.TransactionsLastHour+count > most {
		e.deny("caps.transactions_per_hour", HourExceeded(usage.TransactionsLastHour, most))
	}
}

func (e *evaluation) window(name string, asset AssetCap, most amount.Units, held Held, units amount.Units) {
	sum, err := amount.Sum(held.Used, held.Reserved, units)
	if err == nil && sum <= most {
		return
	}
	e.deny("caps.per_"+name, asset.Exceeded(name, most, held, units))
}

// consent applies the tiers that depend on the amount. Auto is only for SOL:
// what a token is worth is not known here.
func (e *evaluation) consent(total map[solana.PublicKey]amount.Units) {
	sol, onlySOL := total[amount.SOL], true
	for mint, units := range total {
		onlySOL = onlySOL && (mint == amount.SOL || units == 0)
	}
	if line := e.policy.autoUpTo; line != nil && onlySOL && sol <= *line {
		e.require("tiers.auto_up_to", Auto)
	} else {
		e.require("tiers.default", e.policy.tier)
	}
	if !onlySOL {
		e.require("builtin.token_never_auto", Confirm)
	}
	if line := e.policy.humanAbove; line != nil && sol > *line {
		e.require("tiers.human_above", Human)
	}
}

func (e *evaluation) decision() Decision {
	d := Decision{tier: e.tier, rules: e.rules, fault: e.fault, version: e.policy.version, stamped: true}
	if d.fault == nil && d.tier >= Human {
		d.fault = fault.New(fault.PersonRequired, "the policy asks for a person (%s)", strings.Join(e.rules, ", "))
		if d.tier == Deny {
			d.fault = fault.New(fault.PolicyDenied, "the policy refuses this (%s)", strings.Join(e.rules, ", "))
		}
	}
	return d
}

func inSOL(units amount.Units) string { return units.Decimal(amount.SOLDecimals) }
