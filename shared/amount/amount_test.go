package amount_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/shared/amount"
)

func TestParseDecimal(t *testing.T) {
	const highest = math.MaxUint64
	for _, c := range []struct {
		text     string
		decimals uint8
		want     amount.Units
		err      error
	}{
		{"1", 9, 1_000_000_000, nil},
		{"0.25", 9, 250_000_000, nil},
		{"0.000000001", 9, 1, nil},
		{"0.1", 9, 100_000_000, nil},
		{"0.10", 9, 100_000_000, nil},
		{"0.1000000000000000000000", 9, 100_000_000, nil}, // zeros say nothing
		{"007.5", 1, 75, nil},
		{"42", 0, 42, nil},
		{"42.0", 0, 42, nil},
		{"18446744073709551615", 0, highest, nil},
		{"18446744073.709551615", 9, highest, nil},
		{"0.00000000000000000001", 20, 1, nil},

		{"18446744073709551616", 0, 0, amount.ErrRange},
		{"18446744073.709551616", 9, 0, amount.ErrRange},
		{"1", 255, 0, amount.ErrRange},
		{"99999999999999999999999999", 0, 0, amount.ErrRange},
		{"0.0000000001", 9, 0, amount.ErrPrecision},
		{"0.5", 0, 0, amount.ErrPrecision},
		{"0", 9, 0, amount.ErrZero},
		{"0.000", 9, 0, amount.ErrZero},
		{"00", 0, 0, amount.ErrZero},
		{"", 9, 0, amount.ErrSyntax},
		{".", 9, 0, amount.ErrSyntax},
		{".5", 9, 0, amount.ErrSyntax},
		{"5.", 9, 0, amount.ErrSyntax},
		{"1.2.3", 9, 0, amount.ErrSyntax},
		{"-1", 9, 0, amount.ErrSyntax},
		{"+1", 9, 0, amount.ErrSyntax},
		{"-0", 9, 0, amount.ErrSyntax},
		{" 1", 9, 0, amount.ErrSyntax},
		{"1 ", 9, 0, amount.ErrSyntax},
		{"1\n", 9, 0, amount.ErrSyntax},
		{"1e3", 9, 0, amount.ErrSyntax},
		{"0x10", 9, 0, amount.ErrSyntax},
		{"1_000", 9, 0, amount.ErrSyntax},
		{"1,5", 9, 0, amount.ErrSyntax},
		{"1,000.5", 9, 0, amount.ErrSyntax},
		{"NaN", 9, 0, amount.ErrSyntax},
		{"Inf", 9, 0, amount.ErrSyntax},
		{"max", 9, 0, amount.ErrSyntax},
		{"١", 9, 0, amount.ErrSyntax}, // a digit, of another script
		{"1\x00", 9, 0, amount.ErrSyntax},
		{strings.Repeat("0", 65), 9, 0, amount.ErrSyntax},
		{strings.Repeat("9", 10<<20), 9, 0, amount.ErrSyntax},
	} {
		got, err := amount.ParseDecimal(c.text, c.decimals)
		if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("ParseDecimal(%.40q, %d) = %d, %v; want %d, %v", c.text, c.decimals, got, err, c.want, c.err)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		units    amount.Units
		decimals uint8
		want     string
	}{
		{0, 9, "0"}, {0, 0, "0"}, {1, 9, "0.000000001"}, {250_000_000, 9, "0.25"}, {1_000_000_000, 9, "1"},
		{10, 0, "10"}, {10, 1, "1"}, {math.MaxUint64, 9, "18446744073.709551615"}, {7, 30, "0.000000000000000000000000000007"},
	} {
		if got := c.units.Decimal(c.decimals); got != c.want {
			t.Errorf("%d with %d decimals = %q, want %q", c.units, c.decimals, got, c.want)
		}
	}
}

func TestDecimalReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := amount.Units(rapid.Uint64Min(1).Draw(t, "units"))
		decimals := uint8(rapid.IntRange(0, 30).Draw(t, "decimals"))
		text := units.Decimal(decimals)
		if got, err := amount.ParseDecimal(text, decimals); err != nil || got != units {
			t.Fatalf("%d with %d decimals is written %q and read as %d, %v", units, decimals, text, got, err)
		}
	})
}

