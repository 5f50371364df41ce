package flow

import (
	"sync"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/policy"
)

// sessionSet remembers when each session first asked for something.
type sessionSet struct {
	mu   sync.Mutex // guards seen
	seen map[string]time.Time
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
	for _, began := range s.seen {
		if now.Sub(began) < time.Hour {
			recent++
		}
	}
	if most := p.SessionsPerHour(); most > 0 && recent >= most {
		return fault.New(fault.PolicyDenied, "too many sessions have begun in the last hour (sessions.per_hour)")
	}
	if s.seen == nil {
		s.seen = make(map[string]time.Time)
	}
	s.seen[session] = now
	return nil
}

// alive refuses a session that has lasted as long as the owner lets one last.
func (s *sessionSet) alive(session string, now time.Time, p *policy.Policy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	began, known := s.seen[session]
	if most := p.SessionLasts(); known && most > 0 && now.Sub(began) >= most {
		return fault.New(fault.SessionExpired, "this session has lasted %s, and the owner lets one last %s (sessions.lasts)",
			now.Sub(began).Round(time.Second), most)
	}
	return nil
}

func (s *sessionSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}
