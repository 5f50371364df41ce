package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopTime is how long a process may take to end after it was asked to.
const stopTime = 15 * time.Second

// daemon is a process that runs until it is stopped.
type daemon struct {
	command *exec.Cmd
	done    chan struct{}
	err     error // valid once done is closed
}

func startDaemon(start func(*exec.Cmd) error, log io.Writer, path string, environment []string, args ...string) (*daemon, error) {
	command := exec.Command(path, args...)
	command.Env = environment
	command.Stdout, command.Stderr = log, log
	if err := start(command); err != nil {
		return nil, err
	}
	d := &daemon{command: command, done: make(chan struct{})}
	go func() {
		d.err = command.Wait()
		close(d.done)
	}()
	return d, nil
}

// waitFor asks ready until it succeeds, the process ends, or ctx does.
func (d *daemon) waitFor(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-d.done:
			return fmt.Errorf("%s ended before it was ready: %w", d.command.Path, d.err)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", d.command.Path, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop asks the process to end and waits for it. An end by that very signal,
// or with code 0, is as asked.
func (d *daemon) stop() error {
	select {
	case <-d.done:
		return nil // It has been stopped or killed before.
	default:
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", d.command.Path, err)
	}
	select {
	case <-d.done:
		return d.err
	case <-time.After(stopTime):
		return errors.Join(fmt.Errorf("%s did not stop", d.command.Path), d.kill())
	}
}

func (d *daemon) kill() error {
	err := d.command.Process.Kill()
	<-d.done
	return err
}

// run runs a command to its end and returns what it printed. The error of a
// failed command holds what it complained about.
func run(ctx context.Context, input string, environment []string, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env = environment
	command.Stdin = strings.NewReader(input)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}
