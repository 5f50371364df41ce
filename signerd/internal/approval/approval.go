// Package approval keeps proposals and their confirmation codes. A code
// authorises one execution of one intent in one session: taking it is one
// durable compare-and-swap, and whatever happens afterwards it stays taken.
//
// flow and server import it; ledger takes its Grant. It promises that only the SHA-256
// of a code is stored, that of any number of callers with one code exactly one
// gets a Grant, and that a code shown with another intent or in another
// session is void from then on.
package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/policy"
)

// State is where a proposal stands. States only move away from Open.
type State uint8

// The states.
const (
	Open State = iota + 1
	Executing
	Done
	Expired
	Cancelled
	Denied
)

func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case Executing:
		return "executing"
	case Done:
		return "done"
	case Expired:
		return "expired"
	case Cancelled:
		return "cancelled"
	case Denied:
		return "denied"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Draft is a judged proposal before it is stored.
type Draft struct {
	// Session is the connection that proposed; only it can confirm.
	Session string
	// Client and Correlation are what the caller says; they are shown and
	// recorded, never judged.
	Client      string
	Correlation string
	Tool        string
	// Arguments is the canonical JSON of the intent; Fingerprint is its digest
	// with the tool's name.
	Arguments   string
	Fingerprint [32]byte
	Flow        effects.Flow
	Bounds      effects.Bounds
	Decision    policy.Decision
	// Digests are those of the judged messages, in order.
	Digests [][32]byte
	// TTL is how long a code lives.
	TTL time.Duration
	// Denied is why there will be no code, or nil.
	Denied *fault.Fault
	// Key names the action, if it has a name.
	Key ActionKey
}

// ActionKey is what an action is called. The same key again is the same action.
type ActionKey struct {
	// Name is empty where the action has none.
	Name string
	// For is how long the name stands for the action, for ever if zero.
	For time.Duration
	// Again says whether what was executed under the name may be executed once
	// more; never if nil.
	Again func(Proposal) bool
}

// Proposal is a stored proposal.
type Proposal struct {
	ID            string
	State         State
	Session       string
	Client        string
	Correlation   string
	Tool          string
	Arguments     string
	Fingerprint   [32]byte
	Flow          effects.Flow
	Bounds        effects.Bounds
	Tier          policy.Tier
	Rules         []string
	PolicyVersion string
	Digests       [][32]byte
	Denied        *fault.Fault
	CreatedAt     time.Time
	ExpiresAt     time.Time
	// FinishedAt is zero until the receipt is stored.
	FinishedAt time.Time
	// Receipt is flow's encoding of the outcome.
	Receipt []byte
}

// Grant is the right to execute one proposal once. Only Consume makes one.
type Grant struct {
	proposal Proposal
	stamped  bool
}

// Proposal is what was confirmed.
func (g Grant) Proposal() Proposal { return g.proposal }

// Stamped reports whether Consume made this grant.
func (g Grant) Stamped() bool { return g.stamped }

// ErrAlreadyUsed is the answer to all but one of those who take a code: its
// intent is the same, and the outcome is, or will be, in the proposal.
var ErrAlreadyUsed = errors.New("the code has been used")

// Book is the list of proposals.
type Book struct{ store Store }

// NewBook makes a book on a durable store.
func NewBook(store Store) *Book { return &Book{store: store} }

// Open stores a proposal. The code is returned this once and is empty for a
// denied draft.
func (b *Book) Open(ctx context.Context, draft Draft, now time.Time) (Proposal, string, error) {
	proposal := Proposal{
		ID: newID(), State: Open, Session: draft.Session, Client: draft.Client, Correlation: draft.Correlation,
		Tool: draft.Tool, Arguments: draft.Arguments, Fingerprint: draft.Fingerprint,
		Flow: draft.Flow, Bounds: draft.Bounds, Digests: draft.Digests, Denied: draft.Denied,
		CreatedAt: now.UTC(), ExpiresAt: now.Add(draft.TTL).UTC(),
		Tier: policy.Deny, Rules: []string{"builtin"},
	}
	if draft.Decision.Stamped() {
		proposal.Tier, proposal.Rules = draft.Decision.Tier(), draft.Decision.Rules()
		proposal.PolicyVersion = draft.Decision.PolicyVersion()
	}
	if draft.Denied != nil {
		proposal.State, proposal.FinishedAt = Denied, proposal.CreatedAt
		return proposal, "", b.store.InsertProposal(ctx, Record{Proposal: proposal}, nil)
	}
	if !draft.Decision.Stamped() || draft.Decision.Tier() > policy.Confirm {
		return Proposal{}, "", errors.New("approval: a code is only for a decision that asks for no person")
	}
	code := newCode()
	record := Record{Proposal: proposal, CodeHash: hashCode(code), Key: draft.Key.Name}
	return proposal, code, b.store.InsertProposal(ctx, record, func(earlier *Record) error {
		if err := draft.Key.stands(earlier.Proposal, draft.Fingerprint, now); err != nil {
			return err
		}
		if earlier.State == Open {
			// One code at a time for one action.
			earlier.State, earlier.FinishedAt = Cancelled, now.UTC()
		}
		return nil
	})
}

