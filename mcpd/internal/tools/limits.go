package tools

import (
	"slices"
	"strings"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/intent"
	"countersign/shared/amount"
)

// LimitLines word what is left: a line for SOL, with the count of transactions,
// and one for each token, with the name that the owner gave it.
func LimitLines(limits *LimitsView, capped []caps.Mint) []string {
	if limits == nil {
		return nil
	}
	native := intent.AssetText(amount.SOL)
	order := []string{native}
	parts := map[string][]string{}
	for _, window := range limits.Windows {
		mint := window.Mint
		if window.Name == caps.WindowTransactions {
			mint = native
		}
		if !slices.Contains(order, mint) {
			order = append(order, mint)
		}
		parts[mint] = append(parts[mint], windowWords(window, mint == native))
	}
	var lines []string
	for _, mint := range order {
		if len(parts[mint]) == 0 {
			continue
		}
		title := "Left now: "
		if mint != native {
			title = "Left now of " + tokenName(mint, capped) + ": "
		}
		lines = append(lines, title+strings.Join(parts[mint], "; "))
	}
	return lines
}

func windowWords(window WindowView, inSOL bool) string {
	unit := ""
	if inSOL {
		unit = " SOL"
	}
	share := window.Left + " of " + window.Cap
	switch window.Name {
	case caps.WindowTransaction:
		return "at most " + window.Cap + unit + " in one transaction"
	case caps.WindowSession:
		return share + unit + " left in this session"
	case caps.WindowDay:
		return share + unit + " left in 24 hours"
	case caps.WindowTransactions:
		return share + " transactions left this hour"
	}
	return share + unit + " left (" + window.Name + ")"
}

// tokenName puts the owner's name beside the mint, which stays in full.
func tokenName(mint string, capped []caps.Mint) string {
	for _, known := range capped {
		if known.Name != "" && intent.AssetText(known.Address) == mint {
			return known.Name + " (" + mint + ")"
		}
	}
	return mint
}
