package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/mcpd/internal/worldtest"
	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
)

// says wants a text to hold every line or part of one, and none of the others.
func says(t *testing.T, got answer, want []string, never ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(got.text(), part) {
			t.Errorf("lacks %q:\n%s", part, got.text())
		}
	}
	for _, part := range never {
		if strings.Contains(got.text(), part) {
			t.Errorf("has %q:\n%s", part, got.text())
		}
	}
}

func TestPreviewAddsUpInSOL(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.CappedToken = true })
	c := start(t, world, "", "")
	buy, code := c.proposed("bags_execute_trade", trade("0.05"))
	says(t, buy, []string{
		"You give: 0.05 SOL\n", "You get at least: 0.97 of " + worldtest.Token.String() + "\n",
		"Costs on top: network fee 0.000005 SOL (at most 0.0000161); 0.00148844 SOL rent of new accounts that stays locked in them\n",
		// 0.05 given, 0.000005 fee, 0.00148844 rent; with the highest fee 0.0000161.
		"In SOL in all: 0.05149344 expected to leave; at most 0.05150454 is held against your limits\n",
		"Left now: at most 0.1 SOL in one transaction; 1 of 1 SOL left in this session; 100 of 100 transactions left this hour\n",
		"Left now of TOK (" + worldtest.Token.String() + "): at most 50 in one transaction\n",
	}, "tip", "Selling this token later", "expected 0.97")
	done := c.call("bags_execute_trade", confirmed(trade("0.05"), code))
	says(t, done, []string{
		"Landed: confirmed on chain.", "\nSOL: -0.05 in all (0.000005 of it network fee)\n",
		"\n" + worldtest.Token.String() + ": +0.97 in all\n", "Left now of TOK (",
	})
	sell, _ := c.proposed("bags_execute_trade", fmt.Sprintf(`{"input_mint":%q,"output_mint":"SOL","amount":"10","slippage_bps":0}`, worldtest.Token))
	says(t, sell, []string{"You give: 10 of " + worldtest.Token.String() + "\n"}, "NO LIMIT")
}

func TestBuyingWhatCannotBeSoldIsTold(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	bought, _ := c.proposed("bags_execute_trade", trade("0.05"))
	says(t, bought, []string{"Selling this token later needs a cap for it in the signer's policy."})
	sold := c.fails("bags_execute_trade", fmt.Sprintf(`{"input_mint":%q,"output_mint":"SOL","amount":"1","slippage_bps":100}`, worldtest.Token), "authorization_rejected", "asset_uncapped")
	says(t, sold, []string{"add a [[mint]] block for it to policy.toml and reload signerd (SIGHUP)"})
	world.Signer.Set(func(r *worldtest.Rules) { r.AllowUncapped = true })
	free, _ := c.proposed("bags_execute_trade", trade("0.05"))
	says(t, free, nil, "Selling this token later")
}

func TestTransferNamesWhomAndHowMuch(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	arguments := fmt.Sprintf(`{"to":%q,"amount":"0.010","memo":"hi \"you\""}`, worldtest.Recipient)
	named := []string{
		"\nTo: " + worldtest.Recipient.String() + "\nAmount: 0.01 SOL\nMemo: \"hi \\\"you\\\"\" (public, on chain)\n",
	}
	preview, code := c.proposed("solana_transfer", arguments)
	says(t, preview, named, "base units", "  pays", "You give")
	done := c.call("solana_transfer", confirmed(arguments, code))
	says(t, done, named)
	id := done.at("receipt", "proposal_id").(string)
	says(t, c.call("get_receipt", `{"proposal_id":"`+id+`"}`), named)
	says(t, c.call("solana_transfer", confirmed(arguments, code)), append(named, "REPLAYED"))
}

func TestClaimSaysWhatIsKnownOnlyAsATotal(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	says(t, c.call("bags_get_claimable_fees", `{}`), []string{"a share of creator fees, the token moved to its pool (fee_share_v2_migrated)"})
	arguments := fmt.Sprintf(`{"token_mints":[%q]}`, worldtest.Token)
	preview, code := c.proposed("bags_claim_fees", arguments)
	says(t, preview, []string{
		"You get at least: 0.182378702 SOL\n", "What arrives is known only as this total: transaction 2 is simulated once",
		"Transaction 1 of 2, judged: class guarded", "In SOL in all: costs of ",
	}, "You give", "expected to leave")
	done := c.call("bags_claim_fees", confirmed(arguments, code))
	says(t, done, []string{"\nSOL: +0.182378702 in all, after network fees\n", "Transaction 2: landed"})
}

