//go:build !linux

package clock

import "time"

// Read reads the clock alone: there is no count here that goes on in sleep.
func Read() (Reading, error) { return Reading{Wall: time.Now()}, nil }
