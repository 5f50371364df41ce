package app

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"countersign/mcpd/internal/worldtest"
	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/solana"
)

func trade(amount string) string {
	return fmt.Sprintf(`{"input_mint":"SOL","output_mint":%q,"amount":%q,"slippage_bps":300}`, worldtest.Token, amount)
}

func TestSwapInTwoCalls(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	preview, code := c.proposed("bags_execute_trade", trade("0.05"))
	if !strings.HasPrefix(preview.text(), "NOTHING HAS BEEN SIGNED OR SENT.") {
		t.Errorf("preview begins %q", preview.text()[:40])
	}
	for _, want := range []string{"LOCAL — not a public network", code, worldtest.Token.String(), "a note of the signer", "class guarded — the chain itself enforces these bounds"} {
		if !strings.Contains(preview.text(), want) {
			t.Errorf("preview lacks %q:\n%s", want, preview.text())
		}
	}
	// 0.05 SOL at 0.02 base units a lamport, less 3 %.
	if got := preview.at("proposal", "min_in", 0, "amount_base_units"); got != "970000" {
		t.Errorf("min_in = %v, want 970000", got)
	}
	if got := preview.at("proposal", "max_out", 0, "amount"); got != "0.05" {
		t.Errorf("max_out = %v", got)
	}
	if world.Signer.Executions() != 0 || world.Node.Lamports(worldtest.Wallet) != worldtest.StartLamports {
		t.Fatal("a proposal changed something")
	}

	done := c.call("bags_execute_trade", confirmed(strings.Replace(trade("0.050"), "SOL", solana.WrappedSOL.String(), 1), code))
	if done.IsError || done.at("status") != "landed" || done.at("receipt", "replayed") != false {
		t.Fatalf("confirm: %s", done.raw)
	}
	if got := world.Node.Lamports(worldtest.Wallet); got != worldtest.StartLamports-50_000_000 {
		t.Errorf("the wallet has %d lamports", got)
	}
	if done.at("receipt", "transactions", 0, "changes", 0, "out", "amount") != "0.05" {
		t.Errorf("changes: %s", done.raw)
	}

	before := world.Requests()
	again := c.call("bags_execute_trade", confirmed(trade("0.05"), code))
	if again.IsError || again.at("receipt", "replayed") != true || !strings.Contains(again.text(), "REPLAYED") {
		t.Errorf("same code again: %s", again.raw)
	}
	c.fails("bags_execute_trade", confirmed(trade("0.06"), code), "conflict", "code_other_intent")
	if world.Requests() != before {
		t.Error("a dead code reached an upstream")
	}
	if world.Signer.Executions() != 1 {
		t.Errorf("executed %d times", world.Signer.Executions())
	}
}

func TestSwapBounds(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.CappedToken = true })
	c := start(t, world, "", "")
	c.proposed("bags_execute_trade", trade("0.05"))
	c.proposed("bags_execute_trade", fmt.Sprintf(`{"input_mint":%q,"output_mint":"SOL","amount":"10","slippage_bps":0}`, worldtest.Token))
	buy, sell := world.Signer.Proposed()[0], world.Signer.Proposed()[1]
	if out := buy.GetBounds().GetMaxOut(); len(out) != 1 || len(out[0].GetMint()) != 0 || out[0].GetAmount() != 50_000_000 {
		t.Errorf("buying, max_out = %v", out)
	}
	if in := buy.GetBounds().GetMinIn(); len(in) != 1 || string(in[0].GetMint()) != string(worldtest.Token[:]) || in[0].GetAmount() != 970_000 {
		t.Errorf("buying, min_in = %v", in)
	}
	if out := sell.GetBounds().GetMaxOut(); len(out) != 1 || string(out[0].GetMint()) != string(worldtest.Token[:]) || out[0].GetAmount() != 10_000_000 {
		t.Errorf("selling, max_out = %v", out)
	}
	if in := sell.GetBounds().GetMinIn(); len(in) != 1 || len(in[0].GetMint()) != 0 || in[0].GetAmount() != 200_000 {
		t.Errorf("selling, min_in = %v", in)
	}
	// 5000 base, 1000 priority, 100 for the guard, 10000 headroom; one account of 165 bytes.
	if got := buy.GetBounds().GetMaxFee(); got != 16_100 {
		t.Errorf("max_fee = %d", got)
	}
	if got := buy.GetBounds().GetMaxRent(); got != 1_488_440 {
		t.Errorf("max_rent = %d", got)
	}
	if programs := buy.GetBounds().GetPrograms(); len(programs) != 1 || string(programs[0]) != string(solana.DFlowProgram[:]) {
		t.Errorf("programs = %x", programs)
	}
	if len(buy.GetBounds().GetRecipients()) != 0 {
		t.Error("a swap has recipients")
	}
}

