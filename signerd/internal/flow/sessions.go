package flow

import (
	"context"
	"strconv"
	"sync"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/policy"
)

// Peer is who is at the other end of a session, by the kernel's word. It is for
// the record and decides nothing here.
type Peer struct {
	UID        uint32
	PID        int32
	Executable string
}

// agentRun is one session that has asked for something.
type agentRun struct {
	began  time.Time
	record sync.Mutex // guards what follows, and keeps the records of a session in order
	opened bool
	ended  bool
}

// sessionSet remembers when each session first asked for something.
type sessionSet struct {
	mu   sync.Mutex // guards seen
	seen map[string]*agentRun
}

// admit says why a session may not ask for something now, if it may not: it
// has lasted too long, or it is new and too many have begun within the hour.
func (s *sessionSet) admit(session string, now time.Time, p *policy.Policy) error {
	if err := s.alive(session, now, p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[session]; known {
		return nil
	}
	recent := 0
	for _, run := range s.seen {
		if now.Sub(run.began) < time.Hour {
			recent++
		}
	}
	if most := p.SessionsPerHour(); most > 0 && recent >= most {
		return fault.New(fault.PolicyDenied, "too many sessions have begun in the last hour (sessions.per_hour)")
	}
	if s.seen == nil {
		s.seen = make(map[string]*agentRun)
	}
	s.seen[session] = &agentRun{began: now}
	return nil
}

// alive refuses a session that has lasted as long as the owner lets one last.
func (s *sessionSet) alive(session string, now time.Time, p *policy.Policy) error {
	run := s.of(session)
	if most := p.SessionLasts(); run != nil && most > 0 && now.Sub(run.began) >= most {
		return fault.New(fault.SessionExpired, "this session has lasted %s, and the owner lets one last %s (sessions.lasts)",
			now.Sub(run.began).Round(time.Second), most)
	}
	return nil
}

// of is the session's run, or nil before it has asked for anything.
func (s *sessionSet) of(session string) *agentRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[session]
}

func (s *sessionSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// openSession records who a session is, before the first record of what it asked
// for. A connection that asks for nothing leaves no record, so that opening many
// does not fill the log.
func (f *Flow) openSession(ctx context.Context, p Proposed) error {
	run := f.sessions.of(p.Session)
	run.record.Lock()
	defer run.record.Unlock()
	if run.opened {
		return nil
	}
	if err := f.note(ctx, kindSessionOpened, subject{session: p.Session}, map[string]string{
		"uid": strconv.FormatUint(uint64(p.Peer.UID), 10), "pid": strconv.FormatInt(int64(p.Peer.PID), 10),
		"executable": p.Peer.Executable, "client_claimed": p.Client,
	}); err != nil {
		return err
	}
	run.opened = true
	return nil
}

// EndSession records that a session's connection is closed. One whose end a crash
// cut off has no such record.
func (f *Flow) EndSession(session string) {
	run := f.sessions.of(session)
	if run == nil {
		return
	}
	run.record.Lock()
	defer run.record.Unlock()
	if !run.opened || run.ended {
		return
	}
	run.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.work), settleInterval)
	defer cancel()
	if err := f.record(ctx, kindSessionClosed, subject{session: session}, map[string]string{fieldDuration: milliseconds(time.Since(run.began))}); err != nil {
		f.complain(ctx, "the end of a session could not be recorded", err)
	}
}
