// Package rebuild makes a ledger from the audit log: every limit, code, key and
// receipt that the log tells of. It is for a ledger that was lost or damaged.
//
// app imports it. It promises never to count less than the log says: what the
// log calls landed is charged with all that was reserved for it, since what it
// really took is known to the chain alone; what was signed and has no end in the
// log is held until the chain proves one. What was reserved and not signed never
// left signerd, because it writes the log before it sends.
package rebuild

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger"
)

// Wallet is whose transactions a record is about that does not say so itself:
// those of the first version did not.
type Wallet struct {
	Address solana.PublicKey
	Genesis solana.Hash
}

// Plan is what the log tells. Read makes it.
type Plan struct {
	fallback Wallet
	// unnamed is why there is no fallback.
	unnamed   error
	proposals []*proposal
	byID      map[string]*proposal
	// intents are what was asked for, by fingerprint and, for records that name
	// none, by who asked last.
	intents map[string]intent
	asked   map[string]intent
	holds   map[string]*hold
	events  []event
	// unpaid counts payments without a recipient.
	unpaid int
}

type intent struct{ tool, arguments string }

type proposal struct {
	approval.Record
	holds   []*hold
	refused *flow.StoredFault
	batch   uint32
	// correlation is the call that confirmed it.
	correlation string
}

// hold is one reservation.
type hold struct {
	ledger.Entry
	wallet  Wallet
	outcome flow.Outcome
	// end is the place of its newest settlement among the events.
	end  int
	slot uint64
	fee  amount.Units
}

// event is one change of the ledger, in the order of the log.
type event struct {
	at     time.Time
	change change
	hold   *hold
	// signature is that of a signing, outcome that of a settlement.
	signature solana.Signature
	outcome   ledger.Outcome
	recipient effects.Recipient
	// ahead is by how much a clock was set that was accepted.
	ahead time.Duration
}

type change uint8

const (
	reserved change = iota + 1
	signed
	settled
	recipientAdded
	recipientRemoved
	clockAccepted
)

// Summary is what a plan amounts to.
type Summary struct {
	Proposals    int `json:"proposals"`
	Reservations int `json:"reservations"`
	// Landed are charged in full, Open are held until the chain proves an end, and
	// Unsigned are given back at the next start.
	Landed   int `json:"landed"`
	Open     int `json:"open"`
	Unsigned int `json:"unsigned"`
	// Unattributed are payments whose recipient the log does not tell: they count
	// against every limit but the recipient's.
	Unattributed int `json:"unattributed_payments"`
}

// Read reads the log from its first record to its last. It refuses a log that it
// does not understand. Where there is no fallback, unnamed says why.
func Read(records iter.Seq2[audit.Record, error], fallback Wallet, unnamed error) (*Plan, error) {
	p := &Plan{
		fallback: fallback, unnamed: unnamed, byID: make(map[string]*proposal), holds: make(map[string]*hold),
		intents: make(map[string]intent), asked: make(map[string]intent),
	}
	number := 0
	for record, err := range records {
		number++
		if err == nil {
			err = p.add(record)
		}
		if err != nil {
			return nil, fmt.Errorf("audit record %d (%s): %w", number, record.Kind, err)
		}
	}
	return p, nil
}

// Summary counts.
func (p *Plan) Summary() Summary {
	s := Summary{Proposals: len(p.proposals), Reservations: len(p.holds), Unattributed: p.unpaid}
	for _, h := range p.holds {
		switch {
		case h.outcome == flow.Landed || h.outcome == flow.LandedFailed:
			s.Landed++
		case h.outcome == flow.NothingSent || h.outcome == flow.Expired:
		case h.Signed():
			s.Open++
		default:
			s.Unsigned++
		}
	}
	return s
}

// errUnknown is a record about something that no earlier one tells of.
var errUnknown = errors.New("it is about something that no earlier record tells of")
