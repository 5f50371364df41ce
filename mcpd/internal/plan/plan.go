// Package plan makes unsigned transactions: it builds transfers, adopts what
// the Bags API built, and states for each what it means to do and the bounds it
// asks for. It is pure: what it needs of the chain comes in a Snapshot. caps
// comes before it, chain and simulate take its types. It promises that no
// Unsigned exists over the size limit, with a version other than legacy or v0,
// without the wallet among its signers, or for an intent that was not admitted.
package plan

import (
	"slices"

	"countersign/mcpd/internal/caps"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Flow is the kind of batch.
type Flow uint8

// The flows.
const (
	FlowTransfer Flow = iota + 1
	FlowSwap
	FlowClaim
)

// Asset is an amount of one asset; amount.SOL stands for SOL.
type Asset struct {
	Mint   solana.PublicKey
	Amount amount.Units
}

// Bounds is what the signer is asked to allow.
type Bounds struct {
	MaxOut     []Asset
	MinIn      []Asset
	MaxFee     amount.Units
	MaxRent    amount.Units
	Programs   []solana.PublicKey
	Recipients []solana.PublicKey
}

// MaxOutOf is what may leave of one asset.
func (b Bounds) MaxOutOf(mint solana.PublicKey) amount.Units { return find(b.MaxOut, mint) }

// MinInOf is what must arrive of one asset.
func (b Bounds) MinInOf(mint solana.PublicKey) amount.Units { return find(b.MinIn, mint) }

func find(assets []Asset, mint solana.PublicKey) amount.Units {
	for _, asset := range assets {
		if asset.Mint == mint {
			return asset.Amount
		}
	}
	return 0
}

// WorstSOL is the most SOL the bounds let go: outflow, fees and rent.
func (b Bounds) WorstSOL() (amount.Units, error) {
	return amount.Sum(b.MaxOutOf(amount.SOL), b.MaxFee, b.MaxRent)
}

// Account is one account as the chain holds it.
type Account struct {
	Lamports   amount.Units
	Owner      solana.PublicKey
	Executable bool
	Data       []byte
}

// Snapshot is what plan knows of the chain. A key that was asked for and is
// missing from Accounts does not exist.
type Snapshot struct {
	Accounts  map[solana.PublicKey]Account
	Blockhash solana.Hash
	// Rent is the rent-exempt minimum by data size.
	Rent map[int]amount.Units
}

// Unsigned is an ordered batch that serves one admitted intent.
type Unsigned struct {
	admitted caps.Admitted
	flow     Flow
	batch    [][]byte
	reads    []Read
	bounds   Bounds
	stamped  bool
}

// Admitted is the intent that the batch serves.
func (u Unsigned) Admitted() caps.Admitted { return u.admitted }

// Flow is the kind of batch.
func (u Unsigned) Flow() Flow { return u.flow }

// Batch is the wire bytes of the transactions, in order.
func (u Unsigned) Batch() [][]byte { return slices.Clone(u.batch) }

// Reads is what plan read in each transaction.
func (u Unsigned) Reads() []Read { return slices.Clone(u.reads) }

// Bounds is what the signer is asked to allow.
func (u Unsigned) Bounds() Bounds { return u.bounds }

// Stamped reports that this package made u.
func (u Unsigned) Stamped() bool { return u.stamped }

// WithRent returns u with more rent in its bounds, for accounts that only
// simulation could show.
func (u Unsigned) WithRent(more amount.Units) (Unsigned, error) {
	rent, err := amount.Sum(u.bounds.MaxRent, more)
	if err != nil {
		return Unsigned{}, fault.New(fault.UpstreamBadAnswer, "the rent of the transaction is too large").Because(err)
	}
	u.bounds.MaxRent = rent
	return u, nil
}

// How much more than the built priority fee a rebuild may pay, since the fee
// market moves between preview and confirmation: as much again, but within
// these. What the signer's guard adds (Read.Guard) comes on top.
const (
	maxPriorityHeadroom = 1_000_000
	minPriorityHeadroom = 10_000
)

// assemble checks and sums what is the same for every flow.
func assemble(admitted caps.Admitted, flow Flow, batch [][]byte, reads []Read, snapshot Snapshot, bounds Bounds) (Unsigned, error) {
	if !admitted.Stamped() {
		return Unsigned{}, fault.New(fault.Internal, "an intent was not admitted")
	}
	if len(batch) == 0 || len(batch) != len(reads) {
		return Unsigned{}, fault.New(fault.UpstreamBadAnswer, "there is no transaction to propose")
	}
	opened := map[solana.PublicKey]bool{}
	for _, read := range reads {
		if !slices.Contains(read.Signers, admitted.Signer().Wallet) {
			return Unsigned{}, fault.New(fault.UpstreamBadAnswer, "the transaction does not ask for the wallet's signature")
		}
		headroom := max(minPriorityHeadroom, min(read.Priority, maxPriorityHeadroom))
		fee, err := amount.Sum(bounds.MaxFee, read.Base, read.Priority, read.Guard, headroom)
		if err != nil {
			return Unsigned{}, fault.New(fault.UpstreamBadAnswer, "the fees of the transaction are too large").Because(err)
		}
		bounds.MaxFee = fee
		for _, program := range read.Opaque {
			if !slices.Contains(bounds.Programs, program) {
				bounds.Programs = append(bounds.Programs, program)
			}
		}
		if bounds.MaxRent, err = addRent(bounds.MaxRent, read, snapshot, opened); err != nil {
			return Unsigned{}, err
		}
	}
	return Unsigned{admitted: admitted, flow: flow, batch: batch, reads: reads, bounds: bounds, stamped: true}, nil
}

// addRent counts each token account that a transaction opens and that does
// not exist yet. One that is closed in between and opened again counts each
// time: rent that comes back is still out for a while.
func addRent(sum amount.Units, read Read, snapshot Snapshot, opened map[solana.PublicKey]bool) (amount.Units, error) {
	for _, opening := range read.Opens {
		if _, exists := snapshot.Accounts[opening.Account]; exists && !opened[opening.Account] {
			continue
		}
		size, err := TokenAccountSize(opening.Program, opening.Mint, snapshot)
		if err != nil {
			return 0, err
		}
		rent, known := snapshot.Rent[size]
		if !known {
			return 0, fault.New(fault.Internal, "the rent of an account is not known")
		}
		if sum, err = amount.Sum(sum, rent); err != nil {
			return 0, fault.New(fault.UpstreamBadAnswer, "the rent of the transaction is too large").Because(err)
		}
		opened[opening.Account] = true
	}
	return sum, nil
}
