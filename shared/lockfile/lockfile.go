// Package lockfile lets one process at a time hold a file. The kernel lets go
// when the holder ends, however it ends, so a stale lock cannot exist. Any
// package may import it.
package lockfile

import (
	"errors"
	"fmt"
	"os"
)

// ErrHeld is a lock that another holder has.
var ErrHeld = errors.New("another process holds the lock")

// Lock is a held lock.
type Lock struct{ file *os.File }

// Acquire creates the file if need be and locks it, or fails at once with
// ErrHeld. The file stays when the lock is released: removing it would let two
// holders lock two files of one name.
func Acquire(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := lock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file}, nil
}

// Release lets go.
func (l *Lock) Release() error { return l.file.Close() }
