package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/signerd/internal/approval"
)

var _ approval.Store = (*Store)(nil)

const proposalColumns = `SELECT code_hash, state, finished_at, body, receipt FROM proposal `

// InsertProposal is part of approval.Store.
func (s *Store) InsertProposal(ctx context.Context, record approval.Record, earlier func(*approval.Record) error) error {
	body, err := json.Marshal(record.Proposal)
	if err != nil {
		return fmt.Errorf("encode proposal: %w", err)
	}
	var codeHash any
	if record.CodeHash != [32]byte{} {
		codeHash = record.CodeHash[:]
	}
	return s.writer.do(ctx, func(tx *session) error {
		if err := takeKey(tx, record, earlier); err != nil {
			return err
		}
		return tx.exec(`INSERT INTO proposal (id, code_hash, state, finished_at, body, receipt) VALUES (?, ?, ?, ?, ?, ?)`,
			record.ID, codeHash, record.State, nanos(record.FinishedAt), body, record.Receipt)
	})
}

// takeKey gives the key of an action to a new proposal, if the one that has it
// gives it up.
func takeKey(tx *session, record approval.Record, earlier func(*approval.Record) error) error {
	if record.Key == "" {
		return nil
	}
	found, err := findProposal(tx, approval.Key{Idempotency: record.Key})
	if err == nil {
		before := found.State
		if err := earlier(&found); err != nil {
			return err
		}
		if found.State != before {
			err = tx.exec(`UPDATE proposal SET state = ?, finished_at = ? WHERE id = ?`, found.State, nanos(found.FinishedAt), found.ID)
		}
	}
	if err != nil && !errors.Is(err, approval.ErrNotFound) {
		return err
	}
	return tx.exec(`INSERT INTO action (key, proposal) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET proposal = ?2`, record.Key, record.ID)
}

// ChangeProposal is part of approval.Store.
func (s *Store) ChangeProposal(ctx context.Context, key approval.Key, change func(*approval.Record) error) (approval.Record, error) {
	var record approval.Record
	err := s.writer.do(ctx, func(tx *session) error {
		found, err := findProposal(tx, key)
		if err != nil {
			return err
		}
		record = found
		before := record.State
		if err := change(&record); err != nil {
			return err
		}
		if record.State == before && string(record.Receipt) == string(found.Receipt) {
			return nil
		}
		return tx.exec(`UPDATE proposal SET state = ?, finished_at = ?, receipt = ? WHERE id = ?`,
			record.State, nanos(record.FinishedAt), record.Receipt, record.ID)
	})
	if err != nil {
		return approval.Record{}, err
	}
	return record, nil
}

// FindProposal is part of approval.Store.
func (s *Store) FindProposal(ctx context.Context, key approval.Key) (approval.Record, error) {
	var record approval.Record
	err := s.writer.do(ctx, func(tx *session) error {
		found, err := findProposal(tx, key)
		record = found
		return err
	})
	return record, err
}

// ListProposals is part of approval.Store.
func (s *Store) ListProposals(ctx context.Context, query approval.Query) ([]approval.Record, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = -1 // SQLite's "no limit"
	}
	var records []approval.Record
	err := s.writer.do(ctx, func(tx *session) error {
		before := int64(-1)
		if query.BeforeID != "" {
			if err := tx.each(func(rows *sql.Rows) error { return rows.Scan(&before) },
				`SELECT seq FROM proposal WHERE id = ?`, query.BeforeID); err != nil {
				return err
			}
			if before < 0 {
				return approval.ErrNotFound
			}
		}
		where := `WHERE (?1 < 0 OR seq < ?1) ORDER BY seq DESC LIMIT ?2`
		args := []any{before, limit}
		if query.State != 0 {
			where = `WHERE state = ?3 AND (?1 < 0 OR seq < ?1) ORDER BY seq DESC LIMIT ?2`
			args = append(args, query.State)
		}
		return tx.each(func(rows *sql.Rows) error {
			record, err := scanProposal(rows)
			records = append(records, record)
			return err
		}, proposalColumns+where, args...)
	})
	return records, err
}

func findProposal(tx *session, key approval.Key) (approval.Record, error) {
	where, arg := `WHERE id = ?`, any(key.ID)
	switch {
	case key.ID != "":
	case key.Idempotency != "":
		where, arg = `WHERE id = (SELECT proposal FROM action WHERE key = ?)`, key.Idempotency
	default:
		where, arg = `WHERE code_hash = ?`, key.CodeHash[:]
	}
	var record approval.Record
	err := tx.each(func(rows *sql.Rows) (err error) {
		record, err = scanProposal(rows)
		return err
	}, proposalColumns+where, arg)
	if err == nil && record.ID == "" {
		err = approval.ErrNotFound
	}
	return record, err
}

func scanProposal(rows *sql.Rows) (approval.Record, error) {
	var record approval.Record
	var codeHash, body, receipt []byte
	var state uint8
	var finished int64
	if err := rows.Scan(&codeHash, &state, &finished, &body, &receipt); err != nil {
		return approval.Record{}, fmt.Errorf("read proposal: %w", err)
	}
	if err := json.Unmarshal(body, &record.Proposal); err != nil {
		return approval.Record{}, locked("a stored proposal cannot be read", err)
	}
	// The columns are what changes; the body is as it was proposed.
	record.State, record.FinishedAt, record.Receipt = approval.State(state), fromNanos(finished), receipt
	copy(record.CodeHash[:], codeHash)
	return record, nil
}

// nanos and fromNanos keep the zero time zero.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