// What parses is exactly the number that a rational of the same text is.
func FuzzParseDecimal(f *testing.F) {
	for _, text := range []string{"1", "0.25", "18446744073.709551615", "0.0000000001", "-1", "1e3", ".5", "00.10", "NaN", "١"} {
		f.Add(text, uint8(9))
	}
	f.Fuzz(func(t *testing.T, text string, decimals uint8) {
		units, err := amount.ParseDecimal(text, decimals)
		if err != nil {
			if units != 0 {
				t.Fatalf("%q gave both %d and %v", text, units, err)
			}
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number and was read as %d", text, units)
		}
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
		want.Mul(want, new(big.Rat).SetInt(scale))
		if got := new(big.Rat).SetInt(new(big.Int).SetUint64(uint64(units))); got.Cmp(want) != 0 {
			t.Fatalf("%q with %d decimals was read as %d, want %s", text, decimals, units, want.RatString())
		}
		if again, err := amount.ParseDecimal(units.Decimal(decimals), decimals); err != nil || again != units {
			t.Fatalf("%d does not read back: %d, %v", units, again, err)
		}
	})
}

func TestSumIsExactOrFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Large halves, so that the limit is met from both sides.
		value := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(math.MaxUint64/2-3, math.MaxUint64/2+3), rapid.Uint64Range(0, 3))
		parts := rapid.SliceOfN(value, 0, 4).Draw(t, "parts")
		units, want := make([]amount.Units, len(parts)), new(big.Int)
		for i, part := range parts {
			units[i] = amount.Units(part)
			want.Add(want, new(big.Int).SetUint64(part))
		}
		checkExact(t, "sum", want, func() (amount.Units, error) { return amount.Sum(units...) })
	})
}

func TestMulDivIsExactOrFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.Uint64().Draw(t, "units")
		numerator := rapid.Uint64().Draw(t, "numerator")
		denominator := rapid.Uint64Min(1).Draw(t, "denominator")
		up := rapid.Bool().Draw(t, "up")
		product := new(big.Int).Mul(new(big.Int).SetUint64(units), new(big.Int).SetUint64(numerator))
		want, rest := new(big.Int).QuoRem(product, new(big.Int).SetUint64(denominator), new(big.Int))
		if up && rest.Sign() != 0 {
			want.Add(want, big.NewInt(1))
		}
		checkExact(t, "product", want, func() (amount.Units, error) {
			return amount.Units(units).MulDiv(numerator, denominator, up)
		})
	})
}

func checkExact(t *rapid.T, what string, want *big.Int, compute func() (amount.Units, error)) {
	got, err := compute()
	switch {
	case want.IsUint64() && (err != nil || uint64(got) != want.Uint64()):
		t.Fatalf("%s = %d, %v; want %s", what, got, err, want)
	case !want.IsUint64() && !errors.Is(err, amount.ErrOverflow):
		t.Fatalf("%s = %d, %v; want an overflow, since it is %s", what, got, err, want)
	}
}

func TestMulDivEdges(t *testing.T) {
	if _, err := amount.Units(1).MulDiv(1, 0, false); !errors.Is(err, amount.ErrOverflow) {
		t.Errorf("division by zero: %v", err)
	}
	// 2^64-1 times (2^64-1)/(2^64-2), rounded up, is one more than fits; rounded
	// down it fits exactly.
	largest := amount.Units(math.MaxUint64)
	if got, err := largest.MulDiv(math.MaxUint64-1, math.MaxUint64-1, true); err != nil || got != largest {
		t.Errorf("exact quotient rounded up = %d, %v", got, err)
	}
	if _, err := (largest - 1).MulDiv(math.MaxUint64, math.MaxUint64-2, true); !errors.Is(err, amount.ErrOverflow) {
		t.Errorf("rounding up past the end: %v", err)
	}
}

func TestLessStopsAtZero(t *testing.T) {
	for _, c := range []struct{ u, v, want amount.Units }{
		{5, 3, 2}, {3, 5, 0}, {5, 5, 0}, {math.MaxUint64, 0, math.MaxUint64}, {0, math.MaxUint64, 0},
	} {
		if got := c.u.Less(c.v); got != c.want {
			t.Errorf("%d less %d = %d, want %d", c.u, c.v, got, c.want)
		}
	}
}

func TestStringIsBaseUnits(t *testing.T) {
	if got := amount.Units(math.MaxUint64).String(); got != "18446744073709551615" {
		t.Errorf("String() = %q", got)
	}
}
