package wallet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/mcpd/internal/tools"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

const (
	idPattern  = "^[A-Za-z0-9_-]{1,128}$"
	maxID      = 128
	maxListing = 100
)

func idSchema() tools.Schema {
	schema := tools.Text("The id of a proposal, as the proposal gave it.")
	schema["pattern"] = idPattern
	return schema
}

func checkID(id string) error {
	valid := id != "" && len(id) <= maxID
	for _, r := range id {
		valid = valid && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if !valid {
		return fault.New(fault.InvalidArguments, "proposal_id must be an id exactly as a proposal gave it")
	}
	return nil
}

type receiptArguments struct {
	ProposalID string `json:"proposal_id"`
	Code       string `json:"code"`
	Signature  string `json:"signature"`
	Key        string `json:"idempotency_key"`
}

func parseReceipt(raw json.RawMessage) (propose.ReceiptKey, error) {
	var arguments receiptArguments
	if err := intent.Decode(raw, &arguments); err != nil {
		return propose.ReceiptKey{}, err
	}
	key := propose.ReceiptKey{ProposalID: arguments.ProposalID, Code: arguments.Code, Idempotency: arguments.Key}
	given := 0
	for _, text := range []string{arguments.ProposalID, arguments.Code, arguments.Signature, arguments.Key} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return key, fault.New(fault.InvalidArguments, "give exactly one of proposal_id, code, signature and idempotency_key")
	}
	var err error
	switch {
	case arguments.ProposalID != "":
		return key, checkID(arguments.ProposalID)
	case arguments.Code != "":
		if checkID(arguments.Code) != nil {
			return key, fault.New(fault.InvalidArguments, "code must be a confirmation code exactly as the proposal gave it")
		}
	case arguments.Key != "":
		return key, intent.CheckKey(arguments.Key)
	default:
		if key.Signature, err = solana.ParseSignature(arguments.Signature); err != nil {
			return key, fault.New(fault.InvalidArguments, "signature must be a base58 transaction signature (64 bytes)").Because(err)
		}
	}
	return key, nil
}

func receiptTool(engine *flow.Engine) tools.Tool {
	code := tools.Text("A confirmation code that was used.")
	code["pattern"] = idPattern
	signature := tools.Text("A transaction signature in base58.")
	signature["pattern"] = "^[1-9A-HJ-NP-Za-km-z]{64,88}$"
	return tools.Tool{
		Name:  "get_receipt",
		Title: "Look up an outcome",
		Description: "Looks up what became of a proposal, by exactly one of its id, its used code, the idempotency key of its call, or a transaction signature. " +
			"This is the call to make after an outcome of unknown: the signer keeps looking until it is proven landed or proven expired. It changes nothing.",
		Input:  tools.Object(tools.Properties{"proposal_id": idSchema(), "code": code, "signature": signature, "idempotency_key": tools.IdempotencyKey()}),
		Output: tools.ReceiptOutput(),
		Hints:  tools.Hints{ReadOnly: true, Idempotent: true},
		Check:  func(raw json.RawMessage) error { _, err := parseReceipt(raw); return err },
		Handle: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			key, err := parseReceipt(call.Arguments)
			if err != nil {
				return tools.Result{}, err
			}
			found, err := engine.Find(ctx, key)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.RenderLookup(found), nil
		},
	}
}

type activityArguments struct {
	Limit  json.Number `json:"limit"`
	Before string      `json:"before"`
}

func parseActivity(raw json.RawMessage) (limit uint32, before string, err error) {
	var arguments activityArguments
	if err := intent.Decode(raw, &arguments); err != nil {
		return 0, "", err
	}
	limit = 20
	if arguments.Limit != "" {
		value, err := arguments.Limit.Int64()
		if err != nil || value < 1 || value > maxListing {
			return 0, "", fault.New(fault.InvalidArguments, "limit must be a whole number from 1 to %d", maxListing)
		}
		limit = uint32(value)
	}
	if arguments.Before != "" {
		err = checkID(arguments.Before)
	}
	return limit, arguments.Before, err
}

