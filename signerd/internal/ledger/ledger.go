// Package ledger holds what may still be spent. Before anything is signed its
// worst case is reserved here, against every cap at once and durably; it is
// given back only when it is proven that it was not spent.
//
// flow imports it; custody takes its Reservation, submit its Outcome. It promises invariant I2: in
// every window, what is reserved, settled or of unknown outcome is at most the
// cap, at every instant, across concurrency, restarts and crashes.
package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
)

// Outcome is what is proven about a transaction.
type Outcome uint8

// The outcomes. Unknown is not an end: the reservation stays.
const (
	Unknown Outcome = iota
	NothingSent
	Landed
	LandedFailed
	Expired
)

func (o Outcome) String() string {
	switch o {
	case Unknown:
		return "unknown"
	case NothingSent:
		return "nothing_sent"
	case Landed:
		return "landed"
	case LandedFailed:
		return "landed_failed"
	case Expired:
		return "expired"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// spent reports an outcome that may have moved money.
func (o Outcome) spent() bool { return o == Landed || o == LandedFailed }

// Ledger is the ledger of one wallet on one network.
type Ledger struct {
	store Store
	scope string
	// read is nil where nothing but the time that callers give is known.
	read func() (clock.Reading, error)
}

// New makes the ledger of a wallet on the network with the genesis hash.
func New(store Store, wallet solana.PublicKey, genesis solana.Hash) *Ledger {
	return &Ledger{store: store, scope: genesis.String() + "/" + wallet.String()}
}

// WatchClock is the same ledger, which refuses to count by a clock that was set.
func (l *Ledger) WatchClock(read func() (clock.Reading, error)) *Ledger {
	return &Ledger{store: l.store, scope: l.scope, read: read}
}

func (l *Ledger) reading() (clock.Reading, error) {
	if l.read == nil {
		return clock.Reading{}, nil
	}
	reading, err := l.read()
	if err != nil {
		return reading, fault.New(fault.StateLocked, "this computer's clock cannot be watched, so nothing is signed").Because(err)
	}
	return reading, nil
}

// Reservation is a durable hold for one transaction. Only Reserve makes one.
type Reservation struct {
	id      string
	tx      decode.Tx
	grant   approval.Grant
	stamped bool
}

// ID names the reservation.
func (r Reservation) ID() string { return r.id }

// Transaction is what may be signed under it.
func (r Reservation) Transaction() decode.Tx { return r.tx }

// Grant is the confirmation that it rests on.
func (r Reservation) Grant() approval.Grant { return r.grant }

// Stamped reports whether Reserve made it.
func (r Reservation) Stamped() bool { return r.stamped }

// Reserve holds the worst case of a judged transaction against every cap of
// the policy, all or nothing, in one durable transaction. position is the
// transaction's place in its batch: one place is never held twice.
func (l *Ledger) Reserve(ctx context.Context, g approval.Grant, j judge.Judged, p *policy.Policy,
	position int, lastValidHeight uint64, now time.Time,
) (Reservation, error) {
	if !g.Stamped() || !j.Stamped() || !j.Tx().Stamped() {
		return Reservation{}, errors.New("ledger: a reservation needs a grant and a judged transaction")
	}
	payments, err := Paid(j.Effects().Payments())
	if err != nil {
		return Reservation{}, err
	}
	entry := Entry{
		ProposalID: g.Proposal().ID, Session: g.Proposal().Session, Position: position,
		Charge: maps.Clone(j.Charge()), Payments: payments, LastValidHeight: lastValidHeight, Digest: j.Tx().Digest(),
	}
	id, err := l.reserve(ctx, entry, capsOf(p), now)
	if err != nil {
		return Reservation{}, err
	}
	return Reservation{id: id, tx: j.Tx(), grant: g, stamped: true}, nil
}

// Paid adds up what each recipient gets of each asset.
func Paid(payments []effects.Payment) (map[policy.Destination]amount.Units, error) {
	total := make(map[policy.Destination]amount.Units)
	for _, payment := range payments {
		to := policy.Destination{Recipient: payment.Recipient, Mint: payment.Mint}
		sum, err := amount.Sum(total[to], payment.Amount)
		if err != nil {
			return nil, fault.New(fault.CapExceeded, "the payments of this transaction overflow").Because(err)
		}
		total[to] = sum
	}
	return total, nil
}

func (l *Ledger) reserve(ctx context.Context, entry Entry, limits caps, now time.Time) (string, error) {
	entry.ID, entry.Scope, entry.ReservedAt = "r_"+strings.ToLower(rand.Text()), l.scope, now.UTC()
	window := l.window(entry.Session, now)
	window.ProposalID, window.Position = entry.ProposalID, entry.Position
	var err error
	if entry.Clock, err = l.reading(); err != nil {
		return "", err
	}
	err = l.store.Reserve(ctx, entry, window, func(totals Totals) error {
		return limits.admit(entry, totals, now)
	})
	return entry.ID, err
}

// Restore puts back a reservation that the audit log tells of. It asks no cap:
// what was admitted once counts.
func (l *Ledger) Restore(ctx context.Context, entry Entry) error {
	entry.Scope = l.scope
	return l.store.Reserve(ctx, entry, Window{Scope: l.scope}, func(Totals) error { return nil })
}

const (
	day  = 24 * time.Hour
	hour = time.Hour
)

// window asks for what counts at now. The clock may have stepped back by a
// little; what lies ahead of it counts in any case.
func (l *Ledger) window(session string, now time.Time) Window {
	return Window{Scope: l.scope, Session: session, DaySince: now.Add(-day - leeway), HourSince: now.Add(-hour - leeway)}
}

// RecordSigned stores the signed bytes before they can be sent. Storing the
// same again changes nothing; storing others is an error.
func (l *Ledger) RecordSigned(ctx context.Context, reservationID string, raw []byte, id solana.Signature) error {
	return l.store.Change(ctx, reservationID, func(e *Entry) error {
		switch {
		case e.Scope != l.scope:
			return ErrNotFound
		case e.Outcome != Unknown:
			return errors.New("ledger: the reservation is settled, so nothing may be signed under it")
		case e.Signed() && (e.Signature != id || string(e.Raw) != string(raw)):
			return errors.New("ledger: other bytes were signed under this reservation")
		}
		e.Raw, e.Signature = raw, id
		return nil
	})
}

// Settlement is a proven end.
type Settlement struct {
	Outcome Outcome
	// Charged is what left the wallet, by asset. Where a transaction landed and
	// this is empty, what was reserved is charged in full.
	Charged map[solana.PublicKey]amount.Units
	At      time.Time
}

// ErrSettled is a settlement that contradicts an earlier one.
var ErrSettled = errors.New("the reservation has another outcome already")

// Settle moves a reservation to its end. Settling again with the same outcome
// changes nothing. An outcome that says money moved is final; one that says
// none did gives way to it, because a node that hid a landed transaction may
// be found out. Unknown keeps the reservation.
func (l *Ledger) Settle(ctx context.Context, reservationID string, s Settlement) error {
	if s.Outcome == Unknown {
		return nil
	}
	// What the chain has decided is written down by whatever clock there is.
	reading, err := l.reading()
	if err != nil {
		reading = clock.Reading{}
	}
	return l.store.Change(ctx, reservationID, func(e *Entry) error {
		switch {
		case e.Scope != l.scope:
			return ErrNotFound
		case e.Outcome == s.Outcome:
			return nil
		case e.Outcome != Unknown && (e.Outcome.spent() || !s.Outcome.spent()):
			return fmt.Errorf("%w: %s, not %s", ErrSettled, e.Outcome, s.Outcome)
		}
		e.Outcome, e.SettledAt, e.Clock = s.Outcome, s.At.UTC(), reading
		e.Charged = nil
		if s.Outcome.spent() {
			e.Charged = maps.Clone(s.Charged)
			if len(e.Charged) == 0 {
				e.Charged = maps.Clone(e.Charge)
			}
		}
		return nil
	})
}

// Usage is what stands against the caps at now.
func (l *Ledger) Usage(ctx context.Context, session string, now time.Time) (policy.Usage, error) {
	reading, err := l.reading()
	if err != nil {
		return policy.Usage{}, err
	}
	totals, err := l.store.Totals(ctx, l.window(session, now))
	if err != nil {
		return policy.Usage{}, err
	}
	if err := checkClock(totals, reading, now); err != nil {
		return policy.Usage{}, err
	}
	return policy.Usage{
		Session: totals.Session, Day: totals.Day, Destination: totals.Destination, TransactionsLastHour: totals.Transactions,
	}, nil
}

// Pending is a reservation as recovery and receipts see it.
type Pending struct {
	ReservationID   string
	ProposalID      string
	Position        int
	Session         string
	Raw             []byte
	Signature       solana.Signature
	LastValidHeight uint64
	Charge          map[solana.PublicKey]amount.Units
	Signed          bool
	Outcome         Outcome
	Charged         map[solana.PublicKey]amount.Units
}

// Unresolved lists the reservations without a proven end, oldest first.
func (l *Ledger) Unresolved(ctx context.Context) ([]Pending, error) {
	return l.pending(ctx, Query{Scope: l.scope, Unresolved: true})
}

// OfProposal lists every reservation of a proposal, in the order they were made.
func (l *Ledger) OfProposal(ctx context.Context, proposalID string) ([]Pending, error) {
	return l.pending(ctx, Query{Scope: l.scope, ProposalID: proposalID})
}

// Knows reports whether the ledger has an entry of the proposal that is the one
// looked for, of whatever wallet and network.
func (l *Ledger) Knows(ctx context.Context, proposalID string, is func(Pending) bool) (bool, error) {
	entries, err := l.pending(ctx, Query{AnyScope: true, ProposalID: proposalID})
	return slices.ContainsFunc(entries, is), err
}

// BySignature finds the proposal that a transaction belongs to.
func (l *Ledger) BySignature(ctx context.Context, id solana.Signature) (string, error) {
	entries, err := l.store.Entries(ctx, Query{Scope: l.scope, Signature: id})
	if err != nil {
		return "", err
	}
	if id.IsZero() || len(entries) == 0 {
		return "", fault.New(fault.NotFound, "this signer made no transaction with this signature")
	}
	return entries[0].ProposalID, nil
}

// InFlight is how much SOL unresolved transactions of this wallet may still
// take, and how many they are.
func (l *Ledger) InFlight(ctx context.Context) (amount.Units, int, error) {
	entries, err := l.store.Entries(ctx, Query{Scope: l.scope, Unresolved: true})
	if err != nil {
		return 0, 0, err
	}
	var total amount.Units
	for _, entry := range entries {
		if total, err = amount.Sum(total, entry.Charge[amount.SOL]); err != nil {
			return 0, 0, fmt.Errorf("ledger: in flight: %w", err)
		}
	}
	return total, len(entries), nil
}

func (l *Ledger) pending(ctx context.Context, query Query) ([]Pending, error) {
	entries, err := l.store.Entries(ctx, query)
	if err != nil {
		return nil, err
	}
	list := make([]Pending, 0, len(entries))
	for _, e := range entries {
		list = append(list, Pending{
			ReservationID: e.ID, ProposalID: e.ProposalID, Position: e.Position, Session: e.Session,
			Raw: e.Raw, Signature: e.Signature, LastValidHeight: e.LastValidHeight,
			Charge: e.Charge, Signed: e.Signed(), Outcome: e.Outcome, Charged: e.Charged,
		})
	}
	return list, nil
}