func TestSwapSendsExactlyTheQuoteBack(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	c.proposed("bags_execute_trade", trade("0.05"))
	received := world.Bags.Received()
	if len(received) != 2 {
		t.Fatalf("%d requests", len(received))
	}
	for _, want := range []string{"slippageMode=manual", "slippageBps=300", "amount=50000000", "inputMint=" + solana.WrappedSOL.String(), "outputMint=" + worldtest.Token.String()} {
		if !strings.Contains(received[0].Query, want) {
			t.Errorf("query %s lacks %s", received[0].Query, want)
		}
	}
	if !strings.HasPrefix(received[1].Body, `{"quoteResponse":{ "contextSlot"`) || !strings.HasSuffix(received[1].Body, `,"userPublicKey":"`+worldtest.Wallet.String()+`"}`) {
		t.Errorf("swap body is not the quote byte for byte: %s", received[1].Body)
	}
}

func TestOverACapReachesNobody(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "[caps]\nper_session = \"0.08 SOL\"")
	c.fails("bags_execute_trade", trade("0.2"), "authorization_rejected", "cap_exceeded")
	c.fails("bags_execute_trade", trade("0.09"), "authorization_rejected", "cap_exceeded")
	c.fails("solana_transfer", `{"to":"`+worldtest.Recipient.String()+`","amount":"5"}`, "authorization_rejected", "cap_exceeded")
	c.fails("bags_execute_trade", fmt.Sprintf(`{"input_mint":%q,"output_mint":"SOL","amount":"1","slippage_bps":100}`, worldtest.Token), "authorization_rejected", "asset_uncapped")
	if world.Requests() != 0 || len(world.Signer.Proposed()) != 0 {
		t.Errorf("%d requests, %d proposals", world.Requests(), len(world.Signer.Proposed()))
	}
}

func TestOwnSessionCapCountsWhatWasSpent(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "[caps]\nper_session = \"0.08 SOL\"")
	_, code := c.proposed("bags_execute_trade", trade("0.05"))
	c.call("bags_execute_trade", confirmed(trade("0.05"), code))
	c.fails("bags_execute_trade", trade("0.04"), "authorization_rejected", "cap_exceeded")
	c.proposed("bags_execute_trade", trade("0.02"))
}

func TestUncappedTokenSaysThatNoLimitApplies(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.AllowUncapped = true })
	c := start(t, world, "allow_uncapped_token_swaps = true", "")
	preview, _ := c.proposed("bags_execute_trade", fmt.Sprintf(`{"input_mint":%q,"output_mint":"SOL","amount":"10","slippage_bps":100}`, worldtest.Token))
	if !strings.Contains(preview.text(), "NO LIMIT APPLIES") || preview.at("proposal", "no_limit_applies") != true {
		t.Errorf("preview: %s", preview.text())
	}
}

