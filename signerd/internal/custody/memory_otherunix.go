//go:build unix && !linux

package custody

// hideFromDumps has nothing to do here: HardenProcess forbids dumps as a whole.
func hideFromDumps([]byte) error { return nil }

// HardenProcess forbids core dumps. It is called before a key is read.
func HardenProcess() error { return forbidCore() }
