package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/mcpd/internal/worldtest"
	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

func TestHostileQuoteIsRefused(t *testing.T) {
	changes := map[string]func(map[string]any){
		"other amount":     func(q map[string]any) { q["inAmount"] = "60000000" },
		"other input":      func(q map[string]any) { q["inputMint"] = worldtest.Recipient.String() },
		"other output":     func(q map[string]any) { q["outputMint"] = worldtest.Recipient.String() },
		"other slippage":   func(q map[string]any) { q["slippageBps"] = 5000 },
		"two floors":       func(q map[string]any) { q["otherAmountThreshold"] = "1" },
		"floor too low":    func(q map[string]any) { q["minOutAmount"], q["otherAmountThreshold"] = "1", "1" },
		"floor of nothing": func(q map[string]any) { q["minOutAmount"], q["otherAmountThreshold"] = "0", "0" },
		"floor above":      func(q map[string]any) { q["minOutAmount"], q["otherAmountThreshold"] = "9000000", "9000000" },
		"negative":         func(q map[string]any) { q["outAmount"] = "-5" },
		"number":           func(q map[string]any) { q["outAmount"] = 5 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			world := worldtest.New(t)
			world.Bags.Set(func(m *worldtest.Mood) { m.Quote = change })
			c := start(t, world, "", "")
			c.fails("bags_execute_trade", trade("0.05"), "operational", "upstream_bad_answer")
			if len(world.Signer.Proposed()) != 0 {
				t.Error("proposed")
			}
		})
	}
}

func TestUpstreamTroubleIsWorded(t *testing.T) {
	cases := []struct {
		name        string
		mood        worldtest.Mood
		class, code string
		retry       any
	}{
		{"rate limit", worldtest.Mood{Status: 429, Headers: map[string]string{"Retry-After": "7"}, Body: `{"success":false,"error":"canary"}`}, "operational", "upstream_rate_limited", 7.0},
		{"rate limit by reset time", worldtest.Mood{Status: 429, Body: fmt.Sprintf(`{"success":false,"resetTime":%d}`, time.Now().Add(time.Hour*2).Unix())}, "operational", "upstream_rate_limited", 3600.0},
		{"failure", worldtest.Mood{Status: 500, Body: "canary"}, "operational", "upstream_unavailable", nil},
		{"bad key", worldtest.Mood{Status: 401, Body: "canary"}, "authentication", "credential_rejected", nil},
		{"no route", worldtest.Mood{Status: 400, Body: "canary"}, "conflict", "no_route", nil},
		{"redirect", worldtest.Mood{Status: http.StatusTemporaryRedirect, Headers: map[string]string{"Location": "http://127.0.0.1:1/"}}, "operational", "upstream_bad_answer", nil},
		{"garbage", worldtest.Mood{Status: 200, Body: "canary<html>"}, "operational", "upstream_bad_answer", nil},
		{"no envelope", worldtest.Mood{Status: 200, Body: `{"canary":1}`}, "operational", "upstream_bad_answer", nil},
		{"endless", worldtest.Mood{Status: 200, Body: strings.Repeat("canary", 400_000)}, "operational", "upstream_bad_answer", nil},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			world := worldtest.New(t)
			world.Bags.Set(func(m *worldtest.Mood) { *m = test.mood })
			c := start(t, world, "", "")
			got := c.fails("bags_execute_trade", trade("0.05"), test.class, test.code)
			if got.at("error", "retry_after_s") != test.retry {
				t.Errorf("retry_after_s = %v, want %v", got.at("error", "retry_after_s"), test.retry)
			}
			if strings.Contains(string(got.raw), "canary") {
				t.Errorf("an upstream's words came through: %s", got.raw)
			}
		})
	}
}

func TestSimulationFailureDiesBeforeTheSigner(t *testing.T) {
	cases := []struct{ name, err, log, class, code, says string }{
		{"slippage", `{"InstructionError":[3,{"Custom":15001}]}`, "Program " + solana.DFlowProgram.String() + " failed: custom program error: 0x3a99", "conflict", "price_moved", "slippage"},
		{"slippage without a log", `{"InstructionError":[3,{"Custom":15001}]}`, "", "conflict", "price_moved", "slippage"},
		{"poor wallet", `"AccountNotFound"`, "", "conflict", "insufficient_funds", "never received SOL"},
		{"unknown code", `{"InstructionError":[3,{"Custom":4242}]}`, "Program " + solana.DFlowProgram.String() + " failed: canary", "conflict", "simulation_failed", "4242"},
		{"something else", `{"canary":[1]}`, "canary", "conflict", "simulation_failed", "no words here"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			world := worldtest.New(t)
			world.Node.FailSimulation(test.err, test.log)
			c := start(t, world, "", "")
			got := c.fails("bags_execute_trade", trade("0.05"), test.class, test.code)
			if !strings.Contains(got.text(), test.says) || strings.Contains(got.text(), "canary") {
				t.Errorf("text = %q", got.text())
			}
			if len(world.Signer.Proposed()) != 0 {
				t.Error("proposed")
			}
		})
	}
}

func TestNodeDownIsOperational(t *testing.T) {
	world := worldtest.New(t)
	world.Node.Break()
	c := start(t, world, "", "")
	c.fails("bags_execute_trade", trade("0.05"), "operational", "rpc_unavailable")
	c.fails("wallet_overview", `{}`, "operational", "rpc_unavailable")
}

