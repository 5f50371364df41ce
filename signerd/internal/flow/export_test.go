package flow

import (
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/submit"
)

// Shares lets tests outside the package see how bounds are divided.
type Shares struct{ shares }

// NewShares divides bounds over count transactions.
func NewShares(bounds effects.Bounds, count int) *Shares {
	return &Shares{shares{bounds: bounds, count: count}}
}

// Of is the share of one transaction.
func (s *Shares) Of(i int) effects.Bounds { return s.of(i) }

// Receive notes what one brought in.
func (s *Shares) Receive(changes []submit.Change) { s.receive(changes) }
