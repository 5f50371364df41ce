package tools

import (
	"fmt"
	"math"
	"strings"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/shared/amount"
	"countersign/shared/solana"
)

const nothingYet = "NOTHING HAS BEEN SIGNED OR SENT."

func renderProposal(meant intent.Intent, result flow.Result) Result {
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
	recipient := recipientName(meant, *proposal)
	lines = append(lines, warningLines(meant, *proposal, result.Unused && recipient == "")...)
	lines = append(lines, transferLines(meant, recipient)...)
	lines = append(lines, tradeLines(meant, *proposal, view.Proposal)...)
	lines = append(lines, costLines(*proposal)...)
	lines = append(lines, judgementLines(meant, *proposal, result.Mints)...)
	if result.Uncapped {
		lines = append(lines, "NO LIMIT APPLIES to the token that leaves: it has no cap and cannot be valued in SOL.")
	}
	if sellingNeedsCap(meant, result.Signer) {
		lines = append(lines, "Selling this token later needs a cap for it in the signer's policy.")
	}
	lines = append(lines, LimitLines(view.Limits, result.Signer.Capped)...)
	if proposal.Tier == propose.TierHuman || proposal.Tier == propose.TierQuorum {
		view.Status = "needs_person"
		lines = append(lines, "The policy asks for a person's approval ("+string(proposal.Tier)+"). There is nothing more to do here; do not look for a way around. Proposal: "+proposal.ID)
	} else {
		lines = append(lines, fmt.Sprintf("To go ahead, call %s again with exactly the same arguments and confirm=%q before %s. The code works once. To drop it, call cancel_proposal with %s.",
			meant.Tool(), proposal.Code, view.Proposal.ExpiresAt, proposal.ID))
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

// plus adds amounts to show. A sum that no u64 holds is more than any wallet
// has, and stays at the highest.
func plus(units ...amount.Units) amount.Units {
	sum, err := amount.Sum(units...)
	if err != nil {
		return math.MaxUint64
	}
	return sum
}

func sol(units amount.Units) string { return units.Decimal(amount.SOLDecimals) }

// unitOf is what stands behind an amount in whole units.
func unitOf(mint solana.PublicKey) string {
	if mint == amount.SOL {
		return " SOL"
	}
	return " of " + mint.String()
}

// tradeLines say what the bounds let go and demand. A transfer's amount is
// said with its recipient already.
func tradeLines(meant intent.Intent, proposal propose.Proposal, view *ProposalView) []string {
	var lines []string
	if _, transfers := meant.Transfer(); !transfers {
		for _, out := range view.MaxOut {
			lines = append(lines, "You give: "+Named(out))
		}
	}
	for i, in := range view.MinIn {
		line := "You get at least: " + Named(in)
		if expected, known := expectedIn(proposal, proposal.Bounds.MinIn[i].Mint); known && expected != proposal.Bounds.MinIn[i].Amount {
			line += " (expected " + expected.Decimal(in.Decimals) + ")"
		}
		lines = append(lines, line)
	}
	for i, effects := range proposal.Effects {
		if !effects.Simulated && len(view.MinIn) > 0 {
			return append(lines, fmt.Sprintf("  What arrives is known only as this total: transaction %d is simulated once the one before it has landed.", i+1))
		}
	}
	return lines
}

// expectedIn is what simulation shows to arrive, where all of it was simulated.
func expectedIn(proposal propose.Proposal, mint solana.PublicKey) (amount.Units, bool) {
	var arrivals []amount.Units
	for _, effects := range proposal.Effects {
		if !effects.Simulated {
			return 0, false
		}
		for _, change := range effects.Changes {
			if change.Mint == mint {
				arrivals = append(arrivals, change.In)
			}
		}
	}
	total, err := amount.Sum(arrivals...)
	return total, err == nil && total > 0
}

// costs are the parts of a batch's cost in SOL, beside what it gives.
type costs struct {
	fee, tip, kept, lent amount.Units
	// out and in are what simulation shows to leave and to arrive.
	out, in   amount.Units
	simulated bool
}

func costsOf(proposal propose.Proposal) costs {
	c := costs{simulated: true}
	for _, effects := range proposal.Effects {
		c.fee = plus(c.fee, effects.BaseFee, effects.PriorityFee)
		c.tip = plus(c.tip, effects.Tip)
		c.kept = plus(c.kept, effects.Rent.Less(effects.RentReturned))
		c.lent = plus(c.lent, min(effects.RentReturned, effects.Rent))
		c.simulated = c.simulated && effects.Simulated
		for _, change := range effects.Changes {
			if change.Mint == amount.SOL {
				c.out, c.in = plus(c.out, change.Out), plus(c.in, change.In)
			}
		}
	}
	return c
}

// costLines say what is paid on top, and the sum of it all in SOL.
func costLines(proposal propose.Proposal) []string {
	c := costsOf(proposal)
	var parts, lines []string
	if c.fee > 0 {
		parts = append(parts, "network fee "+sol(c.fee)+" SOL (at most "+sol(proposal.Bounds.MaxFee)+")")
	}
	if c.tip > 0 {
		parts = append(parts, "tip "+sol(c.tip)+" SOL")
	}
	if c.kept > 0 {
		parts = append(parts, sol(c.kept)+" SOL rent of new accounts that stays locked in them")
	}
	if c.lent > 0 {
		parts = append(parts, sol(c.lent)+" SOL rent lent during the transaction and returned")
	}
	if len(parts) > 0 {
		lines = append(lines, "Costs on top: "+strings.Join(parts, "; "))
	}
	line := "In SOL in all: " + c.expected()
	if worst, err := proposal.Bounds.WorstSOL(); err == nil {
		line += "; at most " + sol(worst) + " is held against your limits"
	}
	return append(lines, line)
}

// expected is the net of the whole batch in SOL. It is for reading only: the
// caps never set an inflow against an outflow.
func (c costs) expected() string {
	leaves := plus(c.fee, c.tip, c.kept)
	if !c.simulated && leaves == 0 {
		return "no costs expected"
	}
	if !c.simulated {
		return "costs of " + sol(leaves) + " expected"
	}
	leaves = plus(leaves, c.out)
	if c.in > leaves {
		return sol(c.in-leaves) + " expected to arrive, costs taken off"
	}
	return sol(leaves-c.in) + " expected to leave"
}

// classWords say what each class of the signer's judgement rests on.
var classWords = map[string]string{
	"complete":  "every effect follows from the bytes",
	"guarded":   "the chain itself enforces these bounds",
	"unguarded": "only simulation speaks for it",
}

func judgementLines(meant intent.Intent, proposal propose.Proposal, mints map[solana.PublicKey]uint8) []string {
	var lines []string
	for i, effects := range proposal.Effects {
		title := "Judged: "
		if of := len(proposal.Effects); of > 1 {
			title = fmt.Sprintf("Transaction %d of %d, judged: ", i+1, of)
		}
		line := title + "class " + effects.Class + " — " + classWords[effects.Class]
		if !effects.Simulated {
			line += " (not simulated: an earlier transaction must land first)"
		}
		lines = append(lines, line)
		for _, payment := range effects.Payments {
			if !isAskedFor(payment, meant, mints) {
				lines = append(lines, "  pays "+paid(payment, mints)+" to "+named(payment.Name, payment.Recipient))
			}
		}
		for _, finding := range effects.Findings {
			if !warnings[finding.Code] {
				lines = append(lines, "  note: "+finding.Text)
			}
		}
	}
	return lines
}

// isAskedFor recognises the payment that a transfer is for, which has lines of
// its own.
func isAskedFor(payment propose.Payment, meant intent.Intent, mints map[solana.PublicKey]uint8) bool {
	transfer, ok := meant.Transfer()
	return ok && payment.Recipient == transfer.To && payment.Mint == transfer.Mint &&
		payment.Amount.Decimal(decimalsIn(mints, payment.Mint)) == transfer.Amount
}

func paid(payment propose.Payment, mints map[solana.PublicKey]uint8) string {
	if _, known := mints[payment.Mint]; !known && payment.Mint != amount.SOL {
		return payment.Amount.String() + " base units of " + payment.Mint.String()
	}
	return payment.Amount.Decimal(decimalsIn(mints, payment.Mint)) + unitOf(payment.Mint)
}

// sellingNeedsCap reports that a swap buys what the signer would not sell.
func sellingNeedsCap(meant intent.Intent, signer caps.Signer) bool {
	swap, ok := meant.Swap()
	if !ok || signer.AllowUncapped {
		return false
	}
	_, capped := caps.DecimalsOf(swap.Output, signer.Capped)
	return !capped
}