func TestTiersAndDenial(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	world.Signer.Set(func(r *worldtest.Rules) { r.Tier = signerv1.Tier_TIER_HUMAN })
	human := c.call("bags_execute_trade", trade("0.01"))
	if human.IsError || human.at("status") != "needs_person" || !strings.Contains(human.text(), "person's approval") {
		t.Errorf("human: %s", human.raw)
	}
	world.Signer.Set(func(r *worldtest.Rules) {
		r.Deny, r.DenyRules = fault.New(fault.PolicyDenied, "this recipient is denied"), []string{"test-rule", "builtin"}
	})
	denied := c.fails("bags_execute_trade", trade("0.01"), "authorization_rejected", "policy_denied")
	if denied.at("status") != "denied" || denied.at("rules", 0) != "test-rule" {
		t.Errorf("denied: %s", denied.raw)
	}
	world.Signer.Set(func(r *worldtest.Rules) { r.Deny, r.Tier = nil, signerv1.Tier_TIER_AUTO })
	auto := c.call("bags_execute_trade", trade("0.01"))
	if auto.at("status") != "landed" || world.Signer.Executions() != 1 {
		t.Errorf("auto: %s", auto.raw)
	}
}

func TestOutcomesAreToldApart(t *testing.T) {
	cases := []struct {
		outcome             signerv1.Outcome
		status, class, code string
	}{
		{signerv1.Outcome_OUTCOME_LANDED, "landed", "", ""},
		{signerv1.Outcome_OUTCOME_LANDED_FAILED, "landed_failed", "conflict", "failed_on_chain"},
		{signerv1.Outcome_OUTCOME_EXPIRED, "expired", "conflict", "proven_expired"},
		{signerv1.Outcome_OUTCOME_NOTHING_SENT, "nothing_sent", "conflict", "blockhash_expired"},
		{signerv1.Outcome_OUTCOME_UNKNOWN, "unknown", "unknown_outcome", "outcome_unknown"},
		{signerv1.Outcome_OUTCOME_UNSPECIFIED, "unknown", "unknown_outcome", "outcome_unknown"},
	}
	for _, test := range cases {
		t.Run(test.status, func(t *testing.T) {
			world := worldtest.New(t)
			world.Signer.Set(func(r *worldtest.Rules) { r.Outcome = test.outcome })
			c := start(t, world, "", "")
			_, code := c.proposed("bags_execute_trade", trade("0.01"))
			got := c.call("bags_execute_trade", confirmed(trade("0.01"), code))
			if got.at("status") != test.status || got.IsError != (test.class != "") {
				t.Fatalf("%s", got.raw)
			}
			if test.class != "" && (got.at("error", "class") != test.class || got.at("error", "code") != test.code) {
				t.Errorf("error = %v", got.at("error"))
			}
			if test.status == "unknown" && strings.Contains(strings.ToLower(got.text()), "failed") {
				t.Errorf("unknown is called failed: %s", got.text())
			}
			if got.at("receipt", "transactions", 0, "signature") == "" {
				t.Error("no signature")
			}
		})
	}
}

func TestClosingTheInputEndsAtOnce(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.Hang = true })
	c := start(t, world, "", "")
	_, code := c.proposed("bags_execute_trade", trade("0.01"))
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"bags_execute_trade","arguments":%s}}`, confirmed(trade("0.01"), code)))
	for world.Signer.Executions() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.ended:
		c.ended <- err
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		// The execution hangs for ever, so this end was not waited for; how
		// soon it comes is measured by make bench.
		t.Fatal("did not end")
	}
}

func TestProgressComesBeforeTheResult(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	for range 20 {
		_, code := c.proposed("bags_execute_trade", trade("0.001"))
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":{"progressToken":"tok"},"name":"bags_execute_trade","arguments":%s}}`, confirmed(trade("0.001"), code)))
		var steps []string
		for {
			got, open := c.receive()
			if !open {
				t.Fatal("ended")
			}
			if got.Method == "" {
				break
			}
			steps = append(steps, string(got.Params))
		}
		if len(steps) != 4 || !strings.Contains(steps[3], `"progress":4`) || !strings.Contains(steps[3], `"progressToken":"tok"`) {
			t.Fatalf("steps = %v", steps)
		}
	}
}

func TestSellingWhatIsNotThereAsksForNoPrice(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.AllowUncapped = true })
	c := start(t, world, "allow_uncapped_token_swaps = true", "")
	c.fails("bags_execute_trade", fmt.Sprintf(`{"input_mint":%q,"output_mint":"SOL","amount":"501","slippage_bps":100}`, worldtest.Token), "conflict", "insufficient_funds")
	if world.Bags.Requests() != 0 {
		t.Error("the Bags API was asked")
	}
}

// The library reads an id that is a number as a float, and would echo another.
func TestAnswersCarryTheIDAsItWasSent(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	for _, id := range []string{"100000000000000000000000001", "9007199254740993", "-7", `"a \u0041"`} {
		for _, request := range []string{
			`"method":"tools/list"`,
			`"method":"no/such"`,
			`"method":"tools/call","params":{"name":"wallet_overview","arguments":{}}`,
			`"method":"tools/call","params":{"name":"wallet_overview","arguments":{"x":1}}`,
		} {
			c.send(`{"jsonrpc":"2.0","id":` + id + `,` + request + `}`)
			got, _ := c.receive()
			if string(got.ID) != id {
				t.Errorf("%s under %s is answered under %s", request, id, got.ID)
			}
		}
	}
}
