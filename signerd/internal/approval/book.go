package approval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/shared/fault"
)

// Store keeps proposals durably: a method that returns nil has its effect on
// the disk.
type Store interface {
	// InsertProposal adds a proposal. Where another one has its key, earlier is
	// asked about that first, alone with it: nil gives the key to the new one and
	// stores what earlier edited, an error leaves everything as it was.
	InsertProposal(ctx context.Context, record Record, earlier func(*Record) error) error
	// ChangeProposal lets change edit the state, receipt and times of one
	// proposal, alone with it, and returns what is stored then. An error of
	// change leaves the proposal as it was.
	ChangeProposal(ctx context.Context, key Key, change func(*Record) error) (Record, error)
	// FindProposal reads one proposal.
	FindProposal(ctx context.Context, key Key) (Record, error)
	// ListProposals reads proposals, newest first.
	ListProposals(ctx context.Context, query Query) ([]Record, error)
}

// Record is a proposal as stored.
type Record struct {
	Proposal
	// CodeHash is the SHA-256 of the code, or zero where there is none.
	CodeHash [32]byte
	// Key names the action, if it has a name. It is not read back.
	Key string
}

// Key names one proposal, by its id, by its code, or by the name of its action.
type Key struct {
	ID          string
	CodeHash    [32]byte
	Idempotency string
}

// Query selects proposals.
type Query struct {
	// State is zero for any.
	State State
	// BeforeID, if set, selects what is older than this proposal.
	BeforeID string
	// Limit is zero for no limit.
	Limit int
}

// ErrNotFound is a key that names no proposal.
var ErrNotFound = errors.New("no such proposal")

// longestCode is well over the length of a code, so that a caller cannot have
// megabytes hashed.
const longestCode = 64

// newCode makes a code of at least 128 random bits in letters that survive
// being copied by hand.
func newCode() string { return rand.Text() }

func newID() string { return "p_" + strings.ToLower(rand.Text()) }

func hashCode(code string) [32]byte { return sha256.Sum256([]byte(code)) }

// Finish stores the receipt of an execution, or a better one when an outcome
// that was unknown has been settled.
func (b *Book) Finish(ctx context.Context, id string, receipt []byte, now time.Time) error {
	_, err := b.store.ChangeProposal(ctx, Key{ID: id}, func(r *Record) error {
		if r.State != Executing && r.State != Done {
			return fmt.Errorf("approval: proposal in state %s has nothing to finish", r.State)
		}
		r.State, r.Receipt, r.FinishedAt = Done, receipt, now.UTC()
		return nil
	})
	return found(err)
}

// Cancel voids an open proposal of the session and returns its state, which is
// another than Cancelled where it was no longer open.
func (b *Book) Cancel(ctx context.Context, id, session string, now time.Time) (State, error) {
	record, err := b.store.ChangeProposal(ctx, Key{ID: id}, func(r *Record) error {
		switch {
		case r.Session != session:
			return ErrNotFound
		case r.State != Open:
		case !now.Before(r.ExpiresAt):
			r.State = Expired
		default:
			r.State, r.FinishedAt = Cancelled, now.UTC()
		}
		return nil
	})
	return record.State, found(err)
}

// Get reads one proposal.
func (b *Book) Get(ctx context.Context, id string) (Proposal, error) {
	record, err := b.store.FindProposal(ctx, Key{ID: id})
	return record.Proposal, found(err)
}

// ByCode reads the proposal that a code was given for, used or not.
func (b *Book) ByCode(ctx context.Context, code string) (Proposal, error) {
	if code == "" || len(code) > longestCode {
		return Proposal{}, found(ErrNotFound)
	}
	record, err := b.store.FindProposal(ctx, Key{CodeHash: hashCode(code)})
	return record.Proposal, found(err)
}

// ByKey reads the proposal that an idempotency key stands for.
func (b *Book) ByKey(ctx context.Context, key string) (Proposal, error) {
	record, err := b.store.FindProposal(ctx, Key{Idempotency: key})
	return record.Proposal, found(err)
}

// List reads up to limit proposals, newest first, from before the given one if
// that is set.
func (b *Book) List(ctx context.Context, limit int, beforeID string) ([]Proposal, error) {
	return b.list(ctx, Query{Limit: limit, BeforeID: beforeID})
}

// Unfinished reads the proposals whose execution was cut short.
func (b *Book) Unfinished(ctx context.Context) ([]Proposal, error) {
	return b.list(ctx, Query{State: Executing})
}

// VoidOpen expires every open proposal. It is for the start of the process:
// the sessions that could confirm them are gone.
func (b *Book) VoidOpen(ctx context.Context, now time.Time) error {
	_, err := b.endOpen(ctx, Expired, now)
	return err
}

// CancelOpen voids every open proposal and says how many there were. It is for
// a change of policy: what was decided by the old one is decided no longer.
func (b *Book) CancelOpen(ctx context.Context, now time.Time) (int, error) {
	return b.endOpen(ctx, Cancelled, now)
}

func (b *Book) endOpen(ctx context.Context, end State, now time.Time) (int, error) {
	open, err := b.list(ctx, Query{State: Open})
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, proposal := range open {
		if _, err := b.store.ChangeProposal(ctx, Key{ID: proposal.ID}, func(r *Record) error {
			if r.State == Open {
				r.State, r.FinishedAt = end, now.UTC()
				ended++
			}
			return nil
		}); err != nil {
			return ended, err
		}
	}
	return ended, nil
}

func (b *Book) list(ctx context.Context, query Query) ([]Proposal, error) {
	records, err := b.store.ListProposals(ctx, query)
	if err != nil {
		return nil, found(err)
	}
	proposals := make([]Proposal, 0, len(records))
	for _, record := range records {
		proposals = append(proposals, record.Proposal)
	}
	return proposals, nil
}

// found words a missing proposal for the user.
func found(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fault.New(fault.NotFound, "no such proposal")
	}
	return err
}
