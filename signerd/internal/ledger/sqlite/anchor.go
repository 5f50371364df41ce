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
		return tx.exec(`INSERT INTO anchor (id, seq, hash) VALUES (1, ?, ?)
			ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE excluded.seq > anchor.seq`,
			binary.BigEndian.AppendUint64(nil, seq), hash[:])
	})
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
