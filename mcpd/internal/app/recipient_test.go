package app

import (
	"fmt"
	"strings"
	"testing"

	"countersign/mcpd/internal/worldtest"
	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/solana"
)

func send(to string) string { return fmt.Sprintf(`{"to":%q,"amount":"0.01"}`, to) }

func known(world *worldtest.World, name string, address solana.PublicKey) {
	world.Signer.Set(func(r *worldtest.Rules) { r.Recipients = map[string]solana.PublicKey{name: address} })
}

func TestTransferToAName(t *testing.T) {
	world := worldtest.New(t)
	known(world, "Alice", worldtest.Recipient)
	c := start(t, world, "", "")
	preview, code := c.proposed("solana_transfer", send("alice"))
	line := "\nTo: Alice (" + worldtest.Recipient.String() + ")\nAmount: 0.01 SOL\n"
	says(t, preview, []string{line}, "never been used")
	if got := preview.at("proposal", "effects", 0, "payments", 0, "name"); got != "Alice" {
		t.Errorf("payment is named %v", got)
	}
	asked := world.Signer.Proposed()[0]
	if want := fmt.Sprintf(`{"amount":"0.01","mint":%q,"to":%q}`, solana.WrappedSOL, worldtest.Recipient); asked.GetIntent().GetArgumentsJson() != want {
		t.Errorf("stated %s, want the address: %s", asked.GetIntent().GetArgumentsJson(), want)
	}
	// A name and its address are one intent, and so is the name in other letters.
	done := c.call("solana_transfer", confirmed(send("ALICE"), code))
	says(t, done, []string{line, "Landed"})
	says(t, c.call("solana_transfer", confirmed(send(worldtest.Recipient.String()), code)), []string{"REPLAYED"})
	if world.Signer.Executions() != 1 {
		t.Errorf("executed %d times", world.Signer.Executions())
	}
}

func TestNameThatLeadsElsewhereVoidsTheCode(t *testing.T) {
	world := worldtest.New(t)
	known(world, "alice", worldtest.Recipient)
	c := start(t, world, "", "")
	_, code := c.proposed("solana_transfer", send("alice"))
	known(world, "alice", worldtest.Token)
	c.fails("solana_transfer", confirmed(send("alice"), code), "conflict", "code_other_intent")
	known(world, "alice", worldtest.Recipient)
	c.fails("solana_transfer", confirmed(send("alice"), code), "conflict", "code_void")
	if world.Signer.Executions() != 0 {
		t.Error("something was executed")
	}
}

func TestRecipientThatCannotBeMeantIsExplained(t *testing.T) {
	world := worldtest.New(t)
	known(world, "alice", worldtest.Recipient)
	c := start(t, world, "", "")
	whole := worldtest.Recipient.String()
	for to, want := range map[string]struct{ code, text string }{
		"bob":                          {"recipient_unknown", "signerd recipients add NAME ADDRESS"},
		"al1ce":                        {"recipient_unknown", "no recipient called al1ce"},
		"AKnL4NNf3DGWZJS6cPknBuEGnVs":  {"recipient_unknown", "letters seem to be missing"},
		whole[:10] + whole[13:]:        {"invalid_arguments", "letters seem to be missing"},
		whole[:4] + "..." + whole[40:]: {"invalid_arguments", "shortened"},
		whole[:4] + "…" + whole[40:]:   {"invalid_arguments", "shortened"},
		whole + "x":                    {"invalid_arguments", "letters too many"},
		"0x52908400098527886E0F7030069857D2E4169EE7": {"invalid_arguments", "neither a name"},
		"alice ":                           {"invalid_arguments", "neither a name"},
		"":                                 {"invalid_arguments", "neither a name"},
		"11111111111111111111111111111111": {"invalid_arguments", "System program"},
	} {
		before := world.Requests()
		says(t, c.fails("solana_transfer", send(to), "validation", want.code), []string{want.text})
		if world.Requests() != before {
			t.Errorf("%q reached an upstream", to)
		}
	}
}

// One letter less often makes 32 bytes all the same: another address. Half of
// those have no key, and nothing is there.
func TestAddressWithoutAKeyIsRefusedUnlessItExists(t *testing.T) {
	world := worldtest.New(t)
	c := start(t, world, "", "")
	whole := worldtest.Wallet.String()
	refused := 0
	for i := range whole {
		short, err := solana.ParsePublicKey(whole[:i] + whole[i+1:])
		if err != nil || short.OnCurve() {
			continue
		}
		refused++
		says(t, c.fails("solana_transfer", send(short.String()), "validation", "invalid_arguments"), []string{"no key can exist for it", "letters seem to be missing"})
	}
	if refused < 5 {
		t.Errorf("only %d shortened addresses had no key", refused)
	}
}

func TestWarningsStandBeforeTheAmounts(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) {
		r.Findings = []*signerv1.Finding{
			{Code: "note", Text: "a note of the signer"},
			{Code: "first_seen_recipient", Text: "first seen"},
			{Code: "look_alike_recipient", Text: "looks like\u202e another"},
		}
	})
	c := start(t, world, "", "")
	preview, _ := c.proposed("solana_transfer", send(worldtest.Recipient.String()))
	says(t, preview, []string{"\nWARNING: first seen\nWARNING: looks like", "  note: a note of the signer\n"}, "note: first seen", "\u202e")
	text := preview.text()
	if strings.Index(text, "WARNING") > strings.Index(text, "Amount:") {
		t.Errorf("the amount comes first:\n%s", text)
	}
	fresh := solana.MustPublicKey("So11111111111111111111111111111111111111112")
	for last := byte(0); !fresh.OnCurve() || fresh == solana.WrappedSOL; last++ {
		fresh[31] = last
	}
	unused, _ := c.proposed("solana_transfer", send(fresh.String()))
	says(t, unused, []string{"WARNING: " + fresh.String() + " has never been used"})
}

func TestSwapTooFatForTheGuardIsQuotedOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		fat       int
		proposals int
		passes    bool
	}{
		"the second is smaller":  {1, 2, true},
		"the second is as large": {2, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			world := worldtest.New(t)
			world.Signer.Set(func(r *worldtest.Rules) { r.Largest = 600 })
			world.Bags.Set(func(m *worldtest.Mood) { m.Fat = c.fat })
			client := start(t, world, "", "")
			if c.passes {
				_, code := client.proposed("bags_execute_trade", trade("0.05"))
				done := client.call("bags_execute_trade", confirmed(trade("0.05"), code))
				says(t, done, []string{"Landed"})
			} else {
				says(t, client.fails("bags_execute_trade", trade("0.05"), "authorization_rejected", "guard_impossible"),
					[]string{"the guard does not fit; the Bags API was asked once more and offered no smaller route", "Nothing was signed or sent"})
				if got := len(world.Bags.Received()); got != 4 {
					t.Errorf("%d requests, want two quotes and two swaps", got)
				}
			}
			if got := len(world.Signer.Proposed()); got != c.proposals {
				t.Errorf("%d proposals, want %d", got, c.proposals)
			}
		})
	}
}
