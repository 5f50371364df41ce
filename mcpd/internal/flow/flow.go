// Package flow is the order of a write: admit, quote, build, simulate, propose;
// then, with a code, check it, build afresh, execute. It holds the deadlines
// and nothing else of its own. tools call it; it calls every earlier stage. It
// promises that no upstream is asked for what a cap or a dead code forbids,
// that a code is only ever executed on terms at least as good as proposed, and
// that silence after an execution was asked for is told as unknown.
package flow

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"time"

	"countersign/mcpd/internal/bags"
	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/chain"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/plan"
	"countersign/mcpd/internal/propose"
	"countersign/mcpd/internal/simulate"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
)

// executeTimeout is how long a call waits for an execution. Clients give up
// after a minute at the latest; signerd goes on by itself.
const executeTimeout = 45 * time.Second

// maxBatch bounds the transactions of one claim.
const maxBatch = 16

// Engine runs writes. It is safe for concurrent use.
type Engine struct {
	Signer *propose.Client
	Chain  *chain.Client
	Bags   *bags.Client
	Book   *caps.Book
	Gate   Gate
	Logger *slog.Logger
	// ExecuteTimeout is executeTimeout unless set.
	ExecuteTimeout time.Duration
}

// Caller is who asks, and how to tell them about progress.
type Caller struct {
	// ClientName is what the MCP client calls itself.
	ClientName string
	Progress   func(propose.Progress)
}

// Result is what became of a call: a proposal, a denial, or a receipt.
type Result struct {
	// Meant is the call, with the recipient's address where it had a name.
	Meant    intent.Intent
	Signer   caps.Signer
	Proposal *propose.Proposal
	Denial   *propose.Denial
	Receipt  *propose.Receipt
	// Quote is there for a proposed swap.
	Quote *bags.Quote
	// Mints holds the decimals of the assets that the call touches.
	Mints map[solana.PublicKey]uint8
	// Uncapped reports that a token leaves to which no limit applies.
	Uncapped bool
	// Unused reports that the recipient of a transfer has no account yet.
	Unused bool
}

// prepared is a simulated batch with what was learned on the way.
type prepared struct {
	batch simulate.Simulated
	quote *bags.Quote
	mints map[solana.PublicKey]uint8
	// unused reports that the recipient of a transfer has no account yet.
	unused bool
}

// Write runs one call of a writing tool.
func (e *Engine) Write(ctx context.Context, meant intent.Intent, caller Caller) (Result, error) {
	correlation := newCorrelation()
	caller.ClientName = untrusted.Clean(caller.ClientName, untrusted.Name).Display()
	log := e.Logger.With(slog.String(logging.KeyTool, meant.Tool()), slog.String(logging.KeyCorrelation, correlation))
	meant, err := e.resolve(ctx, meant)
	if err != nil {
		return Result{}, err
	}
	result, err := e.write(ctx, meant, caller, correlation, log)
	result.Meant = meant
	if err != nil {
		log.LogAttrs(ctx, slog.LevelInfo, "write refused or failed", slog.String(logging.KeyCode, string(fault.From(err).Code)))
	}
	return result, err
}

// resolve asks the signer for the address of a named recipient, at each call:
// a code is for the address that was shown, so that a name which leads elsewhere
// by now makes another intent.
func (e *Engine) resolve(ctx context.Context, meant intent.Intent) (intent.Intent, error) {
	asked := meant.Unresolved()
	if asked == "" {
		return meant, nil
	}
	name, address, err := e.Signer.Resolve(ctx, asked)
	if err != nil {
		return intent.Intent{}, intent.Unknown(asked, fault.From(err))
	}
	return meant.Resolve(name, address)
}

