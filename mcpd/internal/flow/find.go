package flow

import (
	"context"
	"encoding/json"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
)

// Found is a stored outcome with what is needed to tell it.
type Found struct {
	Receipt propose.Receipt
	// State says why nothing was sent, where nothing was. It is empty where it
	// was not needed or is no longer listed.
	State propose.State
	// Meant is there for a transfer.
	Meant  intent.Intent
	Capped []caps.Mint
}

// Find looks up a stored outcome. What is beside the receipt only helps to word
// it, so its absence is no failure.
func (e *Engine) Find(ctx context.Context, key propose.ReceiptKey) (Found, error) {
	receipt, err := e.Signer.Receipt(ctx, key)
	if err != nil {
		return Found{}, err
	}
	found := Found{Receipt: receipt, Capped: e.describeForNames(ctx).Capped}
	transfers := receipt.Tool == intent.ToolTransfer
	if receipt.Outcome != propose.NothingSent && !transfers {
		return found, nil
	}
	activity, err := e.Signer.Activity(ctx, receipt.ProposalID)
	if err != nil {
		return found, nil //nolint:nilerr // The receipt stands without it.
	}
	if receipt.Outcome == propose.NothingSent {
		found.State = activity.State
	}
	if found.Receipt.Fault == nil {
		found.Receipt.Fault = activity.Fault
	}
	if transfers {
		// What cannot be read stays unstamped and is not told.
		found.Meant, _ = intent.ParseTransfer(json.RawMessage(activity.Arguments))
	}
	return found, nil
}

// describeForNames asks for the names that the owner gave to tokens. A result
// is told without them where the signer does not answer.
func (e *Engine) describeForNames(ctx context.Context) caps.Signer {
	signer, err := e.Signer.Describe(ctx)
	if err != nil {
		return caps.Signer{}
	}
	return signer
}
