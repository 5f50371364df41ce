package policy

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// Circumstances are what decisions depend on beside the transactions.
type Circumstances struct {
	Usage Usage
	// Client is what the caller calls itself. It is claimed, never proven: a
	// rule about it can be walked around by whoever lies.
	Client string
	// Now is the time of the decision.
	Now time.Time
}

// evaluation collects what the rules say about one batch.
type evaluation struct {
	policy *Policy
	flow   effects.Flow
	client string
	now    time.Time
	tier   Tier
	names  []string
	fault  *fault.Fault
}

// facts is what the rules read of one judged transaction.
type facts struct {
	class    effects.Class
	version  solana.Version
	programs []solana.PublicKey
	opaque   []solana.PublicKey
	payments []effects.Payment
	findings []effects.Finding
	// assets are all that may leave or arrive.
	assets      []solana.PublicKey
	priorityFee amount.Units
	tip         amount.Units
	// charge is the worst case by asset, and held what the wallet has of each.
	charge map[solana.PublicKey]amount.Units
	held   map[solana.PublicKey]amount.Units
}

// has reports a finding.
func (f facts) has(code string) bool {
	return slices.ContainsFunc(f.findings, func(found effects.Finding) bool { return found.Code == code })
}

// sums are those of a batch.
type sums struct {
	// total is the worst case by asset, and paid the part of it that is paid
	// to others.
	total map[solana.PublicKey]amount.Units
	paid  map[Destination]amount.Units
	held  map[solana.PublicKey]amount.Units
}

// Evaluate decides about a judged batch in its circumstances.
func (p *Policy) Evaluate(flow effects.Flow, batch []judge.Judged, c Circumstances) Decision {
	read := make([]facts, 0, len(batch))
	for _, judged := range batch {
		if !judged.Stamped() {
			return p.unjudged(fault.New(fault.Internal, "a transaction reached the policy before it was judged"))
		}
		found := judged.Effects()
		read = append(read, facts{
			class: found.Class(), version: judged.Tx().Version(), programs: found.Programs(), opaque: found.OpaquePrograms(),
			payments: found.Payments(), findings: found.Findings(), assets: found.Assets(),
			priorityFee: found.PriorityFee(), tip: found.Tip(), charge: judged.Charge(), held: found.Held(),
		})
	}
	if len(read) == 0 {
		return p.unjudged(fault.New(fault.Internal, "an empty batch reached the policy"))
	}
	return p.evaluate(flow, read, c)
}

func (p *Policy) unjudged(why *fault.Fault) Decision {
	e := evaluation{policy: p}
	e.deny("builtin.judged", why)
	return e.decision()
}

func (p *Policy) evaluate(flow effects.Flow, batch []facts, c Circumstances) Decision {
	e := evaluation{policy: p, flow: flow, client: c.Client, now: c.Now}
	for _, found := range batch {
		e.transaction(found)
	}
	sums := e.sum(batch)
	e.windows(sums, c.Usage, len(batch))
	e.consent(sums)
	e.rules(batch, sums)
	return e.decision()
}

// sum adds up a batch. Of what the wallet holds the least of what was read
// counts: transactions are judged one after the other.
func (e *evaluation) sum(batch []facts) sums {
	s := sums{
		total: make(map[solana.PublicKey]amount.Units), paid: make(map[Destination]amount.Units),
		held: maps.Clone(batch[0].held),
	}
	for _, found := range batch {
		for _, mint := range inOrder(found.charge) {
			s.total[mint] = e.add(s.total[mint], found.charge[mint])
		}
		for _, payment := range found.payments {
			to := Destination{payment.Recipient, payment.Mint}
			s.paid[to] = e.add(s.paid[to], payment.Amount)
		}
		for mint, units := range s.held {
			s.held[mint] = min(units, found.held[mint])
		}
	}
	return s
}

// add refuses the batch where a sum overflows, and goes on with the largest.
func (e *evaluation) add(a, b amount.Units) amount.Units {
	sum, err := amount.Sum(a, b)
	if err != nil {
		e.deny("builtin.overflow", fault.New(fault.CapExceeded, "the amounts of this batch overflow"))
		return math.MaxUint64
	}
	return sum
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
		e.tier, e.names = tier, []string{rule}
	case tier == e.tier && !slices.Contains(e.names, rule):
		e.names = append(e.names, rule)
	}
}

// deny refuses. The first reason is told; the names of all rules are kept.
func (e *evaluation) deny(rule string, why *fault.Fault) {
	e.require(rule, Deny)
	if e.fault == nil {
		e.fault = why
	}
}

// transaction applies the rules about one transaction.
func (e *evaluation) transaction(found facts) {
	if found.version == solana.V1 && !e.policy.allowV1 {
		e.deny("versions.allow_v1", fault.New(fault.PolicyDenied, "v1 transactions are not allowed by the owner"))
	}
	e.programs(found)
	e.fees(found)
	e.recipients(found)
	e.mints(found)
	if found.class == effects.Unguarded {
		e.require("tiers.unguarded", e.policy.unguarded)
	}
	for _, mint := range inOrder(found.charge) {
		e.perTransaction(mint, found.charge[mint])
	}
}

