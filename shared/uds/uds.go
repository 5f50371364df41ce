// Package uds opens Unix sockets that only the intended accounts can reach:
// a private folder checked first, a umask set before the socket exists, a
// stale socket removed only under a lock, and the kernel's word about who is
// at the other end. Both daemons may import it; it knows no gRPC.
//
// It promises that a path it listens on was never, not for an instant, open to
// an account that the folder and mode do not admit.
package uds

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"countersign/shared/lockfile"
)

// Peer is what the kernel says of the process at the other end. UID and GID
// were fixed when it connected and are a boundary. PID and Executable are for
// the record only: a descriptor can be handed on.
type Peer struct {
	UID, GID uint32
	PID      int32
	// Executable is empty where the kernel does not let us see it, or where
	// the process ended before its identity was certain.
	Executable string
}

// Access says who beside our own account may reach a socket.
type Access uint8

const (
	// OwnerOnly admits our account alone.
	OwnerOnly Access = iota
	// WithGroup also admits the folder's group.
	WithGroup
)

func (a Access) folderMode() os.FileMode {
	if a == WithGroup {
		return 0o750
	}
	return 0o700
}

func (a Access) socketMode() os.FileMode {
	if a == WithGroup {
		return 0o660
	}
	return 0o600
}

// PrepareFolder creates the folder of sockets or other private files, or
// checks one that exists: it is ours, no link, and open to nobody whom access
// does not name.
func PrepareFolder(path string, access Access) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create parent of %s: %w", path, err)
	}
	// Mkdir is subject to the umask, which can only take rights away.
	if err := os.Mkdir(path, access.folderMode()); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create folder: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; remove it or configure another path", path)
	}
	return checkPrivate(path, info, access)
}

// Listener accepts connections on a path. Close removes the socket and then
// releases the lock.
type Listener struct {
	*net.UnixListener
	path string
	lock *lockfile.Lock
	once sync.Once
	err  error
}

// Listen binds path in a folder that it prepares. A socket left by a process
// that ended is removed; one that still answers is not.
func Listen(path string, access Access) (*Listener, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if err := PrepareFolder(filepath.Dir(path), access); err != nil {
		return nil, err
	}
	lock, err := lockfile.Acquire(path + ".lock")
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, fmt.Errorf("another process listens on %s; stop it first", path)
	}
	if err != nil {
		return nil, err
	}
	listener, err := bind(path, access)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return &Listener{UnixListener: listener, path: path, lock: lock}, nil
}

func bind(path string, access Access) (*net.UnixListener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := listenMasked(path, access.socketMode())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// Close of Listener removes the path, under the lock.
	listener.SetUnlinkOnClose(false)
	return listener, nil
}

// removeStale removes a socket that nobody answers on. The caller holds the
// lock, so no other signer can bind between the probe and the removal.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at socket path: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; remove it or configure another path", path)
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	connection, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("another process answers on %s; stop it first", path), connection.Close())
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}

// Close stops accepting, removes the socket and releases the lock. Later calls
// return the first result.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.err = l.UnixListener.Close()
		if err := os.Remove(l.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.err = errors.Join(l.err, err)
		}
		l.err = errors.Join(l.err, l.lock.Release())
	})
	return l.err
}

// Dial connects to a socket. The caller checks PeerOf before it sends a byte:
// whoever took the path would read them.
func Dial(ctx context.Context, path string) (*net.UnixConn, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	unixConnection, ok := connection.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("not a Unix socket"), connection.Close())
	}
	return unixConnection, nil
}

// CheckPath refuses what the kernel cannot bind, in words, before it says
// "invalid argument".
func CheckPath(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("socket path %q must be absolute", path)
	}
	if len(path) > maxPath {
		return fmt.Errorf("socket path has %d bytes and this system allows %d; choose a shorter folder: %s", len(path), maxPath, path)
	}
	return nil
}

// PeerOf asks the kernel who is at the other end of a Unix connection.
func PeerOf(connection net.Conn) (Peer, error) {
	unixConnection, ok := connection.(*net.UnixConn)
	if !ok {
		return Peer{}, errors.New("peer credentials exist only on Unix sockets")
	}
	raw, err := unixConnection.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	var peer Peer
	var failure error
	if err := raw.Control(func(descriptor uintptr) {
		peer, failure = peerOf(int(descriptor))
	}); err != nil {
		return Peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	if failure != nil {
		return Peer{}, fmt.Errorf("peer credentials: %w", failure)
	}
	return peer, nil
}
