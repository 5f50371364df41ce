package flow

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

// execution is one confirmed batch on its way.
type execution struct {
	flow      *Flow
	confirmed Confirmed
	grant     approval.Grant
	progress  chan<- Progress
	// policy is the one that this execution goes by from beginning to end, and
	// known whom and what the owner has named.
	policy *policy.Policy
	known  effects.Known
	// usage is what stood against the caps before the batch, and judged what
	// has been judged of it so far: together they decide, as they did when the
	// batch was proposed.
	usage   policy.Usage
	judged  []judge.Judged
	share   shares
	receipt Receipt
	began   time.Time
}

// run executes the batch in order, stops at the first transaction that did not
// land, and stores the receipt whatever happened.
func (e *execution) run(ctx context.Context) Receipt {
	e.began = time.Now()
	proposal := e.grant.Proposal()
	e.receipt = Receipt{
		ProposalID: proposal.ID, Correlation: e.confirmed.Correlation, Tool: proposal.Tool, Rules: proposal.Rules,
		CreatedAt: proposal.CreatedAt, Expected: count32(len(e.confirmed.Transactions)),
	}
	e.share = shares{bounds: proposal.Bounds, count: len(e.confirmed.Transactions)}
	if err := e.start(ctx); err != nil {
		e.receipt.Fault = storedFault(err)
	} else {
		for i := range e.confirmed.Transactions {
			if err := e.step(ctx, i); err != nil {
				e.refuse(ctx, err)
				break
			}
			if e.receipt.Transactions[i].Outcome != Landed {
				break
			}
		}
	}
	return e.finish()
}

func (e *execution) about() subject {
	return subject{
		session: e.confirmed.Session, correlation: e.confirmed.Correlation,
		proposal: e.grant.Proposal().ID,
	}
}

// start checks what must hold before anything of the batch is touched.
func (e *execution) start(ctx context.Context) error {
	proposal := e.grant.Proposal()
	data := asked(proposal)
	data["tool"], data["transactions"] = proposal.Tool, strconv.Itoa(len(e.confirmed.Transactions))
	if err := e.flow.note(ctx, kindConfirmed, e.about(), data); err != nil {
		return err
	}
	e.policy = e.flow.Policy()
	if proposal.PolicyVersion != e.policy.Version() {
		return fault.New(fault.CodeVoid, "the policy has changed since this was proposed")
	}
	if n := len(e.confirmed.Transactions); n == 0 || n > batchLimit || (n > 1 && len(proposal.Bounds.MaxOut) > 0) {
		return fault.New(fault.InvalidArguments, "the confirmed batch has another shape than the proposed one")
	}
	var err error
	if e.usage, err = e.flow.stages.Ledger.Usage(ctx, proposal.Session, time.Now()); err != nil {
		return err
	}
	if e.known, err = e.flow.known(ctx, e.policy); err != nil {
		return err
	}
	return e.flow.pinned(ctx)
}

// step takes one transaction through every stage. An error means that this
// transaction was not sent.
func (e *execution) step(ctx context.Context, i int) error {
	judged, err := e.judge(ctx, i)
	if err != nil {
		return err
	}
	e.tell("judged", i)
	reservation, lastValid, err := e.reserve(ctx, i, judged)
	if err != nil {
		return err
	}
	e.tell("reserved", i)
	signed, err := e.sign(ctx, reservation)
	if err != nil {
		e.release(reservation, err)
		return err
	}
	e.tell("signed", i)
	e.send(ctx, i, judged, reservation, signed, lastValid)
	return nil
}

// judge has the fresh bytes judged against the bounds that were confirmed.
// Nothing else of this wallet is in flight: Execute has seen to that.
func (e *execution) judge(ctx context.Context, i int) (judge.Judged, error) {
	proposal := e.grant.Proposal()
	judged, err := e.flow.stages.Judge.Judge(ctx, e.confirmed.Transactions[i], judge.Request{
		Flow: proposal.Flow, Bounds: e.share.of(i), Known: e.known, Pins: e.policy.Pins(),
	})
	if err != nil {
		return judge.Judged{}, err
	}
	if err := e.share.spend(judged); err != nil {
		return judge.Judged{}, err
	}
	return judged, e.decide(judged)
}

