package flow

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
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
		"reservation": reservationID, "signature": id.String(),
		"outcome": string(outcomeOf(result.Outcome)), "slot": strconv.FormatUint(result.Slot, 10), "fee": result.Fee.String(),
	}); err != nil {
		f.complain(ctx, "settlement could not be recorded", reservationID, err)
		return
	}
	if result.Outcome == submit.Unknown {
		f.unresolved.Add(1)
		return
	}
	settlement := ledger.Settlement{Outcome: result.Outcome, Charged: charged(result), At: time.Now()}
	if err := f.Ledger.Settle(ctx, reservationID, settlement); err != nil {
		f.complain(ctx, "settlement could not be stored", reservationID, err)
	}
}

func (f *Flow) complain(ctx context.Context, message, reservationID string, err error) {
	attrs := []slog.Attr{slog.String("reservation", reservationID), slog.String("error", err.Error())}
	f.Logger.LogAttrs(ctx, slog.LevelError, "outcome kept as unresolved", append(attrs, slog.String("reason", message))...)
}

// storeReceipt keeps the outcome for whoever asks again.
func (f *Flow) storeReceipt(about subject, receipt Receipt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.work), settleInterval)
	defer cancel()
	raw, err := encodeReceipt(receipt)
	if err == nil {
		err = f.Book.Finish(ctx, receipt.ProposalID, raw, receipt.FinishedAt)
	}
	if err == nil {
		err = f.record(ctx, kindFinished, about, map[string]string{"outcome": string(receipt.Outcome)})
	}
	if err != nil {
		f.complain(ctx, "receipt could not be stored", receipt.ProposalID, err)
	}
}

// recover finishes what a crash cut short, before anything new is accepted: a
// reservation without stored signed bytes was never sent and is released; one
// with them is left to the settling passes, which only look and send nothing.
func (f *Flow) recover(ctx context.Context) error {
	pending, err := f.Ledger.Unresolved(ctx)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if p.Signed {
			continue
		}
		settlement := ledger.Settlement{Outcome: submit.NothingSent, At: time.Now()}
		if err := f.Ledger.Settle(ctx, p.ReservationID, settlement); err != nil {
			return err
		}
		about := subject{session: p.Session, proposal: p.ProposalID}
		if err := f.record(ctx, kindSettled, about, map[string]string{
			"reservation": p.ReservationID, "outcome": string(NothingSent), "reason": "stopped before signing",
		}); err != nil {
			return err
		}
	}
	return f.closeUnfinished(ctx)
}

// closeUnfinished gives a receipt to every proposal whose execution was cut
// short: what was signed is unknown until a settling pass proves it.
func (f *Flow) closeUnfinished(ctx context.Context) error {
	unfinished, err := f.Book.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, proposal := range unfinished {
		receipt, err := f.rebuildReceipt(ctx, proposal)
		if err != nil {
			return err
		}
		receipt.Fault = storedFault(fault.New(fault.SignerUnavailable, "the signer stopped while this was being executed"))
		f.storeReceipt(subject{session: proposal.Session, proposal: proposal.ID}, receipt)
	}
	return nil
}

// rebuildReceipt makes a receipt from what the ledger knows.
func (f *Flow) rebuildReceipt(ctx context.Context, proposal approval.Proposal) (Receipt, error) {
	entries, err := f.Ledger.OfProposal(ctx, proposal.ID)
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{
		ProposalID: proposal.ID, Tool: proposal.Tool, Rules: proposal.Rules, Expected: len(proposal.Digests),
		CreatedAt: proposal.CreatedAt, FinishedAt: time.Now().UTC(),
	}
	for _, entry := range entries {
		if !entry.Signed {
			continue
		}
		receipt.Transactions = append(receipt.Transactions, TransactionReceipt{
			ReservationID: entry.ReservationID, Signature: entry.Signature, Outcome: Unknown,
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

// settlePass tries each unresolved transaction once. It takes the wallet's
// turn, so that it never looks at one that an execution is still sending.
func (f *Flow) settlePass(ctx context.Context) {
	select {
	case <-f.turn:
		defer func() { f.turn <- struct{}{} }()
	case <-ctx.Done():
		return
	default:
		return // An execution is under way; the next pass will come.
	}
	pending, err := f.Ledger.Unresolved(ctx)
	if err != nil {
		f.complain(ctx, "unresolved transactions cannot be listed", "", err)
		return
	}
	f.unresolved.Store(int64(len(pending)))
	for _, p := range pending {
		if p.Signed && ctx.Err() == nil {
			f.resolve(ctx, p)
		}
	}
}

// resolve looks for the outcome of one transaction and writes down what is
// proven.
func (f *Flow) resolve(ctx context.Context, p ledger.Pending) {
	if err := f.pinned(ctx); err != nil {
		return // Another network's silence would prove nothing.
	}
	attempt, cancel := context.WithTimeout(ctx, settleInterval)
	defer cancel()
	result := f.Sender.Resume(attempt, p.Raw, p.Signature, p.LastValidHeight)
	if result.Outcome == submit.Unknown {
		return
	}
	about := subject{session: p.Session, proposal: p.ProposalID}
	f.settle(about, p.ReservationID, p.Signature, result)
	proposal, err := f.Book.Get(ctx, p.ProposalID)
	if err != nil {
		f.complain(ctx, "proposal of a settled transaction is missing", p.ReservationID, err)
		return
	}
	receipt, err := receiptOf(proposal)
	if err != nil {
		f.complain(ctx, "receipt of a settled transaction cannot be read", p.ReservationID, err)
		return
	}
	for i := range receipt.Transactions {
		if receipt.Transactions[i].ReservationID == p.ReservationID {
			receipt.Transactions[i] = transactionReceipt(p.ReservationID, result)
			receipt.Transactions[i].Signature = p.Signature
		}
	}
	receipt.FinishedAt = time.Now().UTC()
	receipt.conclude()
	f.storeReceipt(about, receipt)
}
