package flow

import (
	"context"
	"errors"
	"time"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
)

// Confirmed is a second call: the code, and the batch built afresh.
type Confirmed struct {
	Session      string
	Correlation  string
	Code         string
	Fingerprint  [32]byte
	Transactions [][]byte
}

// Progress is told while an execution runs.
type Progress struct {
	// Stage is judged, reserved, signed, sent or landed.
	Stage string
	// Transaction counts from 1.
	Transaction  uint32
	Transactions uint32
}

// Execute uses the code and runs the batch. The work is not bound to ctx: when
// the caller leaves, it goes on and the receipt is stored. tell is called from
// the caller's goroutine only. The error is a failure before the code was
// used; everything after that is told in the receipt.
func (f *Flow) Execute(ctx context.Context, c Confirmed, tell func(Progress)) (Receipt, error) {
	proposal, stored, err := f.used(ctx, c)
	if err != nil || stored != nil {
		return replayed(stored), err
	}
	if err := f.sessions.alive(c.Session, time.Now(), f.Policy()); err != nil {
		return Receipt{}, err
	}
	release, err := f.turns.take(ctx, proposal.Flow)
	if err != nil {
		return Receipt{}, err
	}
	if f.work.Err() != nil {
		release()
		return Receipt{}, fault.New(fault.SignerUnavailable, "the signer is stopping")
	}
	if err := f.nothingInFlight(ctx, proposal.Flow); err != nil {
		release()
		return Receipt{}, err
	}
	grant, err := f.stages.Book.Consume(ctx, c.Code, c.Fingerprint, c.Session, time.Now())
	if err != nil {
		release()
		if errors.Is(err, approval.ErrAlreadyUsed) {
			_, stored, err := f.used(ctx, c)
			return replayed(stored), err
		}
		return Receipt{}, err
	}
	return f.runDetached(ctx, c, grant, release, tell)
}

// used reads the proposal of a code, and its receipt where the code was used
// before.
func (f *Flow) used(ctx context.Context, c Confirmed) (approval.Proposal, *Receipt, error) {
	proposal, err := f.stages.Book.Peek(ctx, c.Code, c.Fingerprint, c.Session, time.Now())
	if err != nil || proposal.State == approval.Open {
		return proposal, nil, err
	}
	receipt, err := receiptOf(proposal)
	return proposal, &receipt, err
}

// replayed marks a stored receipt as told again.
func replayed(stored *Receipt) Receipt {
	if stored == nil {
		return Receipt{}
	}
	receipt := *stored
	receipt.Replayed = true
	return receipt
}

// nothingInFlight makes sure, before a code is used up, that no earlier
// transaction of this wallet can still land or has landed unseen: a guard's
// floor would have to leave room for what such a one takes, and if it has taken
// it already, a program could help itself to as much again. Transfers have no
// guard. The caller has the wallet's turn, alone.
func (f *Flow) nothingInFlight(ctx context.Context, flow effects.Flow) error {
	if flow == effects.Transfer {
		return nil
	}
	pending, err := f.stages.Ledger.Unresolved(ctx)
	if err != nil {
		return err
	}
	for _, p := range pending {
		// What was never signed can never land.
		if p.Signed && !f.resolve(ctx, p) {
			return fault.New(fault.WalletBusy, "the outcome of an earlier transaction of this wallet is not proven yet (%s)", p.Signature)
		}
	}
	return nil
}

// runDetached runs the batch in a goroutine that Close waits for, and relays
// its progress for as long as the caller stays.
func (f *Flow) runDetached(ctx context.Context, c Confirmed, grant approval.Grant, release func(), tell func(Progress)) (Receipt, error) {
	// Room for every stage of the largest batch, so that a caller who has left
	// never blocks the work.
	progress := make(chan Progress, batchLimit*8)
	done := make(chan Receipt, 1)
	end := f.turns.begin(grant.Proposal().ID)
	f.running.Go(func() {
		defer release()
		defer end()
		run := &execution{flow: f, confirmed: c, grant: grant, progress: progress}
		done <- run.run(f.work)
	})
	for {
		select {
		case step := <-progress:
			tell(step)
		case receipt := <-done:
			return receipt, nil
		case <-ctx.Done():
			return Receipt{}, fault.New(fault.OutcomeUnknown, "the execution goes on without its caller").Because(ctx.Err())
		}
	}
}

// ReceiptByProposal finds a stored outcome.
func (f *Flow) ReceiptByProposal(ctx context.Context, id string) (Receipt, error) {
	proposal, err := f.stages.Book.Get(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	return receiptOf(proposal)
}

// ReceiptByCode finds the outcome of the proposal that a code was given for.
func (f *Flow) ReceiptByCode(ctx context.Context, code string) (Receipt, error) {
	proposal, err := f.stages.Book.ByCode(ctx, code)
	if err != nil {
		return Receipt{}, err
	}
	return receiptOf(proposal)
}

// ReceiptByKey finds the outcome of the action that a caller gave this name.
func (f *Flow) ReceiptByKey(ctx context.Context, key string) (Receipt, error) {
	proposal, err := f.stages.Book.ByKey(ctx, Proposed{Key: key}.key().Name)
	if err != nil {
		return Receipt{}, err
	}
	return receiptOf(proposal)
}

// ReceiptBySignature finds the outcome that a transaction belongs to.
func (f *Flow) ReceiptBySignature(ctx context.Context, id solana.Signature) (Receipt, error) {
	proposal, err := f.stages.Ledger.BySignature(ctx, id)
	if err != nil {
		return Receipt{}, err
	}
	return f.ReceiptByProposal(ctx, proposal)
}

// Activity is a proposal with what became of it.
type Activity struct {
	Proposal approval.Proposal
	Receipt  Receipt
}

// Activities lists up to limit proposals, newest first, from before the given
// one if that is set.
func (f *Flow) Activities(ctx context.Context, limit int, before string) ([]Activity, error) {
	proposals, err := f.stages.Book.List(ctx, limit, before)
	if err != nil {
		return nil, err
	}
	list := make([]Activity, 0, len(proposals))
	for _, proposal := range proposals {
		receipt, err := receiptOf(proposal)
		if err != nil {
			return nil, err
		}
		list = append(list, Activity{proposal, receipt})
	}
	return list, nil
}
