package policy_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
)

const (
	dflowText   = "DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH"
	jupiterText = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"
	friendText  = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"
	enemyText   = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"
	hashText    = "6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090"
)

// more stands behind the good policy and has the tables that it lacks. Its
// first line is line 41.
const more = `lasts = "90m"
[versions]
allow_v1 = true
[ceilings]
per_transaction = "0.5 SOL"
[mints]
allow = ["USDC", "SOL"]
deny = ["BONK"]
look_alike = "deny"
unverified = "confirm"
[[program]]
address = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"
flows = ["swap", "claim"]
last_deploy_slot = 7
data_hash = "6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090"
[[rule]]
name = "night"
flow = ["swap", "claim"]
class = ["guarded"]
version = ["v0", "v1"]
program = ["JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"]
mint = ["USDC"]
recipient = ["AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"]
finding = ["transfer_fee"]
client = ["an agent"]
amount_above = "5 USDC"
share_above = "12.5%"
between = "22:00-06:00"
timezone = "Europe/Berlin"
deny = "nobody watches"
[[rule]]
name = "large"
amount_above = "0.02 SOL"
tier = "human"
`

func TestLoadReadsWhatIsOptional(t *testing.T) {
	rules := load(t, good+more)
	if rules.SessionLasts().String() != "1h30m0s" || !rules.AllowV1() {
		t.Errorf("sessions last %s, v1 %v", rules.SessionLasts(), rules.AllowV1())
	}
	ceiling := amount.Units(500_000_000)
	if sol := rules.Caps()[0]; sol.Ceiling == nil || *sol.Ceiling != ceiling || sol.PerDestination != nil {
		t.Errorf("ceiling %v, per destination %v", sol.Ceiling, sol.PerDestination)
	}
	digest, err := hex.DecodeString(hashText)
	if err != nil {
		t.Fatal(err)
	}
	slot, hash := uint64(7), [32]byte(digest)
	want := map[solana.PublicKey]judge.Pin{solana.MustPublicKey(jupiterText): {LastDeploySlot: &slot, DataHash: &hash}}
	if diff := cmp.Diff(want, rules.Pins()); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"large", "night"}, rules.Rules()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	known := effects.Known{
		Recipients: []effects.Recipient{{Address: solana.MustPublicKey(friendText)}},
		Mints:      []effects.NamedMint{{Name: "USDC", Mint: solana.MustPublicKey(usdcText)}, {Name: "BONK", Mint: solana.MustPublicKey(bonkText)}},
	}
	if diff := cmp.Diff(known, rules.Known()); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

