package flow

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/submit"
)

// settle moves a reservation to its proven end. An unknown outcome keeps it.
// The chain has decided already, so a record or ledger that cannot be written
// now is logged and tried again by the settling pass.
func (f *Flow) settle(about subject, reservationID string, id solana.Signature, result submit.Result) {
	// The signer may be stopping; the outcome is still worth writing down.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.work), settleInterval)
	defer cancel()
	if err := f.record(ctx, kindSettled, about, map[string]string{
		reservationField: reservationID, signatureField: id.String(),
		"outcome": string(outcomeOf(result.Outcome)), "slot": strconv.FormatUint(result.Slot, 10), "fee": result.Fee.String(),
	}); err != nil {
		f.complain(ctx, "settlement could not be recorded", err, aboutReservation(reservationID))
		return
	}
	if result.Outcome == submit.Unknown {
		f.unresolved.Add(1)
		return
	}
	settlement := ledger.Settlement{Outcome: result.Outcome, Charged: charged(result), At: time.Now()}
	if err := f.stages.Ledger.Settle(ctx, reservationID, settlement); err != nil {
		f.complain(ctx, "settlement could not be stored", err, aboutReservation(reservationID))
	}
}

// complain logs what a later pass will try again. about names the reservation
// or proposal concerned.
func (f *Flow) complain(ctx context.Context, reason string, err error, about ...slog.Attr) {
	f.stages.Logger.LogAttrs(ctx, slog.LevelError, "an outcome is not written down yet",
		append([]slog.Attr{slog.String(logging.KeyReason, reason), logging.Error(err)}, about...)...)
}

func aboutReservation(id string) slog.Attr { return slog.String(logging.KeyReservation, id) }

// storeReceipt keeps the outcome for whoever asks again, and reports whether
// it could. The record comes first: a receipt that is told has one, and the ledger
// remembers it with the receipt. After a crash in between there are two. more are
// the fields of its record that the receipt does not have.
func (f *Flow) storeReceipt(about subject, receipt Receipt, more map[string]string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.work), settleInterval)
	defer cancel()
	raw, err := encodeReceipt(receipt)
	if err == nil {
		data := map[string]string{"tool": receipt.Tool, "outcome": string(receipt.Outcome), fieldOutput: hashOf(raw)}
		maps.Copy(data, more)
		err = f.record(ctx, kindFinished, about, data)
	}
	if err == nil {
		err = f.anchor(ctx)
	}
	if err == nil {
		err = f.stages.Book.Finish(ctx, receipt.ProposalID, raw, receipt.FinishedAt)
	}
	if err != nil {
		f.complain(ctx, "receipt could not be stored", err, slog.String(logging.KeyProposal, receipt.ProposalID))
	}
	return err == nil
}

// checkState refuses a ledger that is an older copy than the audit log, or has
// lost its newest part: SQLite opens a ledger without its -wal file as if
// nothing had been missing. What the log names, the ledger knew before.
func checkState(ctx context.Context, stages Stages) error {
	newest, err := stages.Audit.Newest(reservationField, signatureField)
	if err != nil || newest.Proposal == "" {
		return err
	}
	older := func(what string) error {
		return fault.New(fault.StateLocked, "the ledger does not know %s, which the audit log names: it is an older copy, or its -wal file is missing; restore it", what)
	}
	if _, err := stages.Book.Get(ctx, newest.Proposal); fault.Is(err, fault.NotFound) {
		return older("proposal " + newest.Proposal)
	} else if err != nil {
		return err
	}
	for field, named := range newest.Fields {
		known, err := stages.Ledger.Knows(ctx, named.Proposal, func(p ledger.Pending) bool {
			return field == reservationField && p.ReservationID == named.Value || field == signatureField && p.Signature.String() == named.Value
		})
		if err != nil {
			return err
		}
		if !known {
			return older(field + " " + named.Value)
		}
	}
	return nil
}

