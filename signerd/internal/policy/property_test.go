package policy

import (
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// The worlds that the properties draw from are small, so that rules meet often.
var (
	someMints    = []solana.PublicKey{amount.SOL, usdc, uncapped}
	somePayees   = []solana.PublicKey{friend, enemy, stranger}
	somePrograms = []solana.PublicKey{solana.DFlowProgram, solana.FeeShareV2Program, solana.JupiterV6Program}
)

// drawUnits draws small amounts, so that caps are met to the unit, and now and
// then one near the end of the range.
func drawUnits(t *rapid.T, what string) amount.Units {
	units := rapid.OneOf(rapid.Uint64Range(0, 12), rapid.Uint64Range(^uint64(0)-3, ^uint64(0)))
	return amount.Units(units.Draw(t, what))
}

func drawSet(t *rapid.T, from []solana.PublicKey, what string) map[solana.PublicKey]struct{} {
	set := make(map[solana.PublicKey]struct{})
	for _, key := range from {
		if rapid.Bool().Draw(t, what) {
			set[key] = struct{}{}
		}
	}
	return set
}

func drawPolicy(t *rapid.T) *Policy {
	drawCap := func(mint solana.PublicKey, name string) AssetCap {
		return AssetCap{Mint: mint, Name: name, Decimals: 1,
			PerTransaction: drawUnits(t, "per transaction"), PerSession: drawUnits(t, "per session"), PerDay: drawUnits(t, "per day")}
	}
	line := func(what string) *amount.Units {
		if rapid.Bool().Draw(t, "has "+what) {
			return nil
		}
		units := drawUnits(t, what)
		return &units
	}
	return &Policy{
		version: "v", caps: []AssetCap{drawCap(amount.SOL, "SOL"), drawCap(usdc, "USDC")},
		transactionsHour: rapid.IntRange(0, 4).Draw(t, "per hour"),
		maxPriorityFee:   drawUnits(t, "most priority fee"), maxTip: drawUnits(t, "most tip"),
		allowUncapped: rapid.Bool().Draw(t, "uncapped"),
		programs: map[effects.Flow]map[solana.PublicKey]struct{}{
			effects.Swap: drawSet(t, somePrograms, "for swaps"), effects.Claim: drawSet(t, somePrograms, "for claims"),
		},
		recipientsAllowed: drawSet(t, somePayees, "allowed"), recipientsDenied: drawSet(t, somePayees, "denied"),
		newRecipient: rapid.SampledFrom([]Tier{Confirm, Human, Deny}).Draw(t, "strangers"),
		tier:         rapid.SampledFrom([]Tier{Auto, Confirm, Human, Deny}).Draw(t, "default"),
		unguarded:    rapid.SampledFrom([]Tier{Confirm, Human, Deny}).Draw(t, "unguarded"),
		autoUpTo:     line("auto"), humanAbove: line("human"),
	}
}

func drawFacts(t *rapid.T) facts {
	found := facts{
		class:       rapid.SampledFrom([]effects.Class{effects.Complete, effects.Guarded, effects.Unguarded}).Draw(t, "class"),
		priorityFee: drawUnits(t, "priority fee"), tip: drawUnits(t, "tip"),
		charge: make(map[solana.PublicKey]amount.Units),
	}
	for program := range drawSet(t, somePrograms, "calls") {
		found.opaque = append(found.opaque, program)
	}
	for payee := range drawSet(t, somePayees, "pays") {
		found.payments = append(found.payments, effects.Payment{Recipient: payee})
	}
	for mint := range drawSet(t, someMints, "spends") {
		found.charge[mint] = drawUnits(t, "charge")
	}
	return found
}

func drawUsage(t *rapid.T) Usage {
	held := func() map[solana.PublicKey]Held {
		out := make(map[solana.PublicKey]Held)
		for mint := range drawSet(t, someMints, "held") {
			out[mint] = Held{drawUnits(t, "used"), drawUnits(t, "reserved")}
		}
		return out
	}
	return Usage{Session: held(), Day: held(), TransactionsLastHour: rapid.IntRange(0, 4).Draw(t, "last hour")}
}

// demands is what each rule asks for on its own, in exact arithmetic.
func demands(p *Policy, flow effects.Flow, batch []facts, usage Usage) []Tier {
	var tiers []Tier
	ask := func(tier Tier, when bool) {
		if when {
			tiers = append(tiers, tier)
		}
	}
	number := func(units amount.Units) *big.Int { return new(big.Int).SetUint64(uint64(units)) }
	over := func(sum *big.Int, most amount.Units) bool { return sum.Cmp(number(most)) > 0 }
	total := make(map[solana.PublicKey]*big.Int)
	for _, mint := range someMints {
		total[mint] = new(big.Int)
	}
	for _, found := range batch {
		for _, program := range found.opaque {
			_, listed := p.programs[flow][program]
			ask(Deny, !listed)
		}
		for _, payment := range found.payments {
			_, denied := p.recipientsDenied[payment.Recipient]
			_, allowed := p.recipientsAllowed[payment.Recipient]
			ask(Deny, denied)
			ask(p.newRecipient, !denied && !allowed)
		}
		ask(Deny, found.priorityFee > p.maxPriorityFee || found.tip > p.maxTip)
		ask(p.unguarded, found.class == effects.Unguarded)
		for mint, units := range found.charge {
			most, capped := p.Cap(mint)
			ask(Deny, capped && units > most.PerTransaction)
			ask(Deny, !capped && units > 0 && !p.allowUncapped)
			total[mint].Add(total[mint], number(units))
		}
	}
	tokens := false
	for mint, sum := range total {
		tokens = tokens || mint != amount.SOL && sum.Sign() > 0
		ask(Deny, over(sum, ^amount.Units(0)))
		most, capped := p.Cap(mint)
		if !capped || !spends(batch, mint) {
			continue
		}
		session, day := usage.Session[mint], usage.Day[mint]
		ask(Deny, over(new(big.Int).Add(sum, new(big.Int).Add(number(session.Used), number(session.Reserved))), most.PerSession))
		ask(Deny, over(new(big.Int).Add(sum, new(big.Int).Add(number(day.Used), number(day.Reserved))), most.PerDay))
	}
	ask(Deny, p.transactionsHour > 0 && usage.TransactionsLastHour+len(batch) > p.transactionsHour)
	auto := !tokens && p.autoUpTo != nil && !over(total[amount.SOL], *p.autoUpTo)
	ask(Auto, auto)
	ask(p.tier, !auto)
	ask(Confirm, tokens)
	ask(Human, p.humanAbove != nil && over(total[amount.SOL], *p.humanAbove))
	return tiers
}

func spends(batch []facts, mint solana.PublicKey) bool {
	for _, found := range batch {
		if _, named := found.charge[mint]; named {
			return true
		}
	}
	return false
}

func drawCase(t *rapid.T) (*Policy, effects.Flow, []facts, Usage) {
	batch := make([]facts, rapid.IntRange(1, 3).Draw(t, "batch"))
	for i := range batch {
		batch[i] = drawFacts(t)
	}
	flow := rapid.SampledFrom([]effects.Flow{effects.Transfer, effects.Swap, effects.Claim}).Draw(t, "flow")
	return drawPolicy(t), flow, batch, drawUsage(t)
}

// The decision is the strictest of what each rule asks for: never weaker, and
// never stricter without a rule.
func TestDecisionIsTheStrictestDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, flow, batch, usage := drawCase(t)
		var strictest Tier
		for _, tier := range demands(p, flow, batch, usage) {
			strictest = max(strictest, tier)
		}
		d := p.evaluate(flow, batch, usage)
		if d.Tier() != strictest {
			t.Fatalf("decided %s by %v, and the strictest rule asks for %s", d.Tier(), d.Rules(), strictest)
		}
		if len(d.Rules()) == 0 || !d.Stamped() || d.PolicyVersion() != "v" {
			t.Fatalf("rules %v, stamped %v, version %q", d.Rules(), d.Stamped(), d.PolicyVersion())
		}
		if (d.Fault() == nil) != (d.Tier() <= Confirm) {
			t.Fatalf("%s with fault %v", d.Tier(), d.Fault())
		}
	})
}

