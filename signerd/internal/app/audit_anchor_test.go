package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/ledger/sqlite"
)

// memory is a key store that forgets nothing, unless it is told to fail.
type memory struct {
	mu     sync.Mutex // guards all
	head   audit.Head
	writes int
	fail   error
}

func (*memory) Outside() bool { return true }

func (m *memory) Head(context.Context) (audit.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head, m.fail
}

func (m *memory) KeepHead(_ context.Context, head audit.Head) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.head = head
		m.writes++
	}
	return m.fail
}

// TestBackupOfTheWholeFolderLocks puts back the whole state folder as it was some
// records ago, ledger and all. Without the head in the key store it would open.
func TestBackupOfTheWholeFolderLocks(t *testing.T) {
	folder := t.TempDir()
	path, ledger := filepath.Join(folder, "audit.jsonl"), filepath.Join(folder, "ledger.db")
	log, err := audit.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Create(t.Context(), ledger)
	if err != nil {
		t.Fatal(err)
	}
	kept := new(memory)
	grow := func(log *audit.Log) {
		if _, err := log.Append(t.Context(), audit.Record{Time: auditDay, Kind: "decided"}); err != nil {
			t.Fatal(err)
		}
	}
	grow(log)
	if err := errors.Join(log.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start := func() error {
		log, err := audit.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		db, err := sqlite.Open(t.Context(), ledger)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := checkAnchors(t.Context(), db, kept, log); err != nil {
			return err
		}
		keeper := keepHead(t.Context(), log, kept, slog.New(slog.DiscardHandler))
		grow(log)
		keeper.stop()
		return nil
	}
	for range 2 {
		if err := start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); !fault.Is(err, fault.StateLocked) || !strings.Contains(err.Error(), "record 2") {
		t.Errorf("an old backup: %v", err)
	}
	kept.fail = fault.New(fault.CustodyUnavailable, "locked")
	if err := start(); !fault.Is(err, fault.CustodyUnavailable) {
		t.Errorf("a key store that does not answer: %v", err)
	}
}

// TestOldAuditLogLocks puts back the audit log alone. Without the ledger's head in
// checkAnchors it would open: this key store remembers nothing.
func TestOldAuditLogLocks(t *testing.T) {
	path, log := auditFile(t)
	head := log.Head()
	db, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := errors.Join(db.SetAnchor(t.Context(), head.Seq, head.Hash), log.Close()); err != nil {
		t.Fatal(err)
	}
	start := func() error {
		log, err := audit.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		return checkAnchors(t.Context(), db, new(memory), log)
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.LastIndexByte(string(content[:len(content)-1]), '\n') + 1
	if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); !fault.Is(err, fault.StateLocked) || !strings.Contains(err.Error(), "record 6") {
		t.Errorf("a log without its last record: %v", err)
	}
}

// TestHeadIsKeptInTheBackground fails where stop does not tell the key store once more.
func TestHeadIsKeptInTheBackground(t *testing.T) {
	_, log := auditFile(t)
	synctest.Test(t, func(t *testing.T) {
		kept := &memory{fail: errors.New("locked")}
		keeper := keepHead(t.Context(), log, kept, slog.New(slog.DiscardHandler))
		time.Sleep(keepInterval + 1)
		synctest.Wait()
		kept.mu.Lock()
		kept.fail = nil
		kept.mu.Unlock()
		time.Sleep(3 * keepInterval)
		synctest.Wait()
		kept.mu.Lock()
		if kept.head != log.Head() || kept.writes != 1 {
			t.Errorf("kept %s in %d writes, want %s in one", kept.head, kept.writes, log.Head())
		}
		kept.mu.Unlock()
		if _, err := log.Append(t.Context(), audit.Record{Time: auditDay, Kind: "decided"}); err != nil {
			t.Fatal(err)
		}
		keeper.stop()
		if kept.head != log.Head() {
			t.Errorf("stopped with %s kept, want %s", kept.head, log.Head())
		}
	})
}
