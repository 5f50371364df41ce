// Package stated holds mcpd to its word. A proposal comes with the tool call
// that it claims to serve: that text is what the audit log keeps and what a
// person approves. Check refuses a proposal whose bounds say anything else, so
// that a compromised mcpd cannot have "0.01" approved and 0.1 paid.
//
// flow calls it before anything is judged. It is pure, and promises that a
// text it lets through has exactly one reading: RFC 8785 canonical JSON of a
// known tool's arguments, normalised.
package stated

import (
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// The tools that may ask for a signature.
const (
	toolTrade    = "bags_execute_trade"
	toolClaim    = "bags_claim_fees"
	toolTransfer = "solana_transfer"
)

// Decimals says how many digits behind the point a mint has, if it is known.
// It is not asked about SOL.
type Decimals = func(mint solana.PublicKey) (uint8, bool)

// Check returns an IntentMismatch fault unless tool and arguments say what flow
// and bounds do: what leaves and how much of it, what must arrive, who is paid.
// Fees, rent and the least amount that arrives are no part of a tool call.
func Check(tool, arguments string, flow effects.Flow, bounds effects.Bounds, decimals Decimals) error {
	switch tool {
	case toolTrade:
		return checkTrade(arguments, flow, bounds, decimals)
	case toolClaim:
		return checkClaim(arguments, flow, bounds)
	case toolTransfer:
		return checkTransfer(arguments, flow, bounds, decimals)
	}
	return mismatch("the signer knows no tool of that name that may ask for a signature")
}

func mismatch(format string, args ...any) error {
	return fault.New(fault.IntentMismatch, "the proposal is not what its tool call says: "+format, args...)
}

// Shape refuses bounds that no tool call of the flow could state: a tool names
// one asset that leaves and how much of it, another that arrives, one recipient,
// or none of these.
func Shape(flow effects.Flow, bounds effects.Bounds) error {
	type shape struct{ out, in, recipients int }
	shapes := map[effects.Flow]shape{effects.Transfer: {1, 0, 1}, effects.Swap: {1, 1, 0}, effects.Claim: {0, 1, 0}}
	want, known := shapes[flow]
	switch {
	case !known:
		return mismatch("no tool asks for a %s", flow)
	case len(bounds.MaxOut) != want.out:
		return mismatch("of %d assets something may leave, and a %s gives %d away", len(bounds.MaxOut), flow, want.out)
	case len(bounds.MinIn) != want.in:
		return mismatch("%d assets arrive, and a %s brings %d", len(bounds.MinIn), flow, want.in)
	case len(bounds.Recipients) != want.recipients:
		return mismatch("%d others are paid, and a %s pays %d", len(bounds.Recipients), flow, want.recipients)
	case flow == effects.Transfer && len(bounds.Programs) != 0:
		return mismatch("a transfer calls no other programs")
	case slices.ContainsFunc(bounds.Recipients, solana.PublicKey.IsZero):
		return mismatch("the System program is no recipient")
	case flow == effects.Claim && bounds.MinIn[amount.SOL] == 0:
		return mismatch("a claim brings SOL")
	}
	return checkAmounts(bounds)
}

// checkAmounts refuses amounts of nothing, and an asset given for itself.
func checkAmounts(bounds effects.Bounds) error {
	for asset, units := range bounds.MaxOut {
		if units == 0 {
			return mismatch("nothing of %s leaves", name(asset))
		}
		if _, both := bounds.MinIn[asset]; both {
			return mismatch("%s is given for itself", name(asset))
		}
	}
	for asset, units := range bounds.MinIn {
		if units == 0 {
			return mismatch("nothing of %s arrives", name(asset))
		}
	}
	return nil
}

func checkTrade(arguments string, flow effects.Flow, bounds effects.Bounds, decimals Decimals) error {
	stated, err := readTrade(arguments)
	if err != nil {
		return err
	}
	if flow != effects.Swap {
		return mismatch("a trade is proposed as a %s", flow)
	}
	if err := Shape(flow, bounds); err != nil {
		return err
	}
	if bounds.MinIn[stated.output] == 0 {
		return mismatch("something else is bought than %s", name(stated.output))
	}
	return checkOut(bounds, stated.input, stated.amount, decimals)
}

func checkClaim(arguments string, flow effects.Flow, bounds effects.Bounds) error {
	if err := checkMints(arguments); err != nil {
		return err
	}
	if flow != effects.Claim {
		return mismatch("a claim is proposed as a %s", flow)
	}
	return Shape(flow, bounds)
}

func checkTransfer(arguments string, flow effects.Flow, bounds effects.Bounds, decimals Decimals) error {
	stated, err := readTransfer(arguments)
	if err != nil {
		return err
	}
	if flow != effects.Transfer {
		return mismatch("a transfer is proposed as a %s", flow)
	}
	if err := Shape(flow, bounds); err != nil {
		return err
	}
	if bounds.Recipients[0] != stated.to {
		return mismatch("somebody else is paid than %s", stated.to)
	}
	return checkOut(bounds, stated.mint, stated.amount, decimals)
}

// checkOut demands that exactly the stated amount may leave, of that asset and
// of no other.
func checkOut(bounds effects.Bounds, asset solana.PublicKey, text string, decimals Decimals) error {
	digits, known := uint8(amount.SOLDecimals), true
	if asset != amount.SOL {
		digits, known = decimals(asset)
	}
	if !known {
		return mismatch("the decimals of %s are not known", asset)
	}
	units, err := amount.ParseDecimal(text, digits)
	if err != nil || units == 0 || units.Decimal(digits) != text {
		return mismatch("the stated amount is no amount of %s in its shortest form", name(asset))
	}
	if out, named := bounds.MaxOut[asset]; !named || out != units {
		return mismatch("something else may leave than %s %s", text, name(asset))
	}
	return nil
}

func name(asset solana.PublicKey) string {
	if asset == amount.SOL {
		return "SOL"
	}
	return asset.String()
}
