// Package clock reads the computer's clock beside a count that nobody can set:
// the time since the system started, sleep included. Two readings of one run of
// the system tell by how much the clock was set in between.
//
// ledger compares readings and app takes them. It promises that readings of
// different runs, or of a system without such a count, are never compared.
package clock

import "time"

// Reading is what the clock says at one moment.
type Reading struct {
	// Boot names the run of the system that Since counts from. It is empty where
	// the system has no such count.
	Boot  string
	Since time.Duration
	Wall  time.Time
}

// Right is the time at a later reading, whatever the clock was set to since this
// one: the later clock's own where the two cannot be compared.
func (r Reading) Right(later Reading) time.Time {
	step, _ := r.Step(later)
	return later.Wall.Add(-step)
}

// Step is by how much the clock was set ahead between two readings, or back if
// it is negative; ok is false where they cannot be compared.
func (r Reading) Step(later Reading) (step time.Duration, ok bool) {
	if r.Boot == "" || r.Boot != later.Boot {
		return 0, false
	}
	// Without the process's own monotonic time, which stands still in sleep.
	shown := later.Wall.Round(0).Sub(r.Wall.Round(0))
	return shown - (later.Since - r.Since), true
}
