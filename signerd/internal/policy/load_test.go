package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/policy"
)

const (
	genesisText = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
	usdcText    = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	bonkText    = "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"
)

// good is a policy with everything in it. Its lines are numbered in the table
// of errors below.
const good = `allow_uncapped_tokens = true
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
max_tip = "0 SOL"
[[mint]]
address = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
name = "USDC"
decimals = 6
per_transaction = "10 USDC"
per_session = "50 USDC"
per_day = "100.5 USDC"
[[mint]]
address = "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"
name = "BONK"
decimals = 0
per_transaction = "1 BONK"
per_session = "2 BONK"
per_day = "3 BONK"
[programs]
swap = ["DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH"]
claim = []
[recipients]
allow = ["AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"]
deny = ["9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"]
new = "deny"
[tiers]
default = "auto"
unguarded = "confirm"
auto_up_to = "0.01 SOL"
human_above = "0.05 SOL"
[sessions]
per_hour = 0
`

func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	rules, err := policy.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestLoadReadsEveryCap(t *testing.T) {
	rules := load(t, good)
	want := []policy.AssetCap{
		{Mint: amount.SOL, Name: "SOL", Decimals: 9, PerTransaction: 100_000_000, PerSession: 1_000_000_000, PerDay: 2_000_000_000},
		{Mint: solana.MustPublicKey(usdcText), Name: "USDC", Decimals: 6, PerTransaction: 10_000_000, PerSession: 50_000_000, PerDay: 100_500_000},
		{Mint: solana.MustPublicKey(bonkText), Name: "BONK", Decimals: 0, PerTransaction: 1, PerSession: 2, PerDay: 3},
	}
	if diff := cmp.Diff(want, rules.Caps()); diff != "" {
		t.Errorf("caps (-want +got):\n%s", diff)
	}
	for _, asset := range want {
		if got, ok := rules.Cap(asset.Mint); !ok || got != asset {
			t.Errorf("Cap(%s) = %+v, %v", asset.Name, got, ok)
		}
	}
	if _, ok := rules.Cap(solana.WrappedSOL); ok {
		t.Error("wrapped SOL has a cap of its own")
	}
	cluster, genesis := rules.Network()
	if cluster != "mainnet" || genesis.String() != genesisText {
		t.Errorf("network %s %s", cluster, genesis)
	}
	if rules.TransactionsPerHour() != 30 || rules.SessionsPerHour() != 0 || !rules.AllowUncappedTokens() {
		t.Errorf("per hour %d and %d, uncapped %v", rules.TransactionsPerHour(), rules.SessionsPerHour(), rules.AllowUncappedTokens())
	}
}

func TestCapsCannotBeChangedFromOutside(t *testing.T) {
	rules := load(t, good)
	rules.Caps()[0].PerDay = 1 << 60
	if got := rules.Caps()[0].PerDay; got != 2_000_000_000 {
		t.Errorf("the cap of a day is %d after a caller changed its copy", got)
	}
}

func TestVersionNamesTheExactContent(t *testing.T) {
	first, again, other := load(t, good), load(t, good), load(t, good+"# a comment\n")
	if len(first.Version()) != 16 || first.Version() != again.Version() || first.Version() == other.Version() {
		t.Errorf("versions %q, %q, %q", first.Version(), again.Version(), other.Version())
	}
}

