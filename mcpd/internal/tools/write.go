package tools

import (
	"fmt"
	"strings"

	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
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

// RenderWrite words what became of a write.
func RenderWrite(tool string, result flow.Result) Result {
	switch {
	case result.Receipt != nil:
		return RenderReceipt(*result.Receipt)
	case result.Denial != nil:
		return renderDenial(result)
	default:
		return renderProposal(tool, result)
	}
}

func renderDenial(result flow.Result) Result {
	denial := result.Denial
	view := WriteView{
		Status: "denied", Network: ViewNetwork(result.Signer.Cluster, result.Signer.Genesis),
		Limits: ViewLimits(denial.Limits), Rules: denial.Rules,
	}
	text := FaultText(denial.Fault) + " Nothing was signed or sent; the signer refused."
	if len(denial.Rules) > 0 {
		text += " Rules: " + strings.Join(denial.Rules, ", ") + "."
	}
	return Result{Text: text, Structured: view, Fault: denial.Fault}
}

const nothingYet = "NOTHING HAS BEEN SIGNED OR SENT."

func renderProposal(tool string, result flow.Result) Result {
	proposal := result.Proposal
	view := WriteView{
		Status: "preview", Network: ViewNetwork(proposal.Network.Cluster, proposal.Network.Genesis),
		Proposal: viewProposal(*proposal, result.Mints, result.Uncapped), Limits: ViewLimits(proposal.Limits), Rules: proposal.Rules,
	}
	if view.Network == nil {
		view.Network = ViewNetwork(result.Signer.Cluster, result.Signer.Genesis)
	}
	if result.Quote != nil {
		view.Quote = ViewQuote(*result.Quote, result.Mints)
	}
	lines := []string{nothingYet + " This is a proposal, judged by the signer.", "Network: " + view.Network.Label}
	lines = append(lines, boundLines(view.Proposal)...)
	for i, effects := range proposal.Effects {
		lines = append(lines, effectLines(i, len(proposal.Effects), effects)...)
	}
	if result.Uncapped {
		lines = append(lines, "NO LIMIT APPLIES to the token that leaves: it has no cap and cannot be valued in SOL.")
	}
	lines = append(lines, LimitLines(view.Limits)...)
	if proposal.Tier == propose.TierHuman || proposal.Tier == propose.TierQuorum {
		view.Status = "needs_person"
		lines = append(lines, "The policy asks for a person's approval ("+string(proposal.Tier)+"). There is nothing more to do here; do not look for a way around. Proposal: "+proposal.ID)
	} else {
		lines = append(lines, fmt.Sprintf("To go ahead, call %s again with exactly the same arguments and confirm=%q before %s. The code works once. To drop it, call cancel_proposal with %s.",
			tool, proposal.Code, view.Proposal.ExpiresAt, proposal.ID))
	}
	return Result{Text: strings.Join(lines, "\n"), Structured: view}
}

// Named writes an amount with the asset it is of.
func Named(view AmountView) string {
	if view.Mint == intent.AssetText(amount.SOL) {
		return view.Amount + " SOL"
	}
	return view.Amount + " of " + view.Mint
}

func boundLines(view *ProposalView) []string {
	var lines []string
	for _, out := range view.MaxOut {
		lines = append(lines, "Leaves at most: "+Named(out))
	}
	for _, in := range view.MinIn {
		lines = append(lines, "Arrives at least: "+Named(in))
	}
	return append(lines, "Network fees at most: "+Named(view.MaxFee)+"; rent at most: "+Named(view.MaxRent))
}

func effectLines(i, of int, effects propose.Effects) []string {
	title := "The signer found"
	if of > 1 {
		title = fmt.Sprintf("Transaction %d of %d, the signer found", i+1, of)
	}
	if !effects.Simulated {
		title += " (not simulated: an earlier transaction must land first)"
	}
	lines := []string{title + ", class " + effects.Class + ":"}
	for _, change := range viewChanges(effects.Changes) {
		if change.Out.AmountBaseUnits != "0" {
			lines = append(lines, "  out "+Named(change.Out))
		}
		if change.In.AmountBaseUnits != "0" {
			lines = append(lines, "  in "+Named(change.In))
		}
	}
	for _, payment := range effects.Payments {
		lines = append(lines, "  pays "+payment.Amount.String()+" base units of "+assetName(payment.Mint)+" to "+payment.Recipient.String())
	}
	lines = append(lines, fmt.Sprintf("  fees: base %s SOL, priority %s SOL, tip %s SOL; rent %s SOL, of which %s SOL comes back",
		sol(effects.BaseFee), sol(effects.PriorityFee), sol(effects.Tip), sol(effects.Rent), sol(effects.RentReturned)))
	for _, finding := range effects.Findings {
		lines = append(lines, "  note: "+finding.Text)
	}
	return lines
}

func sol(units amount.Units) string { return units.Decimal(amount.SOLDecimals) }

func assetName(mint solana.PublicKey) string {
	if mint == amount.SOL {
		return "SOL"
	}
	return mint.String()
}

// LimitLines words what is left.
func LimitLines(limits *LimitsView) []string {
	if limits == nil {
		return nil
	}
	var parts []string
	for _, window := range limits.Windows {
		name := ""
		switch window.Mint {
		case "":
		case intent.AssetText(amount.SOL):
			name = " SOL"
		default:
			name = " of " + window.Mint
		}
		parts = append(parts, fmt.Sprintf("%s %s of %s%s", window.Name, window.Left, window.Cap, name))
	}
	return []string{"Limits left: " + strings.Join(parts, "; ")}
}

// RenderReceipt words an outcome. An outcome other than landed is a failed
// result, and what is not known is never called failed.
func RenderReceipt(receipt propose.Receipt) Result {
	view := WriteView{
		Status: string(receipt.Outcome), Network: ViewNetwork(receipt.Network.Cluster, receipt.Network.Genesis),
		Receipt: ViewReceipt(receipt), Limits: ViewLimits(receipt.Limits), Rules: receipt.Rules,
	}
	result := Result{Structured: view, Fault: outcomeFault(receipt)}
	var lines []string
	if result.Fault != nil {
		lines = append(lines, FaultText(result.Fault))
	}
	if receipt.Replayed {
		lines = append(lines, "REPLAYED: this call executed nothing; this is the stored receipt of an earlier execution.")
	}
	lines = append(lines, outcomeWords(receipt))
	if view.Network != nil {
		lines = append(lines, "Network: "+view.Network.Label)
	}
	for i, tx := range view.Receipt.Transactions {
		lines = append(lines, transactionLines(i, tx)...)
	}
	lines = append(lines, LimitLines(view.Limits)...)
	result.Text = strings.Join(lines, "\n")
	return result
}

func outcomeWords(receipt propose.Receipt) string {
	switch receipt.Outcome {
	case propose.Landed:
		return "Landed: confirmed on chain."
	case propose.LandedFailed:
		if landedBefore(receipt) {
			return "A transaction of the batch landed and failed on chain; the ones before it landed and stand. See each below."
		}
		return "Landed and failed on chain: the fee was spent, nothing else moved."
	case propose.Expired:
		return "Expired: it provably did not land and no longer can. Nothing was spent."
	case propose.NothingSent:
		return "Nothing was sent."
	case propose.InProgress:
		return "Being executed at this moment; ask get_receipt with proposal_id " + receipt.ProposalID + " in a few seconds."
	case propose.Unknown:
	}
	return "Unknown: it may have landed or may still land. Ask get_receipt with proposal_id " + receipt.ProposalID + "; do not repeat the call."
}

func landedBefore(receipt propose.Receipt) bool {
	for _, tx := range receipt.Transactions {
		if tx.Outcome == propose.Landed {
			return true
		}
	}
	return false
}

// outcomeFault gives every outcome but a clean one its fault.
func outcomeFault(receipt propose.Receipt) *fault.Fault {
	short := int(receipt.Expected) > len(receipt.Transactions)
	switch receipt.Outcome {
	case propose.Landed:
		if short && receipt.Fault != nil {
			return receipt.Fault
		}
		return nil
	case propose.InProgress:
		return nil
	case propose.LandedFailed:
		return fault.New(fault.FailedOnChain, "the transaction landed and failed on chain%s", chainReason(receipt))
	case propose.Expired:
		return fault.New(fault.ProvenExpired, "the transaction expired and provably did not land")
	case propose.NothingSent:
		if receipt.Fault != nil {
			return receipt.Fault
		}
		return fault.New(fault.BlockhashExpired, "nothing was sent")
	case propose.Unknown:
	}
	return fault.New(fault.OutcomeUnknown, "whether the transaction landed is not known yet (proposal %s)", receipt.ProposalID)
}

func chainReason(receipt propose.Receipt) string {
	for _, tx := range receipt.Transactions {
		if tx.Error != nil && tx.Error.Text != "" {
			return ": " + tx.Error.Text
		}
	}
	return ""
}

func transactionLines(i int, tx TransactionView) []string {
	line := fmt.Sprintf("Transaction %d: %s", i+1, tx.Outcome)
	if tx.Signature != "" {
		line += ", signature " + tx.Signature
	}
	lines := []string{line + ", fee " + Named(tx.Fee)}
	for _, change := range tx.Changes {
		if change.Out.AmountBaseUnits != "0" {
			lines = append(lines, "  out "+Named(change.Out))
		}
		if change.In.AmountBaseUnits != "0" {
			lines = append(lines, "  in "+Named(change.In))
		}
	}
	return lines
}
