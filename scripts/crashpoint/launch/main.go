//go:build linux

// Command launch runs a program under the filter of package crashpoint: it
// gives the listener to whoever started it, over the socket that is its
// descriptor 3, and becomes the program.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"countersign/scripts/crashpoint/filter"
)

// answerTo is the socket that the supervisor passed on.
const answerTo = 3

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("usage: launch PROGRAM ARGUMENT")
	}
	// The filter holds for this thread, which then becomes the program; the
	// other threads are free to hand the listener over meanwhile.
	runtime.LockOSThread()
	listener, err := filter.Install()
	if err != nil {
		return err
	}
	sent := make(chan error)
	go func() { sent <- unix.Sendmsg(answerTo, []byte{0}, unix.UnixRights(listener), nil, 0) }()
	if err := <-sent; err != nil {
		return fmt.Errorf("hand over the listener: %w", err)
	}
	unix.CloseOnExec(listener)
	unix.CloseOnExec(answerTo)
	return syscall.Exec(command[0], command, os.Environ())
}
