package custody

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func hideFromDumps(memory []byte) error {
	// A forked child would hold a copy; signerd forks none, and this makes sure.
	return errors.Join(unix.Madvise(memory, unix.MADV_DONTDUMP), unix.Madvise(memory, unix.MADV_DONTFORK))
}

// HardenProcess keeps this process's memory out of core dumps, and out of the
// hands of other processes of its own account. It is called before a key is
// read.
func HardenProcess() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process undumpable: %w", err)
	}
	return forbidCore()
}