func TestLoadSaysWhatIsWrongInOptionalTables(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"session too short", `"90m"`, `"59s"`, `line 41, column 1: sessions.lasts: must be a time from "1m" to "720h", such as "8h" or "90m"`},
		{"session for ever", `"90m"`, `"721h"`, `line 41, column 1: sessions.lasts: must be a time from "1m" to "720h", such as "8h" or "90m"`},
		{"session in words", `"90m"`, `"a day"`, `line 41, column 1: sessions.lasts: must be a time from "1m" to "720h", such as "8h" or "90m"`},
		{"switch as text", "allow_v1 = true", `allow_v1 = "no"`, `line 43, column 12: the value has the wrong type: it is a TOML string`},
		{"ceiling without unit", `"0.5 SOL"`, `"0.5"`, `line 45, column 1: ceilings.per_transaction: must be an amount of SOL, such as "0.1 SOL"`},
		{"mint unknown", `allow = ["USDC", "SOL"]`, `allow = ["USDC", "EURC"]`,
			`line 47, column 1: mints.allow: entry 2: "EURC" is neither the address of a mint nor a name from this file`},
		{"mint allowed and denied", `deny = ["BONK"]`, `deny = ["` + usdcText + `"]`,
			"line 48, column 1: mints.deny: " + usdcText + " is in the list of what is allowed, too"},
		{"SOL denied", `allow = ["USDC", "SOL"]` + "\ndeny = [\"BONK\"]", `allow = []` + "\ndeny = [\"So11111111111111111111111111111111111111112\"]",
			"line 48, column 1: mints.deny: SOL pays every fee, so it cannot be denied; cap it at 0 instead"},
		{"look-alike mints pass", `look_alike = "deny"`, `look_alike = "auto"`, "line 49, column 1: mints.look_alike: must be one of confirm, human, deny"},
		{"look-alike recipients need a person", `new = "deny"`, `look_alike = "confirm"`, "line 33, column 1: recipients.look_alike: must be one of human, deny"},
		{"recipient allowed and denied", enemyText, friendText, "line 32, column 1: recipients.deny: " + friendText + " is in the list of what is allowed, too"},
		{"program twice", `[[rule]]`, "[[program]]\naddress = \"" + jupiterText + "\"\nflows = [\"swap\"]\n[[rule]]",
			"line 57, column 1: program[1].address: this program has a table already"},
		{"program without flow", `flows = ["swap", "claim"]`, `flows = []`, "line 53, column 1: program[0].flows: must name at least one of swap, claim"},
		{"program for transfers", `flows = ["swap", "claim"]`, `flows = ["transfer"]`, "line 53, column 1: program[0].flows: must name only swap and claim"},
		{"slot negative", "last_deploy_slot = 7", "last_deploy_slot = -7", "line 54, column 1: program[0].last_deploy_slot: must be the slot of the program's last deployment"},
		{"hash short", hashText, hashText[2:], "line 55, column 1: program[0].data_hash: must be the SHA-256 of the program's code in 64 hex digits"},
		{"rule unnamed", `name = "night"`, `name = ""`, "line 57, column 1: rule[0].name: must be 1 to 48 plain characters without spaces: decisions are explained by it"},
		{"rule named with a space", `name = "night"`, `name = "at night"`,
			"line 57, column 1: rule[0].name: must be 1 to 48 plain characters without spaces: decisions are explained by it"},
		{"rule twice", `name = "large"`, `name = "night"`, "line 72, column 1: rule[1].name: another rule has this name"},
		{"flow unknown", `flow = ["swap", "claim"]`, `flow = ["swap", "stake"]`, "line 58, column 1: rule[0].flow: entry 2 must be one of claim, swap, transfer"},
		{"flow of no list", `flow = ["swap", "claim"]`, `flow = []`, "line 58, column 1: rule[0].flow: names nothing, so the rule could never apply"},
		{"class unknown", `["guarded"]`, `["Guarded"]`, "line 59, column 1: rule[0].class: entry 1 must be one of complete, guarded, unguarded"},
		{"version unknown", `["v0", "v1"]`, `["v2"]`, "line 60, column 1: rule[0].version: entry 1 must be one of legacy, v0, v1"},
		{"program misspelt", `program = ["` + jupiterText, `program = ["JUP`, "line 61, column 1: rule[0].program: entry 1: address has 2 bytes, want 32"},
		{"finding unknown", `["transfer_fee"]`, `["tax"]`, "line 64, column 1: rule[0].finding: entry 1 must be one of confidential, delegate, first_seen_recipient, " +
			"freezable, look_alike_mint, look_alike_recipient, loose_lamports, pausable, permanent_delegate, transfer_fee, transfer_hook, unknown_inner_program, unverified_mint"},
		{"client of two lines", `["an agent"]`, `["an\nagent"]`, "line 65, column 1: rule[0].client: entry 1 must be a name of 1 to 200 characters"},
		{"amount in an unknown unit", `"5 USDC"`, `"5 EURC"`,
			`line 66, column 1: rule[0].amount_above: must be an amount with its unit, such as "0.1 SOL"; the unit must be SOL or the name of a [[mint]]`},
		{"amount too precise", `"5 USDC"`, `"5.0000001 USDC"`, "line 66, column 1: rule[0].amount_above: amount has more digits behind the point than the asset has"},
		{"share without percent", `"12.5%"`, `"12.5"`,
			`line 67, column 1: rule[0].share_above: must lie above "0%" and up to "100%", with at most two digits behind the point, such as "12.5%"`},
		{"share over all", `"12.5%"`, `"100.01%"`,
			`line 67, column 1: rule[0].share_above: must lie above "0%" and up to "100%", with at most two digits behind the point, such as "12.5%"`},
		{"share as a float", `"12.5%"`, `12.5`, `line 67, column 15: the value has the wrong type: it is a TOML float`},
		{"time without end", `"22:00-06:00"`, `"22:00"`, `line 68, column 1: rule[0].between: must be two different times of day, such as "22:00-06:00"`},
		{"time of no day", `"22:00-06:00"`, `"22:00-24:00"`, `line 68, column 1: rule[0].between: must be two different times of day, such as "22:00-06:00"`},
		{"time of no length", `"22:00-06:00"`, `"06:00-06:00"`, `line 68, column 1: rule[0].between: must be two different times of day, such as "22:00-06:00"`},
		{"time in short", `"22:00-06:00"`, `"22:00-6:00"`, `line 68, column 1: rule[0].between: must be two different times of day, such as "22:00-06:00"`},
		{"timezone unknown", `"Europe/Berlin"`, `"Europe/Nowhere"`, `line 69, column 1: rule[0].timezone: must be UTC or a name such as "Europe/Berlin"`},
		{"timezone of the computer", `"Europe/Berlin"`, `"Local"`, `line 69, column 1: rule[0].timezone: must be UTC or a name such as "Europe/Berlin"`},
		{"timezone a file", `"Europe/Berlin"`, `"../../etc/passwd"`, `line 69, column 1: rule[0].timezone: must be UTC or a name such as "Europe/Berlin"`},
		{"timezone alone", "between = \"22:00-06:00\"\n", "", "line 68, column 1: rule[0].timezone: means nothing without between"},
		{"reason empty", `"nobody watches"`, `""`, "line 70, column 1: rule[0].deny: must be the reason, in one line of 1 to 200 characters"},
		{"reason turned around", `"nobody watches"`, `"no\u202eyes"`, "line 70, column 1: rule[0].deny: must be the reason, in one line of 1 to 200 characters"},
		{"tier and deny", `tier = "human"`, "tier = \"human\"\ndeny = \"no\"", "line 75, column 1: rule[1].deny: a rule has a tier or a reason to deny, not both"},
		{"no demand", "tier = \"human\"\n", "", "line 71, column 3: rule[1]: must have a tier, or deny with a reason"},
		{"deny as a tier", `tier = "human"`, `tier = "deny"`, `line 74, column 1: rule[1].tier: write deny = "the reason" instead`},
		{"auto by a rule", `tier = "human"`, `tier = "auto"`, "line 74, column 1: rule[1].tier: must be one of confirm, human, deny"},
		{"no condition", "amount_above = \"0.02 SOL\"\n", "", "line 71, column 3: rule[1]: asks for nothing, so it would hold of everything; write that under [tiers]"},
		{"a script", `tier = "human"`, "tier = \"human\"\nscript = \"return true\"", `line 75, column 1: unknown key "rule.script"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := good + more
			if !strings.Contains(text, test.old) {
				t.Fatalf("the policy has no %q", test.old)
			}
			rules, err := policy.Load([]byte(strings.Replace(text, test.old, test.new, 1)))
			var found policy.LoadErrors
			if !errors.As(err, &found) || rules != nil {
				t.Fatalf("Load = %v, %v, want LoadErrors alone", rules, err)
			}
			if diff := cmp.Diff(test.want, found.Error()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadBoundsItsTables(t *testing.T) {
	for name, table := range map[string]string{
		"rule: more than 256 rules":          "[[rule]]\n",
		"program: more than 256 programs":    "[[program]]\n",
		"rule[0].client: more than 4096":     "",
		"recipients.allow: more than 4096 a": "",
	} {
		text := good + strings.Repeat(table, 257)
		switch {
		case strings.HasPrefix(name, "rule[0]"):
			text += "[[rule]]\nname = \"r\"\ntier = \"human\"\nclient = [" + strings.Repeat(`"a",`, 4097) + "]\n"
		case strings.HasPrefix(name, "recipients"):
			text = strings.Replace(text, "allow = [", "allow = ["+strings.Repeat(`"`+enemyText+`",`, 4097), 1)
		}
		if _, err := policy.Load([]byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// Each case is allowed, and hardly meant.
func TestLoadWarnsAboutWhatIsHardlyMeant(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"cap of nothing", `"10 USDC"`, `"0 USDC"`, "line 17, column 1: mint[0].per_transaction: is 0, so no USDC can be spent at all"},
		{"session below transaction", `"1 SOL"`, `"0.05 SOL"`, "line 7, column 1: caps.per_session: is less than per_transaction, which can never be used up"},
		{"day below session", `"100.5 USDC"`, `"49 USDC"`, "line 19, column 1: mint[0].per_day: is less than per_session, which can never be used up"},
		{"nobody can be paid", `per_day = "2 SOL"`, "per_day = \"2 SOL\"\nper_destination = \"0 SOL\"", "line 9, column 1: caps.per_destination: is 0, so nobody can be paid in SOL"},
		{"destination over the day", `decimals = 6`, "decimals = 6\nper_destination = \"101 USDC\"", "line 17, column 1: mint[0].per_destination: is more than per_day, so it limits nothing"},
		{"ceiling below the cap", `per_transaction = "0.5 SOL"`, `per_transaction = "0.05 SOL"`,
			"line 45, column 1: ceilings.per_transaction: is less than the cap per transaction, which can never be used up"},
		{"human above the cap", `"0.05 SOL"`, `"0.1 SOL"`, "line 38, column 1: tiers.human_above: is not below the cap per transaction, so only a batch could exceed it"},
		{"auto above human", `"0.01 SOL"`, `"0.06 SOL"`, "line 37, column 1: tiers.auto_up_to: is more than human_above, where a person is asked for in any case"},
		{"transfers are complete", `flow = ["swap", "claim"]`, `flow = ["transfer"]`,
			"line 59, column 1: rule[0].class: can never apply: a transfer calls known programs only, so its class is complete"},
		{"program refused anyway", `program = ["` + jupiterText, `program = ["` + usdcText, "line 61, column 1: rule[0].program: changes nothing: no such program is allowed, so what calls it is refused anyway"},
		{"recipient refused anyway", `recipient = ["` + friendText, `recipient = ["` + enemyText, "line 63, column 1: rule[0].recipient: changes nothing: these recipients are refused anyway (recipients.deny)"},
		{"mint refused anyway", `mint = ["USDC"]`, `mint = ["BONK"]`, "line 62, column 1: rule[0].mint: changes nothing: these tokens are refused anyway (mints.deny)"},
		{"amount refused anyway", `"5 USDC"`, `"50 USDC"`, "line 66, column 1: rule[0].amount_above: changes nothing: the caps per session and day refuse more than that anyway"},
		{"more than all", `"12.5%"`, `"100%"`, "line 67, column 1: rule[0].share_above: can never apply: nothing takes more than all that the wallet holds"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := good + more
			if !strings.Contains(text, test.old) {
				t.Fatalf("the policy has no %q", test.old)
			}
			rules := load(t, strings.Replace(text, test.old, test.new, 1))
			if diff := cmp.Diff(test.want, policy.LoadErrors(rules.Warnings()).Error()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	v1 := strings.NewReplacer("allow_v1 = true", "allow_v1 = false", `["v0", "v1"]`, `["v1"]`).Replace(good + more)
	const want = "line 60, column 1: rule[0].version: changes nothing: v1 transactions are refused anyway (versions.allow_v1)"
	if got := policy.LoadErrors(load(t, v1).Warnings()).Error(); got != want {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

func TestLiveKeepsItsNetwork(t *testing.T) {
	first := load(t, good)
	live := policy.NewLive(first)
	next := load(t, good+"# a comment\n")
	if err := live.Replace(next); err != nil || live.Current() != next {
		t.Errorf("another version: %v", err)
	}
	elsewhere, err := policy.Load(policy.Default("elsewhere", solana.Hash{9}))
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Replace(elsewhere); err == nil || live.Current() != next {
		t.Errorf("another network is in force: %v", err)
	}
}

// Every key of the format stands in the default policy, in force or behind a #.
func TestDefaultShowsEveryKey(t *testing.T) {
	text := string(policy.Default("mainnet", solana.Hash{1}))
	for line := range strings.Lines(good + more) {
		key, _, assigned := strings.Cut(strings.TrimSpace(line), " = ")
		if !assigned {
			key = strings.TrimSpace(line)
		}
		if !strings.Contains(text, key) {
			t.Errorf("the default policy does not show %s", key)
		}
	}
}
