// Package effects says what a transaction does to the wallet: what it pays and
// to whom, what it costs, which of the wallet's accounts it can reach, and
// whether simulation agrees. It reads bytes and state that were fetched for
// it, and asks nobody.
//
// judge builds Effects; policy, approval, flow and server read them. It promises that
// nothing is netted below zero, that every account that can change is
// explained or refused, and that a transaction is called guarded only if the
// guard in its final bytes covers everything that is exposed.
//
// It has a file for each question that is asked of one draft, whose fields only
// this package writes.
package effects

import (
	"fmt"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

// Flow is what a transaction is for.
type Flow uint8

// The flows.
const (
	Transfer Flow = iota + 1
	Swap
	Claim
)

func (f Flow) String() string {
	switch f {
	case Transfer:
		return "transfer"
	case Swap:
		return "swap"
	case Claim:
		return "claim"
	}
	return fmt.Sprintf("Flow(%d)", uint8(f))
}

// Bounds is what a transaction may do at most and must do at least. SOL stands
// under amount.SOL and includes the wallet's own wrapped SOL.
type Bounds struct {
	// MaxOut leaves the wallet, network fees and rent apart.
	MaxOut map[solana.PublicKey]amount.Units
	MinIn  map[solana.PublicKey]amount.Units
	// MaxFee is base fee, priority fee and tips; MaxRent is the rent of the
	// accounts that are opened. Both in lamports.
	MaxFee     amount.Units
	MaxRent    amount.Units
	Programs   []solana.PublicKey
	Recipients []solana.PublicKey
}

// TokensOut are the tokens that may leave, and not SOL.
func (b Bounds) TokensOut() []solana.PublicKey {
	return slices.DeleteFunc(slices.Collect(maps.Keys(b.MaxOut)), func(mint solana.PublicKey) bool { return mint == amount.SOL })
}

// Class says how much of a transaction's effect is certain.
type Class uint8

// The classes.
const (
	// Complete: known programs only; every effect follows from the bytes.
	Complete Class = iota + 1
	// Guarded: an opaque program, held within bounds by the chain itself.
	Guarded
	// Unguarded: only simulation speaks for it.
	Unguarded
)

func (c Class) String() string {
	switch c {
	case Complete:
		return "complete"
	case Guarded:
		return "guarded"
	case Unguarded:
		return "unguarded"
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// Change is what simulation showed for one asset, network fees and rent apart.
type Change struct {
	Mint     solana.PublicKey
	Decimals uint8
	Out      amount.Units
	In       amount.Units
}

// Payment is an amount that the bytes give to somebody else.
type Payment struct {
	Recipient solana.PublicKey
	// Name is what the owner calls the recipient, or empty.
	Name string
	Mint solana.PublicKey
	// Amount leaves the wallet. Received is the least of it that arrives: the
	// fee that a Token-2022 mint may keep back lies between.
	Amount, Received amount.Units
}

// Finding is something that a person should know.
type Finding struct {
	Code string
	Text string
}

// Effects is the judgement of one transaction. Only Draft.Finish makes one, and
// Strictest one out of several.
type Effects struct {
	draft   Draft
	class   Class
	changes []Change
	inner   []Finding
	// held is what the wallet held of each asset before, and assets are those
	// that the transaction is about.
	held      map[solana.PublicKey]amount.Units
	assets    []solana.PublicKey
	simulated bool
	stamped   bool
}

// Stamped reports whether Finish made this value.
func (e Effects) Stamped() bool { return e.stamped }

// Class is how certain the effects are.
func (e Effects) Class() Class { return e.class }

// Changes are what simulation showed, SOL first; empty where it was not run.
func (e Effects) Changes() []Change { return slices.Clone(e.changes) }

// Simulated is false where an earlier transaction must land first.
func (e Effects) Simulated() bool { return e.simulated }

// BaseFee is the signature fee as far as the wallet pays it.
func (e Effects) BaseFee() amount.Units { return e.draft.baseFee }

// PriorityFee is price times limit, used or not, as far as the wallet pays it.
func (e Effects) PriorityFee() amount.Units { return e.draft.priorityFee }

// Tip is what goes to known tip accounts.
func (e Effects) Tip() amount.Units { return e.draft.tip }

// Rent is that of every account opened at the wallet's cost.
func (e Effects) Rent() amount.Units { return e.draft.rent }

// RentReturned is the part of Rent that the same transaction gives back.
func (e Effects) RentReturned() amount.Units { return e.draft.rentReturned }

// Payments are what the bytes give to others, tips apart.
func (e Effects) Payments() []Payment { return slices.Clone(e.draft.payments) }

// Programs are all programs called at top level.
func (e Effects) Programs() []solana.PublicKey { return slices.Clone(e.draft.programs) }

// OpaquePrograms are those of them whose effects the bytes do not show.
func (e Effects) OpaquePrograms() []solana.PublicKey { return slices.Clone(e.draft.opaque) }

// Instructions names the instructions, in order.
func (e Effects) Instructions() []string { return slices.Clone(e.draft.names) }

// Findings are what a person should know.
func (e Effects) Findings() []Finding { return slices.Concat(e.draft.findings, e.inner) }

// Held is what the wallet held of each asset before, as far as the transaction
// names its accounts. What lies in an account that is not named is not counted,
// so the share that a transaction may take is never understated.
func (e Effects) Held() map[solana.PublicKey]amount.Units { return maps.Clone(e.held) }

// Assets are what may leave or must arrive by the bounds, or moves in
// simulation, or lies in an account of the wallet that can change.
func (e Effects) Assets() []solana.PublicKey { return slices.Clone(e.assets) }

// Loose is what lies in token accounts of the wallet beyond their rent, where an
// opaque program can take it and the guard cannot see that.
func (e Effects) Loose() amount.Units { return e.draft.loose }

// Charge is the worst case that bounds and bytes allow, as the caps count it:
// for SOL the amount, fees, tips and rent together, and what no guard can hold.
func (e Effects) Charge() (map[solana.PublicKey]amount.Units, error) {
	charge := make(map[solana.PublicKey]amount.Units, len(e.draft.bounds.MaxOut)+1)
	maps.Copy(charge, e.draft.bounds.MaxOut)
	total, err := amount.Sum(charge[amount.SOL], e.draft.baseFee, e.draft.priorityFee, e.draft.tip, e.draft.rent, e.draft.loose)
	charge[amount.SOL] = total
	return charge, err
}
