package audit

import (
	"slices"
	"time"
)

// Filter picks records. What it does not name it does not look at.
type Filter struct {
	// Since is the first moment that is picked, Until the first that is not.
	Since, Until time.Time
	Kinds        []string
	Session      string
}

// Picks reports whether the filter picks the record.
func (f Filter) Picks(e Entry) bool {
	return (f.Since.IsZero() || !e.Time.Before(f.Since)) &&
		(f.Until.IsZero() || e.Time.Before(f.Until)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(f.Session == "" || e.Session == f.Session)
}

// Trace finds the records that belong to one matter. Show it the journal twice,
// and Belongs tells on the third reading which they are. A record belongs if it
// names the matter itself, one of its proposals, or a call that one of these was
// asked for in; a call is named by its correlation id and its session, since
// callers choose the former.
type Trace struct {
	id        string
	proposals map[string]bool
	calls     map[call]bool
}

type call struct{ session, correlation string }

// NewTrace traces a proposal, a correlation id, a session, a reservation, a
// transaction's signature or a message's digest.
func NewTrace(id string) *Trace {
	return &Trace{id: id, proposals: make(map[string]bool), calls: make(map[call]bool)}
}

// Look learns from one record.
func (t *Trace) Look(e Entry) {
	if !t.names(e) && !t.Belongs(e) {
		return
	}
	if e.Proposal != "" {
		t.proposals[e.Proposal] = true
	}
	if e.Correlation != "" {
		t.calls[call{e.Session, e.Correlation}] = true
	}
}

func (t *Trace) names(e Entry) bool {
	return slices.Contains([]string{
		e.Session, e.Correlation, e.Proposal, e.Digest, e.Data[ReservationField], e.Data[SignatureField],
	}, t.id)
}

// Belongs reports whether a record is part of the matter.
func (t *Trace) Belongs(e Entry) bool {
	return t.names(e) || e.Proposal != "" && t.proposals[e.Proposal] || e.Correlation != "" && t.calls[call{e.Session, e.Correlation}]
}
