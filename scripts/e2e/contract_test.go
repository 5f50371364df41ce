package e2e_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"countersign/scripts/mcpclient"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/stack"
)

// The exact requests of a swap and a claim, as the strict sandbox recorded
// them: the quote goes back byte for byte, the wallet is the signer's and
// nobody else's, and the key is in one header.
func TestBagsRequestsAreExact(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	client, err := s.Connect(t.Context(), mcpclient.Modern)
	if err != nil {
		t.Fatal(err)
	}
	swap := map[string]any{"input_mint": "SOL", "output_mint": s.World.TokenMint, "amount": "0.05", "slippage_bps": 100}
	if _, err := stack.CallWrite(t.Context(), client, "bags_execute_trade", swap); err != nil {
		t.Fatal(err)
	}
	if _, err := stack.CallWrite(t.Context(), client, "bags_claim_fees", map[string]any{"token_mints": []string{s.World.TokenMint}}); err != nil {
		t.Fatal(err)
	}
	sent := make(map[string]bagsandbox.Request)
	for _, request := range s.Bags.Requests() {
		sent[strings.TrimPrefix(request.Path, "/api/v1/")] = request
		if got := request.Header["X-Api-Key"]; len(got) != 1 || got[0] != bagsandbox.Digest(stack.APIKey) {
			t.Errorf("%s carried the key as %v", request.Path, got)
		}
	}

	query, err := url.ParseQuery(sent["trade/quote"].Query)
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{
		"inputMint": {s.World.WSOL}, "outputMint": {s.World.TokenMint}, "amount": {"50000000"},
		"slippageMode": {"manual"}, "slippageBps": {"100"},
	}
	if query.Encode() != want.Encode() {
		t.Errorf("quote asked with %s, want %s", query.Encode(), want.Encode())
	}

	var built map[string]json.RawMessage
	if err := json.Unmarshal(sent["trade/swap"].Body, &built); err != nil {
		t.Fatal(err)
	}
	if len(built) != 2 || string(built["userPublicKey"]) != `"`+s.Wallet+`"` || len(built["quoteResponse"]) == 0 {
		t.Errorf("swap asked with %s", sent["trade/swap"].Body)
	}
	var claim map[string]string
	if err := json.Unmarshal(sent["token-launch/claim-txs/v3"].Body, &claim); err != nil {
		t.Fatal(err)
	}
	if len(claim) != 2 || claim["feeClaimer"] != s.Wallet || claim["tokenMint"] != s.World.TokenMint {
		t.Errorf("claim asked with %v", claim)
	}
}
