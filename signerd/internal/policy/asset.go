package policy

import (
	"cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// AssetCap is what may leave of one asset. SOL's mint is amount.SOL.
type AssetCap struct {
	Mint           solana.PublicKey
	Name           string
	Decimals       uint8
	PerTransaction amount.Units
	PerSession     amount.Units
	PerDay         amount.Units
	// PerDestination is what one recipient may be paid in any 24 hours, or nil
	// where the owner drew no such line.
	PerDestination *amount.Units
	// Ceiling is what one transaction may take whoever consents, or nil.
	Ceiling *amount.Units
}

// Exceeded words that units do not fit under one of the asset's caps. window is
// transaction, session, day or destination. The ledger, which decides, says it
// in the same words as the policy, which only looks.
func (a AssetCap) Exceeded(window string, most amount.Units, held Held, units amount.Units) *fault.Fault {
	if held == (Held{}) {
		return fault.New(fault.CapExceeded, "%s is over the cap of %s per %s", a.money(units), a.money(most), window)
	}
	return fault.New(fault.CapExceeded, "%s is over what the cap per %s leaves: cap %s, used %s, reserved %s, left %s",
		a.money(units), window, most.Decimal(a.Decimals), held.Used.Decimal(a.Decimals),
		held.Reserved.Decimal(a.Decimals), most.Less(held.Used).Less(held.Reserved).Decimal(a.Decimals))
}

// money writes an amount with its unit.
func (a AssetCap) money(units amount.Units) string { return units.Decimal(a.Decimals) + " " + a.Name }

// Uncapped words that a token without a cap is not spent.
func Uncapped(mint solana.PublicKey) *fault.Fault {
	return fault.New(fault.AssetUncapped, "token %s has no cap, so what it is worth cannot be limited", mint)
}

// HourExceeded words that the cap on transactions per hour is reached.
func HourExceeded(recent, most int) *fault.Fault {
	return fault.New(fault.CapExceeded, "%d transactions were signed in the last hour, and the cap is %d", recent, most)
}

// Destination is one asset on its way to one recipient.
type Destination struct {
	Recipient solana.PublicKey
	Mint      solana.PublicKey
}

// Compare orders destinations, so that the same payments always meet the same
// cap first.
func (d Destination) Compare(other Destination) int {
	return cmp.Or(d.Recipient.Compare(other.Recipient), d.Mint.Compare(other.Mint))
}

// Held is what stands against a cap.
type Held struct {
	// Used is settled.
	Used amount.Units
	// Reserved is under way or of unknown outcome.
	Reserved amount.Units
}

// Usage is what stands against every cap at one moment.
type Usage struct {
	Session map[solana.PublicKey]Held
	Day     map[solana.PublicKey]Held
	// Destination is what each recipient was paid within the day.
	Destination          map[Destination]Held
	TransactionsLastHour int
}