// decide asks the policy again, about all of the batch that has been judged so
// far: a line that the whole batch is under must not be passed in small steps.
func (e *execution) decide(judged judge.Judged) error {
	proposal := e.grant.Proposal()
	e.judged = append(e.judged, judged)
	decision := e.policy.Evaluate(proposal.Flow, e.judged, policy.Circumstances{
		Usage: e.usage, Client: proposal.Client, Now: time.Now(),
	})
	if refused := decision.Fault(); refused != nil {
		return refused
	}
	if decision.Tier() > proposal.Tier {
		return fault.New(fault.CodeVoid, "the fresh transaction needs more consent than the proposed one had (%s)",
			strings.Join(decision.Rules(), ", "))
	}
	return nil
}

// reserve holds the worst case in the ledger and records it: invariant I1 is
// that both are durable before sign is reached.
func (e *execution) reserve(ctx context.Context, i int, judged judge.Judged) (ledger.Reservation, uint64, error) {
	// What the builder said about the blockhash's age is not needed: the nodes
	// accept it now.
	lastValid, err := e.flow.stages.Chain.LastValidHeight(ctx, judged.Tx().Blockhash())
	if err != nil {
		return ledger.Reservation{}, 0, err
	}
	reservation, err := e.flow.stages.Ledger.Reserve(ctx, e.grant, judged, e.policy, i, lastValid, time.Now())
	if err != nil {
		return ledger.Reservation{}, 0, err
	}
	about := e.about()
	about.digest = judged.Tx().Digest()
	data := map[string]string{reservationField: reservation.ID(), "position": strconv.Itoa(i), "last_valid_block_height": strconv.FormatUint(lastValid, 10)}
	e.flow.tellHold(data, judged)
	err = e.flow.record(ctx, kindReserved, about, data)
	if err == nil {
		err = e.flow.anchor(ctx)
	}
	if err != nil {
		e.release(reservation, err)
		return ledger.Reservation{}, 0, err
	}
	return reservation, lastValid, nil
}

// sign makes the signature and stores the signed bytes before they can be sent.
func (e *execution) sign(ctx context.Context, reservation ledger.Reservation) (custody.Signed, error) {
	signed, err := e.flow.stages.Signer.Sign(reservation)
	if err != nil {
		return custody.Signed{}, err
	}
	if err := e.flow.stages.Ledger.RecordSigned(ctx, reservation.ID(), signed.Raw(), signed.ID()); err != nil {
		return custody.Signed{}, err
	}
	about := e.about()
	about.digest = reservation.Transaction().Digest()
	err = e.flow.record(ctx, kindSigned, about, map[string]string{
		reservationField: reservation.ID(), signatureField: signed.ID().String(),
	})
	return signed, err
}

// release gives back a reservation whose transaction provably never left this
// process. If that fails the hold stays, which errs on the safe side.
func (e *execution) release(reservation ledger.Reservation, why error) {
	settlement := ledger.Settlement{Outcome: submit.NothingSent, At: time.Now()}
	if err := e.flow.stages.Ledger.Settle(e.flow.work, reservation.ID(), settlement); err != nil {
		e.flow.stages.Logger.LogAttrs(e.flow.work, slog.LevelError, "reservation could not be released",
			slog.String(logging.KeyReservation, reservation.ID()), slog.String(logging.KeyReason, string(fault.From(why).Code)), logging.Error(err))
	}
}

