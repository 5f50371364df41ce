//go:build linux

// Package crashpoint runs a program and has a test decide, before each system
// call of it that writes, makes durable, renames or sends, what becomes of it:
// nothing, an error, half of it, or the end of the process by SIGKILL. Tests
// of crashes use it. Since the kernel names the calls and not the program, a
// new place that writes cannot be forgotten.
package crashpoint

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"countersign/scripts/crashpoint/filter"
)

// Point is a system call that is about to happen.
type Point struct {
	// Call is its name.
	Call string
	// Target is what it is about: a path, TCP or Unix.
	Target string
	// Bytes is how much it would write.
	Bytes int
	// Start is the beginning of what it would write, where it can be read.
	Start []byte
}

// What a descriptor can be besides a file.
const (
	TCP  = "tcp"
	Unix = "unix"
)

func (p Point) String() string {
	if p.Bytes > 0 {
		return fmt.Sprintf("%s of %d bytes to %s", p.Call, p.Bytes, p.Target)
	}
	return p.Call + " of " + p.Target
}

// Fate is what becomes of a call.
type Fate struct {
	kind  fateKind
	errno unix.Errno
}

type fateKind uint8

const (
	pass fateKind = iota
	kill
	killAfter
	tear
	fail
)

// The fates of a call: Pass lets it happen. Kill ends the process instead of
// it, KillAfter once it has happened, and Tear when half of the bytes are
// written. The last two do it in the process's place, and are for a write or a
// flush of a file, and a write to a socket.
var (
	Pass      = Fate{}
	Kill      = Fate{kind: kill}
	KillAfter = Fate{kind: killAfter}
	Tear      = Fate{kind: tear}
)

// Fail has the call fail with an error and do nothing.
func Fail(errno unix.Errno) Fate { return Fate{kind: fail, errno: errno} }

// Process is a program under supervision.
type Process struct {
	command  *exec.Cmd
	listener int
	pidfd    int
	fate     func(Point) Fate
	calls    map[int]string
	done     chan struct{}
	killed   bool // by supervise, which alone reads it

	mu  sync.Mutex // guards err
	err error
}

// Start starts command through the launcher, which is the binary of
// crashpoint/launch. fate is asked about one call after the other; calls that
// concern neither files nor sockets are not asked about. command is to be
// waited for as usual, and Err afterwards.
func Start(command *exec.Cmd, launcher string, fate func(Point) Fate) (*Process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	command.Args = append([]string{launcher, command.Path}, command.Args[1:]...)
	command.Path = launcher
	command.ExtraFiles = []*os.File{theirs}
	err = errors.Join(command.Start(), theirs.Close())
	if err != nil {
		return nil, err
	}
	p := &Process{command: command, fate: fate, calls: filter.Calls(), done: make(chan struct{})}
	if p.listener, err = receive(ours); err != nil {
		return nil, errors.Join(err, command.Process.Kill())
	}
	if p.pidfd, err = unix.PidfdOpen(command.Process.Pid, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("open the process: %w", err), unix.Close(p.listener), command.Process.Kill())
	}
	go p.supervise()
	return p, nil
}

// Err says what went wrong in the supervision itself, once the process has
// ended.
func (p *Process) Err() error {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	file := os.NewFile(uintptr(pair[0]), "ours")
	defer file.Close()
	connection, err := net.FileConn(file)
	if err != nil {
		return nil, nil, err
	}
	return connection.(*net.UnixConn), os.NewFile(uintptr(pair[1]), "theirs"), nil
}

func receive(from *net.UnixConn) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := from.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil || n == 0 {
		return -1, fmt.Errorf("the launcher gave no listener: %w", errors.Join(err, os.ErrClosed))
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("the launcher's message cannot be read: %w", err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return -1, fmt.Errorf("the launcher's message cannot be read: %w", err)
	}
	return descriptors[0], nil
}

// notification is struct seccomp_notif, seccomp_unotify(2).
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	data  struct {
		number       int32
		architecture uint32
		pointer      uint64
		arguments    [6]uint64
	}
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// supervise answers until no process is left under the filter.
func (p *Process) supervise() {
	defer close(p.done)
	defer func() { p.complain(errors.Join(unix.Close(p.pidfd), unix.Close(p.listener))) }()
	for {
		polled := []unix.PollFd{{Fd: int32(p.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, -1); err != nil && !errors.Is(err, unix.EINTR) {
			p.complain(fmt.Errorf("wait for a call: %w", err))
			return
		}
		if polled[0].Revents&unix.POLLIN == 0 {
			if polled[0].Revents&unix.POLLHUP != 0 {
				return
			}
			continue
		}
		var n notification
		if errno := ioctl(p.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			if errno == unix.ENOENT || errno == unix.EINTR {
				continue // The thread was killed meanwhile.
			}
			p.complain(fmt.Errorf("receive a call: %w", errno))
			return
		}
		answer, alive := p.answer(n)
		if !alive {
			// The process is dying. Answered now, its call could still happen.
			continue
		}
		if errno := ioctl(p.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); errno != 0 && errno != unix.ENOENT {
			p.complain(fmt.Errorf("answer a call: %w", errno))
			return
		}
	}
}

func (p *Process) complain(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

// answer is what the kernel is told about a call, unless the process is not to
// live on.
func (p *Process) answer(n notification) (response, bool) {
	goOn := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if p.killed {
		return goOn, false
	}
	point, ok := p.describe(n)
	if !ok {
		return goOn, true
	}
	fate := p.fate(point)
	switch fate.kind {
	case pass:
		return goOn, true
	case fail:
		return response{id: n.id, errno: -int32(fate.errno)}, true
	case killAfter:
		p.complain(p.perform(n, point, point.Bytes))
	case tear:
		p.complain(p.perform(n, point, point.Bytes/2))
	case kill:
	}
	p.complain(unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0))
	p.killed = true
	return goOn, false
}

func ioctl(descriptor int, request uintptr, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(descriptor), request, uintptr(argument))
	return errno
}
