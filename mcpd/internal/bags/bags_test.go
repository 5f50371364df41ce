package bags

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

func TestKeyIsNeverPrinted(t *testing.T) {
	key := NewKey("stub_bags_key_no_network")
	for _, shown := range []string{fmt.Sprint(key), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key)} {
		if shown != "[redacted]" {
			t.Errorf("shown as %s", shown)
		}
	}
	raw, err := json.Marshal(key)
	if err != nil || string(raw) != `"[redacted]"` {
		t.Errorf("encoded as %s, %v", raw, err)
	}
}

func TestNewRefusesAddress(t *testing.T) {
	for _, base := range []string{"", "ftp://x/y", "https://", "https://user:pass@host/api", "https://host/api?x=1", "://"} {
		if _, err := New(base, NewKey("k"), nil); err == nil {
			t.Errorf("took %q", base)
		}
	}
}

func TestRetryAfterCase(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	cases := []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration
	}{
		{"seconds", http.Header{"Retry-After": {"30"}}, "", 30 * time.Second},
		{"reset header", http.Header{"X-Ratelimit-Reset": {"1000090"}}, "", 90 * time.Second},
		{"reset in the body", nil, `{"resetTime":1000060}`, time.Minute},
		{"reset has passed", nil, `{"resetTime":999000}`, time.Second},
		{"far away", nil, `{"resetTime":9999999999}`, time.Hour},
		{"nothing", nil, `x`, 0},
		{"garbage", http.Header{"Retry-After": {"soon"}}, `{"resetTime":"x"}`, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := retryAfter(c.header, []byte(c.body), now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestReadPositionShapes(t *testing.T) {
	mint := solana.TokenProgram
	cases := []struct {
		name, wire string
		want       Position
		ok         bool
	}{
		{"plain", `{"isCustomFeeVault":false,"baseMint":"%s","isMigrated":false,"totalClaimableLamportsUserShare":5,"virtualPool":"x","claimableDisplayAmount":0.000000005}`,
			Position{Mint: mint, Kind: KindPlain, Claimable: 5}, true},
		{"fee share v1", `{"isCustomFeeVault":true,"programId":"` + solana.FeeShareV1Program.String() + `","baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":7}`,
			Position{Mint: mint, Kind: KindFeeShareV1, Migrated: true, Claimable: 7}, true},
		{"fee share v2", `{"isCustomFeeVault":true,"programId":"` + solana.FeeShareV2Program.String() + `","baseMint":"%s","isMigrated":false,"totalClaimableLamportsUserShare":9.75}`,
			Position{Mint: mint, Kind: KindFeeShareV2, Claimable: 9}, true},
		{"migrated", `{"isCustomFeeVault":true,"programId":"` + solana.FeeShareV2Program.String() + `","quoteMint":"` + solana.WrappedSOL.String() + `","baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":"11"}`,
			Position{Mint: mint, Kind: KindFeeShareV2Migrated, Migrated: true, Claimable: 11}, true},
		{"unknown program", `{"isCustomFeeVault":true,"programId":"x","baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":1}`, Position{}, false},
		{"other quote", `{"isCustomFeeVault":false,"quoteMint":"x","baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":1}`, Position{}, false},
		{"negative", `{"isCustomFeeVault":false,"baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":-1}`, Position{}, false},
		{"exponent", `{"isCustomFeeVault":false,"baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":1e9}`, Position{}, false},
		{"no flag", `{"baseMint":"%s","isMigrated":true,"totalClaimableLamportsUserShare":1}`, Position{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var wire wirePosition
			if err := json.Unmarshal(fmt.Appendf(nil, c.wire, mint), &wire); err != nil {
				t.Fatal(err)
			}
			got, err := readPosition(wire)
			if c.ok != (err == nil) || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
			if err != nil && !fault.Is(err, fault.UpstreamBadAnswer) {
				t.Errorf("fault = %v", err)
			}
		})
	}
}

// FuzzQuote checks that whatever the API says, a quote that is taken is the one
// that was asked for.
func FuzzQuote(f *testing.F) {
	f.Add([]byte(`{"inAmount":"1000","inputMint":"So11111111111111111111111111111111111111112","outAmount":"500","outputMint":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","minOutAmount":"485","otherAmountThreshold":"485","priceImpactPct":"0.4","slippageBps":300,"routePlan":[{"venue":"a"}]}`))
	f.Add([]byte(`{"slippageBps":"300"}`))
	request := QuoteRequest{Input: amount.SOL, Output: solana.TokenProgram, Amount: 1000, SlippageBps: 300}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var wire wireQuote
		if json.Unmarshal(raw, &wire) != nil {
			return
		}
		quote, err := checkQuote(request, wire, raw)
		if err != nil {
			if fault.From(err).Class() != fault.Operational {
				t.Fatalf("fault = %v", err)
			}
			return
		}
		if wire.InAmount != "1000" && wire.InAmount[0] != '0' || quote.MinOut == 0 || quote.MinOut > quote.Out || !quote.Stamped() {
			t.Fatalf("took %+v", quote)
		}
	})
}

// FuzzOpen checks that no answer that is not a success passes the envelope.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"success":true,"response":{"a":1}}`))
	f.Add([]byte(`{"success":false,"error":"x"}`))
	f.Add([]byte(`{"success":true,"response":null}`))
	header := http.Header{"Content-Type": {"application/json"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		response, err := open(header, raw)
		if err == nil && (len(response) == 0 || string(response) == "null" || !json.Valid(response)) {
			t.Fatalf("passed %q", response)
		}
	})
}
