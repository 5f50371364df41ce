package ledger

import (
	"context"
	"errors"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/policy"
)

// Store keeps entries durably: a method that returns nil has its effect on the
// disk. Writes happen one at a time.
type Store interface {
	// Reserve reads the totals of the window, asks check, and adds the entry if
	// check admits it: nothing happens in between.
	Reserve(ctx context.Context, entry Entry, window Window, check func(Totals) error) error
	// Change lets change edit the mutable fields of one entry, alone with it.
	// An error of change leaves the entry as it was. A charge that change adds
	// counts from its SettledAt, or from the newest event if that is later; where
	// the clock was set, from the time that it should show.
	Change(ctx context.Context, id string, change func(*Entry) error) error
	// Entries reads entries, oldest first.
	Entries(ctx context.Context, query Query) ([]Entry, error)
	// Totals reads what counts in a window.
	Totals(ctx context.Context, window Window) (Totals, error)
}

// ErrNotFound is an id that names no entry.
var ErrNotFound = errors.New("no such reservation")

// Entry is one reservation with what became of it.
type Entry struct {
	ID         string
	Scope      string
	ProposalID string
	Session    string
	Position   int
	// Charge is what is held until the outcome is proven.
	Charge map[solana.PublicKey]amount.Units
	// Payments is the part of it that goes to others. It counts against their
	// caps while the outcome is unknown and, once the transaction has landed
	// without failing, for a day.
	Payments        map[policy.Destination]amount.Units
	LastValidHeight uint64
	Digest          [32]byte
	ReservedAt      time.Time

	// Change may edit what follows.
	Raw       []byte
	Signature solana.Signature
	Outcome   Outcome
	// Charged is what the proven outcome took.
	Charged   map[solana.PublicKey]amount.Units
	SettledAt time.Time
	// Clock is the reading at a reservation or a settlement. It is not read back.
	Clock clock.Reading
}

// Signed reports whether there may be signed bytes: they are stored, or, in a
// ledger made anew from the audit log, their signature is.
func (e Entry) Signed() bool { return len(e.Raw) > 0 || !e.Signature.IsZero() }

// Query selects entries.
type Query struct {
	Scope string
	// AnyScope selects those of every scope.
	AnyScope bool
	// Unresolved selects what has no proven outcome.
	Unresolved bool
	// ProposalID and Signature select, where set, by one of them.
	ProposalID string
	Signature  solana.Signature
}

// Window says what counts.
type Window struct {
	Scope   string
	Session string
	// DaySince and HourSince begin the rolling windows. What is unresolved
	// counts however old it is.
	DaySince  time.Time
	HourSince time.Time
	// ProposalID and Position ask whether this place of a batch is held.
	ProposalID string
	Position   int
}

// Totals is what counts in a window. A store may count a little more than what
// is in it, and never less.
type Totals struct {
	Session map[solana.PublicKey]policy.Held
	Day     map[solana.PublicKey]policy.Held
	// Destination is what each recipient was paid since DaySince, or may be.
	Destination map[policy.Destination]policy.Held
	// Transactions is how many reservations were made since HourSince.
	Transactions int
	// Newest is the time of the newest event of any kind.
	Newest time.Time
	// Clock is the reading that the clock is compared with.
	Clock clock.Reading
	// Held reports an entry at the window's place that is unresolved or spent.
	Held bool
}
