package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

func TestEvaluateCountsWhatStandsAgainstTheWindows(t *testing.T) {
	held := func(used, reserved int) map[solana.PublicKey]Held {
		return map[solana.PublicKey]Held{amount.SOL: {amount.Units(used), amount.Units(reserved)}}
	}
	paid := func(to solana.PublicKey, used amount.Units) map[Destination]Held {
		return map[Destination]Held{{to, amount.SOL}: {Used: used}}
	}
	const most = ^amount.Units(0)
	tests := []struct {
		name  string
		usage Usage
		count int
		rule  string
	}{
		{"nothing used", Usage{}, 1, ""},
		{"the session just suffices", Usage{Session: held(sol/2, sol/2-sol/50)}, 1, ""},
		{"the session is a lamport short", Usage{Session: held(sol/2, sol/2-sol/50+1)}, 1, "caps.per_session"},
		{"the day just suffices", Usage{Day: held(sol, sol-sol/50)}, 1, ""},
		{"the day is a lamport short", Usage{Day: held(sol+1, sol-sol/50)}, 1, "caps.per_day"},
		{"a batch is summed", Usage{Session: held(0, sol-3*sol/50)}, 4, "caps.per_session"},
		{"a batch that fits", Usage{Session: held(0, sol-3*sol/50)}, 3, ""},
		{"a sum that wraps", Usage{Day: map[solana.PublicKey]Held{amount.SOL: {most, most}}}, 1, "caps.per_day"},
		{"the last of the hour", Usage{TransactionsLastHour: 29}, 1, ""},
		{"one too many in the hour", Usage{TransactionsLastHour: 30}, 1, "caps.transactions_per_hour"},
		{"a batch too many in the hour", Usage{TransactionsLastHour: 28}, 3, "caps.transactions_per_hour"},
		{"the recipient may get the rest", Usage{Destination: paid(friend, sol/2-1)}, 1, ""},
		{"the recipient has had enough", Usage{Destination: paid(friend, sol/2)}, 1, "caps.per_destination"},
		{"another recipient has", Usage{Destination: paid(stranger, sol/2)}, 1, ""},
		{"another asset is full", Usage{Day: map[solana.PublicKey]Held{usdc: {most, 0}}}, 1, ""},
	}
	rules := ownerWith(t, "[fees]", "per_destination = \"0.5 SOL\"\n[fees]")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			batch := make([]facts, test.count)
			for i := range batch {
				batch[i] = quiet()
			}
			want := verdict{Confirm, []string{"tiers.default"}, ""}
			if test.rule != "" {
				want = verdict{Deny, []string{test.rule}, fault.CapExceeded}
			}
			if diff := cmp.Diff(want, verdictOf(rules.evaluate(effects.Transfer, batch, Circumstances{Usage: test.usage}))); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvaluateSaysWhatIsLeft(t *testing.T) {
	d := ownerWith(t).evaluate(effects.Transfer, []facts{quiet()}, Circumstances{Usage: Usage{
		Session: map[solana.PublicKey]Held{amount.SOL: {Used: 900_000_000, Reserved: 90_000_000}},
	}})
	const want = "0.02 SOL is over what the cap per session leaves: cap 1, used 0.9, reserved 0.09, left 0.01"
	if d.Fault() == nil || d.Fault().Message != want {
		t.Errorf("fault %v, want %q", d.Fault(), want)
	}
}

func TestNoHourlyLimitMeansNone(t *testing.T) {
	rules := ownerWith(t, "transactions_per_hour = 30", "transactions_per_hour = 0")
	d := rules.evaluate(effects.Transfer, []facts{quiet()}, Circumstances{Usage: Usage{TransactionsLastHour: 1 << 30}})
	if d.Tier() != Confirm {
		t.Errorf("%s (%v)", d.Tier(), d.Rules())
	}
}

func TestEvaluateRefusesAmountsThatOverflow(t *testing.T) {
	rules := ownerWith(t, "[network]", "allow_uncapped_tokens = true\n[network]")
	whole := facts{class: effects.Complete, charge: map[solana.PublicKey]amount.Units{uncapped: ^amount.Units(0)}}
	d := rules.evaluate(effects.Transfer, []facts{whole, whole}, Circumstances{})
	if diff := cmp.Diff(verdict{Deny, []string{"builtin.overflow"}, fault.CapExceeded}, verdictOf(d)); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// Nothing is decided about what the judge has not seen.
func TestEvaluateRefusesWhatWasNotJudged(t *testing.T) {
	for name, batch := range map[string][]judge.Judged{"no transaction": nil, "a zero value": {{}}} {
		t.Run(name, func(t *testing.T) {
			d := ownerWith(t).Evaluate(effects.Transfer, batch, Circumstances{})
			if diff := cmp.Diff(verdict{Deny, []string{"builtin.judged"}, fault.Internal}, verdictOf(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if !d.Stamped() {
				t.Error("the decision is not stamped")
			}
		})
	}
}

func TestTheDefaultPolicyAsksAPersonWhereItShould(t *testing.T) {
	rules, err := Load(Default("test", solana.Hash{1}))
	if err != nil {
		t.Fatal(err)
	}
	guarded := facts{class: effects.Guarded, opaque: []solana.PublicKey{solana.DFlowProgram}, charge: charge(amount.SOL, dime)}
	tests := []struct {
		name string
		flow effects.Flow
		with func(*facts)
		want Tier
	}{
		{"a guarded swap", effects.Swap, func(*facts) {}, Confirm},
		{"a swap that is not guarded", effects.Swap, func(f *facts) { f.class = effects.Unguarded }, Human},
		{"a payment", effects.Transfer, func(f *facts) { f.class, f.opaque, f.payments = effects.Complete, nil, pays(stranger) }, Human},
		{"a lamport over the cap", effects.Swap, func(f *facts) { f.charge = charge(amount.SOL, dime+1) }, Deny},
		{"a token", effects.Swap, func(f *facts) { f.charge = charge(usdc, 1) }, Deny},
		{"another router", effects.Swap, func(f *facts) { f.opaque = []solana.PublicKey{solana.JupiterV6Program} }, Deny},
		{"a large fee", effects.Swap, func(f *facts) { f.priorityFee = sol/200 + 1 }, Deny},
		{"nothing at all", effects.Claim, func(f *facts) { f.class, f.opaque, f.charge = effects.Complete, nil, nil }, Confirm},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := guarded
			test.with(&found)
			if d := rules.evaluate(test.flow, []facts{found}, Circumstances{}); d.Tier() != test.want {
				t.Errorf("%s (%v), want %s", d.Tier(), d.Rules(), test.want)
			}
		})
	}
}

func TestDecisionsCannotBeChangedFromOutside(t *testing.T) {
	d := ownerWith(t).evaluate(effects.Transfer, []facts{quiet()}, Circumstances{})
	d.Rules()[0] = "none"
	if got := d.Rules()[0]; got != "tiers.default" {
		t.Errorf("rule %q after a caller changed its copy", got)
	}
	if (Decision{}).Stamped() {
		t.Error("a zero decision is stamped")
	}
}

func TestTiersAreOrderedAndNamed(t *testing.T) {
	var names []string
	for tier := Auto; tier <= Deny+1; tier++ {
		names = append(names, tier.String())
	}
	if diff := cmp.Diff([]string{"auto", "confirm", "human", "quorum", "deny", "Tier(6)"}, names); diff != "" {
		t.Errorf("tiers, weakest first (-want +got):\n%s", diff)
	}
}
