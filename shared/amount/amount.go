// Package amount holds money: integers of base units, decimal text in and
// out, checked arithmetic. There is no floating point here and none may come.
// Any package may import it.
package amount

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"

	"countersign/shared/solana"
)

// Units counts base units of one asset: lamports of SOL, or the smallest
// fraction of a token.
type Units uint64

// SOLDecimals is how many digits a lamport is behind the point.
const SOLDecimals = 9

// SOL is the mint that stands for native SOL (and for the wallet's own wrapped
// SOL) wherever an asset is named by its mint: the zero key, which is the
// System program and so can never be a mint.
var SOL = solana.PublicKey{}

// Asset is the mint under which amounts of a mint count: wrapped SOL is SOL.
func Asset(mint solana.PublicKey) solana.PublicKey {
	if mint == solana.WrappedSOL {
		return SOL
	}
	return mint
}

// The ways a decimal text can be wrong.
var (
	ErrSyntax    = errors.New("amount must be a plain decimal number such as 0.25")
	ErrPrecision = errors.New("amount has more digits behind the point than the asset has")
	ErrRange     = errors.New("amount is too large")
	ErrZero      = errors.New("amount must be greater than zero")
	// ErrOverflow is for sums that no u64 holds.
	ErrOverflow = errors.New("sum of amounts is too large")
)

// maxText bounds what ParseDecimal looks at: 20 digits of a u64, a point and
// more zeros than anyone needs.
const maxText = 64

// ParseDecimal reads whole units, such as "0.25", into base units of an asset
// with the given decimals. Signs, exponents, separators, spaces, a bare point
// and digits that the asset cannot hold are refused, never rounded.
func ParseDecimal(text string, decimals uint8) (Units, error) {
	if text == "" || len(text) > maxText {
		return 0, ErrSyntax
	}
	whole, fraction, pointed := strings.Cut(text, ".")
	if !digits(whole) || (pointed && !digits(fraction)) {
		return 0, ErrSyntax
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > int(decimals) {
		return 0, ErrPrecision
	}
	padded := whole + fraction + strings.Repeat("0", int(decimals)-len(fraction))
	units, err := strconv.ParseUint(strings.TrimLeft(padded, "0"), 10, 64)
	if err != nil {
		if strings.Trim(padded, "0") == "" {
			return 0, ErrZero
		}
		return 0, ErrRange
	}
	return Units(units), nil
}

func digits(text string) bool {
	for _, r := range text {
		if r < '0' || r > '9' {
			return false
		}
	}
	return text != ""
}

// Decimal writes base units as whole units in the shortest exact form, such as
// "0.25". ParseDecimal reads it back.
func (u Units) Decimal(decimals uint8) string {
	text := strconv.FormatUint(uint64(u), 10)
	if decimals == 0 {
		return text
	}
	if missing := int(decimals) + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	point := len(text) - int(decimals)
	fraction := strings.TrimRight(text[point:], "0")
	if fraction == "" {
		return text[:point]
	}
	return text[:point] + "." + fraction
}

// String writes base units as an integer.
func (u Units) String() string { return strconv.FormatUint(uint64(u), 10) }

// Sum adds amounts of one asset, or fails where a u64 would wrap.
func Sum(amounts ...Units) (Units, error) {
	var total uint64
	for _, next := range amounts {
		sum, carry := bits.Add64(total, uint64(next), 0)
		if carry != 0 {
			return 0, ErrOverflow
		}
		total = sum
	}
	return Units(total), nil
}

// Less returns u - v, or zero where v is larger. It is for "what is left",
// never for netting an outflow against an inflow.
func (u Units) Less(v Units) Units {
	if v >= u {
		return 0
	}
	return u - v
}

// MulDiv returns u*numerator/denominator rounded down (up if roundUp), exact
// in 128 bits.
func (u Units) MulDiv(numerator, denominator uint64, roundUp bool) (Units, error) {
	if denominator == 0 {
		return 0, ErrOverflow
	}
	high, low := bits.Mul64(uint64(u), numerator)
	if high >= denominator {
		return 0, ErrOverflow
	}
	quotient, remainder := bits.Div64(high, low, denominator)
	if roundUp && remainder != 0 {
		if quotient == ^uint64(0) {
			return 0, ErrOverflow
		}
		quotient++
	}
	return Units(quotient), nil
}
