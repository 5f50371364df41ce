package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

var (
	usdc     = solana.MustPublicKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	uncapped = solana.MustPublicKey("DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263")
	friend   = solana.MustPublicKey("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	enemy    = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")
	stranger = solana.MustPublicKey("HLnpSz9h2S4hiLQ43rnSD9XkcUThA7B8hQMKmDaiTLcC")
)

// owner is the default policy with a token, a friend and an enemy.
const owner = `
[network]
cluster = "mainnet"
genesis_hash = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
[caps]
per_transaction = "0.1 SOL"
per_session = "1 SOL"
per_day = "2 SOL"
transactions_per_hour = 30
[fees]
max_priority_fee = "0.005 SOL"
max_tip = "0.001 SOL"
[[mint]]
address = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
name = "USDC"
decimals = 6
per_transaction = "10 USDC"
per_session = "50 USDC"
per_day = "100 USDC"
[programs]
swap = ["DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH"]
claim = ["FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK"]
[recipients]
allow = ["AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"]
deny = ["9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"]
#new
[tiers]
#tiers
[sessions]
per_hour = 30
`

func ownerWith(t *testing.T, edits ...string) *Policy {
	t.Helper()
	text := owner
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the policy has no %q", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	rules, err := Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func pays(to solana.PublicKey) []effects.Payment {
	return []effects.Payment{{Recipient: to, Mint: amount.SOL, Amount: 1}}
}

func charge(pairs ...any) map[solana.PublicKey]amount.Units {
	out := make(map[solana.PublicKey]amount.Units)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(solana.PublicKey)] = amount.Units(pairs[i+1].(int))
	}
	return out
}

const (
	sol  = 1_000_000_000
	dime = sol / 10 // the cap of one transaction
)

// quiet is a transfer to a friend that no rule objects to.
func quiet() facts {
	return facts{class: effects.Complete, payments: pays(friend), charge: charge(amount.SOL, sol/50)}
}

type verdict struct {
	Tier  Tier
	Rules []string
	Fault fault.Code
}

func verdictOf(d Decision) verdict {
	v := verdict{Tier: d.Tier(), Rules: d.Rules()}
	if why := d.Fault(); why != nil {
		v.Fault = why.Code
	}
	return v
}