// UsedError is a key whose action has been executed, or is being executed.
type UsedError struct{ Proposal Proposal }

func (*UsedError) Error() string {
	return "the action of this idempotency key has been executed already"
}

// stands says whether the key still stands for the action of this proposal: a
// UsedError if that was executed, and nil where the key is free again.
func (k ActionKey) stands(earlier Proposal, fingerprint [32]byte, now time.Time) error {
	switch {
	case k.For > 0 && now.Sub(earlier.CreatedAt) >= k.For:
		return nil
	case earlier.Fingerprint != fingerprint:
		return fault.New(fault.KeyConflict, "the idempotency key was given to another action (proposal %s)", earlier.ID)
	case earlier.State == Done && k.Again != nil && k.Again(earlier):
		return nil
	case earlier.State == Executing || earlier.State == Done:
		return &UsedError{earlier}
	}
	return nil
}

// Used looks for the action of a key before anything is judged: a UsedError or a
// KeyConflict fault if the key is not free.
func (b *Book) Used(ctx context.Context, key ActionKey, fingerprint [32]byte, now time.Time) error {
	record, err := b.store.FindProposal(ctx, Key{Idempotency: key.Name})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return key.stands(record.Proposal, fingerprint, now)
}

// Peek says what a code is good for, without using it. For a used code with
// its own intent that is the proposal as it stands; everything else that
// cannot be confirmed is a fault.
func (b *Book) Peek(ctx context.Context, code string, fingerprint [32]byte, session string, now time.Time) (Proposal, error) {
	proposal, err := b.show(ctx, code, fingerprint, session, now, false)
	if errors.Is(err, ErrAlreadyUsed) {
		err = nil
	}
	return proposal, err
}

// Consume takes the code. Of all callers exactly one gets the grant; the
// others get ErrAlreadyUsed or the fault that Peek would give.
func (b *Book) Consume(ctx context.Context, code string, fingerprint [32]byte, session string, now time.Time) (Grant, error) {
	proposal, err := b.show(ctx, code, fingerprint, session, now, true)
	if err != nil {
		return Grant{}, err
	}
	return Grant{proposal: proposal, stamped: true}, nil
}

// show presents a code. The verdict and the change of state that it brings are
// one transaction of the store.
func (b *Book) show(ctx context.Context, code string, fingerprint [32]byte, session string, now time.Time, take bool) (Proposal, error) {
	if len(code) > longestCode || code == "" {
		return Proposal{}, codeUnknown()
	}
	key := Key{CodeHash: hashCode(code)}
	if !take {
		// Mostly nothing is to be changed, and so nothing to be written.
		record, err := b.store.FindProposal(ctx, key)
		if err == nil {
			state, verdict := judgeCode(record.Proposal, fingerprint, session, now)
			if state == record.State && (verdict == nil || errors.Is(verdict, ErrAlreadyUsed)) {
				return record.Proposal, verdict
			}
		}
	}
	var verdict error
	record, err := b.store.ChangeProposal(ctx, key, func(r *Record) error {
		r.State, verdict = judgeCode(r.Proposal, fingerprint, session, now)
		if verdict == nil && take {
			r.State = Executing
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return Proposal{}, codeUnknown()
	}
	if err != nil {
		return Proposal{}, err
	}
	if verdict != nil && !errors.Is(verdict, ErrAlreadyUsed) {
		return Proposal{}, verdict
	}
	return record.Proposal, verdict
}

// clockSlack is how far back the clock may step without ending a code's life.
const clockSlack = 2 * time.Second

// judgeCode is the state that a proposal moves to when its code is shown, and
// why it cannot be confirmed, if it cannot.
func judgeCode(p Proposal, fingerprint [32]byte, session string, now time.Time) (State, error) {
	sameIntent := p.Fingerprint == fingerprint
	switch p.State {
	case Open:
		switch {
		case !now.Before(p.ExpiresAt) || now.Before(p.CreatedAt.Add(-clockSlack)):
			return Expired, fault.New(fault.CodeExpired, "the confirmation code has expired; nothing was signed")
		case p.Session != session:
			return Cancelled, fault.New(fault.CodeVoid, "the confirmation code was given to another session and is now void")
		case !sameIntent:
			return Cancelled, fault.New(fault.CodeOtherIntent, "the confirmation code was given for other arguments and is now void")
		}
		return Open, nil
	case Executing, Done:
		if !sameIntent {
			return p.State, fault.New(fault.CodeOtherIntent, "the confirmation code was used, and for other arguments")
		}
		return p.State, ErrAlreadyUsed
	case Expired:
		return p.State, fault.New(fault.CodeExpired, "the confirmation code has expired; nothing was signed")
	case Cancelled, Denied:
		return p.State, fault.New(fault.CodeVoid, "the confirmation code is void; nothing was signed")
	}
	return p.State, fault.New(fault.StateLocked, "a stored proposal has a state that this version does not know")
}

func codeUnknown() error {
	return fault.New(fault.CodeUnknown, "this confirmation code was never given")
}
