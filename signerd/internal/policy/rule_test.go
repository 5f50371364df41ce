package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// swap is one that all of the rules below are about, unless a test changes it.
func swap() facts {
	return facts{
		class: effects.Guarded, version: solana.V0,
		programs: []solana.PublicKey{solana.SystemProgram, solana.DFlowProgram}, opaque: []solana.PublicKey{solana.DFlowProgram},
		assets: []solana.PublicKey{amount.SOL, usdc}, findings: finds(effects.TransferFee, effects.UnverifiedMint),
		charge: charge(amount.SOL, sol/50), held: charge(amount.SOL, sol/10),
	}
}

func TestRulesApplyWhereAllTheyAskForHolds(t *testing.T) {
	midnight := time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC) // half past midnight in Berlin
	applies := verdict{Human, []string{"rule.mine"}, fault.PersonRequired}
	passes := verdict{Confirm, []string{"tiers.default"}, ""}
	tests := []struct {
		name, asks string
		change     func(*facts)
		want       verdict
	}{
		{"its flow", `flow = ["claim", "swap"]`, nil, applies},
		{"another flow", `flow = ["claim"]`, nil, passes},
		{"its class", `class = ["guarded"]`, nil, applies},
		{"another class", `class = ["unguarded", "complete"]`, nil, passes},
		{"its version", `version = ["v0"]`, nil, applies},
		{"another version", `version = ["legacy"]`, nil, passes},
		{"its program", `program = ["DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH"]`, nil, applies},
		{"a known program", `program = ["11111111111111111111111111111111"]`, nil, applies},
		{"another program", `program = ["FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK"]`, nil, passes},
		{"a mint by name", `mint = ["USDC"]`, nil, applies},
		{"a mint by address", `mint = ["EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"]`, nil, applies},
		{"wrapped SOL is SOL", `mint = ["So11111111111111111111111111111111111111112"]`, nil, applies},
		{"another mint", `mint = ["DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"]`, nil, passes},
		{"its finding", `finding = ["transfer_fee"]`, nil, applies},
		{"another finding", `finding = ["pausable"]`, nil, passes},
		{"its recipient", `recipient = ["AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"]`, func(f *facts) { f.payments = pays(friend) }, applies},
		{"no recipient", `recipient = ["AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"]`, nil, passes},
		{"the client's word", `client = ["agent", "another"]`, nil, applies},
		{"another client", `client = ["Agent"]`, nil, passes},
		{"above its amount", `amount_above = "0.019999999 SOL"`, nil, applies},
		{"at its amount", `amount_above = "0.02 SOL"`, nil, passes},
		{"above an amount of a token", `amount_above = "0.000001 USDC"`, func(f *facts) { f.charge[usdc] = 2 },
			verdict{Human, []string{"rule.mine"}, fault.PersonRequired}},
		{"above its share", `share_above = "19.99%"`, nil, applies},
		{"at its share", `share_above = "20%"`, nil, passes},
		{"above the share of another mint", "share_above = \"1%\"\nmint = [\"USDC\"]", nil, passes},
		{"in the night of Berlin", "between = \"00:00-06:00\"\ntimezone = \"Europe/Berlin\"", nil, applies},
		{"in the evening of London", "between = \"22:00-06:00\"\ntimezone = \"Europe/London\"", nil, applies},
		{"not yet the night of UTC", `between = "23:00-06:00"`, nil, passes},
		{"until the first minute", `between = "21:30-22:30"`, nil, passes},
		{"from the first minute", `between = "22:30-22:31"`, nil, applies},
		{"two of two", "flow = [\"swap\"]\nclass = [\"guarded\"]", nil, applies},
		{"one of two", "flow = [\"swap\"]\nclass = [\"complete\"]", nil, passes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := swap()
			if test.change != nil {
				test.change(&found)
			}
			rules := ownerWith(t, "[sessions]", "[[rule]]\nname = \"mine\"\n"+test.asks+"\ntier = \"human\"\n[sessions]")
			d := rules.evaluate(effects.Swap, []facts{found}, Circumstances{Client: "agent", Now: midnight})
			if diff := cmp.Diff(test.want, verdictOf(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRulesAskForEveryFinding: what a preview can warn of, a rule can stop.
func TestRulesAskForEveryFinding(t *testing.T) {
	for _, code := range effects.FindingCodes {
		rules := ownerWith(t, "[sessions]", "[[rule]]\nname = \"mine\"\nfinding = [\""+code+"\"]\ndeny = \"no\"\n[sessions]")
		found := swap()
		found.findings = finds(code)
		if d := rules.evaluate(effects.Swap, []facts{found}, Circumstances{}); d.Tier() != Deny {
			t.Errorf("%s: %s (%v)", code, d.Tier(), d.Rules())
		}
	}
}

// What a rule asks of a transaction must hold of one and the same.
func TestRulesDoNotMixTransactions(t *testing.T) {
	rules := ownerWith(t, "[sessions]", "[[rule]]\nname = \"mine\"\nversion = [\"legacy\"]\nfinding = [\"pausable\"]\ntier = \"human\"\n[sessions]")
	first, second := swap(), swap()
	first.version, second.findings = solana.Legacy, finds(effects.Pausable)
	if d := rules.evaluate(effects.Swap, []facts{first, second}, Circumstances{}); d.Tier() != Confirm {
		t.Errorf("of two transactions half each: %s (%v)", d.Tier(), d.Rules())
	}
	second.version = solana.Legacy
	if d := rules.evaluate(effects.Swap, []facts{first, second}, Circumstances{}); d.Tier() != Human {
		t.Errorf("of the second all: %s (%v)", d.Tier(), d.Rules())
	}
}

func TestRulesDenyWithTheirReason(t *testing.T) {
	rules := ownerWith(t, "[sessions]", `[[rule]]
name = "b"
flow = ["swap"]
tier = "human"
[[rule]]
name = "a"
flow = ["swap"]
deny = "not on Sundays"
[sessions]`)
	d := rules.evaluate(effects.Swap, []facts{swap()}, Circumstances{})
	if diff := cmp.Diff(verdict{Deny, []string{"rule.a"}, fault.PolicyDenied}, verdictOf(d)); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if want := "the owner's rule a refuses this: not on Sundays"; d.Fault().Message != want {
		t.Errorf("reason %q, want %q", d.Fault().Message, want)
	}
}

// Shares are compared exactly, however large the amounts are.
func TestShareIsExact(t *testing.T) {
	const most = ^amount.Units(0)
	for _, test := range []struct {
		part        share
		units, held amount.Units
		want        bool
	}{
		{2500, 25, 100, false},
		{2500, 26, 100, true},
		{2500, 0, 0, false},
		{2500, 1, 0, true},
		{0, 1, most, true},
		{0, 0, most, false},
		{whole, most, most, false},
		{9999, most, most, true},
		{1, most / 10_000, most, false},
		{1, most/10_000 + 1, most, true},
	} {
		if got := test.part.exceeded(test.units, test.held); got != test.want {
			t.Errorf("%d of %d exceed %d hundredths of a percent: %v, want %v", test.units, test.held, test.part, got, test.want)
		}
	}
}