func (e *Engine) write(ctx context.Context, meant intent.Intent, caller Caller, correlation string, log *slog.Logger) (Result, error) {
	var confirmation *propose.Confirmation
	if code := meant.Confirm(); code != "" {
		checked, err := e.Signer.CheckConfirmation(ctx, code, meant.Fingerprint())
		if err != nil {
			return Result{}, err
		}
		if checked.State != propose.StateOpen {
			return e.stored(ctx, code, checked)
		}
		confirmation = &checked
	}
	signer, err := e.Signer.Describe(ctx)
	if err != nil {
		return Result{}, err
	}
	admitted, err := e.Book.Admit(meant, signer)
	if err != nil {
		return Result{}, err
	}
	if err := e.Chain.CheckNetwork(ctx, signer.Genesis); err != nil {
		return Result{}, err
	}
	if err := e.Gate.Check(ctx, e.Chain, signer.Wallet); err != nil {
		return Result{}, err
	}
	ready, err := e.prepare(ctx, admitted)
	if err != nil {
		return Result{}, err
	}
	if confirmation != nil {
		if err := e.stillAsGood(ctx, ready, *confirmation); err != nil {
			return Result{}, err
		}
		return e.execute(ctx, resultOf(admitted, ready), meant.Confirm(), ready.batch, caller, correlation, log)
	}
	result, err := e.propose(ctx, admitted, ready, caller, correlation)
	if err == nil && result.Denial != nil && tooFat(admitted.Intent(), result.Denial.Fault) {
		if ready, result, err = e.proposeSmaller(ctx, admitted, ready, result, caller, correlation); err != nil {
			return Result{}, err
		}
	}
	if err != nil || result.Denial != nil || result.Receipt != nil || result.Proposal.Tier != propose.TierAuto {
		return result, err
	}
	return e.execute(ctx, result, result.Proposal.Code, ready.batch, caller, correlation, log)
}

func resultOf(admitted caps.Admitted, ready prepared) Result {
	return Result{Signer: admitted.Signer(), Quote: ready.quote, Mints: ready.mints, Uncapped: admitted.Uncapped(), Unused: ready.unused}
}

// propose checks the real cost and has the signer judge the batch.
func (e *Engine) propose(ctx context.Context, admitted caps.Admitted, ready prepared, caller Caller, correlation string) (Result, error) {
	bounds := ready.batch.Unsigned().Bounds()
	worst, err := worstOf(ready.batch)
	if err != nil {
		return Result{}, err
	}
	if err := e.Book.Check(worst); err != nil {
		return Result{}, withCost(fault.From(err), bounds)
	}
	result := resultOf(admitted, ready)
	answer, err := e.Signer.Propose(ctx, ready.batch, caller.ClientName, correlation)
	result.Proposal, result.Denial, result.Receipt = answer.Proposal, answer.Denial, answer.Earlier
	if result.Denial != nil && slices.ContainsFunc(result.Denial.Rules, isAmountCap) {
		result.Denial.Fault = withCost(result.Denial.Fault, bounds)
	}
	return result, err
}

func worstOf(batch simulate.Simulated) (amount.Units, error) {
	worst, err := batch.Unsigned().Bounds().WorstSOL()
	if err != nil {
		return 0, fault.New(fault.CapExceeded, "the cost is too large").Because(err)
	}
	return worst, nil
}

// tooFat recognises a swap that the signer could not add its guard to, so that
// a smaller one may pass.
func tooFat(meant intent.Intent, refusal *fault.Fault) bool {
	_, swaps := meant.Swap()
	return swaps && (refusal.Code == fault.GuardImpossible || refusal.Code == fault.TransactionTooLarge)
}

// proposeSmaller has the swap quoted and built once more, and proposes it if it
// came out smaller. The API takes no wish for a smaller route, so a second
// answer is all that can be hoped for; when it is no better the first refusal
// stands.
func (e *Engine) proposeSmaller(ctx context.Context, admitted caps.Admitted, fat prepared, refused Result, caller Caller, correlation string) (prepared, Result, error) {
	again, err := e.prepare(ctx, admitted)
	if err != nil {
		return prepared{}, Result{}, err
	}
	size := func(p prepared) int { return len(p.batch.Unsigned().Batch()[0]) }
	if size(again) < size(fat) {
		result, err := e.propose(ctx, admitted, again, caller, correlation)
		return again, result, err
	}
	refusal := refused.Denial.Fault
	refused.Denial.Fault = fault.New(refusal.Code, "%s; the Bags API was asked once more and offered no smaller route "+
		"(it cannot be asked for one): try another amount, or later", refusal.Message).Because(refusal)
	return fat, refused, nil
}

// isAmountCap recognises the signer's rules that bound an amount.
func isAmountCap(rule string) bool { return strings.HasPrefix(rule, "caps.per_") }