// Each case replaces one text of the good policy. The wanted lines are what
// `policy check` prints, whole.
func TestLoadSaysWhatIsWrongAndWhere(t *testing.T) {
	const tierNames = "confirm, human, deny"
	tests := []struct{ name, old, new, want string }{
		{"a public name in other letters", `cluster = "mainnet"`, `cluster = "Mainnet"`, `line 3, column 1: network.cluster: reads like mainnet: write that, or another name`},
		{"a public name in other words", `cluster = "mainnet"`, `cluster = "mainnet-beta"`, `line 3, column 1: network.cluster: reads like mainnet: write that, or another name`},
		{"cap missing", "per_session = \"1 SOL\"\n", "", `line 5, column 2: caps.per_session: is missing; write it as "0.1 SOL"`},
		{"cap empty", `"1 SOL"`, `""`, `line 7, column 1: caps.per_session: is missing; write it as "0.1 SOL"`},
		{"no unit", `"0.1 SOL"`, `"0.1"`, `line 6, column 1: caps.per_transaction: must be an amount of SOL, such as "0.1 SOL"`},
		{"wrong unit", `"0.1 SOL"`, `"0.1 USDC"`, `line 6, column 1: caps.per_transaction: must be an amount of SOL, such as "0.1 SOL"`},
		{"unit in other case", `"0.1 SOL"`, `"0.1 sol"`, `line 6, column 1: caps.per_transaction: must be an amount of SOL, such as "0.1 SOL"`},
		{"unit glued", `"0.1 SOL"`, `"0.1SOL"`, `line 6, column 1: caps.per_transaction: must be an amount of SOL, such as "0.1 SOL"`},
		{"two spaces", `"0.1 SOL"`, `"0.1  SOL"`, `line 6, column 1: caps.per_transaction: must be an amount of SOL, such as "0.1 SOL"`},
		{"negative amount", `"0.1 SOL"`, `"-0.1 SOL"`, `line 6, column 1: caps.per_transaction: amount must be a plain decimal number such as 0.25`},
		{"exponent", `"0.1 SOL"`, `"1e9 SOL"`, `line 6, column 1: caps.per_transaction: amount must be a plain decimal number such as 0.25`},
		{"too precise", `"0.1 SOL"`, `"0.0000000001 SOL"`, `line 6, column 1: caps.per_transaction: amount has more digits behind the point than the asset has`},
		{"too large", `"0.1 SOL"`, `"18446744074 SOL"`, `line 6, column 1: caps.per_transaction: amount is too large`},
		{"fee ceiling missing", "max_tip = \"0 SOL\"\n", "", `line 10, column 2: fees.max_tip: is missing; write it as "0.1 SOL"`},
		{"count missing", "transactions_per_hour = 30\n", "", "line 5, column 2: caps.transactions_per_hour: is missing; write 0 for no such limit"},
		{"count negative", "transactions_per_hour = 30", "transactions_per_hour = -1", "line 9, column 1: caps.transactions_per_hour: must lie between 0 (no such limit) and 100000"},
		{"count too large", "per_hour = 0", "per_hour = 100001", "line 40, column 1: sessions.per_hour: must lie between 0 (no such limit) and 100000"},
		{"sessions missing", "[sessions]\nper_hour = 0\n", "", "sessions.per_hour: is missing; write 0 for no such limit"},
		{"unknown key", "per_day = \"2 SOL\"", "per_day = \"2 SOL\"\nper_week = \"9 SOL\"", `line 9, column 1: unknown key "caps.per_week"`},
		{"unknown table", "[sessions]", "[rules]\n[sessions]", `line 39, column 2: unknown key "rules"`},
		{"key in other case", "per_day = \"2 SOL\"", "Per_day = \"2 SOL\"", `line 8, column 1: unknown key "Per_day" (keys are written in lower case)`},
		{"network unnamed", `"mainnet"`, `""`, "line 3, column 1: network.cluster: give the network a name of 1 to 32 plain characters without spaces"},
		{"network named oddly", `"mainnet"`, `"main\u001b[31m"`, "line 3, column 1: network.cluster: give the network a name of 1 to 32 plain characters without spaces"},
		{"genesis of another cluster", `"mainnet"`, `"devnet"`, "line 4, column 1: network.genesis_hash: is not that of devnet, which is EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"},
		{"public genesis under another name", `"mainnet"`, `"mine"`, "line 3, column 1: network.cluster: this is the genesis hash of mainnet, so it must be called that"},
		{"genesis missing", "genesis_hash = \"" + genesisText + "\"\n", "", "line 2, column 2: network.genesis_hash: must be the base58 genesis hash of the network"},
		{"genesis zero", genesisText, "11111111111111111111111111111111", "line 4, column 1: network.genesis_hash: must be the base58 genesis hash of the network"},
		{"mint twice", bonkText, usdcText, "line 21, column 1: mint[1].address: this mint has caps already"},
		{"mint of wrapped SOL", usdcText, "So11111111111111111111111111111111111111112", "line 14, column 1: mint[0].address: SOL and wrapped SOL are capped by [caps]"},
		{"mint of the zero key", usdcText, "11111111111111111111111111111111", "line 14, column 1: mint[0].address: SOL and wrapped SOL are capped by [caps]"},
		{"mint no address", usdcText, "EPjF", "line 14, column 1: mint[0].address: address has 3 bytes, want 32"},
		{"mint name taken", "name = \"BONK\"", "name = \"USDC\"", "line 22, column 1: mint[1].name: this name is taken: a unit must mean one asset"},
		{"mint name taken in other case", "name = \"BONK\"", "name = \"usdc\"", "line 22, column 1: mint[1].name: this name is taken: a unit must mean one asset"},
		{"mint named SOL", "name = \"BONK\"", "name = \"SOL\"", "line 22, column 1: mint[1].name: this name is taken: a unit must mean one asset"},
		{"mint named with a space", "name = \"BONK\"", "name = \"BO NK\"", "line 22, column 1: mint[1].name: must be a unit of 1 to 16 plain characters without spaces"},
		{"mint named in other letters", "name = \"BONK\"", "name = \"UЅDC\"", "line 22, column 1: mint[1].name: must be a unit of 1 to 16 plain characters without spaces"},
		{"mint unnamed", "name = \"BONK\"\n", "", "line 20, column 3: mint[1].name: must be a unit of 1 to 16 plain characters without spaces"},
		{"decimals missing", "decimals = 6\n", "", "line 13, column 3: mint[0].decimals: must be the mint's own, between 0 and 18"},
		{"decimals negative", "decimals = 6", "decimals = -6", "line 16, column 1: mint[0].decimals: must be the mint's own, between 0 and 18"},
		{"decimals too many", "decimals = 6", "decimals = 19", "line 16, column 1: mint[0].decimals: must be the mint's own, between 0 and 18"},
		{"mint cap missing", "per_day = \"3 BONK\"\n", "", `line 20, column 3: mint[1].per_day: is missing; write it as "0.1 BONK"`},
		{"mint cap in another unit", `"3 BONK"`, `"3 USDC"`, `line 26, column 1: mint[1].per_day: must be an amount of BONK, such as "0.1 BONK"`},
		{"program no address", "DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH", "dflow", "line 28, column 1: programs.swap: entry 1: address is not base58"},
		{"recipient no address", "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9", "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRS0l", "line 31, column 1: recipients.allow: entry 1: address is not base58"},
		{"tier unknown", `default = "auto"`, `default = "ask"`, "line 35, column 1: tiers.default: must be one of auto, " + tierNames},
		{"tier in other case", `default = "auto"`, `default = "Auto"`, "line 35, column 1: tiers.default: must be one of auto, " + tierNames},
		{"tier empty", `default = "auto"`, `default = ""`, "line 35, column 1: tiers.default: must be one of auto, " + tierNames},
		{"tier too weak", `unguarded = "confirm"`, `unguarded = "auto"`, "line 36, column 1: tiers.unguarded: must be one of " + tierNames},
		{"tier of strangers too weak", `new = "deny"`, `new = "auto"`, "line 33, column 1: recipients.new: must be one of " + tierNames},
		{"quorum", `default = "auto"`, `default = "quorum"`, "line 35, column 1: tiers.default: quorum is not available in this version"},
		{"amount line in tokens", `"0.05 SOL"`, `"0.05 USDC"`, `line 38, column 1: tiers.human_above: must be an amount of SOL, such as "0.1 SOL"`},
		{"syntax", "[sessions]", "[sessions", "line 39, column 10: expected ']' to close table name"},
		{"key twice", "max_tip = \"0 SOL\"", "max_tip = \"0 SOL\"\nmax_tip = \"9 SOL\"", "line 13, column 1: key max_tip is already defined"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(good, test.old) {
				t.Fatalf("the good policy has no %q", test.old)
			}
			rules, err := policy.Load([]byte(strings.Replace(good, test.old, test.new, 1)))
			var found policy.LoadErrors
			if !errors.As(err, &found) {
				t.Fatalf("Load = %v, want LoadErrors", err)
			}
			if diff := cmp.Diff(test.want, found.Error()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if rules != nil {
				t.Error("a policy came with the errors")
			}
		})
	}
}

