package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/recipients"
)

// Store is an empty ledger.
type Store interface {
	approval.Store
	ledger.Store
	recipients.Store
	// AcceptClock takes a time for right, as its owner once did.
	AcceptClock(ctx context.Context, reading clock.Reading, ahead time.Duration) error
}

// Write fills an empty ledger, in the order of the log.
func (p *Plan) Write(ctx context.Context, store Store) error {
	for _, made := range p.proposals {
		if err := made.conclude(); err != nil {
			return err
		}
		// A key stands for the newest proposal that had it, as it did when they
		// were made.
		if err := store.InsertProposal(ctx, made.Record, func(*approval.Record) error { return nil }); err != nil {
			return fmt.Errorf("restore proposal %s: %w", made.ID, err)
		}
	}
	ledgers := make(map[Wallet]*ledger.Ledger)
	for _, e := range p.events {
		if err := e.write(ctx, store, ledgers); err != nil {
			return err
		}
	}
	return nil
}

func (e event) write(ctx context.Context, store Store, ledgers map[Wallet]*ledger.Ledger) error {
	switch e.change {
	case clockAccepted:
		return store.AcceptClock(ctx, clock.Reading{Wall: e.at}, e.ahead)
	case recipientAdded, recipientRemoved:
		return e.writeRecipient(ctx, store)
	case reserved, signed, settled:
		return e.writeHold(ctx, store, ledgers)
	}
	return fmt.Errorf("restore: there is no change of kind %d", e.change)
}

// writeHold repeats a step of one reservation.
func (e event) writeHold(ctx context.Context, store Store, ledgers map[Wallet]*ledger.Ledger) error {
	of, known := ledgers[e.hold.wallet]
	if !known {
		of = ledger.New(store, e.hold.wallet.Address, e.hold.wallet.Genesis)
		ledgers[e.hold.wallet] = of
	}
	if err := e.repeat(ctx, of); err != nil {
		return fmt.Errorf("restore reservation %s: %w", e.hold.ID, err)
	}
	return nil
}

func (e event) repeat(ctx context.Context, of *ledger.Ledger) error {
	if e.change == reserved {
		return of.Restore(ctx, e.hold.Entry)
	}
	if e.change == signed {
		return of.RecordSigned(ctx, e.hold.ID, nil, e.signature)
	}
	return of.Settle(ctx, e.hold.ID, ledger.Settlement{Outcome: e.outcome, At: e.at})
}

// writeRecipient repeats a change of the address book. It was recorded before it
// was made, so it may not have been made.
func (e event) writeRecipient(ctx context.Context, store Store) error {
	if e.change == recipientRemoved {
		err := store.RemoveRecipient(ctx, e.recipient.Name)
		if errors.Is(err, recipients.ErrNotFound) {
			return nil
		}
		return err
	}
	book, err := store.Recipients(ctx)
	if err != nil {
		return err
	}
	for _, entry := range book {
		if entry.Name == e.recipient.Name || entry.Address == e.recipient.Address {
			return nil
		}
	}
	return store.AddRecipient(ctx, e.recipient, e.at)
}

// conclude writes the receipt of a proposal that had one. Of an execution that
// was cut short signerd makes one when it starts.
func (p *proposal) conclude() error {
	if p.State != approval.Done {
		return nil
	}
	receipt := flow.Receipt{
		ProposalID: p.ID, Correlation: p.correlation, Tool: p.Tool, Outcome: flow.NothingSent, Expected: p.batch, Fault: p.refused,
		Rules: p.Rules, CreatedAt: p.CreatedAt, FinishedAt: p.FinishedAt.UTC(),
	}
	for _, h := range p.holds {
		if !h.Signed() {
			continue
		}
		receipt.Transactions = append(receipt.Transactions, flow.TransactionReceipt{
			ReservationID: h.ID, Signature: h.Signature, Outcome: h.outcome, Slot: h.slot, Fee: h.fee,
		})
		if h.outcome != flow.NothingSent || receipt.Outcome != flow.Landed {
			receipt.Outcome = h.outcome
		}
		if receipt.Fault == nil {
			receipt.Fault = faultOf(h.outcome)
		}
	}
	var err error
	p.Receipt, err = receipt.Encode()
	return err
}

// faultOf words an outcome whose own words are lost.
func faultOf(outcome flow.Outcome) *flow.StoredFault {
	switch outcome {
	case flow.LandedFailed:
		return &flow.StoredFault{Code: fault.FailedOnChain, Message: "the transaction landed and failed on chain, so only its fee was spent"}
	case flow.Expired:
		return &flow.StoredFault{Code: fault.ProvenExpired, Message: "the transaction can no longer land"}
	case flow.Unknown:
		return &flow.StoredFault{Code: fault.OutcomeUnknown, Message: "the transaction was sent and may still land"}
	case flow.NothingSent, flow.Landed, flow.InProgress:
	}
	return nil
}

// Missing names what the log tells of and a ledger does not know, up to most of
// it, and says how much there is.
func (p *Plan) Missing(ctx context.Context, book *approval.Book, of *ledger.Ledger, most int) (names []string, count int, err error) {
	missing := func(name string) {
		if count++; count <= most {
			names = append(names, name)
		}
	}
	for _, made := range p.proposals {
		if _, err := book.Get(ctx, made.ID); fault.Is(err, fault.NotFound) {
			missing("proposal " + made.ID)
		} else if err != nil {
			return nil, 0, err
		}
		for _, h := range made.holds {
			known, err := of.Knows(ctx, made.ID, h.is)
			if err != nil {
				return nil, 0, err
			}
			if !known {
				missing("reservation " + h.ID)
			}
		}
	}
	return names, count, nil
}

// is recognises a reservation that holds what the log tells of it, and has not given
// back what the log calls landed. What it has not been told yet it still holds.
func (h *hold) is(p ledger.Pending) bool {
	spent := h.outcome == flow.Landed || h.outcome == flow.LandedFailed
	if spent && (p.Outcome == ledger.NothingSent || p.Outcome == ledger.Expired) {
		return false
	}
	if p.ReservationID != h.ID || !h.Signature.IsZero() && p.Signature != h.Signature {
		return false
	}
	for mint, units := range h.Charge {
		if p.Charge[mint] != units {
			return false
		}
	}
	return true
}
