package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
)

// fullVariable makes TestMeetFullDisk a process whose files may grow no more.
const fullVariable = "LEDGER_TEST_FULL"

// roomLeft is how much the write-ahead log may still grow: a few commits.
const roomLeft = 64 << 10

// TestMeetFullDisk has another process write until the kernel lets no file grow.
// From then on every call of it is told that the state is locked, and what was
// acknowledged before is on the disk, no more and no less.
func TestMeetFullDisk(t *testing.T) {
	if path := os.Getenv(fullVariable); path != "" {
		writeUntilFull(t, path)
		return
	}
	store, path := create(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestMeetFullDisk$")
	child.Env = append(os.Environ(), fullVariable+"="+path)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	acknowledged := strings.Count(string(out), "acknowledged")
	again, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("open once there is room: %v", err)
	}
	defer again.Close()
	entries, err := again.Entries(t.Context(), ledger.Query{Scope: "scope"})
	if err != nil || len(entries) != acknowledged || acknowledged == 0 {
		t.Errorf("%d entries, %d were acknowledged, %v", len(entries), acknowledged, err)
	}
	if err := again.Reserve(t.Context(), entry(1<<20), ledger.Window{Scope: "scope"}, admitAll); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func writeUntilFull(t *testing.T, path string) {
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ) // The call fails instead.
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: roomLeft, Max: roomLeft}); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		err := store.Reserve(t.Context(), entry(i), ledger.Window{Scope: "scope"}, admitAll)
		if err != nil {
			expectLocked(t, "the call that meets the end", err)
			break
		}
		fmt.Println("acknowledged")
	}
	_, totals := store.Totals(t.Context(), ledger.Window{Scope: "scope"})
	_, entries := store.Entries(t.Context(), ledger.Query{})
	_, proposals := store.ListProposals(t.Context(), approval.Query{})
	for name, err := range map[string]error{
		"reserve": store.Reserve(t.Context(), entry(1<<20), ledger.Window{Scope: "scope"}, admitAll),
		"sign":    store.Change(t.Context(), "r0", func(e *ledger.Entry) error { e.Raw = bytes.Repeat([]byte{1}, 999); return nil }),
		"propose": store.InsertProposal(t.Context(), approval.Record{Proposal: approval.Proposal{ID: "p"}}, nil),
		"anchor":  store.SetAnchor(t.Context(), 1, [32]byte{1}),
		"clock":   store.StartClock(t.Context(), clock.Reading{Boot: "b"}),
		"totals":  totals, "entries": entries, "proposals": proposals,
	} {
		expectLocked(t, name, err)
	}
	_ = store.Close() // The disk is full.
}

func expectLocked(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.StateLocked) {
		t.Errorf("%s: %v, want a StateLocked fault", what, err)
	}
	if errors.Unwrap(err) == nil {
		t.Errorf("%s: %v has no cause for the log", what, err)
	}
}