// A value of another type is refused where it stands. There is no float here.
func TestLoadRefusesOtherTypes(t *testing.T) {
	tests := []struct {
		name, old, new string
		line, column   int
	}{
		{"float for money", `"0.1 SOL"`, `0.1`, 6, 19},
		{"integer for money", `"0.1 SOL"`, `1`, 6, 19},
		{"float for a count", "transactions_per_hour = 30", "transactions_per_hour = 30.0", 9, 25},
		{"text for decimals", "decimals = 6", `decimals = "6"`, 16, 12},
		{"float for decimals", "decimals = 6", "decimals = 6.0", 16, 12},
		{"text for a list", "claim = []", `claim = "FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK"`, 29, 9},
		{"text for a switch", "allow_uncapped_tokens = true", `allow_uncapped_tokens = "true"`, 1, 25},
		{"number for a tier", `new = "deny"`, "new = 0", 33, 7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := policy.Load([]byte(strings.Replace(good, test.old, test.new, 1)))
			var found policy.LoadErrors
			if !errors.As(err, &found) || len(found) != 1 {
				t.Fatalf("Load = %v, want one error", err)
			}
			if found[0].Line != test.line || found[0].Column != test.column {
				t.Errorf("error at line %d, column %d, want %d, %d: %v", found[0].Line, found[0].Column, test.line, test.column, err)
			}
		})
	}
}

