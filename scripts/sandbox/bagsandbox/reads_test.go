package bagsandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadsAnswerTheirShapes(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	token, token2022 := "?tokenMint="+w.TokenMint, "?tokenMint="+w.Token2022Mint
	for _, test := range []struct{ path, want string }{
		{"/token-launch/lifetime-fees" + token, `"184220911000"`},
		{"/token-launch/lifetime-fees" + token2022, `"9007199254740993"`},
		{"/token-launch/creator/v3" + token, `"royaltyBps":7000`},
		{"/token-launch/creator/v3" + token, `"provider":"a_provider_of_tomorrow"`},
		{"/token-launch/claim-stats" + token, `"totalClaimed":"1250000000"`},
		{"/token-launch/top-tokens/lifetime-fees", `"tokenInfo":null`},
		{"/token-launch/top-tokens/lifetime-fees", `"price":4.1e-5`},
		{"/fee-share/partner-config/stats?partner=" + w.Wallet, `{"claimedFees":"1500000000","unclaimedFees":"42000000"}`},
		{"/fee-share/partner-config/stats?partner=" + w.Thief, `"unclaimedFees":"-1"`},
		{"/solana/bags/pools/token-mint" + token, `"dammV2PoolKey":null`},
	} {
		r := client{t: t, s: c.s, key: testKey}.get(test.path)
		if r.status != http.StatusOK || !r.Success || !strings.Contains(string(r.Response), test.want) {
			t.Errorf("%s: status %d: %s, want %s", test.path, r.status, r.raw, test.want)
		}
	}
}

func TestReadsRefuseUnknownThings(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	for _, test := range []struct {
		path, want string
		status     int
	}{
		{"/token-launch/lifetime-fees?tokenMint=" + w.Thief, "Token not found", http.StatusNotFound},
		{"/token-launch/creator/v3", "tokenMint is required", http.StatusBadRequest},
		{"/token-launch/claim-stats?tokenMint=abc", "base58 address", http.StatusBadRequest},
		{"/token-launch/top-tokens/lifetime-fees?limit=5", "unknown query parameter", http.StatusBadRequest},
		{"/token-launch/claimable-positions", "wallet is required", http.StatusBadRequest},
		{"/fee-share/partner-config/stats?partner=" + w.Sponsor, "Partner config not found", http.StatusNotFound},
		{"/solana/bags/pools?onlyMigrated=1", "onlyMigrated must be one of", http.StatusBadRequest},
		{"/solana/bags/pools/token-mint?tokenMint=" + w.WSOL, "Token not found", http.StatusNotFound},
		{"/fee-share/token/claim-events?tokenMint=" + w.TokenMint + "&limit=101", "limit must be an integer from 1 to 100", http.StatusBadRequest},
		{"/fee-share/token/claim-events?tokenMint=" + w.TokenMint + "&mode=time&limit=5", "limit does not go with", http.StatusBadRequest},
		{"/fee-share/token/claim-events?tokenMint=" + w.TokenMint + "&from=5", "from does not go with", http.StatusBadRequest},
		{"/fee-share/token/claim-events?tokenMint=" + w.TokenMint + "&mode=time&from=6&to=5", "from must not be after to", http.StatusBadRequest},
	} {
		checkRefused(t, client{t: t, s: c.s, key: testKey}.get(test.path), test.status, test.want)
	}
}

func TestPoolsCanBeMigratedOnly(t *testing.T) {
	c := startOnMemory(t)
	for query, want := range map[string]int{"": 2, "?onlyMigrated=false": 2, "?onlyMigrated=true": 1} {
		var list []poolKeys
		c.mustGet("/solana/bags/pools"+query, &list)
		if len(list) != want {
			t.Errorf("%q gave %d pools, want %d", query, len(list), want)
		}
	}
}

func TestClaimEventsPageAndWindow(t *testing.T) {
	c := startOnMemory(t)
	path := "/fee-share/token/claim-events?tokenMint=" + c.s.World().TokenMint
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"", []string{"250000000", "500000000", "750000000"}},
		{"&mode=offset&limit=1&offset=1", []string{"500000000"}},
		{"&offset=9", nil},
		{"&mode=time&from=1790856001", []string{"500000000", "750000000"}},
		{"&mode=time&from=1790856000&to=1790859600", []string{"250000000", "500000000"}},
	} {
		var answer struct{ Events []claimEvent }
		c.mustGet(path+test.query, &answer)
		var amounts []string
		for _, event := range answer.Events {
			amounts = append(amounts, event.Amount)
		}
		if diff := cmp.Diff(test.want, amounts); diff != "" {
			t.Errorf("%q: %s", test.query, diff)
		}
	}
}