func (e *evaluation) programs(found facts) {
	for _, program := range found.opaque {
		if !e.policy.programs[e.flow].has(program) {
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

// recipients asks who is paid. Somebody is known who is in the file's list or
// has a name in the address book; the deny list goes before both.
func (e *evaluation) recipients(found facts) {
	strangers := found.has(effects.FirstSeenRecipient)
	for _, payment := range found.payments {
		known := e.policy.recipientsAllowed.has(payment.Recipient) || payment.Name != ""
		switch {
		case e.policy.recipientsDenied.has(payment.Recipient):
			e.deny("recipients.deny", fault.New(fault.PolicyDenied, "the owner has forbidden payments to %s", payment.Recipient))
		case !known && e.policy.newRecipient == Deny:
			e.deny("recipients.new", fault.New(fault.PolicyDenied, "%s is not among the recipients that the owner allows", payment.Recipient))
		case !known:
			strangers = true
		}
	}
	if strangers {
		e.demand("recipients.new", e.policy.newRecipient, "somebody is paid whom the owner has not named")
	}
	if found.has(effects.LookAlikeRecipient) {
		e.demand("recipients.look_alike", e.policy.lookAlikeRecipient, "a recipient's address looks like that of another whom the owner knows")
	}
}

// mints asks what is traded. The allow list is about swaps: what may be paid
// for, or comes with a claim, is limited by caps.
func (e *evaluation) mints(found facts) {
	for _, mint := range found.assets {
		switch {
		case e.policy.mintsDenied.has(mint):
			e.deny("mints.deny", fault.New(fault.PolicyDenied, "the owner has forbidden token %s", mint))
		case e.flow == effects.Swap && e.policy.mintsAllowed != nil && mint != amount.SOL && !e.policy.mintsAllowed.has(mint):
			e.deny("mints.allow", fault.New(fault.PolicyDenied, "token %s is not among those that the owner allows to trade", mint))
		}
	}
	if found.has(effects.LookAlikeMint) {
		e.demand("mints.look_alike", e.policy.lookAlikeMint, "a token wears the name of another that the owner knows")
	}
	if found.has(effects.UnverifiedMint) {
		e.demand("mints.unverified", e.policy.unverifiedMint, "a token arrives that the owner has not named")
	}
}

// demand applies a tier that may be deny, and then says why.
func (e *evaluation) demand(rule string, tier Tier, why string) {
	if tier == Deny {
		e.deny(rule, fault.New(fault.PolicyDenied, "%s", why))
		return
	}
	e.require(rule, tier)
}

// perTransaction checks one transaction's worst case of one asset.
func (e *evaluation) perTransaction(mint solana.PublicKey, units amount.Units) {
	asset, capped := e.policy.Cap(mint)
	switch {
	case units == 0:
	case !capped && !e.policy.allowUncapped:
		e.deny("caps.uncapped", Uncapped(mint))
	case !capped:
	case asset.Ceiling != nil && units > *asset.Ceiling:
		e.deny("ceilings.per_transaction", fault.New(fault.CapExceeded, "%s is over the ceiling of %s per transaction, which no consent lifts",
			asset.money(units), asset.money(*asset.Ceiling)))
	case units > asset.PerTransaction:
		e.deny("caps.per_transaction", asset.Exceeded("transaction", asset.PerTransaction, Held{}, units))
	}
}

// windows checks the batch against what is left. The ledger checks again when
// it reserves, and it has the last word.
func (e *evaluation) windows(sums sums, usage Usage, count int) {
	for _, mint := range inOrder(sums.total) {
		units := sums.total[mint]
		asset, capped := e.policy.Cap(mint)
		if !capped {
			continue
		}
		e.window("session", asset, asset.PerSession, usage.Session[mint], units)
		e.window("day", asset, asset.PerDay, usage.Day[mint], units)
	}
	for _, to := range slices.SortedFunc(maps.Keys(sums.paid), Destination.Compare) {
		if asset, capped := e.policy.Cap(to.Mint); capped && asset.PerDestination != nil {
			e.window("destination", asset, *asset.PerDestination, usage.Destination[to], sums.paid[to])
		}
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
func (e *evaluation) consent(sums sums) {
	sol, onlySOL := sums.total[amount.SOL], true
	for mint, units := range sums.total {
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
	if most := e.policy.humanAboveShare; most != nil && sums.takesMoreThan(*most, nil) {
		e.require("tiers.human_above_share", Human)
	}
}

func (e *evaluation) decision() Decision {
	d := Decision{tier: e.tier, rules: e.names, fault: e.fault, version: e.policy.version, stamped: true}
	if d.fault == nil && d.tier >= Human {
		d.fault = fault.New(fault.PersonRequired, "the policy asks for a person (%s)", strings.Join(e.names, ", "))
		if d.tier == Deny {
			d.fault = fault.New(fault.PolicyDenied, "the policy refuses this (%s)", strings.Join(e.names, ", "))
		}
	}
	return d
}

func inSOL(units amount.Units) string { return units.Decimal(amount.SOLDecimals) }