// send submits, waits for a proven end, and settles.
func (e *execution) send(ctx context.Context, i int, judged judge.Judged, reservation ledger.Reservation, signed custody.Signed, lastValid uint64) {
	waiting, cancel := context.WithTimeout(ctx, executionTime)
	defer cancel()
	result := e.flow.stages.Sender.Submit(waiting, signed, lastValid, func(stage string) { e.tell(stage, i) })
	wordGuard(&result, judged)
	entry := transactionReceipt(reservation.ID(), result)
	if result.Signature.IsZero() {
		entry.Signature = signed.ID()
	}
	e.receipt.Transactions = append(e.receipt.Transactions, entry)
	if result.Fault != nil && result.Outcome != submit.Landed {
		e.receipt.Fault = storedFault(result.Fault)
	}
	if result.Outcome == submit.Landed {
		e.tell("landed", i)
		e.share.receive(result.Changes)
	}
	about := e.about()
	about.digest = reservation.Transaction().Digest()
	e.flow.settle(about, reservation.ID(), signed.ID(), result)
	if result.Untold() {
		e.flow.tellLater(e.grant.Proposal().ID, reservation.ID())
	}
}

// wordGuard says in words that it was our own guard that made a transaction
// fail on chain, or in the eyes of a node that would not send it, and what it
// found.
func wordGuard(result *submit.Result, judged judge.Judged) {
	if result.Err == nil {
		return
	}
	meaning, isGuard := judged.Effects().GuardMeaning(result.Err.Instruction)
	if !isGuard {
		return
	}
	result.Err.Text = "the guard would find that " + meaning + ", and the chain would undo the whole transaction"
	if result.Outcome == submit.LandedFailed {
		result.Err.Text = "the guard found that " + meaning + ", and the chain undid the whole transaction"
		result.Fault = fault.New(fault.FailedOnChain, "the transaction landed and failed on chain, so only its fee was spent: %s", result.Err.Text)
	}
}

// refuse records why a confirmed transaction was not sent.
func (e *execution) refuse(ctx context.Context, err error) {
	e.receipt.Fault = storedFault(err)
	refusal := fault.From(err)
	if err := e.flow.record(ctx, kindRefused, e.about(), map[string]string{
		"code": string(refusal.Code), "message": reason(refusal),
	}); err != nil {
		e.receipt.Fault = storedFault(err)
	}
}

// finish stores the receipt. It must be possible even while the signer stops.
func (e *execution) finish() Receipt {
	e.receipt.FinishedAt = time.Now().UTC()
	e.receipt.conclude()
	data := asked(e.grant.Proposal())
	data[fieldDuration] = milliseconds(time.Since(e.began))
	e.flow.storeReceipt(e.about(), e.receipt, data)
	return e.receipt
}

func (e *execution) tell(stage string, i int) {
	select {
	case e.progress <- Progress{Stage: stage, Transaction: count32(i + 1), Transactions: count32(len(e.confirmed.Transactions))}:
	default: // The caller has stopped listening.
	}
}

func transactionReceipt(reservationID string, result submit.Result) TransactionReceipt {
	return TransactionReceipt{
		ReservationID: reservationID, Signature: result.Signature, Outcome: outcomeOf(result.Outcome),
		Slot: result.Slot, Fee: result.Fee, Changes: result.Changes, Error: result.Err,
	}
}

func outcomeOf(outcome submit.Outcome) Outcome {
	switch outcome {
	case submit.NothingSent:
		return NothingSent
	case submit.Landed:
		return Landed
	case submit.LandedFailed:
		return LandedFailed
	case submit.Expired:
		return Expired
	case submit.Unknown:
		return Unknown
	}
	return Unknown
}

// charged is what a settled transaction counts against the caps: what the
// chain says left the wallet. What came in never offsets it, so the fee of a
// transaction that brought SOL still counts. Where no node would tell, it is
// empty, and the ledger charges all that was reserved.
func charged(result submit.Result) map[solana.PublicKey]amount.Units {
	if !result.Told() || len(result.Changes) == 0 {
		return nil
	}
	total := map[solana.PublicKey]amount.Units{amount.SOL: result.Fee}
	for _, change := range result.Changes {
		if change.Out > total[change.Mint] {
			total[change.Mint] = change.Out
		}
	}
	return total
}
