package flow

import (
	"time"

	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

// Shares lets tests outside the package see how bounds are divided.
type Shares struct{ shares }

// NewShares divides bounds over count transactions.
func NewShares(bounds effects.Bounds, count int) *Shares {
	return &Shares{shares{bounds: bounds, count: count}}
}

// Of is the share of one transaction.
func (s *Shares) Of(i int) effects.Bounds { return s.of(i) }

// Receive notes what one brought in.
func (s *Shares) Receive(changes []submit.Change) { s.receive(changes) }

// Sessions lets tests outside the package see who is admitted.
type Sessions struct{ sessionSet }

// Admit says why a session may not ask at a moment, if it may not.
func (s *Sessions) Admit(session string, now time.Time, p *policy.Policy) error {
	return s.admit(session, now, p)
}

// Backdate makes a session begin earlier.
func (f *Flow) Backdate(session string, by time.Duration) {
	f.sessions.mu.Lock()
	defer f.sessions.mu.Unlock()
	f.sessions.seen[session].began = f.sessions.seen[session].began.Add(-by)
}

// DecideInTurn decides about the transactions of one execution.
func (f *Flow) DecideInTurn(grant approval.Grant, batch ...judge.Judged) []error {
	e := &execution{flow: f, grant: grant, policy: f.Policy()}
	var verdicts []error
	for _, judged := range batch {
		verdicts = append(verdicts, e.decide(judged))
	}
	return verdicts
}
