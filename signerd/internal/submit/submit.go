// Package submit sends signed transactions and finds out what became of them.
// It has RPC clients of its own, so that what judged a transaction and what
// reports on it share nothing but the node's address.
//
// flow, server and app import it. It promises invariant I7: nothing is called sent-and-failed
// that may still land; "expired" is said only when it is proven; "landed" only
// at confirmed commitment or better; and it only ever sends the very bytes
// that were signed.
package submit

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/txerror"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/ledger"
)

// Outcome is the ledger's.
type Outcome = ledger.Outcome

// The outcomes, as the ledger names them.
const (
	Unknown      = ledger.Unknown
	NothingSent  = ledger.NothingSent
	Landed       = ledger.Landed
	LandedFailed = ledger.LandedFailed
	Expired      = ledger.Expired
)

// TxError is why a transaction failed on chain.
type TxError = txerror.Error

// Change is what a transaction really did to one asset of the wallet, the
// network fee included.
type Change struct {
	Mint     solana.PublicKey `json:"mint"`
	Decimals uint8            `json:"decimals"`
	Out      amount.Units     `json:"out,omitempty"`
	In       amount.Units     `json:"in,omitempty"`
}

// Result is what is known at the end.
type Result struct {
	Outcome   Outcome
	Signature solana.Signature
	// Slot, Fee and Changes are the chain's own account of a transaction that
	// landed. Fee and Changes are empty where too few nodes told it.
	Slot    uint64
	Fee     amount.Units
	Changes []Change
	// Err is set for LandedFailed, and where a node refused to send for a reason
	// on chain.
	Err *TxError
	// Fault says, for everything but Landed, what the user is told.
	Fault *fault.Fault
}

// Untold reports a transaction that is on chain, and of which too few nodes told
// what it did.
func (r Result) Untold() bool {
	return (r.Outcome == Landed || r.Outcome == LandedFailed) && !r.Told()
}

// Told reports whether the chain's own account of the transaction is there: its
// fee is never nothing.
func (r Result) Told() bool { return r.Fee > 0 }

// Options adjust a sender; zero values mean the defaults.
type Options struct {
	// Genesis is the network that every node must serve; any if zero.
	Genesis solana.Hash
	// Wallet is whose changes are read back; the fee payer's if zero.
	Wallet solana.PublicKey
	// MustAnswer is how many nodes must tell the same of how a transaction ended
	// before it is believed: all of them by default. With k, k-1 may lie.
	MustAnswer int
	// Timeout bounds one call, 10 s by default.
	Timeout time.Duration
	// Interval is the time between looks and between broadcasts, 2 s by default.
	Interval time.Duration
	// Transport carries the calls; over the network by default.
	Transport http.RoundTripper
}

const (
	defaultTimeout  = 10 * time.Second
	defaultInterval = 2 * time.Second
)

// Sender sends through every node, and believes what enough of them tell and
// none that answers denies.
type Sender struct {
	nodes   []*node
	options Options
}

// New makes a sender for one or more RPC addresses.
func New(endpoints []string, options Options) (*Sender, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("at least one RPC address is needed")
	}
	if options.MustAnswer < 0 || options.MustAnswer > len(endpoints) {
		return nil, fmt.Errorf("%d RPC nodes are to answer, of %d", options.MustAnswer, len(endpoints))
	}
	if options.MustAnswer == 0 {
		options.MustAnswer = len(endpoints)
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Interval == 0 {
		options.Interval = defaultInterval
	}
	s := &Sender{options: options}
	for _, endpoint := range endpoints {
		n, err := newNode(endpoint, options)
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, n)
	}
	return s, nil
}

// Submit sends a signed transaction and follows it to a proven end, or until
// ctx ends. progress is called with "sent" once the bytes may be on their way.
func (s *Sender) Submit(ctx context.Context, signed custody.Signed, lastValidHeight uint64, progress func(stage string)) Result {
	if !signed.Stamped() {
		return Result{Outcome: NothingSent, Fault: fault.New(fault.Internal, "a transaction was to be sent before it was signed")}
	}
	return s.submit(ctx, signed.Raw(), signed.ID(), lastValidHeight, progress)
}

func (s *Sender) submit(ctx context.Context, raw []byte, id solana.Signature, lastValidHeight uint64, progress func(string)) Result {
	a := s.attempt(raw, id, lastValidHeight)
	switch left, refused := a.firstSend(ctx); {
	case !left:
		return a.neverLeft()
	case refused != nil:
		return a.watchRefused(ctx, refused)
	}
	progress("sent")
	return a.follow(ctx)
}

// Resume looks for the outcome of bytes that were signed earlier and may have
// been sent. It sends nothing: whoever confirmed them is no longer waiting, and
// a late trade would be a surprise. It never answers NothingSent.
func (s *Sender) Resume(ctx context.Context, raw []byte, id solana.Signature, lastValidHeight uint64) Result {
	a := s.attempt(raw, id, lastValidHeight)
	a.resumed = true
	return a.follow(ctx)
}

// attempt is one transaction on its way.
type attempt struct {
	*Sender
	raw       []byte
	wire      string
	id        solana.Signature
	lastValid uint64
	// resumed says that earlier sends are not ours to know.
	resumed bool
	lastErr error
	// seen is what the nodes said at the last look.
	seen tally

	mu sync.Mutex // guards ours
	// ours are the nodes that are known to serve our network.
	ours map[*node]bool
}

func (s *Sender) attempt(raw []byte, id solana.Signature, lastValid uint64) *attempt {
	return &attempt{Sender: s, raw: raw, wire: base64.StdEncoding.EncodeToString(raw), id: id, lastValid: lastValid, ours: make(map[*node]bool)}
}

