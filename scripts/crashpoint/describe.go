//go:build linux

package crashpoint

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// describe reads what a call is about. The thread stands still meanwhile, so
// its memory and descriptors are what the call will use. Calls about neither a
// file nor a socket are not told: the Go runtime wakes itself through an
// eventfd, and logs go to a pipe.
func (p *Process) describe(n notification) (Point, bool) {
	point := Point{Call: p.calls[int(n.data.number)]}
	arguments := n.data.arguments
	switch point.Call {
	case "rename", "link", "unlink", "mkdir", "rmdir", "creat", "truncate":
		point.Target = p.text(arguments[0])
		return point, true
	case "renameat", "renameat2", "linkat", "unlinkat", "mkdirat":
		point.Target = p.text(arguments[1])
		return point, true
	case "io_uring_enter":
		point.Target = "io_uring"
		return point, true
	case "write", "pwrite64", "sendto":
		point.Bytes = int(arguments[2])
	}
	if point.Call == "write" || point.Call == "pwrite64" {
		point.Start = p.memory(arguments[1], min(point.Bytes, startLength))
	}
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.command.Process.Pid, int32(arguments[0])))
	switch {
	case err != nil:
		return point, false
	case strings.HasPrefix(link, "socket:"):
		point.Target = p.family(arguments[0])
		return point, true
	case strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "/dev/"):
		point.Target = link
		return point, true
	}
	return point, false
}

// startLength is how much of what is written is read: an HTTP request with the
// beginning of its body.
const startLength = 512

// longestPath is the kernel's limit for a path.
const longestPath = 4096

// text is a zero-terminated string in the process's memory.
func (p *Process) text(at uint64) string {
	raw := p.memory(at, longestPath)
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	return string(raw)
}

// memory reads up to length bytes; fewer where the process's memory ends.
func (p *Process) memory(at uint64, length int) []byte {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.command.Process.Pid))
	if err != nil {
		return nil
	}
	defer memory.Close()
	raw := make([]byte, length)
	n, _ := memory.ReadAt(raw, int64(at))
	return raw[:n]
}

// family says what kind of socket a descriptor is.
func (p *Process) family(descriptor uint64) string {
	ours, err := unix.PidfdGetfd(p.pidfd, int(descriptor), 0)
	if err != nil {
		return "socket"
	}
	defer func() { _ = unix.Close(ours) }()
	name, err := unix.Getsockname(ours)
	if err != nil {
		return "socket"
	}
	switch name.(type) {
	case *unix.SockaddrInet4, *unix.SockaddrInet6:
		return TCP
	case *unix.SockaddrUnix:
		return Unix
	}
	return "socket"
}

// perform does a call in the process's place, with so many of its bytes.
func (p *Process) perform(n notification, point Point, length int) error {
	arguments := n.data.arguments
	ours, err := unix.PidfdGetfd(p.pidfd, int(arguments[0]), 0)
	if err != nil {
		return fmt.Errorf("take the descriptor of %s: %w", point, err)
	}
	defer func() { _ = unix.Close(ours) }()
	switch point.Call {
	case "fsync", "fdatasync":
		return unix.Fsync(ours)
	case "write", "pwrite64":
	default:
		return fmt.Errorf("%s cannot be done in the process's place", point)
	}
	raw := p.memory(arguments[1], length)
	if len(raw) != length {
		return fmt.Errorf("%d bytes of %s can be read", len(raw), point)
	}
	var written int
	if point.Call == "write" {
		written, err = unix.Write(ours, raw)
	} else {
		written, err = unix.Pwrite(ours, raw, int64(arguments[3]))
	}
	if err == nil && written != length {
		err = fmt.Errorf("%d of %d bytes of %s were written", written, length, point)
	}
	return err
}