func TestBadInputReachesNobody(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	call := func(amount string) string {
		return fmt.Sprintf(`{"input_mint":"SOL","output_mint":%q,"amount":%s,"slippage_bps":300}`, worldtest.Token, amount)
	}
	cases := map[string]string{
		"excess decimals":  call(`"0.1234567891"`),
		"negative":         call(`"-1"`),
		"zero":             call(`"0"`),
		"exponent":         call(`"1e3"`),
		"NaN":              call(`"NaN"`),
		"2^64":             call(`"18446744073709551616"`),
		"number":           call(`0.1`),
		"malformed mint":   strings.Replace(call(`"1"`), worldtest.Token.String(), "not-a-mint", 1),
		"other case":       strings.Replace(call(`"1"`), `"amount"`, `"Amount"`, 1),
		"look-alike":       strings.Replace(call(`"1"`), `"amount"`, `"AMOUNT":"9","amount"`, 1),
		"duplicate":        strings.Replace(call(`"1"`), `"amount"`, `"amount":"9","amount"`, 1),
		"nested duplicate": strings.Replace(call(`"1"`), `"amount":"1"`, `"amount":{"a":1,"a":2}`, 1),
		"user_public_key":  strings.Replace(call(`"1"`), `"amount"`, `"user_public_key":"x","amount"`, 1),
		"base_url":         strings.Replace(call(`"1"`), `"amount"`, `"base_url":"http://x","amount"`, 1),
		"api_key":          strings.Replace(call(`"1"`), `"amount"`, `"api_key":"x","amount"`, 1),
		"wallet":           strings.Replace(call(`"1"`), `"amount"`, `"wallet":"x","amount"`, 1),
		"100 KiB":          strings.Replace(call(`"1"`), `"amount"`, `"padding":"`+strings.Repeat("x", 100<<10)+`","amount"`, 1),
		"10 MB":            call(`"` + strings.Repeat("1", 10<<20) + `"`),
	}
	for name, arguments := range cases {
		t.Run(name, func(t *testing.T) {
			for _, tool := range []string{"bags_execute_trade", "bags_get_quote"} {
				got := c.call(tool, arguments)
				if !got.IsError || got.at("error", "class") != "validation" {
					t.Errorf("%s = %.300s", tool, got.raw)
				}
			}
		})
	}
	if world.Requests() != 0 {
		t.Errorf("%d requests", world.Requests())
	}
	unknown := strings.Replace(call(`"0.01"`), worldtest.Token.String(), solana.Hash{77}.String(), 1)
	c.fails("bags_execute_trade", unknown, "validation", "unknown_mint")
	if world.Bags.Requests() != 0 {
		t.Error("an unknown mint reached the Bags API")
	}
	c.proposed("bags_execute_trade", trade("0.01"))
}

func TestPriceMovedVoidsTheCode(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	_, code := c.proposed("bags_execute_trade", trade("0.05"))
	world.Bags.Set(func(m *worldtest.Mood) { m.Rate = 15 })
	got := c.fails("bags_execute_trade", confirmed(trade("0.05"), code), "conflict", "price_moved")
	if !strings.Contains(got.text(), "0.2425 less") || !strings.Contains(got.text(), "(25 %)") {
		t.Errorf("text = %q", got.text())
	}
	world.Bags.Set(func(m *worldtest.Mood) { m.Rate = 20 })
	c.fails("bags_execute_trade", confirmed(trade("0.05"), code), "conflict", "code_void")
	if world.Signer.Executions() != 0 {
		t.Error("executed")
	}
}

func TestBetterPriceExecutes(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	_, code := c.proposed("bags_execute_trade", trade("0.05"))
	world.Bags.Set(func(m *worldtest.Mood) { m.Rate = 25 })
	if got := c.call("bags_execute_trade", confirmed(trade("0.05"), code)); got.at("status") != "landed" {
		t.Errorf("%s", got.raw)
	}
}

func TestClaimOfTwoTransactions(t *testing.T) {
	for _, sponsored := range []bool{false, true} {
		t.Run(fmt.Sprint(sponsored), func(t *testing.T) {
			world := worldtest.New(t)
			world.Bags.Set(func(m *worldtest.Mood) { m.Sponsor = sponsored })
			c := start(t, world, "", "")
			listed := c.call("bags_get_claimable_fees", `{}`)
			if listed.at("total", "amount") != "0.184220911" || listed.at("positions", 0, "kind") != "fee_share_v2_migrated" || listed.at("positions", 1, "kind") != "dbc" {
				t.Errorf("claimable: %s", listed.raw)
			}
			arguments := fmt.Sprintf(`{"token_mints":[%q]}`, worldtest.Token)
			preview, code := c.proposed("bags_claim_fees", arguments)
			if got := preview.at("proposal", "min_in", 0, "amount_base_units"); got != "182378702" {
				t.Errorf("floor = %v", got)
			}
			if out := world.Signer.Proposed()[0].GetBounds().GetMaxOut(); len(out) != 0 {
				t.Errorf("a claim lets go of %v", out)
			}
			done := c.call("bags_claim_fees", confirmed(arguments, code))
			if done.at("status") != "landed" || done.at("receipt", "transactions", 1, "outcome") != "landed" {
				t.Errorf("%s", done.raw)
			}
			if got := world.Node.Lamports(worldtest.Wallet); got != worldtest.StartLamports+182_378_702 {
				t.Errorf("the wallet has %d", got)
			}
			c.fails("bags_claim_fees", fmt.Sprintf(`{"token_mints":[%q]}`, worldtest.Recipient), "conflict", "nothing_to_claim")
		})
	}
}

