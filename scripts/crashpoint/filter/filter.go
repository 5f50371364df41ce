//go:build linux

// Package filter has the kernel stop a process before each system call that
// can change something outside of its memory: a seccomp filter with user
// notification. crashpoint and its launcher use it.
package filter

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls are the system calls that are stopped, by number: everything that
// writes to a descriptor, makes written things durable, or changes a folder.
func Calls() map[int]string {
	calls := map[int]string{
		unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_WRITEV: "writev",
		unix.SYS_PWRITEV: "pwritev", unix.SYS_PWRITEV2: "pwritev2",
		unix.SYS_SENDTO: "sendto", unix.SYS_SENDMSG: "sendmsg", unix.SYS_SENDMMSG: "sendmmsg",
		unix.SYS_SENDFILE: "sendfile", unix.SYS_SPLICE: "splice", unix.SYS_COPY_FILE_RANGE: "copy_file_range",
		unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_SYNC_FILE_RANGE: "sync_file_range",
		unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_TRUNCATE: "truncate", unix.SYS_FALLOCATE: "fallocate",
		unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2",
		unix.SYS_LINKAT: "linkat", unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat",
		unix.SYS_IO_URING_ENTER: "io_uring_enter",
	}
	maps.Copy(calls, olderCalls)
	return calls
}

// Install puts the filter on the calling thread and whatever it becomes, and
// returns the descriptor at which the calls are reported.
func Install() (int, error) {
	var numbers []int
	for number := range Calls() {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	program := assemble(numbers)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("give up new privileges: %w", err)
	}
	described := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// Without "wait killable" each of the Go runtime's own signals would
	// restart a call that is being looked at, and it would be counted twice.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&described)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return -1, fmt.Errorf("install the filter (Linux 5.19 or newer is needed): %w", errno)
	}
	return int(listener), nil
}

// Places of fields in struct seccomp_data, seccomp(2).
const (
	numberAt       = 0
	architectureAt = 4
)

// assemble writes the classic BPF program: calls of another architecture kill
// the process, those listed are reported, the rest goes on.
func assemble(numbers []int) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	end := func(verdict uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
	}
	equal := func(value uint32, then, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: then, Jf: otherwise, K: value}
	}
	program := []unix.SockFilter{
		load(architectureAt), equal(architecture, 1, 0), end(unix.SECCOMP_RET_KILL_PROCESS), load(numberAt),
	}
	for _, number := range numbers {
		program = append(program, equal(uint32(number), 0, 1), end(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(program, end(unix.SECCOMP_RET_ALLOW))
}
