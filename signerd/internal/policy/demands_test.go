package policy

import (
	"math/big"
	"slices"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

func number(units amount.Units) *big.Int { return new(big.Int).SetUint64(uint64(units)) }

func over(sum *big.Int, most amount.Units) bool { return sum.Cmp(number(most)) > 0 }

// asker collects what rules ask for.
type asker []Tier

func (a *asker) ask(tier Tier, when bool) {
	if when {
		*a = append(*a, tier)
	}
}

// demands is what each rule asks for on its own, in exact arithmetic.
func demands(p *Policy, flow effects.Flow, batch []facts, c Circumstances) []Tier {
	var a asker
	for _, found := range batch {
		a.transaction(p, flow, found)
	}
	total := totals(batch)
	a.windows(p, batch, total, c.Usage)
	tokens := false
	for mint, sum := range total {
		tokens = tokens || mint != amount.SOL && sum.Sign() > 0
		a.ask(Human, p.humanAboveShare != nil && overShare(batch, mint, sum, *p.humanAboveShare))
	}
	auto := !tokens && p.autoUpTo != nil && !over(total[amount.SOL], *p.autoUpTo)
	a.ask(Auto, auto)
	a.ask(p.tier, !auto)
	a.ask(Confirm, tokens)
	a.ask(Human, p.humanAbove != nil && over(total[amount.SOL], *p.humanAbove))
	for _, r := range p.rules {
		a.ask(r.tier, holds(r, flow, batch, total, c))
	}
	return a
}

func (a *asker) transaction(p *Policy, flow effects.Flow, found facts) {
	a.ask(Deny, found.version == solana.V1 && !p.allowV1)
	for _, program := range found.opaque {
		a.ask(Deny, !p.programs[flow].has(program))
	}
	for _, payment := range found.payments {
		a.ask(Deny, p.recipientsDenied.has(payment.Recipient))
		a.ask(p.newRecipient, payment.Name == "" && !p.recipientsAllowed.has(payment.Recipient) && !p.recipientsDenied.has(payment.Recipient))
	}
	for _, mint := range found.assets {
		a.ask(Deny, p.mintsDenied.has(mint))
		a.ask(Deny, flow == effects.Swap && p.mintsAllowed != nil && mint != amount.SOL && !p.mintsAllowed.has(mint))
	}
	for _, finding := range found.findings {
		a.ask(p.newRecipient, finding.Code == effects.FirstSeenRecipient)
		a.ask(p.lookAlikeRecipient, finding.Code == effects.LookAlikeRecipient)
		a.ask(p.lookAlikeMint, finding.Code == effects.LookAlikeMint)
		a.ask(p.unverifiedMint, finding.Code == effects.UnverifiedMint)
	}
	a.ask(Deny, found.priorityFee > p.maxPriorityFee || found.tip > p.maxTip)
	a.ask(p.unguarded, found.class == effects.Unguarded)
	for mint, units := range found.charge {
		most, capped := p.Cap(mint)
		a.ask(Deny, capped && units > most.PerTransaction)
		a.ask(Deny, capped && most.Ceiling != nil && units > *most.Ceiling)
		a.ask(Deny, !capped && units > 0 && !p.allowUncapped)
	}
}

func (a *asker) windows(p *Policy, batch []facts, total map[solana.PublicKey]*big.Int, usage Usage) {
	stands := func(held Held, sum *big.Int) *big.Int {
		return new(big.Int).Add(sum, new(big.Int).Add(number(held.Used), number(held.Reserved)))
	}
	paid := make(map[Destination]*big.Int)
	for _, found := range batch {
		for _, payment := range found.payments {
			to := Destination{payment.Recipient, payment.Mint}
			if paid[to] == nil {
				paid[to] = new(big.Int)
			}
			paid[to].Add(paid[to], number(payment.Amount))
		}
	}
	for to, sum := range paid {
		a.ask(Deny, over(sum, ^amount.Units(0)))
		most, capped := p.Cap(to.Mint)
		a.ask(Deny, capped && most.PerDestination != nil && over(stands(usage.Destination[to], sum), *most.PerDestination))
	}
	for mint, sum := range total {
		a.ask(Deny, over(sum, ^amount.Units(0)))
		if most, capped := p.Cap(mint); capped && spends(batch, mint) {
			a.ask(Deny, over(stands(usage.Session[mint], sum), most.PerSession))
			a.ask(Deny, over(stands(usage.Day[mint], sum), most.PerDay))
		}
	}
	a.ask(Deny, p.transactionsHour > 0 && usage.TransactionsLastHour+len(batch) > p.transactionsHour)
}

func totals(batch []facts) map[solana.PublicKey]*big.Int {
	total := make(map[solana.PublicKey]*big.Int)
	for _, mint := range someMints {
		total[mint] = new(big.Int)
		for _, found := range batch {
			total[mint].Add(total[mint], number(found.charge[mint]))
		}
	}
	return total
}

func spends(batch []facts, mint solana.PublicKey) bool {
	return slices.ContainsFunc(batch, func(found facts) bool { _, named := found.charge[mint]; return named })
}

// overShare is sum/held > part/10000, without a division.
func overShare(batch []facts, mint solana.PublicKey, sum *big.Int, part share) bool {
	held := number(^amount.Units(0))
	for _, found := range batch {
		if has := number(found.held[mint]); has.Cmp(held) < 0 {
			held = has
		}
	}
	left := new(big.Int).Mul(sum, big.NewInt(10_000))
	return left.Cmp(held.Mul(held, new(big.Int).SetUint64(uint64(part)))) > 0
}

// holds reports whether all that a rule asks for is so.
func holds(r rule, flow effects.Flow, batch []facts, total map[solana.PublicKey]*big.Int, c Circumstances) bool {
	if r.flows != nil && !slices.Contains(r.flows, flow) || r.clients != nil && !slices.Contains(r.clients, c.Client) {
		return false
	}
	if r.between != nil && !within24(*r.between, c.Now) || r.amount != nil && !over(total[r.amount.mint], r.amount.units) {
		return false
	}
	if r.share != nil {
		over := false
		for mint, sum := range total {
			over = over || (r.mints == nil || r.mints.has(mint)) && overShare(batch, mint, sum, *r.share)
		}
		if !over {
			return false
		}
	}
	for _, found := range batch {
		if fits(r, found) {
			return true
		}
	}
	return false
}

func fits(r rule, found facts) bool {
	meets := func(set keySet, keys []solana.PublicKey) bool {
		return set == nil || slices.ContainsFunc(keys, set.has)
	}
	var payees []solana.PublicKey
	for _, payment := range found.payments {
		payees = append(payees, payment.Recipient)
	}
	noted := r.findings == nil
	for _, finding := range found.findings {
		noted = noted || slices.Contains(r.findings, finding.Code)
	}
	return noted && (r.classes == nil || slices.Contains(r.classes, found.class)) &&
		(r.versions == nil || slices.Contains(r.versions, found.version)) &&
		meets(r.programs, found.programs) && meets(r.mints, found.assets) && meets(r.recipients, payees)
}

// within24 walks from the first minute of the span to its last.
func within24(s span, now time.Time) bool {
	if s.from == s.to {
		return true
	}
	for minute := s.from; minute != s.to; minute = (minute + 1) % 1440 {
		if minute == now.Hour()*60+now.Minute() {
			return true
		}
	}
	return false
}
