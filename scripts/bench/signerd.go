package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// noNetwork is a genesis hash of no network: nothing here is ever signed.
const noNetwork = "11111111111111111111111111111112"

// startTime is how long signerd may take until its sockets are there.
const startTime = 30 * time.Second

func measureSignerd(ctx context.Context, folder string) ([]row, error) {
	if err := build(ctx, folder, "signerd"); err != nil {
		return nil, err
	}
	binary := filepath.Join(folder, "signerd")
	config := filepath.Join(folder, "signerd.toml")
	env := append(environment(folder), "COUNTERSIGN_SIGNERD_SOCKETS_DIR="+filepath.Join(folder, "s"))
	setUp := [][]string{
		{
			"--config", config, "init", "--cluster", "bench", "--genesis-hash", noNetwork, "--rpc", "http://127.0.0.1:1",
			"--backend", "file", "--passphrase-file", filepath.Join(folder, "passphrase"), "--state-dir", filepath.Join(folder, "state"),
		},
		{"--config", config, "key", "new"},
	}
	for _, args := range setUp {
		if err := runQuietly(ctx, env, binary, args...); err != nil {
			return nil, err
		}
	}
	resident, err := idleMemory(ctx, env, filepath.Join(folder, "s", "agent.sock"), binary, "--config", config, "serve")
	if err != nil {
		return nil, err
	}
	return []row{row{Name: "signerd: resident when idle", Value: resident, Unit: "MiB"}.judged(30)}, nil
}

// idleMemory starts a daemon, waits until its socket accepts, and reads its
// memory.
func idleMemory(ctx context.Context, env []string, socket, name string, args ...string) (float64, error) {
	var log bytes.Buffer
	command := exec.CommandContext(ctx, name, args...)
	command.Env, command.Stderr = env, &log
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", filepath.Base(name), err)
	}
	var end error // to be read once exited is closed
	exited := make(chan struct{})
	go func() {
		end = command.Wait()
		close(exited)
	}()
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM) // gone already is as good
		<-exited
	}()
	deadline := time.After(startTime)
	for {
		if connection, err := net.Dial("unix", socket); err == nil {
			_ = connection.Close()
			time.Sleep(settle)
			return residentMiB(ctx, command.Process.Pid)
		}
		select {
		case <-exited:
			return 0, fmt.Errorf("%s ended: %w\n%s", filepath.Base(name), end, &log)
		case <-deadline:
			return 0, fmt.Errorf("%s has no socket after %s", filepath.Base(name), startTime)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
