package clock

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootID is a number that the kernel draws at each start.
const bootID = "/proc/sys/kernel/random/boot_id"

// Read reads both clocks.
func Read() (Reading, error) {
	boot, err := os.ReadFile(bootID)
	if err != nil {
		return Reading{}, fmt.Errorf("read the system's start: %w", err)
	}
	var since unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &since); err != nil {
		return Reading{}, fmt.Errorf("read the time since the system's start: %w", err)
	}
	return Reading{Boot: strings.TrimSpace(string(boot)), Since: time.Duration(since.Nano()), Wall: time.Now()}, nil
}