// The same input always gives the same decision, down to the words.
func TestDecisionIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, flow, batch, usage := drawCase(t)
		first := p.evaluate(flow, batch, usage)
		for range 4 {
			again := p.evaluate(flow, batch, usage)
			if diff := cmp.Diff(verdictOf(first), verdictOf(again)); diff != "" {
				t.Fatalf("decisions differ:\n%s", diff)
			}
			if first.Fault() != nil && first.Fault().Message != again.Fault().Message {
				t.Fatalf("reasons differ: %q and %q", first.Fault().Message, again.Fault().Message)
			}
		}
	})
}

// Another transaction, or more that stands against the caps, never weakens a
// decision.
func TestMoreIsNeverWeaker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, flow, batch, usage := drawCase(t)
		base := p.evaluate(flow, batch, usage)
		longer := p.evaluate(flow, append(slices.Clip(batch), drawFacts(t)), usage)
		if longer.Tier() < base.Tier() {
			t.Fatalf("one transaction more makes %s (%v) of %s (%v)", longer.Tier(), longer.Rules(), base.Tier(), base.Rules())
		}
		unused := p.evaluate(flow, batch, Usage{})
		if unused.Tier() > base.Tier() {
			t.Fatalf("less usage makes %s (%v) of %s (%v)", unused.Tier(), unused.Rules(), base.Tier(), base.Rules())
		}
	})
}