// recover finishes what a crash cut short, before anything new is accepted: a
// reservation without stored signed bytes was never sent and is released; one
// with them is left to the settling passes, which only look and send nothing.
func (f *Flow) recover(ctx context.Context) error {
	pending, err := f.stages.Ledger.Unresolved(ctx)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if p.Signed {
			continue
		}
		settlement := ledger.Settlement{Outcome: submit.NothingSent, At: time.Now()}
		if err := f.stages.Ledger.Settle(ctx, p.ReservationID, settlement); err != nil {
			return err
		}
		about := subject{session: p.Session, proposal: p.ProposalID}
		if err := f.record(ctx, kindSettled, about, map[string]string{
			reservationField: p.ReservationID, "outcome": string(NothingSent), "reason": "stopped before signing",
		}); err != nil {
			return err
		}
	}
	return f.closeUnfinished(ctx)
}

// closeUnfinished gives a receipt to every proposal whose execution was cut
// short: what was signed is unknown until a settling pass proves it.
func (f *Flow) closeUnfinished(ctx context.Context) error {
	unfinished, err := f.stages.Book.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, proposal := range unfinished {
		receipt, err := f.rebuildReceipt(ctx, proposal)
		if err != nil {
			return err
		}
		receipt.Fault = storedFault(fault.New(fault.SignerUnavailable, "the signer stopped while this was being executed"))
		f.storeReceipt(subject{session: proposal.Session, proposal: proposal.ID}, receipt, asked(proposal))
	}
	return nil
}

// rebuildReceipt makes a receipt from what the ledger knows.
func (f *Flow) rebuildReceipt(ctx context.Context, proposal approval.Proposal) (Receipt, error) {
	entries, err := f.stages.Ledger.OfProposal(ctx, proposal.ID)
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{
		ProposalID: proposal.ID, Tool: proposal.Tool, Rules: proposal.Rules, Expected: count32(len(proposal.Digests)),
		CreatedAt: proposal.CreatedAt, FinishedAt: time.Now().UTC(),
	}
	for _, entry := range entries {
		if !entry.Signed {
			continue
		}
		// Of what was proven before the stop the ledger has the outcome, and
		// only the chain can tell the rest.
		if entry.Outcome == submit.Landed || entry.Outcome == submit.LandedFailed {
			f.untold.add(entry, untoldPasses)
		}
		receipt.Transactions = append(receipt.Transactions, TransactionReceipt{
			ReservationID: entry.ReservationID, Signature: entry.Signature, Outcome: outcomeOf(entry.Outcome),
		})
	}
	receipt.conclude()
	return receipt, nil
}

// settleUntilClosed looks up unresolved transactions until each is proven
// landed or proven expired.
func (f *Flow) settleUntilClosed() {
	tick := time.NewTicker(settleInterval)
	defer tick.Stop()
	for {
		f.settlePass(f.work)
		select {
		case <-tick.C:
		case <-f.work.Done():
			return
		}
	}
}

// settlePass tries each unresolved transaction once, but for those that an
// execution is still sending.
func (f *Flow) settlePass(ctx context.Context) {
	pending, err := f.stages.Ledger.Unresolved(ctx)
	if err != nil {
		f.complain(ctx, "unresolved transactions cannot be listed", err)
		return
	}
	pending = slices.DeleteFunc(pending, func(p ledger.Pending) bool { return f.turns.runs(p.ProposalID) })
	f.unresolved.Store(count32(len(pending)))
	for _, p := range pending {
		if p.Signed && ctx.Err() == nil {
			f.resolve(ctx, p)
		}
	}
	f.tellOne(ctx)
}

