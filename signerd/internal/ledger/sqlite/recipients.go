package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/recipients"
)

var _ recipients.Store = (*Store)(nil)

// Recipients is part of recipients.Store.
func (s *Store) Recipients(ctx context.Context) ([]effects.Recipient, error) {
	var book []effects.Recipient
	err := s.writer.do(ctx, func(tx *session) error {
		book = nil
		return tx.each(func(rows *sql.Rows) error {
			var entry effects.Recipient
			var address []byte
			if err := rows.Scan(&entry.Name, &address); err != nil {
				return fmt.Errorf("read recipient: %w", err)
			}
			var err error
			if entry.Address, err = solana.PublicKeyFromBytes(address); err != nil {
				return locked("a stored recipient cannot be read", err)
			}
			book = append(book, entry)
			return nil
		}, `SELECT name, address FROM recipient ORDER BY name`)
	})
	return book, err
}

// AddRecipient is part of recipients.Store.
func (s *Store) AddRecipient(ctx context.Context, entry effects.Recipient, at time.Time) error {
	return s.writer.do(ctx, func(tx *session) error {
		return tx.exec(`INSERT INTO recipient (name, address, added_at) VALUES (?, ?, ?)`, entry.Name, entry.Address[:], nanos(at))
	})
}

// RemoveRecipient is part of recipients.Store.
func (s *Store) RemoveRecipient(ctx context.Context, name string) error {
	return s.writer.do(ctx, func(tx *session) error {
		found := 0
		if err := tx.each(func(rows *sql.Rows) error { return rows.Scan(&found) },
			`SELECT count(*) FROM recipient WHERE name = ?`, name); err != nil {
			return fmt.Errorf("read recipient: %w", err)
		}
		if found == 0 {
			return recipients.ErrNotFound
		}
		return tx.exec(`DELETE FROM recipient WHERE name = ?`, name)
	})
}
