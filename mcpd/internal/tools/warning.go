package tools

import (
	"slices"

	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/shared/solana"
)

// warnings are the signer's findings that a person must read before the
// amounts. Every other finding is a note to the transaction it belongs to.
var warnings = map[string]bool{
	"first_seen_recipient":  true,
	"look_alike_recipient":  true,
	"look_alike_mint":       true,
	"unverified_mint":       true,
	"unknown_inner_program": true,
	"permanent_delegate":    true,
	"delegate":              true,
}

// warningLines say first what might be wrong, each thing once.
func warningLines(meant intent.Intent, proposal propose.Proposal, unused bool) []string {
	var lines []string
	for _, effects := range proposal.Effects {
		for _, finding := range effects.Findings {
			line := "WARNING: " + finding.Text
			if warnings[finding.Code] && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if transfer, transfers := meant.Transfer(); transfers && unused {
		lines = append(lines, "WARNING: "+transfer.To.String()+" has never been used: nothing is there on this network. Compare every letter with where the address came from.")
	}
	return lines
}

// recipientName is the owner's name for whom a transfer pays, as the signer
// says it, or as the call did where the signer says none.
func recipientName(meant intent.Intent, proposal propose.Proposal) string {
	transfer, transfers := meant.Transfer()
	if !transfers {
		return ""
	}
	for _, effects := range proposal.Effects {
		for _, payment := range effects.Payments {
			if payment.Recipient == transfer.To && payment.Name != "" {
				return payment.Name
			}
		}
	}
	return transfer.Name
}

// named writes an address in full, behind the name of whose it is, if it has one.
func named(name string, address solana.PublicKey) string {
	if name == "" {
		return address.String()
	}
	return name + " (" + address.String() + ")"
}
