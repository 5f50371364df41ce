package explain

import (
	"errors"
	"fmt"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/policy"
)

// Wanted is an amount that the caller names. Its units are known at once for
// the assets of the policy, and otherwise when the mint has been read.
type Wanted struct {
	Mint   solana.PublicKey
	number string
}

// ParseWanted reads "0.1 SOL", "5 USDC" with a name of the policy's, or an
// amount and the address of a mint.
func ParseWanted(text string, rules *policy.Policy) (Wanted, error) {
	number, unit, spaced := strings.Cut(strings.TrimSpace(text), " ")
	if !spaced {
		return Wanted{}, errors.New("give an amount and its unit, such as \"0.1 SOL\"")
	}
	decimals := uint8(amount.SOLDecimals)
	mint, err := solana.ParsePublicKey(unit)
	known := false
	for _, asset := range rules.Caps() {
		if asset.Name == unit || (err == nil && asset.Mint == mint && mint != amount.SOL) {
			mint, decimals, known = asset.Mint, asset.Decimals, true
		}
	}
	switch {
	case !known && err != nil:
		return Wanted{}, fmt.Errorf("%q is neither a unit of the policy nor the address of a mint", unit)
	case !known && mint == amount.SOL:
		return Wanted{}, errors.New("that address is the System program's, not a mint's")
	case mint == solana.WrappedSOL:
		mint, known = amount.SOL, true
	}
	_, err = amount.ParseDecimal(number, decimals)
	if err != nil && !errors.Is(err, amount.ErrZero) && (known || errors.Is(err, amount.ErrSyntax)) {
		return Wanted{}, err
	}
	return Wanted{Mint: mint, number: number}, nil
}

// resolve turns wanted amounts into units. What cannot be is said.
func (s *study) resolve(flag string, wanted []Wanted) map[solana.PublicKey]amount.Units {
	resolved := make(map[solana.PublicKey]amount.Units, len(wanted))
	for _, each := range wanted {
		decimals, known := s.decimals(each.Mint)
		if !known {
			s.assume("%s %s %s is left out: the mint's decimals are not known", flag, each.number, each.Mint)
			continue
		}
		units, err := amount.ParseDecimal(each.number, decimals)
		if err != nil && !errors.Is(err, amount.ErrZero) {
			s.assume("%s %s %s is left out: %v", flag, each.number, each.Mint, err)
			continue
		}
		resolved[each.Mint] = units
	}
	return resolved
}

func (s *study) assume(format string, args ...any) {
	s.assumed = append(s.assumed, fmt.Sprintf(format, args...))
}

// decimals of an asset: what the chain says, or the policy.
func (s *study) decimals(mint solana.PublicKey) (uint8, bool) {
	if mint == amount.SOL || mint == solana.WrappedSOL {
		return amount.SOLDecimals, true
	}
	if info, ok := s.mints[mint]; ok {
		return info.Decimals, true
	}
	if asset, ok := s.Policy.Cap(mint); ok {
		return asset.Decimals, true
	}
	return 0, false
}

// assetName is what the policy calls an asset, or nothing.
func (s *study) assetName(mint solana.PublicKey) string {
	if asset, ok := s.Policy.Cap(amount.Asset(mint)); ok {
		return asset.Name
	}
	return ""
}

// amount is units of an asset, as reports carry them.
func (s *study) amount(mint solana.PublicKey, units amount.Units) Amount {
	view := Amount{BaseUnits: units.String(), Mint: "SOL", Name: s.assetName(mint)}
	if amount.Asset(mint) != amount.SOL {
		view.Mint = mint.String()
	}
	if decimals, known := s.decimals(mint); known {
		view.Amount, view.Decimals = units.Decimal(decimals), &decimals
	}
	return view
}

func sol(units amount.Units) Amount {
	decimals := uint8(amount.SOLDecimals)
	return Amount{Amount: units.Decimal(decimals), BaseUnits: units.String(), Decimals: &decimals, Mint: "SOL", Name: "SOL"}
}

// money writes an amount for people.
func (s *study) money(mint solana.PublicKey, units amount.Units) string {
	return s.amount(mint, units).String()
}

// String writes an amount for people. A token that the owner has not named
// goes by the address of its mint.
func (a Amount) String() string {
	switch {
	case a.Mint == "SOL":
		return a.Amount + " SOL"
	case a.Decimals == nil:
		return a.BaseUnits + " base units of token " + a.Mint
	case a.Name == "":
		return a.Amount + " of token " + a.Mint
	}
	return a.Amount + " " + a.Name
}

// ParseFee reads an amount of SOL, such as "0.001 SOL".
func ParseFee(text string) (*amount.Units, error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	if unit != "SOL" {
		return nil, errors.New("must be an amount of SOL, such as \"0.001 SOL\"")
	}
	units, err := amount.ParseDecimal(number, amount.SOLDecimals)
	if err != nil && !errors.Is(err, amount.ErrZero) {
		return nil, err
	}
	return &units, nil
}
