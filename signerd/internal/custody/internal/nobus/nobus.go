// Package nobus keeps the keyring library's start-up from running a program.
//
// Where no session bus is named, an import alone makes that library's D-Bus
// client run whatever is called dbus-launch on PATH, inside the process that
// is about to hold a key. This package names a bus first: the user's own where
// it exists, and otherwise a path where none can be.
//
// Only custody/internal/keyring imports it, for its effect. It works because
// Go initialises packages that are ready in the order of their import paths,
// and "countersign/…" with only os to wait for comes before "github.com/…"; a
// test with a planted dbus-launch proves it of a built binary.
package nobus

import (
	"os"
	"path/filepath"
)

const (
	busVariable = "DBUS_SESSION_BUS_ADDRESS"
	// nowhere is below a path that is a file on every Unix system.
	nowhere = "unix:path=/dev/null/countersign-has-no-bus"
)

// This is the one place outside config that touches the environment: nothing
// of ours has run yet when it must happen.
func init() {
	switch os.Getenv(busVariable) {
	case "", "autolaunch:":
		// An error would mean a name that no system refuses; the test watches.
		_ = os.Setenv(busVariable, busAddress(os.Getenv("XDG_RUNTIME_DIR")))
	}
}

// busAddress is the systemd user bus in the runtime folder, or nowhere.
func busAddress(runtimeDir string) string {
	if !filepath.IsAbs(runtimeDir) {
		return nowhere
	}
	bus := filepath.Join(runtimeDir, "bus")
	//nolint:gosec // G703: the path is only looked at, and is the user's own environment.
	if info, err := os.Lstat(bus); err != nil || info.Mode().Type() != os.ModeSocket {
		return nowhere
	}
	return "unix:path=" + bus
}