// resolve looks for the outcome of one transaction, writes down what is
// proven, and reports whether there is nothing left to do. The receipt is
// first: once the ledger has the outcome, nobody looks for it again.
func (f *Flow) resolve(ctx context.Context, p ledger.Pending) bool {
	f.resolving.Lock()
	defer f.resolving.Unlock()
	if p.Outcome == submit.Unknown && f.settled(ctx, p) {
		return true
	}
	if err := f.pinned(ctx); err != nil {
		return false // Another network's silence would prove nothing.
	}
	attempt, cancel := context.WithTimeout(ctx, settleInterval)
	defer cancel()
	result, err := f.landedBefore(ctx, p, f.stages.Sender.Resume(attempt, p.Raw, p.Signature, f.lastValid(attempt, p)))
	switch {
	case err != nil:
		f.complain(ctx, "the audit log cannot be asked for an earlier outcome", err, aboutReservation(p.ReservationID))
		return false
	case result.Outcome == submit.Unknown:
		return false
	case p.Outcome != submit.Unknown && p.Outcome != result.Outcome:
		return true // A node that has forgotten it disproves nothing.
	case p.Outcome != submit.Unknown && !result.Told():
		return false // There is nothing to add to the receipt yet.
	}
	delete(f.lowered, p.ReservationID)
	about := subject{session: p.Session, proposal: p.ProposalID}
	if !f.retell(ctx, about, p, result) {
		return false
	}
	if p.Outcome != submit.Unknown {
		return true
	}
	f.settle(about, p.ReservationID, p.Signature, result)
	if result.Untold() {
		f.tellLater(p.ProposalID, p.ReservationID)
	}
	return true
}

// lastValid is the last height at which a signed transaction can land. What the
// ledger holds comes from nodes that may have been wrong: far too high, and its
// expiry would never be proven. But its blockhash was valid when it was signed,
// so from any later moment on it lives for one lifetime at most, counted on nodes
// that may all be as far behind as they are allowed to be; the lowest such height
// that was seen counts. The caller holds resolving.
func (f *Flow) lastValid(ctx context.Context, p ledger.Pending) uint64 {
	known, ok := f.lowered[p.ReservationID]
	if !ok {
		known = p.LastValidHeight
	}
	if now, err := f.stages.Chain.BlockHeight(ctx, "confirmed"); err == nil {
		known = min(known, now+solana.BlockhashLifetime+chain.MostBehind)
	}
	f.lowered[p.ReservationID] = known
	return known
}

// settled reports that an outcome has been written down since p was read.
func (f *Flow) settled(ctx context.Context, p ledger.Pending) bool {
	known, err := f.stages.Ledger.Knows(ctx, p.ProposalID, func(now ledger.Pending) bool {
		return now.ReservationID == p.ReservationID && now.Outcome != submit.Unknown
	})
	return err == nil && known
}

// retell writes a proven outcome into the stored receipt.
func (f *Flow) retell(ctx context.Context, about subject, p ledger.Pending, result submit.Result) bool {
	proposal, err := f.stages.Book.Get(ctx, p.ProposalID)
	if err != nil {
		f.complain(ctx, "proposal of a settled transaction is missing", err, aboutReservation(p.ReservationID))
		return false
	}
	receipt, err := receiptOf(proposal)
	if err != nil {
		f.complain(ctx, "receipt of a settled transaction cannot be read", err, aboutReservation(p.ReservationID))
		return false
	}
	for i := range receipt.Transactions {
		if receipt.Transactions[i].ReservationID == p.ReservationID {
			receipt.Transactions[i] = transactionReceipt(p.ReservationID, result)
			receipt.Transactions[i].Signature = p.Signature
		}
	}
	receipt.FinishedAt = time.Now().UTC()
	receipt.conclude()
	receipt.Fault = faultAfter(receipt, result)
	return f.storeReceipt(about, receipt, asked(proposal))
}

// faultAfter is what is wrong with a receipt now that an outcome is proven:
// what was said while it was not known holds no longer.
func faultAfter(receipt Receipt, result submit.Result) *StoredFault {
	switch {
	case result.Fault != nil:
		return storedFault(result.Fault)
	case count32(len(receipt.Transactions)) >= receipt.Expected:
		return nil
	case receipt.Fault != nil && receipt.Fault.Code == fault.OutcomeUnknown:
		return storedFault(fault.New(fault.WalletBusy, "the outcome of one transaction was not known in time, so the rest of the batch was not sent"))
	}
	return receipt.Fault
}
