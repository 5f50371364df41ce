package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

// The decision is the strictest of what each rule asks for: never weaker, and
// never stricter without a rule.
func TestDecisionIsTheStrictestDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, flow, batch, c := drawCase(t)
		var strictest Tier
		for _, tier := range demands(p, flow, batch, c) {
			strictest = max(strictest, tier)
		}
		d := p.evaluate(flow, batch, c)
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
		p, flow, batch, c := drawCase(t)
		first := p.evaluate(flow, batch, c)
		for range 4 {
			again := p.evaluate(flow, batch, c)
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
		p, flow, batch, c := drawCase(t)
		base := p.evaluate(flow, batch, c)
		longer := p.evaluate(flow, append(slices.Clip(batch), drawFacts(t)), c)
		if longer.Tier() < base.Tier() {
			t.Fatalf("one transaction more makes %s (%v) of %s (%v)", longer.Tier(), longer.Rules(), base.Tier(), base.Rules())
		}
		c.Usage = Usage{}
		unused := p.evaluate(flow, batch, c)
		if unused.Tier() > base.Tier() {
			t.Fatalf("less usage makes %s (%v) of %s (%v)", unused.Tier(), unused.Rules(), base.Tier(), base.Rules())
		}
	})
}

// What an owner adds to a file never weakens a decision, except by the keys
// that say that they allow something: allow_uncapped_tokens, allow_v1,
// auto_up_to, the allow lists of programs and recipients, the caps of a [[mint]],
// and a weaker tier in place of a stricter one.
func TestAddingNeverWeakens(t *testing.T) {
	additions := map[string]func(*rapid.T, *Policy){
		"a rule": func(t *rapid.T, p *Policy) { p.rules = append(slices.Clip(p.rules), drawRule(t, "added")) },
		"caps per destination": func(t *rapid.T, p *Policy) {
			p.caps = slices.Clone(p.caps)
			for i := range p.caps {
				p.caps[i].PerDestination = least(p.caps[i].PerDestination, drawUnits(t, "added per destination"))
			}
		},
		"ceilings": func(t *rapid.T, p *Policy) {
			p.caps = slices.Clone(p.caps)
			for i := range p.caps {
				p.caps[i].Ceiling = least(p.caps[i].Ceiling, drawUnits(t, "added ceiling"))
			}
		},
		"an allow list of mints": func(t *rapid.T, p *Policy) {
			if p.mintsAllowed == nil {
				p.mintsAllowed = drawSet(t, someMints, "added to trade")
			}
		},
		"denied mints": func(t *rapid.T, p *Policy) {
			p.mintsDenied = union(p.mintsDenied, drawSet(t, someMints, "added not touched"))
		},
		"denied recipients": func(t *rapid.T, p *Policy) {
			p.recipientsDenied = union(p.recipientsDenied, drawSet(t, somePayees, "added denied"))
		},
		"a line of a person": func(t *rapid.T, p *Policy) {
			p.humanAbove = least(p.humanAbove, drawUnits(t, "added human"))
		},
		"a share": func(t *rapid.T, p *Policy) {
			if p.humanAboveShare == nil {
				p.humanAboveShare = drawShare(t, "added share")
			}
		},
	}
	names := slices.Sorted(maps.Keys(additions))
	rapid.Check(t, func(t *rapid.T) {
		p, flow, batch, c := drawCase(t)
		base := p.evaluate(flow, batch, c)
		more := *p
		name := rapid.SampledFrom(names).Draw(t, "addition")
		additions[name](t, &more)
		if stricter := more.evaluate(flow, batch, c); stricter.Tier() < base.Tier() {
			t.Fatalf("%s makes %s (%v) of %s (%v)", name, stricter.Tier(), stricter.Rules(), base.Tier(), base.Rules())
		}
	})
}

func least(line *amount.Units, units amount.Units) *amount.Units {
	if line != nil {
		units = min(units, *line)
	}
	return &units
}

func union(a, b keySet) keySet {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// Whatever the order of a file's tables is, it decides alike, down to the words.
func TestOrderOfTablesIsIrrelevant(t *testing.T) {
	head, tables, _ := strings.Cut(owner, "[[mint]]")
	mint, tail, _ := strings.Cut(tables, "[programs]")
	pool := []string{
		"[[mint]]" + mint,
		strings.NewReplacer(usdc.String(), uncapped.String(), "USDC", "BONK").Replace("[[mint]]" + mint),
		"[programs]" + tail,
		"[[program]]\naddress = \"" + solana.JupiterV6Program.String() + "\"\nflows = [\"swap\"]\n",
		"[[rule]]\nname = \"b\"\nflow = [\"swap\", \"transfer\"]\ndeny = \"second\"\n",
		"[[rule]]\nname = \"a\"\nflow = [\"transfer\"]\ndeny = \"first\"\n",
		"[[rule]]\nname = \"c\"\nmint = [\"BONK\"]\ntier = \"human\"\n",
		"[mints]\nallow = [\"BONK\", \"USDC\"]\n",
	}
	straight, err := Load([]byte(head + strings.Join(pool, "")))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		shuffled, err := Load([]byte(head + strings.Join(rapid.Permutation(pool).Draw(t, "tables"), "")))
		if err != nil {
			t.Fatal(err)
		}
		flow, batch, c := rapid.SampledFrom(someFlows).Draw(t, "flow"), []facts{drawFacts(t)}, drawCircumstances(t)
		one, other := straight.evaluate(flow, batch, c), shuffled.evaluate(flow, batch, c)
		if diff := cmp.Diff(verdictOf(one), verdictOf(other)); diff != "" {
			t.Fatalf("decisions differ:\n%s", diff)
		}
		if one.Fault() != nil && one.Fault().Message != other.Fault().Message {
			t.Fatalf("reasons differ: %q and %q", one.Fault().Message, other.Fault().Message)
		}
	})
}
