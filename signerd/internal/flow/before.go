package flow

import (
	"context"
	"strconv"

	"countersign/shared/fault"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/submit"
)

// landedBefore is a result that does not take back what the audit log calls landed. A
// ledger that was put back, or that a crash kept from being told, may still wait for
// the outcome, and nodes forget: one that keeps no long history, and is far past a
// transaction's life, proves absent what landed long ago.
func (f *Flow) landedBefore(ctx context.Context, p ledger.Pending, result submit.Result) (submit.Result, error) {
	if result.Outcome != submit.Expired || p.Outcome != submit.Unknown {
		return result, nil
	}
	told, err := f.stages.Audit.NewestWith(ctx, reservationField, p.ReservationID)
	if err != nil {
		return result, err
	}
	before := submit.Result{Signature: p.Signature}
	switch Outcome(told["outcome"]) {
	case Landed:
		before.Outcome = submit.Landed
	case LandedFailed:
		before.Outcome = submit.LandedFailed
		before.Fault = fault.New(fault.FailedOnChain, "the transaction landed and failed on chain, as the audit log has it; no RPC node shows it any more")
	case NothingSent, Expired, Unknown, InProgress:
		return result, nil
	default:
		return result, nil // Records of a reservation and of a signature have none.
	}
	before.Slot, _ = strconv.ParseUint(told["slot"], 10, 64) // It is only told.
	return before, nil
}
