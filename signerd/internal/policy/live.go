package policy

import (
	"fmt"
	"sync/atomic"
)

// Live holds the policy in force. Whoever decides reads it once and decides
// the whole matter by what it read.
type Live struct{ current atomic.Pointer[Policy] }

// NewLive puts a policy in force.
func NewLive(p *Policy) *Live {
	live := &Live{}
	live.current.Store(p)
	return live
}

// Current is the policy in force.
func (l *Live) Current() *Policy { return l.current.Load() }

// Check says why next cannot follow the policy in force: another network would
// leave the ledger and the checks at start with the old one.
func (l *Live) Check(next *Policy) error {
	current := l.Current()
	if next.cluster != current.cluster || next.genesis != current.genesis {
		return fmt.Errorf("the network cannot change while signerd runs: it is %s (%s), and the file says %s (%s); restart signerd to change it",
			current.cluster, current.genesis, next.cluster, next.genesis)
	}
	return nil
}

// Replace puts next in force, if Check admits it.
func (l *Live) Replace(next *Policy) error {
	if err := l.Check(next); err != nil {
		return err
	}
	l.current.Store(next)
	return nil
}