func TestWhyNothingWasSentIsSaidOnce(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	_, shown := c.proposed("bags_execute_trade", trade("0.01"))
	c.proposed("bags_execute_trade", trade("0.02"))
	c.fails("bags_execute_trade", confirmed(trade("0.03"), shown), "conflict", "code_other_intent")
	world.Signer.Set(func(r *worldtest.Rules) { r.Deny = fault.New(fault.PolicyDenied, "no") })
	c.fails("bags_execute_trade", trade("0.01"), "authorization_rejected", "policy_denied")
	for id, want := range map[string][2]string{
		"P1": {"cancelled", "Cancelled, or voided because its code was shown with other arguments"},
		"P2": {"open", "Open: not confirmed yet."},
		"P3": {"denied", "Denied by the signer when it was proposed (decided by policy.toml: test-rule)."},
	} {
		got := c.call("get_receipt", `{"proposal_id":"`+id+`"}`)
		if got.IsError || got.at("receipt", "state") != want[0] || got.at("status") != "nothing_sent" {
			t.Errorf("%s: %s", id, got.raw)
		}
		says(t, got, []string{want[1]}, "blockhash", "builtin")
		if strings.Count(got.text(), "sent.") != 1 {
			t.Errorf("%s is said more than once:\n%s", id, got.text())
		}
	}
	listed := c.call("list_activity", `{}`)
	says(t, listed, []string{"P1 bags_execute_trade cancelled, or voided", "P2 bags_execute_trade open: not", "P3 bags_execute_trade denied by"}, "nothing_sent")
}

func TestLookupOfAFailureSaysWhyWithoutAFault(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.Outcome = signerv1.Outcome_OUTCOME_LANDED_FAILED })
	c := start(t, world, "", "")
	_, code := c.proposed("bags_execute_trade", trade("0.01"))
	c.call("bags_execute_trade", confirmed(trade("0.01"), code))
	got := c.call("get_receipt", `{"code":"`+code+`"}`)
	if got.IsError || got.at("receipt", "state") != nil {
		t.Errorf("%s", got.raw)
	}
	says(t, got, []string{"Landed and failed on chain: the fee was spent"}, "conflict (")
}

func TestCapsSayWhatWouldFit(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	says(t, c.fails("bags_execute_trade", trade("0.2"), "authorization_rejected", "cap_exceeded"),
		[]string{"0.2 SOL is more than the signer's policy allows: at most 0.1 SOL in one transaction, fees and rent included"})
	over := fault.New(fault.CapExceeded, "0.1015 SOL is over the cap of 0.1 SOL per transaction")
	world.Signer.Set(func(r *worldtest.Rules) { r.Deny, r.DenyRules = over, []string{"caps.per_transaction"} })
	says(t, c.fails("bags_execute_trade", trade("0.1"), "authorization_rejected", "cap_exceeded"),
		[]string{"0.1 SOL of this is to give, the rest is fees (at most 0.0000161) and rent (at most 0.00148844", "ask for less"})
	world.Signer.Set(func(r *worldtest.Rules) { r.DenyRules = []string{"caps.transactions_per_hour"} })
	says(t, c.fails("bags_execute_trade", trade("0.1"), "authorization_rejected", "cap_exceeded"), nil, "made of")
}

func TestRulesAreNamedWhereTheOwnerCanChangeThem(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	deny := func(rules ...string) answer {
		world.Signer.Set(func(r *worldtest.Rules) { r.Deny, r.DenyRules = fault.New(fault.PolicyDenied, "no"), rules })
		return c.fails("bags_execute_trade", trade("0.01"), "authorization_rejected", "policy_denied")
	}
	says(t, deny("builtin"), nil, "builtin", "policy.toml")
	says(t, deny("recipients.new", "builtin.token_never_auto"), []string{"Decided by policy.toml: recipients.new."}, "builtin")
}

func TestConfigCheckSaysWhatItDid(t *testing.T) {
	folder := t.TempDir()
	run := func(args ...string) (int, string, string) {
		var out, errOut bytes.Buffer
		code := Main(args, strings.NewReader(""), &out, &errOut)
		return code, out.String(), errOut.String()
	}
	path := filepath.Join(folder, "mcpd.toml")
	if code, _, said := run("config", "check", "--config", path); code != 1 || !strings.Contains(said, "there is no file "+path+"; README.md shows one") {
		t.Errorf("without a file: %d %q", code, said)
	}
	t.Setenv("HOME", folder)
	t.Setenv("XDG_CONFIG_HOME", folder)
	if code, _, said := run("config", "check"); code != 1 || !strings.Contains(said, "there is no file "+folder) {
		t.Errorf("without the default file: %d %q", code, said)
	}
	if err := os.WriteFile(path, []byte("[signer]\nsocket = \"/run/a.sock\"\n[rpc]\nurls = [\"http://127.0.0.1:1\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said, _ := run("config", "check", "--config", path); code != 0 || !strings.Contains(said, "Nothing was contacted") {
		t.Errorf("with a file: %d %q", code, said)
	}
	if code, said, _ := run(); code != 0 || !strings.Contains(said, "Usage:") {
		t.Errorf("without a command: %d %q", code, said)
	}
}