func TestResolveWalletsKeepsOrderAndGaps(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	var list []resolved
	c.decode(c.post("/token-launch/fee-share/wallet/v2/bulk",
		`{"items":[{"username":"nobody","provider":"github"},{"username":"@Sample_Creator","provider":"twitter"}]}`), &list)
	want := []resolved{
		{Username: "nobody", Provider: "github"},
		{Username: "sample_creator", Provider: "twitter", Wallet: &w.Wallet,
			Platform: &platformData{ID: "1001", Username: "sample_creator", DisplayName: "Sample Creator", AvatarURL: "https://example.invalid/a.png"}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

func TestResolveWalletsRefusesOtherItems(t *testing.T) {
	c := startOnMemory(t)
	item := `{"username":"a","provider":"twitter"}`
	for _, test := range []struct{ name, body, want string }{
		{"none", `{"items":[]}`, "1 to 100 entries"},
		{"too many", `{"items":[` + strings.Repeat(item+",", 100) + item + `]}`, "1 to 100 entries"},
		{"repeated", `{"items":[` + item + `,{"username":"@A","provider":"twitter"}]}`, "items[1] is repeated"},
		{"extra field", `{"items":[{"username":"a","provider":"twitter","chain":"SOL"}]}`, `unknown field "chain"`},
		{"number", `{"items":[1]}`, "items[0]"},
		{"other provider", `{"items":[{"username":"a","provider":"myspace"}]}`, "provider must be one of"},
		{"empty name", `{"items":[{"username":"@","provider":"twitter"}]}`, "1 to 100 characters"},
		{"long name", `{"items":[{"username":"` + strings.Repeat("é", 101) + `","provider":"twitter"}]}`, "1 to 100 characters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkRefused(t, client{t: t, s: c.s, key: testKey}.post("/token-launch/fee-share/wallet/v2/bulk", test.body), http.StatusBadRequest, test.want)
		})
	}
}

func TestHostileTextComesBackWhole(t *testing.T) {
	c := startOnMemory(t)
	var list []struct {
		TokenInfo *struct{ Name, Symbol, Description string }
	}
	c.mustGet("/token-launch/top-tokens/lifetime-fees", &list)
	got := list[0].TokenInfo
	if got.Name != HostileName || got.Symbol != HostileSymbol || got.Description != HostileNote {
		t.Errorf("token info is %+v", got)
	}
	for _, mark := range []string{"\u202e", "\u200b", "\x1b", "\U000e0041", "\ufeff"} {
		if !strings.Contains(HostileSymbol+HostileUsername, mark) {
			t.Errorf("no %q in the hostile text", mark)
		}
	}
}

func TestClaimablePositionsHaveFourShapes(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	var list []map[string]json.RawMessage
	c.mustGet("/token-launch/claimable-positions?wallet="+w.Wallet, &list)
	for i, want := range []struct{ base, program, custom, migrated, total, only string }{
		{w.TokenMint, w.FeeShareProgram, "true", "false", "50000000", "virtualPoolClaimableLamportsUserShare"},
		{w.Token2022Mint, w.FeeShareProgram, "true", "true", "50000000", "dammPositionInfo"},
		{w.LegacyMint, "FEEhPbKVKnco9EXnaY3i4R5rQVUx91wgVfu8qokixywi", "true", "false", "3141592", "customFeeVaultClaimerSide"},
		{w.PlainMint, "", "false", "false", "2718281", "claimableDisplayAmount"},
	} {
		got := list[i]
		program := ""
		if got["programId"] != nil {
			_ = json.Unmarshal(got["programId"], &program)
		}
		if string(got["baseMint"]) != `"`+want.base+`"` || program != want.program || string(got["isCustomFeeVault"]) != want.custom ||
			string(got["isMigrated"]) != want.migrated || string(got["totalClaimableLamportsUserShare"]) != want.total || got[want.only] == nil {
			t.Errorf("position %d is %s", i, got)
		}
	}
	c.mustGet("/token-launch/claimable-positions?wallet="+w.Thief, &list)
	if len(list) != 0 {
		t.Errorf("a stranger has %d positions", len(list))
	}
}