type entry struct {
	ProposalID string   `json:"proposal_id"`
	Tool       string   `json:"tool"`
	Arguments  string   `json:"arguments"`
	State      string   `json:"state"`
	Outcome    string   `json:"outcome,omitempty"`
	CreatedAt  string   `json:"created_at"`
	Signatures []string `json:"signatures,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

type activityResult struct {
	Activities []entry `json:"activities"`
	NextBefore string  `json:"next_before,omitempty"`
}

func activityTool(engine *flow.Engine) tools.Tool {
	limit := tools.Count("How many, 20 if left out.")
	limit["minimum"], limit["maximum"] = 1, maxListing
	before := idSchema()
	before["description"] = "Only what is older than this proposal: next_before of the page before."
	return tools.Tool{
		Name:  "list_activity",
		Title: "List proposals and outcomes",
		Description: "Lists what was proposed to the signer, newest first, with the state and outcome of each. " +
			"Arguments are shown as they were given. It changes nothing.",
		Input: tools.Object(tools.Properties{"limit": limit, "before": before}),
		Output: tools.Output(tools.Properties{
			"activities": tools.List("Newest first.", tools.Object(tools.Properties{
				"proposal_id": tools.Text("The proposal."),
				"tool":        tools.Text("The tool that asked."),
				"arguments":   tools.Text("Its arguments as canonical JSON, without the code."),
				"state":       tools.Word("Where it stands.", tools.States...),
				"outcome":     tools.Word("What happened.", tools.Outcomes...),
				"created_at":  tools.Text("RFC 3339 UTC."),
				"signatures":  tools.List("Transaction ids.", tools.Text("Signature.")),
				"reason":      tools.Text("Why it was denied or not sent."),
			}, "proposal_id", "tool", "arguments", "state", "created_at")),
			"next_before": tools.Text("Pass as before for the next page; absent on the last."),
		}),
		Hints: tools.Hints{ReadOnly: true, Idempotent: true},
		Check: func(raw json.RawMessage) error { _, _, err := parseActivity(raw); return err },
		Handle: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			limit, before, err := parseActivity(call.Arguments)
			if err != nil {
				return tools.Result{}, err
			}
			return listActivity(ctx, engine, limit, before)
		},
	}
}

func listActivity(ctx context.Context, engine *flow.Engine, limit uint32, before string) (tools.Result, error) {
	found, err := engine.Signer.Activities(ctx, limit, before)
	if err != nil {
		return tools.Result{}, err
	}
	view := activityResult{Activities: []entry{}}
	lines := []string{fmt.Sprintf("%d entries, newest first.", len(found))}
	for _, activity := range found {
		item := entry{
			ProposalID: activity.ProposalID, Tool: activity.Tool, Arguments: activity.Arguments, State: string(activity.State),
			Outcome: string(activity.Outcome), CreatedAt: tools.Timestamp(activity.CreatedAt),
		}
		for _, signature := range activity.Signatures {
			item.Signatures = append(item.Signatures, signature.String())
		}
		if activity.Fault != nil {
			item.Reason = string(activity.Fault.Code) + ": " + activity.Fault.Message
		}
		view.Activities = append(view.Activities, item)
		lines = append(lines, strings.Join([]string{item.CreatedAt, item.ProposalID, item.Tool, activityWords(activity)}, " "))
	}
	if len(found) > 0 && len(found) == int(limit) {
		view.NextBefore = found[len(found)-1].ProposalID
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Structured: view}, nil
}

// activityWords say where a proposal stands: why it was not executed, or what
// the execution came to.
func activityWords(activity propose.Activity) string {
	if words := tools.StateWords(activity.State, activity.Fault); words != "" {
		return words
	}
	words := string(activity.State) + ": " + string(activity.Outcome)
	if activity.Outcome == propose.NothingSent && activity.Fault != nil {
		words += " (" + activity.Fault.Message + ")"
	}
	return words
}
