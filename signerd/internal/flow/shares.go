package flow

import (
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/submit"
)

// shares divides the bounds of a batch over its transactions: fees and rent
// are one pot that empties as transactions use it, and what must come in is
// demanded of the last one, less what earlier ones already brought.
type shares struct {
	bounds   effects.Bounds
	count    int
	fee      amount.Units
	rent     amount.Units
	received map[solana.PublicKey]amount.Units
}

// of is the share of the transaction at position i.
func (s *shares) of(i int) effects.Bounds {
	share := s.bounds
	share.MaxFee = s.bounds.MaxFee.Less(s.fee)
	share.MaxRent = s.bounds.MaxRent.Less(s.rent)
	share.MinIn = nil
	if i == s.count-1 {
		share.MinIn = make(map[solana.PublicKey]amount.Units, len(s.bounds.MinIn))
		for mint, least := range s.bounds.MinIn {
			if rest := least.Less(s.received[mint]); rest > 0 {
				share.MinIn[mint] = rest
			}
		}
	}
	return share
}

// spend takes a judged transaction's fee and rent out of the pot.
func (s *shares) spend(judged judge.Judged) error {
	found := judged.Effects()
	fee, feeErr := amount.Sum(s.fee, found.BaseFee(), found.PriorityFee(), found.Tip())
	rent, rentErr := amount.Sum(s.rent, found.Rent())
	if feeErr != nil || rentErr != nil {
		return fault.New(fault.OutsideBounds, "the fees of this batch overflow")
	}
	s.fee, s.rent = fee, rent
	return nil
}

// receive notes what a landed transaction brought in.
func (s *shares) receive(changes []submit.Change) {
	if s.received == nil {
		s.received = make(map[solana.PublicKey]amount.Units)
	}
	for _, change := range changes {
		if sum, err := amount.Sum(s.received[change.Mint], change.In); err == nil {
			s.received[change.Mint] = sum
		}
	}
}