func TestTransferBounds(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.AllowUncapped = true })
	c := start(t, world, "", "")
	to := worldtest.Recipient.String()
	c.proposed("solana_transfer", `{"to":"`+to+`","amount":"0.01","memo":"thanks"}`)
	c.proposed("solana_transfer", `{"to":"`+to+`","amount":"2.5","mint":"`+worldtest.Token.String()+`"}`)
	lamports, tokens := world.Signer.Proposed()[0].GetBounds(), world.Signer.Proposed()[1].GetBounds()
	if out := lamports.GetMaxOut(); len(out) != 1 || out[0].GetAmount() != 10_000_000 || len(out[0].GetMint()) != 0 || lamports.GetMaxRent() != 0 {
		t.Errorf("SOL: %v", lamports)
	}
	if out := tokens.GetMaxOut(); len(out) != 1 || out[0].GetAmount() != 2_500_000 || tokens.GetMaxRent() != 1_488_440 {
		t.Errorf("token: %v", tokens)
	}
	for _, bounds := range []*signerv1.Bounds{lamports, tokens} {
		if len(bounds.GetRecipients()) != 1 || string(bounds.GetRecipients()[0]) != string(worldtest.Recipient[:]) || len(bounds.GetPrograms()) != 0 {
			t.Errorf("bounds = %v", bounds)
		}
	}
	if world.Bags.Requests() != 0 {
		t.Error("a transfer asked the Bags API")
	}
	source := solana.AssociatedTokenAddress(worldtest.Wallet, worldtest.Token, solana.TokenProgram)
	for name, arguments := range map[string]string{
		"token account": `{"to":"` + source.String() + `","amount":"0.01"}`,
		"mint":          `{"to":"` + worldtest.Token.String() + `","amount":"0.01"}`,
		"itself":        `{"to":"` + worldtest.Wallet.String() + `","amount":"0.01"}`,
	} {
		if got := c.call("solana_transfer", arguments); got.at("error", "class") != "validation" {
			t.Errorf("to a %s: %s", name, got.raw)
		}
	}
	c.fails("solana_transfer", `{"to":"`+to+`","amount":"0.0000001","mint":"`+worldtest.Token.String()+`"}`, "validation", "amount_invalid")
	c.fails("solana_transfer", `{"to":"`+to+`","amount":"501","mint":"`+worldtest.Token.String()+`"}`, "conflict", "insufficient_funds")
	c.fails("solana_transfer", `{"to":"`+solana.Hash{5}.String()+`","amount":"0.0001"}`, "validation", "amount_invalid")
}

func TestGateWithholdsTheWritingTools(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "[gate]\nmint = \""+worldtest.Token.String()+"\"\nminimum = \"1000\"")
	listed := c.request("tools/list", `{}`)
	for _, tool := range []string{"bags_execute_trade", "bags_claim_fees", "solana_transfer"} {
		if strings.Contains(string(listed.Result), `"name":"`+tool+`"`) {
			t.Errorf("%s is listed", tool)
		}
	}
	c.fails("bags_execute_trade", trade("0.01"), "authorization_rejected", "gate_not_met")
	if got := c.call("wallet_overview", `{}`); !strings.Contains(got.at("write_tools").(string), "500 of "+worldtest.Token.String()) {
		t.Errorf("write_tools = %v", got.at("write_tools"))
	}
	met := start(t, world, "", "[gate]\nmint = \""+worldtest.Token.String()+"\"\nminimum = \"500\"")
	met.proposed("bags_execute_trade", trade("0.01"))
}

func TestMainnetIsNamed(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.Cluster = "mainnet" })
	c := start(t, world, "", "")
	preview, _ := c.proposed("bags_execute_trade", trade("0.01"))
	if !strings.Contains(preview.text(), "MAINNET — real funds") || preview.at("network", "label") != "MAINNET — real funds" {
		t.Errorf("preview: %s", preview.text())
	}
}

