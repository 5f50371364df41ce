package tools

import (
	"fmt"
	"strings"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// renderReceipt words the outcome of an execution. An outcome other than landed
// is a failed result, and what is not known is never called failed.
func renderReceipt(receipt propose.Receipt, meant intent.Intent, capped []caps.Mint) Result {
	result := Result{Structured: viewOutcome(receipt, ""), Fault: outcomeFault(receipt)}
	var lines []string
	if result.Fault != nil {
		lines = append(lines, FaultText(result.Fault))
	}
	if receipt.Replayed {
		lines = append(lines, "REPLAYED: this call executed nothing; this is the stored receipt of an earlier execution. To do the same once more, call again without confirm and with an idempotency_key of its own.")
	}
	if receipt.Outcome != propose.NothingSent || receipt.Fault != nil {
		// Otherwise the fault says it already.
		lines = append(lines, outcomeWords(receipt))
	}
	lines = append(lines, receiptLines(receipt, meant, capped)...)
	result.Text = strings.Join(lines, "\n")
	return result
}

// RenderLookup words what a look-up found. The look-up itself succeeded,
// whatever it found, so there is no fault.
func RenderLookup(found flow.Found) Result {
	receipt := found.Receipt
	lines := []string{foundWords(found)}
	if short := int(receipt.Expected) > len(receipt.Transactions); short && receipt.Outcome == propose.Landed && receipt.Fault != nil {
		lines = append(lines, "The rest was not sent: "+receipt.Fault.Message+".")
	}
	lines = append(lines, receiptLines(receipt, found.Meant, found.Capped)...)
	return Result{Text: strings.Join(lines, "\n"), Structured: viewOutcome(receipt, found.State)}
}

func viewOutcome(receipt propose.Receipt, state propose.State) WriteView {
	view := WriteView{
		Status: string(receipt.Outcome), Network: ViewNetwork(receipt.Network.Cluster, receipt.Network.Genesis),
		Receipt: ViewReceipt(receipt), Limits: ViewLimits(receipt.Limits), Rules: receipt.Rules,
	}
	view.Receipt.State = string(state)
	return view
}

// foundWords say once why nothing was sent, where nothing was.
func foundWords(found flow.Found) string {
	receipt := found.Receipt
	if receipt.Outcome != propose.NothingSent {
		return outcomeWords(receipt) + reasonWords(receipt)
	}
	if found.State != propose.StateDenied && receipt.Fault != nil {
		return "Nothing was sent: " + receipt.Fault.Message + "."
	}
	words := StateWords(found.State, receipt.Fault)
	if words == "" {
		return "Nothing was sent."
	}
	if rules := ownersRules(receipt.Rules); found.State == propose.StateDenied && rules != "" {
		words += " (decided by policy.toml: " + rules + ")"
	}
	return strings.ToUpper(words[:1]) + words[1:] + ". Nothing was signed or sent."
}

func reasonWords(receipt propose.Receipt) string {
	if reason := chainReason(receipt); receipt.Outcome == propose.LandedFailed && reason != "" {
		return " Why it failed on chain" + reason + "."
	}
	return ""
}

// StateWords say what became of a proposal that was not executed, or nothing
// for one that was. The signer keeps no difference between cancelled and void.
func StateWords(state propose.State, why *fault.Fault) string {
	switch state {
	case propose.StateOpen:
		return "open: not confirmed yet"
	case propose.StateExpired:
		return "expired without being confirmed"
	case propose.StateCancelled:
		return "cancelled, or voided because its code was shown with other arguments or over another connection"
	case propose.StateDenied:
		if why != nil {
			return "denied: " + why.Message
		}
		return "denied by the signer when it was proposed"
	case propose.StateExecuting, propose.StateDone:
	}
	return ""
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

// receiptLines are the facts of a receipt, from the sum to the parts.
func receiptLines(receipt propose.Receipt, meant intent.Intent, capped []caps.Mint) []string {
	var lines []string
	if network := ViewNetwork(receipt.Network.Cluster, receipt.Network.Genesis); network != nil {
		lines = append(lines, "Network: "+network.Label)
	}
	transfer, _ := meant.Transfer()
	lines = append(lines, transferLines(meant, transfer.Name)...)
	lines = append(lines, sumLines(receipt)...)
	for i, tx := range receipt.Transactions {
		lines = append(lines, transactionLine(i, tx))
		if len(receipt.Transactions) > 1 {
			for _, moved := range totals(tx) {
				lines = append(lines, "  "+moved.String())
			}
		}
	}
	return append(lines, LimitLines(ViewLimits(receipt.Limits), capped)...)
}

func transactionLine(i int, tx propose.TransactionReceipt) string {
	line := fmt.Sprintf("Transaction %d: %s", i+1, tx.Outcome)
	if !tx.Signature.IsZero() {
		line += ", signature " + tx.Signature.String()
	}
	if tx.Untold() {
		return line + "; what it moved is not told by enough RPC nodes yet, so the limits count the most that it can have taken"
	}
	return line + ", fee " + sol(tx.Fee) + " SOL"
}

// moved is what one asset of the wallet did over some transactions.
type moved struct {
	mint     solana.PublicKey
	decimals uint8
	out, in  amount.Units
}

func totals(transactions ...propose.TransactionReceipt) []moved {
	var sums []moved
	for _, tx := range transactions {
		for _, change := range tx.Changes {
			at := -1
			for i := range sums {
				if sums[i].mint == change.Mint {
					at = i
				}
			}
			if at < 0 {
				at = len(sums)
				sums = append(sums, moved{mint: change.Mint, decimals: change.Decimals})
			}
			sums[at].out, sums[at].in = plus(sums[at].out, change.Out), plus(sums[at].in, change.In)
		}
	}
	return sums
}

// String shows the net with its sign, under the asset's name.
func (m moved) String() string {
	name := "SOL"
	if m.mint != amount.SOL {
		name = m.mint.String()
	}
	if m.in >= m.out {
		return name + ": +" + (m.in - m.out).Decimal(m.decimals)
	}
	return name + ": -" + (m.out - m.in).Decimal(m.decimals)
}

// sumLines say what the wallet gained and lost over the whole receipt.
func sumLines(receipt propose.Receipt) []string {
	fees := amount.Units(0)
	for _, tx := range receipt.Transactions {
		fees = plus(fees, tx.Fee)
	}
	var lines []string
	for _, sum := range totals(receipt.Transactions...) {
		line := sum.String() + " in all"
		switch spent := sum.out.Less(sum.in); {
		case sum.mint != amount.SOL || fees == 0:
		case spent >= fees:
			line += " (" + sol(fees) + " of it network fee)"
		default:
			// A sponsor may have paid the fee, so it is not called the wallet's.
			line += ", after network fees"
		}
		lines = append(lines, line)
	}
	return lines
}
