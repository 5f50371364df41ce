// Package solana is the toolset for the chain itself. app puts it into the
// catalogue.
package solana

import (
	"encoding/json"

	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/tools"
)

// Tools returns the toolset.
func Tools(engine *flow.Engine) []tools.Tool { return []tools.Tool{transferTool(engine)} }

func transferTool(engine *flow.Engine) tools.Tool {
	memo := tools.Text("A public note written on chain: plain text on one line, up to 256 bytes.")
	memo["maxLength"] = 256
	return tools.Tool{
		Name:  intent.ToolTransfer,
		Title: "Send SOL or a token",
		Description: "Sends SOL or a token from the signer's wallet to another wallet, in two calls. Without confirm it only proposes (unless the owner's policy lets small amounts go through automatically): " +
			"it returns the signer's findings and a confirmation code. Show it to the user, with the recipient's name, full address and every warning. With the same arguments and the code in confirm it signs, sends and waits for the outcome. " +
			"A transfer cannot be taken back. For a token, the recipient's account is opened if it is missing, and its rent is part of the cost. " +
			"An outcome of unknown may still land: ask get_receipt, never repeat.",
		Input: tools.Object(tools.Properties{
			"to":      tools.Recipient("The recipient: a name of the owner's address book (best), or a wallet's address in full, copied and never typed from memory; not a token account."),
			"amount":  tools.Decimal("How much to send."),
			"mint":    tools.Asset("What to send; SOL if left out."),
			"memo":    memo,
			"confirm": tools.Confirm(), "idempotency_key": tools.IdempotencyKey(),
		}, "to", "amount"),
		Output: tools.WriteOutput(),
		Hints:  tools.Hints{Destructive: true, OpenWorld: true},
		Writes: true,
		Check:  func(raw json.RawMessage) error { _, err := intent.ParseTransfer(raw); return err },
		Handle: tools.Write(engine, intent.ParseTransfer),
	}
}
