package localnet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pretend makes the working folder one whose chain is the given script.
func pretend(t *testing.T, script string) {
	t.Helper()
	root := t.TempDir()
	chain := filepath.Join(root, "scripts", "devchain")
	for _, folder := range []string{filepath.Join(chain, "node_modules"), filepath.Join(root, "deep", "inside")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"package.json": "{}", "main.mjs": script} {
		if err := os.WriteFile(filepath.Join(chain, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "deep", "inside"))
}

const ready = `console.log(JSON.stringify({rpc: 'http://127.0.0.1:1/', ws: 'ws://127.0.0.1:2/', genesisHash: process.argv.slice(2).join(' ')}));`

func TestStartPassesTheOptionsOn(t *testing.T) {
	pretend(t, ready+`process.stdin.resume();`)
	chain, err := Start(t.Context(), Options{SlotMS: 20, ConfirmedLag: NoLag, FinalizedLag: 4, NoClock: true, Genesis: "abc", Port: 8899})
	if err != nil {
		t.Fatal(err)
	}
	defer chain.Stop()
	want := "--dev --exit-with-stdin --port 8899 --slot-ms 20 --confirmed-lag 0 --finalized-lag 4 --no-clock --genesis abc"
	if chain.GenesisHash != want {
		t.Errorf("started with %q, want %q", chain.GenesisHash, want)
	}
	if chain.RPCURL != "http://127.0.0.1:1/" || chain.WSURL != "ws://127.0.0.1:2/" {
		t.Errorf("listens at %s and %s", chain.RPCURL, chain.WSURL)
	}
}

func TestStopWaitsForTheEnd(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ended")
	t.Setenv("MARKER", marker)
	// Its output after the ready line must not block it.
	pretend(t, ready+`
import { writeFileSync } from 'node:fs';
console.log('x'.repeat(1 << 20));
process.stdin.resume().on('end', () => setTimeout(() => { writeFileSync(process.env.MARKER, ''); process.exit(0); }, 50));`)
	chain, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	chain.Stop()
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the chain had no time to end: %v", err)
	}
	chain.Stop() // again is harmless
	chain.Kill()
}

func TestKillDoesNotWaitForTheChain(t *testing.T) {
	pretend(t, ready+`process.stdin.resume(); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`)
	chain, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	chain.Kill()
	if took := time.Since(begun); took > stopTime/2 {
		t.Errorf("took %s", took)
	}
	if state := chain.process.command.ProcessState; state == nil || state.Success() {
		t.Errorf("ended as %v", state)
	}
}

func TestStartSaysWhyItFailed(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`console.error('port is taken'); process.exit(3);`, "exit status 3"},
		{`console.error('port is taken'); process.exit(0);`, "exit status 0"},
		{`console.error('port is taken'); console.log('hello'); setInterval(() => {}, 1000);`, `said "hello"`},
		{`console.error('port is taken'); console.log('{"rpc":"x"}'); setInterval(() => {}, 1000);`, "instead of where it listens"},
		{`console.error('port is taken'); console.log('{' + ' '.repeat(70000)); setInterval(() => {}, 1000);`, "ended before"},
	} {
		pretend(t, c.script)
		_, err := Start(t.Context(), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "port is taken") {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	pretend(t, `setInterval(() => {}, 1000);`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a chain that says nothing: %v", err)
	}
}

func TestStartAsksForSetup(t *testing.T) {
	pretend(t, ready)
	if err := os.Remove("../../scripts/devchain/node_modules"); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("without node_modules: %v", err)
	}
	t.Chdir(t.TempDir())
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "inside the repository") {
		t.Errorf("outside of the repository: %v", err)
	}
}

func TestStderrIsPassedOnAndItsEndKept(t *testing.T) {
	var all strings.Builder
	end := &tail{also: &all}
	for range 1000 {
		if _, err := end.Write([]byte("0123456789\n")); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = end.Write([]byte("the last line"))
	if all.Len() != 11*1000+13 {
		t.Errorf("passed on %d bytes", all.Len())
	}
	if len(end.end) != maxTail || !strings.HasSuffix(end.quoted(), "the last line") {
		t.Errorf("kept %d bytes: %s", len(end.end), end.quoted())
	}
}
