package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/ledger"
)

var _ ledger.Store = (*Store)(nil)

// Reserve is part of ledger.Store.
func (s *Store) Reserve(ctx context.Context, entry ledger.Entry, window ledger.Window, check func(ledger.Totals) error) error {
	return s.writer.do(ctx, func(tx *session) error {
		totals, err := readTotals(tx, window)
		if err != nil {
			return err
		}
		if err := check(totals); err != nil {
			return err
		}
		// A clock that was set back a little must not make the entry look old.
		entry.ReservedAt = latest(entry.ReservedAt, totals.Newest)
		if err := insertEntry(tx, entry); err != nil {
			return err
		}
		if err := renewClock(tx, totals.Clock, entry.Clock); err != nil {
			return err
		}
		return setNewest(tx, entry.ReservedAt)
	})
}

func insertEntry(tx *session, e ledger.Entry) error {
	seq, err := tx.insert(`INSERT INTO entry
		(id, scope, proposal, position, session, reserved_at, height, digest, outcome, settled_at, raw, signature)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)`,
		e.ID, e.Scope, e.ProposalID, e.Position, e.Session, nanos(e.ReservedAt), u64(e.LastValidHeight), e.Digest[:], ledger.Unknown, 0)
	if err != nil {
		return err
	}
	for mint, held := range e.Charge {
		if err := tx.exec(`INSERT INTO charge (entry, mint, held) VALUES (?, ?, ?)`, seq, mint[:], u64(uint64(held))); err != nil {
			return err
		}
	}
	return insertPayments(tx, seq, e.Payments)
}

// Change is part of ledger.Store.
func (s *Store) Change(ctx context.Context, id string, change func(*ledger.Entry) error) error {
	return s.writer.do(ctx, func(tx *session) error {
		found, err := readEntries(tx, `WHERE id = ?`, id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ledger.ErrNotFound
		}
		before, entry := found[0], found[0].Entry
		if err := change(&entry); err != nil {
			return err
		}
		if entry.Outcome != before.Outcome {
			if err := settle(tx, before.seq, &entry); err != nil {
				return err
			}
		}
		var signature any
		if !entry.Signature.IsZero() {
			signature = entry.Signature[:]
		}
		return tx.exec(`UPDATE entry SET raw = ?, signature = ?, outcome = ?, settled_at = ? WHERE seq = ?`,
			entry.Raw, signature, entry.Outcome, nanos(entry.SettledAt), before.seq)
	})
}

// settle stamps the end and adds what it took to the running sums. The stamp
// is never before the newest event, so a spend cannot leave its window early.
func settle(tx *session, seq int64, entry *ledger.Entry) error {
	newest, err := readNewest(tx)
	if err != nil {
		return err
	}
	started, err := readClock(tx)
	if err != nil {
		return err
	}
	if _, set := started.Step(entry.Clock); set {
		entry.SettledAt = started.Right(entry.Clock).UTC()
	}
	entry.SettledAt = latest(entry.SettledAt, newest)
	for mint, charged := range entry.Charged {
		if err := tx.exec(`INSERT INTO charge (entry, mint, held, charged) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (entry, mint) DO UPDATE SET charged = ?4`, seq, mint[:], u64(0), u64(uint64(charged))); err != nil {
			return err
		}
		if err := addSpent(tx, *entry, mint, charged); err != nil {
			return err
		}
	}
	if err := addPaid(tx, *entry); err != nil {
		return err
	}
	return setNewest(tx, entry.SettledAt)
}

// storedEntry is an entry with its row.
type storedEntry struct {
	ledger.Entry
	seq int64
}

// Entries is part of ledger.Store.
func (s *Store) Entries(ctx context.Context, query ledger.Query) ([]ledger.Entry, error) {
	where, args := `WHERE scope = ?`, []any{query.Scope}
	if query.AnyScope {
		where, args = `WHERE true`, nil
	}
	if query.Unresolved {
		where += ` AND outcome = 0`
	}
	if query.ProposalID != "" {
		where += ` AND proposal = ?`
		args = append(args, query.ProposalID)
	}
	if !query.Signature.IsZero() {
		where += ` AND signature = ?`
		args = append(args, query.Signature[:])
	}
	var entries []ledger.Entry
	err := s.writer.do(ctx, func(tx *session) error {
		found, err := readEntries(tx, where, args...)
		for _, f := range found {
			entries = append(entries, f.Entry)
		}
		return err
	})
	return entries, err
}

func readEntries(tx *session, where string, args ...any) ([]storedEntry, error) {
	var found []storedEntry
	if err := tx.each(func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		found = append(found, e)
		return err
	}, `SELECT seq, id, scope, proposal, position, session, reserved_at, height, digest, outcome, settled_at, raw, signature
		FROM entry `+where+` ORDER BY seq`, args...); err != nil {
		return nil, err
	}
	for i := range found {
		if err := errors.Join(readCharges(tx, &found[i]), readPayments(tx, &found[i])); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func scanEntry(rows *sql.Rows) (storedEntry, error) {
	var e storedEntry
	var reserved, settled int64
	var height, digest, signature []byte
	var outcome uint8
	if err := rows.Scan(&e.seq, &e.ID, &e.Scope, &e.ProposalID, &e.Position, &e.Session, &reserved,
		&height, &digest, &outcome, &settled, &e.Raw, &signature); err != nil {
		return storedEntry{}, fmt.Errorf("read entry: %w", err)
	}
	e.ReservedAt, e.SettledAt, e.Outcome = fromNanos(reserved), fromNanos(settled), ledger.Outcome(outcome)
	var err error
	if e.LastValidHeight, err = fromU64(height); err != nil {
		return storedEntry{}, err
	}
	copy(e.Digest[:], digest)
	copy(e.Signature[:], signature)
	return e, nil
}

func readCharges(tx *session, e *storedEntry) error {
	e.Charge = make(map[solana.PublicKey]amount.Units)
	charged := make(map[solana.PublicKey]amount.Units)
	err := tx.each(func(rows *sql.Rows) error {
		var mint solana.PublicKey
		var key, heldRaw, chargedRaw []byte
		if err := rows.Scan(&key, &heldRaw, &chargedRaw); err != nil {
			return fmt.Errorf("read charge: %w", err)
		}
		copy(mint[:], key)
		held, err := fromU64(heldRaw)
		if err != nil {
			return err
		}
		if held > 0 {
			e.Charge[mint] = amount.Units(held)
		}
		if chargedRaw == nil {
			return nil
		}
		took, err := fromU64(chargedRaw)
		charged[mint] = amount.Units(took)
		return err
	}, `SELECT mint, held, charged FROM charge WHERE entry = ?`, e.seq)
	if len(charged) > 0 {
		e.Charged = maps.Clone(charged)
	}
	return err
}

func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func fromU64(raw []byte) (uint64, error) {
	if len(raw) != 8 {
		return 0, locked("a stored number cannot be read", nil)
	}
	return binary.BigEndian.Uint64(raw), nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
