//go:build unix

package custody

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func forbidCore() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}
