package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
)

// WriteView is the structured result of a writing tool.
type WriteView struct {
	Status   string        `json:"status"`
	Network  *NetworkView  `json:"network,omitempty"`
	Proposal *ProposalView `json:"proposal,omitempty"`
	Quote    *QuoteView    `json:"quote,omitempty"`
	Receipt  *ReceiptView  `json:"receipt,omitempty"`
	Limits   *LimitsView   `json:"limits,omitempty"`
	Rules    []string      `json:"rules,omitempty"`
}

// Write makes the handler of a two-step tool.
func Write(engine *flow.Engine, parse func(json.RawMessage) (intent.Intent, error)) func(context.Context, Call) (Result, error) {
	return func(ctx context.Context, call Call) (Result, error) {
		meant, err := parse(call.Arguments)
		if err != nil {
			return Result{}, err
		}
		result, err := engine.Write(ctx, meant, flow.Caller{ClientName: call.ClientName, Progress: call.Progress})
		if err != nil {
			return Result{}, err
		}
		return renderWrite(result), nil
	}
}

// renderWrite words what became of a write.
func renderWrite(result flow.Result) Result {
	switch {
	case result.Receipt != nil:
		return renderReceipt(*result.Receipt, result.Meant, result.Signer.Capped)
	case result.Denial != nil:
		return renderDenial(result)
	default:
		return renderProposal(result.Meant, result)
	}
}

// ruleNewRecipient is the signer's rule for somebody whom the owner has not named.
const ruleNewRecipient = "recipients.new"

func renderDenial(result flow.Result) Result {
	denial := result.Denial
	view := WriteView{
		Status: "denied", Network: ViewNetwork(result.Signer.Cluster, result.Signer.Genesis),
		Limits: ViewLimits(denial.Limits), Rules: denial.Rules,
	}
	text := FaultText(denial.Fault) + " Nothing was signed or sent; the signer refused."
	if rules := ownersRules(denial.Rules); rules != "" {
		text += " Decided by policy.toml: " + rules + "."
	}
	if transfer, ok := result.Meant.Transfer(); ok && slices.Contains(denial.Rules, ruleNewRecipient) {
		text += " If the user knows this recipient, the owner can name it: signerd recipients add NAME " + transfer.To.String() + "."
	}
	return Result{Text: text, Structured: view, Fault: denial.Fault}
}

// ownersRules lists the rules that stand in the owner's policy. The built-in
// ones are nothing that anybody could change.
func ownersRules(rules []string) string {
	var own []string
	for _, rule := range rules {
		if !strings.HasPrefix(rule, "builtin") {
			own = append(own, rule)
		}
	}
	return strings.Join(own, ", ")
}

// transferLines name whom a transfer pays and how much, as it was asked for.
// name is the recipient's in the owner's address book, or empty.
func transferLines(meant intent.Intent, name string) []string {
	transfer, ok := meant.Transfer()
	if !ok {
		return nil
	}
	lines := []string{"To: " + named(name, transfer.To), "Amount: " + transfer.Amount + unitOf(transfer.Mint)}
	if transfer.Memo != "" {
		lines = append(lines, "Memo: "+strconv.Quote(transfer.Memo)+" (public, on chain)")
	}
	return lines
}