// withCost adds to a refusal by a cap what the amount was made of: whoever asked
// for exactly the cap did not think of fees and rent.
func withCost(refusal *fault.Fault, bounds plan.Bounds) *fault.Fault {
	given := bounds.MaxOutOf(amount.SOL)
	if refusal.Code != fault.CapExceeded || given == 0 {
		return refusal
	}
	text := func(units amount.Units) string { return units.Decimal(amount.SOLDecimals) }
	rest := "fees (at most " + text(bounds.MaxFee) + ")"
	if bounds.MaxRent > 0 {
		rest += " and rent (at most " + text(bounds.MaxRent) + ", part of which may come back)"
	}
	return fault.New(fault.CapExceeded, "%s; %s SOL of this is to give, the rest is %s", refusal.Message, text(given), rest).Because(refusal)
}

func newCorrelation() string {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // Never fails since Go 1.24.
	return hex.EncodeToString(raw[:])
}

// stored answers for a code that is used already: the receipt of what happened
// then, nothing new.
func (e *Engine) stored(ctx context.Context, code string, checked propose.Confirmation) (Result, error) {
	receipt := checked.Receipt
	if receipt == nil {
		found, err := e.Signer.Receipt(ctx, propose.ReceiptKey{Code: code})
		if err != nil {
			return Result{}, err
		}
		receipt = &found
	}
	receipt.Replayed = true
	return Result{Receipt: receipt, Signer: e.describeForNames(ctx)}, nil
}

// stillAsGood compares fresh terms with the ones that were confirmed. Worse
// terms void the code: the price it was given for is gone.
func (e *Engine) stillAsGood(ctx context.Context, ready prepared, confirmed propose.Confirmation) error {
	for _, promised := range confirmed.Bounds.MinIn {
		now := ready.batch.Unsigned().Bounds().MinInOf(promised.Mint)
		if now >= promised.Amount {
			continue
		}
		if _, err := e.Signer.Cancel(ctx, confirmed.ProposalID); err != nil {
			return err
		}
		return movedFault(promised, now, ready.mints[promised.Mint])
	}
	return nil
}

func movedFault(promised plan.Asset, now amount.Units, decimals uint8) error {
	less := promised.Amount.Less(now)
	name := promised.Mint.String()
	if promised.Mint == amount.SOL {
		name, decimals = "SOL", amount.SOLDecimals
	}
	message := "the least that would arrive is now " + now.Decimal(decimals) + " " + name + ", " + less.Decimal(decimals) +
		" less than the proposal promised"
	if basis, err := less.MulDiv(10_000, uint64(promised.Amount), true); err == nil {
		message += " (" + basis.Decimal(2) + " %)"
	}
	return fault.New(fault.PriceMoved, "%s; nothing was sent and the code is void", message)
}

func (e *Engine) execute(ctx context.Context, result Result, code string, batch simulate.Simulated,
	caller Caller, correlation string, log *slog.Logger,
) (Result, error) {
	worst, err := worstOf(batch)
	if err != nil {
		return Result{}, err
	}
	held, err := e.Book.Hold(worst)
	if err != nil {
		return Result{}, err
	}
	timeout := executeTimeout
	if e.ExecuteTimeout > 0 {
		timeout = e.ExecuteTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	progress := func(step propose.Progress) {
		log.LogAttrs(ctx, slog.LevelDebug, "execution moved on", slog.String(logging.KeyStage, step.Stage))
		if caller.Progress != nil {
			caller.Progress(step)
		}
	}
	receipt, err := e.Signer.Execute(ctx, code, batch, correlation, progress)
	if err != nil {
		// Only a definite refusal gives the held amount back.
		if !fault.Is(err, fault.OutcomeUnknown) && !fault.Is(err, fault.Internal) {
			held.Settle(0)
		}
		return result, err
	}
	settle(held, receipt, worst)
	result.Proposal, result.Receipt = nil, &receipt
	log.LogAttrs(ctx, slog.LevelInfo, "execution ended", slog.String(logging.KeyOutcome, string(receipt.Outcome)))
	return result, nil
}

// settle replaces the worst case by what the chain says left, once nothing is
// open any more and all of it is told.
func settle(held *caps.Held, receipt propose.Receipt, worst amount.Units) {
	spent := amount.Units(0)
	for _, tx := range receipt.Transactions {
		if tx.Outcome == propose.Unknown || tx.Outcome == propose.InProgress || tx.Untold() {
			return
		}
		for _, change := range tx.Changes {
			if change.Mint == amount.SOL {
				sum, err := amount.Sum(spent, change.Out)
				if err != nil {
					return
				}
				spent = min(worst, sum)
			}
		}
	}
	if receipt.Outcome != propose.Unknown && receipt.Outcome != propose.InProgress {
		held.Settle(spent)
	}
}