func TestEvaluateAppliesEachRule(t *testing.T) {
	confirm := verdict{Confirm, []string{"tiers.default"}, ""}
	tests := []struct {
		name   string
		edits  []string
		flow   effects.Flow
		change func(*facts)
		want   verdict
	}{
		{"a transfer to a friend", nil, effects.Transfer, nil, confirm},
		{"to a stranger", nil, effects.Transfer, func(f *facts) { f.payments = pays(stranger) },
			verdict{Human, []string{"recipients.new"}, fault.PersonRequired}},
		{"to a stranger, allowed", []string{"#new", `new = "confirm"`}, effects.Transfer, func(f *facts) { f.payments = pays(stranger) },
			verdict{Confirm, []string{"recipients.new", "tiers.default"}, ""}},
		{"to a stranger, forbidden", []string{"#new", `new = "deny"`}, effects.Transfer, func(f *facts) { f.payments = pays(stranger) },
			verdict{Deny, []string{"recipients.new"}, fault.PolicyDenied}},
		{"to an enemy", nil, effects.Transfer, func(f *facts) { f.payments = pays(enemy) },
			verdict{Deny, []string{"recipients.deny"}, fault.PolicyDenied}},
		{"to an enemy who is a friend too", []string{"allow = [", `allow = ["` + enemy.String() + `",`}, effects.Transfer,
			func(f *facts) { f.payments = pays(enemy) }, verdict{Deny, []string{"recipients.deny"}, fault.PolicyDenied}},
		{"to a friend and an enemy", nil, effects.Transfer, func(f *facts) { f.payments = append(pays(friend), pays(enemy)...) },
			verdict{Deny, []string{"recipients.deny"}, fault.PolicyDenied}},
		{"a swap through an allowed program", nil, effects.Swap, func(f *facts) {
			f.class, f.opaque, f.payments = effects.Guarded, []solana.PublicKey{solana.DFlowProgram}, nil
		}, confirm},
		{"a claim through a program for swaps", nil, effects.Claim, func(f *facts) {
			f.class, f.opaque, f.payments = effects.Guarded, []solana.PublicKey{solana.DFlowProgram}, nil
		}, verdict{Deny, []string{"programs"}, fault.PolicyDenied}},
		{"a transfer through a program for swaps", nil, effects.Transfer, func(f *facts) { f.opaque = []solana.PublicKey{solana.DFlowProgram} },
			verdict{Deny, []string{"programs"}, fault.PolicyDenied}},
		{"one program of two unknown", nil, effects.Swap, func(f *facts) {
			f.opaque = []solana.PublicKey{solana.DFlowProgram, solana.JupiterV6Program}
		}, verdict{Deny, []string{"programs"}, fault.PolicyDenied}},
		{"unguarded", nil, effects.Transfer, func(f *facts) { f.class = effects.Unguarded },
			verdict{Human, []string{"tiers.unguarded"}, fault.PersonRequired}},
		{"unguarded, allowed", []string{"#tiers", `unguarded = "confirm"`}, effects.Transfer, func(f *facts) { f.class = effects.Unguarded },
			verdict{Confirm, []string{"tiers.unguarded", "tiers.default"}, ""}},
		{"unguarded, forbidden", []string{"#tiers", `unguarded = "deny"`}, effects.Transfer, func(f *facts) { f.class = effects.Unguarded },
			verdict{Deny, []string{"tiers.unguarded"}, fault.PolicyDenied}},
		{"priority fee at the ceiling", nil, effects.Transfer, func(f *facts) { f.priorityFee = sol / 200 }, confirm},
		{"priority fee over it", nil, effects.Transfer, func(f *facts) { f.priorityFee = sol/200 + 1 },
			verdict{Deny, []string{"fees.max_priority_fee"}, fault.CapExceeded}},
		{"tip at the ceiling", nil, effects.Transfer, func(f *facts) { f.tip = sol / 1000 }, confirm},
		{"tip over it", nil, effects.Transfer, func(f *facts) { f.tip = sol/1000 + 1 }, verdict{Deny, []string{"fees.max_tip"}, fault.CapExceeded}},
		{"SOL at the cap", nil, effects.Transfer, func(f *facts) { f.charge = charge(amount.SOL, dime) }, confirm},
		{"SOL a lamport over", nil, effects.Transfer, func(f *facts) { f.charge = charge(amount.SOL, dime+1) },
			verdict{Deny, []string{"caps.per_transaction"}, fault.CapExceeded}},
		{"tokens at the cap", nil, effects.Transfer, func(f *facts) { f.charge = charge(amount.SOL, 5000, usdc, 10_000_000) },
			verdict{Confirm, []string{"tiers.default", "builtin.token_never_auto"}, ""}},
		{"tokens over it", nil, effects.Transfer, func(f *facts) { f.charge = charge(amount.SOL, 5000, usdc, 10_000_001) },
			verdict{Deny, []string{"caps.per_transaction"}, fault.CapExceeded}},
		{"a token without caps", nil, effects.Transfer, func(f *facts) { f.charge = charge(amount.SOL, 5000, uncapped, 1) },
			verdict{Deny, []string{"caps.uncapped"}, fault.AssetUncapped}},
		{"none of a token without caps", nil, effects.Transfer, func(f *facts) { f.charge = charge(amount.SOL, 5000, uncapped, 0) }, confirm},
		{"a token without caps, allowed", []string{"[network]", "allow_uncapped_tokens = true\n[network]"}, effects.Transfer,
			func(f *facts) { f.charge = charge(amount.SOL, 5000, uncapped, 1) },
			verdict{Confirm, []string{"tiers.default", "builtin.token_never_auto"}, ""}},
		{"below the line of auto", []string{"#tiers", `auto_up_to = "0.02 SOL"`}, effects.Transfer, nil,
			verdict{Auto, []string{"tiers.auto_up_to"}, ""}},
		{"above it", []string{"#tiers", `auto_up_to = "0.019999999 SOL"`}, effects.Transfer, nil, confirm},
		{"free, without such a line", nil, effects.Claim, func(f *facts) { f.payments, f.charge = nil, charge(amount.SOL, 0) }, confirm},
		{"free, with a line at zero", []string{"#tiers", `auto_up_to = "0 SOL"`}, effects.Claim,
			func(f *facts) { f.payments, f.charge = nil, charge(amount.SOL, 0) }, verdict{Auto, []string{"tiers.auto_up_to"}, ""}},
		{"all auto", []string{"#tiers", `default = "auto"`}, effects.Transfer, nil, verdict{Auto, []string{"tiers.default"}, ""}},
		{"all auto, but tokens", []string{"#tiers", `default = "auto"`}, effects.Transfer, func(f *facts) { f.charge = charge(usdc, 1) },
			verdict{Confirm, []string{"builtin.token_never_auto"}, ""}},
		{"all auto, but a stranger", []string{"#tiers", `default = "auto"`, "#new", `new = "confirm"`}, effects.Transfer,
			func(f *facts) { f.payments = pays(stranger) }, verdict{Confirm, []string{"recipients.new"}, ""}},
		{"at the line of a person", []string{"#tiers", `human_above = "0.02 SOL"`}, effects.Transfer, nil, confirm},
		{"above the line of a person", []string{"#tiers", `human_above = "0.019999999 SOL"`}, effects.Transfer, nil,
			verdict{Human, []string{"tiers.human_above"}, fault.PersonRequired}},
		{"above a line at zero", []string{"#tiers", `human_above = "0 SOL"`}, effects.Transfer, nil,
			verdict{Human, []string{"tiers.human_above"}, fault.PersonRequired}},
		{"all denied", []string{"#tiers", `default = "deny"`}, effects.Transfer, nil, verdict{Deny, []string{"tiers.default"}, fault.PolicyDenied}},
		{"a person for all", []string{"#tiers", `default = "human"`}, effects.Transfer, nil,
			verdict{Human, []string{"tiers.default"}, fault.PersonRequired}},
		{"two reasons to refuse", nil, effects.Transfer, func(f *facts) { f.tip, f.charge = sol, charge(amount.SOL, sol) },
			verdict{Deny, []string{"fees.max_tip", "caps.per_transaction"}, fault.CapExceeded}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := quiet()
			if test.change != nil {
				test.change(&found)
			}
			rules := ownerWith(t, test.edits...)
			d := rules.evaluate(test.flow, []facts{found}, Usage{})
			if diff := cmp.Diff(test.want, verdictOf(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if !d.Stamped() || d.PolicyVersion() != rules.Version() {
				t.Errorf("stamped %v, version %q", d.Stamped(), d.PolicyVersion())
			}
		})
	}
}

func TestEvaluateCountsWhatStandsAgainstTheWindows(t *testing.T) {
	held := func(used, reserved int) map[solana.PublicKey]Held {
		return map[solana.PublicKey]Held{amount.SOL: {amount.Units(used), amount.Units(reserved)}}
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
		{"another asset is full", Usage{Day: map[solana.PublicKey]Held{usdc: {most, 0}}}, 1, ""},
	}
	rules := ownerWith(t)
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
			if diff := cmp.Diff(want, verdictOf(rules.evaluate(effects.Transfer, batch, test.usage))); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvaluateSaysWhatIsLeft(t *testing.T) {
	d := ownerWith(t).evaluate(effects.Transfer, []facts{quiet()}, Usage{
		Session: map[solana.PublicKey]Held{amount.SOL: {Used: 900_000_000, Reserved: 90_000_000}},
	})
	const want = "0.02 SOL is over what the cap per session leaves: cap 1, used 0.9, reserved 0.09, left 0.01"
	if d.Fault() == nil || d.Fault().Message != want {
		t.Errorf("fault %v, want %q", d.Fault(), want)
	}
}

func TestNoHourlyLimitMeansNone(t *testing.T) {
	rules := ownerWith(t, "transactions_per_hour = 30", "transactions_per_hour = 0")
	d := rules.evaluate(effects.Transfer, []facts{quiet()}, Usage{TransactionsLastHour: 1 << 30})
	if d.Tier() != Confirm {
		t.Errorf("%s (%v)", d.Tier(), d.Rules())
	}
}

func TestEvaluateRefusesAmountsThatOverflow(t *testing.T) {
	rules := ownerWith(t, "[network]", "allow_uncapped_tokens = true\n[network]")
	whole := facts{class: effects.Complete, charge: map[solana.PublicKey]amount.Units{uncapped: ^amount.Units(0)}}
	d := rules.evaluate(effects.Transfer, []facts{whole, whole}, Usage{})
	if diff := cmp.Diff(verdict{Deny, []string{"builtin.overflow"}, fault.CapExceeded}, verdictOf(d)); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// Nothing is decided about what the judge has not seen.
func TestEvaluateRefusesWhatWasNotJudged(t *testing.T) {
	for name, batch := range map[string][]judge.Judged{"no transaction": nil, "a zero value": {{}}} {
		t.Run(name, func(t *testing.T) {
			d := ownerWith(t).Evaluate(effects.Transfer, batch, Usage{})
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
			if d := rules.evaluate(test.flow, []facts{found}, Usage{}); d.Tier() != test.want {
				t.Errorf("%s (%v), want %s", d.Tier(), d.Rules(), test.want)
			}
		})
	}
}

func TestDecisionsCannotBeChangedFromOutside(t *testing.T) {
	d := ownerWith(t).evaluate(effects.Transfer, []facts{quiet()}, Usage{})
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
