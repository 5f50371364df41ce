//go:build unix

package uds

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// umaskLock keeps two listeners of this process from restoring each other's
// umask, which belongs to the whole process.
var umaskLock sync.Mutex

// listenMasked binds so that the socket has its mode from its first instant.
func listenMasked(path string, mode os.FileMode) (*net.UnixListener, error) {
	umaskLock.Lock()
	defer umaskLock.Unlock()
	before := unix.Umask(int(0o777 &^ mode))
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(before)
	if err != nil {
		return nil, err
	}
	// Where the umask does not reach sockets, the folder has kept it private.
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func checkPrivate(path string, info os.FileInfo, access Access) error {
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if extra := info.Mode().Perm() &^ access.folderMode(); extra != 0 {
		return fmt.Errorf("folder %s has mode %04o, which lets other accounts in; run: chmod %04o %s",
			path, info.Mode().Perm(), access.folderMode(), path)
	}
	return nil
}

func checkOwner(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner cannot be read on this system", path)
	}
	if uid := os.Geteuid(); int(stat.Uid) != uid {
		return fmt.Errorf("%s belongs to uid %d and not to ours, %d; remove it or configure another path", path, stat.Uid, uid)
	}
	return nil
}

// CheckSecretFile refuses a file that other accounts can read or that is not ours.
func CheckSecretFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("file %s has mode %04o, which lets other accounts read it; run: chmod 0600 %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// CheckUnsharedFile refuses a file that other accounts can change: one that
// belongs to another account than ours or root's, or that its group or
// everybody may write, or that lies in a folder where they may put another in its
// place.
func CheckUnsharedFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at file: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("%s: the owner cannot be read on this system", path)
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d, who can change it; make it ours", path, stat.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("file %s has mode %04o, which lets other accounts change it; run: chmod go-w %s", path, info.Mode().Perm(), path)
	}
	return checkUnsharedFolder(filepath.Dir(path))
}

// checkUnsharedFolder refuses a folder in which other accounts can replace files.
// In a sticky one, such as /tmp, they can replace only their own.
func checkUnsharedFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at folder: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("folder %s has mode %04o, which lets other accounts replace files in it; run: chmod go-w %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// FolderOwner is the account that the folder of a socket belongs to, and so the
// only one that can have put a socket there: who a client expects to answer.
func FolderOwner(path string) (uint32, error) {
	folder := filepath.Dir(path)
	info, err := os.Stat(folder)
	if err != nil {
		return 0, fmt.Errorf("look at the socket's folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: the owner cannot be read on this system", folder)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return 0, fmt.Errorf("folder %s can be written by everybody, so anybody may answer there", folder)
	}
	return stat.Uid, nil
}