// One run shows all faults, in the order of the file.
func TestLoadCollectsAllErrorsInOrder(t *testing.T) {
	text := strings.NewReplacer(`new = "deny"`, `new = "perhaps"`, `"0.1 SOL"`, `"0.1"`, `"3 BONK"`, `"3"`, "per_hour = 0", "per_hour = -1").Replace(good)
	_, err := policy.Load([]byte(text))
	var found policy.LoadErrors
	if !errors.As(err, &found) {
		t.Fatalf("Load = %v, want LoadErrors", err)
	}
	var lines []int
	for _, each := range found {
		lines = append(lines, each.Line)
	}
	if diff := cmp.Diff([]int{6, 26, 33, 40}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%v", diff, err)
	}
}

func TestLoadRefusesAnEmptyFile(t *testing.T) {
	_, err := policy.Load(nil)
	var found policy.LoadErrors
	if !errors.As(err, &found) || len(found) != 9 {
		t.Errorf("Load of nothing: %d errors, want network 2, caps 4, fees 2, sessions 1:\n%v", len(found), err)
	}
}

func TestLoadBoundsItsLists(t *testing.T) {
	many := strings.Repeat(`"AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9",`, 4097)
	_, err := policy.Load([]byte(strings.Replace(good, "allow = [", "allow = ["+many, 1)))
	if err == nil || !strings.Contains(err.Error(), "recipients.allow: more than 4096 addresses") {
		t.Errorf("4,098 recipients: %v", err)
	}
	mint := good[strings.Index(good, "[[mint]]"):strings.Index(good, "[programs]")]
	_, err = policy.Load([]byte(strings.Replace(good, "[programs]", strings.Repeat(mint, 200)+"[programs]", 1)))
	if err == nil || !strings.Contains(err.Error(), "mint: more than 256 mints") {
		t.Errorf("402 mints: %.200v", err)
	}
}

// A table may be written inside its key. What it holds counts all the same.
func TestLoadReadsInlineTables(t *testing.T) {
	inline := strings.Replace(good, "[tiers]\ndefault = \"auto\"\nunguarded = \"confirm\"\nauto_up_to = \"0.01 SOL\"\nhuman_above = \"0.05 SOL\"\n", "", 1)
	inline = "tiers = {default = \"auto\", unguarded = \"confirm\", auto_up_to = \"0.01 SOL\", human_above = \"0.05 sol\"}\n" + inline
	_, err := policy.Load([]byte(inline))
	if err == nil || !strings.Contains(err.Error(), "line 1, column 76: tiers.human_above: must be an amount of SOL") {
		t.Errorf("a wrong amount in an inline table: %v", err)
	}
	load(t, strings.Replace(inline, "0.05 sol", "0.05 SOL", 1))
}