// firstSend sends to every node: one that keeps the bytes back must not be the
// only one that has them. left is false only if it is certain that none has
// got them. refused is what a node said that claims to have forwarded nothing,
// where none took them.
func (a *attempt) firstSend(ctx context.Context) (left bool, refused error) {
	for err := range a.broadcast(ctx, false) {
		switch classify(err) {
		case maySend, isLanded:
			return true, nil
		case saysRefused:
			left, refused = true, err
		case neverLeft:
		}
	}
	return left, refused
}

// broadcast sends to all nodes at once, and gives what each answers as it comes.
// Whoever has heard enough goes on, and the sends do too.
func (a *attempt) broadcast(ctx context.Context, skipPreflight bool) iter.Seq[error] {
	answers := make(chan error, len(a.nodes))
	for _, n := range a.nodes {
		go func() { answers <- n.send(ctx, a.wire, a.id, skipPreflight) }()
	}
	return func(yield func(error) bool) {
		for range a.nodes {
			err := <-answers
			if err != nil {
				a.lastErr = err
			}
			if !yield(err) {
				return
			}
		}
	}
}

func (a *attempt) neverLeft() Result {
	return Result{
		Outcome: NothingSent, Signature: a.id,
		Fault: fault.New(fault.RPCUnavailable, "no RPC node can be reached; nothing was sent").Because(a.lastErr),
	}
}

// refusedLooks is how often a transaction is looked for that a node says it
// refused: long enough to see one that landed in spite of that.
const refusedLooks = 3

// watchRefused tells what became of a transaction that a node refused. The
// bytes are out: whoever has them can still have them land, whatever the node
// said. So nothing is sent again, and until the network can no longer take
// them the outcome is unknown. The refusal is told all the same.
func (a *attempt) watchRefused(ctx context.Context, refused error) Result {
	pause := time.NewTicker(a.options.Interval)
	defer pause.Stop()
	for look := range refusedLooks {
		if result, done := a.look(ctx); done {
			return result
		}
		if look == refusedLooks-1 || ctx.Err() != nil {
			break
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	result := a.unknown(refused)
	failed, raw := preflightError(refused, topPrograms(a.raw))
	why := "it is malformed"
	if raw != nil {
		why, result.Err = failed.Text, &failed
	}
	result.Fault = fault.New(fault.OutcomeUnknown,
		"the RPC node says that it did not send the transaction (%s); its word alone proves nothing, so this is settled only once the transaction can no longer land, in about a minute", why).Because(refused)
	return result
}

// follow looks and sends again in turn until the end is proven or ctx ends.
func (a *attempt) follow(ctx context.Context) Result {
	timer := time.NewTimer(0)
	defer timer.Stop()
	// The first send went out a moment ago.
	send := false
	for {
		select {
		case <-ctx.Done():
			return a.unknown(ctx.Err())
		case <-timer.C:
		}
		if result, done := a.look(ctx); done {
			return result
		}
		if send {
			a.sendAgain(ctx)
		}
		send = !a.resumed
		timer.Reset(a.options.Interval)
	}
}

// sendAgain sends the same bytes. Whatever comes back proves nothing: an
// earlier copy may be on its way.
func (a *attempt) sendAgain(ctx context.Context) {
	for err := range a.broadcast(ctx, true) {
		if verdict := classify(err); verdict == maySend || verdict == isLanded {
			return
		}
	}
}

func (a *attempt) unknown(cause error) Result {
	why := a.seen.words(len(a.nodes))
	if why == "" {
		why = "its outcome is not known yet"
	}
	return Result{
		Outcome: Unknown, Signature: a.id,
		Fault: fault.New(fault.OutcomeUnknown, "the transaction was sent and may still land; %s", why).Because(errors.Join(cause, a.lastErr)),
	}
}

func (a *attempt) expired() Result {
	return Result{
		Outcome: Expired, Signature: a.id,
		Fault: fault.New(fault.ProvenExpired, "the transaction did not land in time"),
	}
}

func (a *attempt) landed(ctx context.Context, found status) Result {
	result := Result{Outcome: Landed, Signature: a.id, Slot: found.slot}
	metas := a.readMetas(context.WithoutCancel(ctx), found)
	a.tell(&result, metas)
	if found.failed != nil {
		result.Outcome = LandedFailed
		failed := describe(found, metas, topPrograms(a.raw))
		result.Err = &failed
		result.Fault = fault.New(fault.FailedOnChain, "the transaction landed and failed on chain: %s", failed.Text)
	}
	return result
}

// describe says why it failed on chain. The logs, which tell the failing
// program, are used where no node shows others.
func describe(found status, metas []told, programs []solana.PublicKey) TxError {
	if len(metas) == 0 {
		return txerror.Describe(found.failed, nil, programs)
	}
	failed := txerror.Describe(found.failed, metas[0].LogMessages, programs)
	for _, m := range metas[1:] {
		if txerror.Describe(found.failed, m.LogMessages, programs) != failed {
			return txerror.Describe(found.failed, nil, programs)
		}
	}
	return failed
}

// topPrograms are the programs of the top-level instructions.
func topPrograms(raw []byte) []solana.PublicKey {
	tx, err := solana.ParseTransaction(raw)
	if err != nil {
		return nil
	}
	programs := make([]solana.PublicKey, 0, len(tx.Message.Instructions))
	for _, instruction := range tx.Message.Instructions {
		programs = append(programs, tx.Message.Keys[instruction.Program])
	}
	return programs
}