func TestHistoryAndCancel(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	_, code := c.proposed("bags_execute_trade", trade("0.01"))
	second, voided := c.proposed("bags_execute_trade", trade("0.02"))
	done := c.call("bags_execute_trade", confirmed(trade("0.01"), code))
	signature := done.at("receipt", "transactions", 0, "signature").(string)
	for _, key := range []string{`{"proposal_id":"P1"}`, `{"code":"` + code + `"}`, `{"signature":"` + signature + `"}`} {
		if got := c.call("get_receipt", key); got.IsError || got.at("receipt", "proposal_id") != "P1" {
			t.Errorf("%s: %s", key, got.raw)
		}
	}
	for _, key := range []string{`{}`, `{"proposal_id":"P1","code":"x"}`, `{"proposal_id":"a b"}`, `{"signature":"abc"}`} {
		c.fails("get_receipt", key, "validation", "invalid_arguments")
	}
	c.fails("get_receipt", `{"proposal_id":"P9"}`, "validation", "not_found")
	id := second.at("proposal", "id").(string)
	if got := c.call("cancel_proposal", `{"proposal_id":"`+id+`"}`); got.at("state") != "cancelled" {
		t.Errorf("%s", got.raw)
	}
	c.fails("bags_execute_trade", confirmed(trade("0.02"), voided), "conflict", "code_void")
	listed := c.call("list_activity", `{"limit":1}`)
	if listed.at("activities", 0, "proposal_id") != "P2" || listed.at("next_before") != "P2" {
		t.Errorf("%s", listed.raw)
	}
	if got := c.call("list_activity", `{"before":"P2"}`); got.at("activities", 0, "outcome") != "landed" {
		t.Errorf("%s", got.raw)
	}
	if got := c.call("get_spending_limits", `{}`); got.at("limits", "windows", 1, "left") != "0.99" {
		t.Errorf("%s", got.raw)
	}
}

func TestSecretsStayInside(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	_, code := c.proposed("bags_execute_trade", trade("0.01"))
	c.call("bags_execute_trade", confirmed(trade("0.01"), code))
	world.Bags.Set(func(m *worldtest.Mood) { m.Status, m.Body = 500, worldtest.APIKey })
	c.fails("bags_get_claimable_fees", `{}`, "operational", "upstream_unavailable")
	if sent := world.Bags.Received(); sent[0].Key != worldtest.APIKey {
		t.Fatal("the key was not sent at all")
	}
	for where, text := range map[string]string{"output": c.all.String(), "log": c.logs.String()} {
		for _, secret := range []string{worldtest.APIKey, world.Socket, world.Bags.URL, world.Node.URL, "canary"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", where, secret)
			}
		}
	}
}

func TestModernEra(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"m","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	discovered := c.request("server/discover", `{`+meta+`}`)
	if discovered.Error != nil || !strings.Contains(string(discovered.Result), "2026-07-28") || !strings.Contains(string(discovered.Result), "nothing is signed or sent") {
		t.Errorf("discover: %s %+v", discovered.Result, discovered.Error)
	}
	got := readAnswer(t, c.request("tools/call", `{`+meta+`,"name":"bags_execute_trade","arguments":`+trade("0.01")+`}`))
	if got.at("status") != "preview" || world.Signer.Proposed()[0].GetClientName() != "m" {
		t.Errorf("%s, client %q", got.raw, world.Signer.Proposed()[0].GetClientName())
	}
}

func TestMainExitCodes(t *testing.T) {
	for want, args := range map[int][]string{
		0: {},
		1: {"config", "check", "--config", "/nonexistent/mcpd.toml"},
		2: {"serve"},
	} {
		if got := Main(args, strings.NewReader(""), io.Discard, io.Discard); got != want {
			t.Errorf("mcpd %v = %d, want %d", args, got, want)
		}
	}
	for _, args := range [][]string{{"frobnicate"}, {"serve", "--http"}, {"version", "x"}, {"config"}} {
		if got := Main(args, strings.NewReader(""), io.Discard, io.Discard); got != 2 {
			t.Errorf("mcpd %v = %d, want 2", args, got)
		}
	}
}
