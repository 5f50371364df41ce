//go:build !unix

package uds

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// errUnsupported is the clear answer of a system whose kernel does not say who
// connects: Countersign does not listen there.
var errUnsupported = errors.New("this system cannot tell who connects to a Unix socket; run Countersign on Linux or macOS")

func listenMasked(string, os.FileMode) (*net.UnixListener, error) { return nil, errUnsupported }

func checkPrivate(string, os.FileInfo, Access) error { return nil }

func checkOwner(string, os.FileInfo) error { return errUnsupported }

// CheckSecretFile checks that the file exists; who may read it is for the
// system's own access lists.
func CheckSecretFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// CheckUnsharedFile checks that the file exists; who may change it is for the
// system's own access lists.
func CheckUnsharedFile(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("look at file: %w", err)
	}
	return nil
}

// FolderOwner is not known where sockets are not served.
func FolderOwner(string) (uint32, error) { return 0, errUnsupported }
