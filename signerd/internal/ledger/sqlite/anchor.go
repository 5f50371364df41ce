package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
)

// SetAnchor remembers how far the audit log had come: the number and hash of
// its last record. With it, records that are later cut off that log are missed.
func (s *Store) SetAnchor(ctx context.Context, seq uint64, hash [32]byte) error {
	return s.writer.do(ctx, func(tx *session) error {
		return writeAnchor(tx, anchor{seq, hash})
	})
}

// NoteAnchor has SetAnchor done along with the next change, or at Close: what is
// older than the newest record misses cut records all the same, up to itself.
func (s *Store) NoteAnchor(_ context.Context, seq uint64, hash [32]byte) error {
	s.noted.Store(&anchor{seq, hash})
	return nil
}

// anchor is the number and hash of a record.
type anchor struct {
	seq  uint64
	hash [32]byte
}

// writeNoted writes the anchor that was noted last, if it is not written yet.
func (s *Store) writeNoted(tx *session) error {
	noted := s.noted.Swap(nil)
	if noted == nil {
		return nil
	}
	return writeAnchor(tx, *noted)
}

func writeAnchor(tx *session, a anchor) error {
	return tx.exec(`INSERT INTO anchor (id, seq, hash) VALUES (1, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
		binary.BigEndian.AppendUint64(nil, a.seq), a.hash[:])
}

// Anchor is what SetAnchor remembered last, or zero where it never was called.
func (s *Store) Anchor(ctx context.Context) (seq uint64, hash [32]byte, err error) {
	err = s.writer.do(ctx, func(tx *session) error {
		return tx.each(func(row *sql.Rows) error {
			var number, digest []byte
			if err := row.Scan(&number, &digest); err != nil {
				return fmt.Errorf("read anchor: %w", err)
			}
			if len(number) != 8 || len(digest) != len(hash) {
				return locked("the ledger's memory of the audit log is damaged", nil)
			}
			seq, hash = binary.BigEndian.Uint64(number), [32]byte(digest)
			return nil
		}, `SELECT seq, hash FROM anchor WHERE id = 1`)
	})
	return seq, hash, err
}
