package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
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

func paysOf(to solana.PublicKey, units amount.Units) []effects.Payment {
	return []effects.Payment{{Recipient: to, Mint: amount.SOL, Amount: units}}
}

func named(to solana.PublicKey, name string) []effects.Payment {
	return []effects.Payment{{Recipient: to, Name: name, Mint: amount.SOL, Amount: 1}}
}

func finds(codes ...string) []effects.Finding {
	var found []effects.Finding
	for _, code := range codes {
		found = append(found, effects.Finding{Code: code})
	}
	return found
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
		{"to somebody in the address book", nil, effects.Transfer, func(f *facts) { f.payments = named(stranger, "bob") }, confirm},
		{"to an enemy in the address book", nil, effects.Transfer, func(f *facts) { f.payments = named(enemy, "bob") },
			verdict{Deny, []string{"recipients.deny"}, fault.PolicyDenied}},
		{"somebody seen for the first time", nil, effects.Transfer, func(f *facts) { f.findings = finds(effects.FirstSeenRecipient) },
			verdict{Human, []string{"recipients.new"}, fault.PersonRequired}},
		{"an address that looks like a friend's", nil, effects.Transfer, func(f *facts) { f.findings = finds(effects.LookAlikeRecipient) },
			verdict{Deny, []string{"recipients.look_alike"}, fault.PolicyDenied}},
		{"a look-alike, left to a person", []string{"#new", `look_alike = "human"`}, effects.Transfer,
			func(f *facts) { f.findings = finds(effects.LookAlikeRecipient) }, verdict{Human, []string{"recipients.look_alike"}, fault.PersonRequired}},
		{"a payment over the cap of its recipient", []string{"[fees]", "per_destination = \"0.000000005 SOL\"\n[fees]"}, effects.Transfer,
			func(f *facts) { f.payments = append(paysOf(friend, 3), paysOf(friend, 3)...) }, verdict{Deny, []string{"caps.per_destination"}, fault.CapExceeded}},
		{"two recipients, each within it", []string{"[fees]", "per_destination = \"0.000000005 SOL\"\n[fees]", "#new", `new = "confirm"`}, effects.Transfer,
			func(f *facts) { f.payments = append(paysOf(friend, 5), paysOf(stranger, 5)...) }, verdict{Confirm, []string{"recipients.new", "tiers.default"}, ""}},
		{"SOL at the ceiling", []string{"[fees]", "[ceilings]\nper_transaction = \"0.02 SOL\"\n[fees]"}, effects.Transfer, nil, confirm},
		{"SOL over the ceiling", []string{"[fees]", "[ceilings]\nper_transaction = \"0.019999999 SOL\"\n[fees]"}, effects.Transfer, nil,
			verdict{Deny, []string{"ceilings.per_transaction"}, fault.CapExceeded}},
		{"tokens over the ceiling", []string{"decimals = 6", "decimals = 6\nceiling = \"5 USDC\""}, effects.Transfer,
			func(f *facts) { f.charge = charge(amount.SOL, 5000, usdc, 5_000_001) }, verdict{Deny, []string{"ceilings.per_transaction"}, fault.CapExceeded}},
		{"v1", nil, effects.Transfer, func(f *facts) { f.version = solana.V1 }, verdict{Deny, []string{"versions.allow_v1"}, fault.PolicyDenied}},
		{"v1, allowed", []string{"[sessions]", "[versions]\nallow_v1 = true\n[sessions]"}, effects.Transfer, func(f *facts) { f.version = solana.V1 }, confirm},
		{"v0", nil, effects.Transfer, func(f *facts) { f.version = solana.V0 }, confirm},
		{"a token that is not to be traded", []string{"[sessions]", "[mints]\nallow = [\"USDC\"]\n[sessions]"}, effects.Swap,
			func(f *facts) { f.assets = []solana.PublicKey{amount.SOL, uncapped} }, verdict{Deny, []string{"mints.allow"}, fault.PolicyDenied}},
		{"one that is", []string{"[sessions]", "[mints]\nallow = [\"USDC\"]\n[sessions]"}, effects.Swap,
			func(f *facts) { f.assets = []solana.PublicKey{amount.SOL, usdc} }, confirm},
		{"an empty list lets nothing be traded", []string{"[sessions]", "[mints]\nallow = []\n[sessions]"}, effects.Swap,
			func(f *facts) { f.assets = []solana.PublicKey{usdc} }, verdict{Deny, []string{"mints.allow"}, fault.PolicyDenied}},
		{"a claim brings what is not to be traded", []string{"[sessions]", "[mints]\nallow = []\n[sessions]"}, effects.Claim,
			func(f *facts) { f.assets = []solana.PublicKey{usdc} }, confirm},
		{"a token that is never touched", []string{"[sessions]", "[mints]\ndeny = [\"" + uncapped.String() + "\"]\n[sessions]"}, effects.Claim,
			func(f *facts) { f.assets = []solana.PublicKey{uncapped} }, verdict{Deny, []string{"mints.deny"}, fault.PolicyDenied}},
		{"a token with another's name", nil, effects.Swap, func(f *facts) { f.findings = finds(effects.LookAlikeMint) },
			verdict{Human, []string{"mints.look_alike"}, fault.PersonRequired}},
		{"a token without a name", nil, effects.Swap, func(f *facts) { f.findings = finds(effects.UnverifiedMint) }, confirm},
		{"a token without a name, forbidden", []string{"[sessions]", "[mints]\nunverified = \"deny\"\n[sessions]"}, effects.Swap,
			func(f *facts) { f.findings = finds(effects.UnverifiedMint) }, verdict{Deny, []string{"mints.unverified"}, fault.PolicyDenied}},
		{"a quarter of the wallet", []string{"#tiers", `human_above_share = "25%"`}, effects.Transfer,
			func(f *facts) { f.held = charge(amount.SOL, 4*sol/50) }, confirm},
		{"a little more than a quarter", []string{"#tiers", `human_above_share = "25%"`}, effects.Transfer,
			func(f *facts) { f.held = charge(amount.SOL, 4*sol/50-1) }, verdict{Human, []string{"tiers.human_above_share"}, fault.PersonRequired}},
		{"most of a token", []string{"#tiers", `human_above_share = "25%"`}, effects.Transfer, func(f *facts) {
			f.charge, f.held = charge(amount.SOL, 5, usdc, 6), charge(amount.SOL, sol, usdc, 10)
		}, verdict{Human, []string{"tiers.human_above_share"}, fault.PersonRequired}},
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
			d := rules.evaluate(test.flow, []facts{found}, Circumstances{})
			if diff := cmp.Diff(test.want, verdictOf(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if !d.Stamped() || d.PolicyVersion() != rules.Version() {
				t.Errorf("stamped %v, version %q", d.Stamped(), d.PolicyVersion())
			}
		})
	}
}