func TestDefaultIsSafe(t *testing.T) {
	genesis, err := solana.ParseHash(genesisText)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Load(policy.Default("mainnet", genesis))
	if err != nil {
		t.Fatal(err)
	}
	ceiling := amount.Units(1_000_000_000)
	want := []policy.AssetCap{{
		Mint: amount.SOL, Name: "SOL", Decimals: 9,
		PerTransaction: 100_000_000, PerSession: 1_000_000_000, PerDay: 2_000_000_000, Ceiling: &ceiling,
	}}
	if diff := cmp.Diff(want, rules.Caps()); diff != "" {
		t.Errorf("caps (-want +got):\n%s", diff)
	}
	cluster, pinned := rules.Network()
	if cluster != "mainnet" || pinned != genesis {
		t.Errorf("network %s %s", cluster, pinned)
	}
	if len(rules.Warnings()) > 0 || rules.AllowV1() {
		t.Errorf("warnings %v, v1 %v", rules.Warnings(), rules.AllowV1())
	}
	if rules.AllowUncappedTokens() || rules.TransactionsPerHour() != 30 || rules.SessionsPerHour() != 30 {
		t.Errorf("uncapped %v, per hour %d and %d", rules.AllowUncappedTokens(), rules.TransactionsPerHour(), rules.SessionsPerHour())
	}
}

// Whatever loads pins a network and has every cap; whatever does not says
// where, and Load never panics.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add(policy.Default("mainnet", solana.Hash{1}))
	f.Add([]byte(strings.ReplaceAll(good, "\n", "\r\n")))
	f.Add([]byte(`tiers = {human_above = "1 SOL"}` + "\n" + good))
	f.Add([]byte(good + more))
	f.Add([]byte(good + "rule = [{name = \"a\", between = \"22:00-06:00\", tier = \"human\"}]\n"))
	f.Add([]byte("[[program]]\ndata_hash = \"00\"\n[[rule]]\n[[rule]]\nshare_above = \"%\"\n"))
	f.Add([]byte("[[mint]]\n[[mint]]\nname=\"\xff\"\n"))
	f.Add([]byte("mint = [{decimals = 3}]\ncaps.per_day = \"1 SOL\"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rules, err := policy.Load(raw)
		if err != nil {
			var found policy.LoadErrors
			if !errors.As(err, &found) || len(found) == 0 || rules != nil {
				t.Fatalf("Load = %v, %v: not a list of errors alone", rules, err)
			}
			return
		}
		cluster, genesis := rules.Network()
		if cluster == "" || genesis.IsZero() {
			t.Fatalf("loaded without a network: %q", raw)
		}
		caps := rules.Caps()
		if len(caps) == 0 || caps[0].Mint != amount.SOL || caps[0].Name != "SOL" || caps[0].Decimals != 9 {
			t.Fatalf("SOL is not the first cap: %+v", caps)
		}
		text, names, mints := string(raw), make(map[string]bool), make(map[solana.PublicKey]bool)
		for _, asset := range caps {
			name := strings.ToLower(asset.Name)
			if names[name] || mints[asset.Mint] || asset.Name == "" || asset.Mint == solana.WrappedSOL {
				t.Fatalf("asset %+v stands twice or for something else", asset)
			}
			names[name], mints[asset.Mint] = true, true
		}
		// (A backslash may hide a key's letters.)
		if strings.Contains(text, `\`) {
			return
		}
		if strings.Count(text, "per_day") < len(caps) || strings.Count(text, "per_session") < len(caps) ||
			strings.Count(text, "per_transaction") < len(caps) {
			t.Fatalf("%d assets, and a cap of one is not in the file:\n%s", len(caps), raw)
		}
	})
}
