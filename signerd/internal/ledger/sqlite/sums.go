package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/ledger"
)

// sumKey is one running sum.
type sumKey struct {
	scope  string
	bucket int64
	// recipient is zero for what was spent in all.
	recipient solana.PublicKey
	mint      solana.PublicKey
}

// checkSums compares the running sums of the last two days with the entries
// that they were made from: a file whose parts disagree is not believed.
func (s *Store) checkSums(ctx context.Context) error {
	kept, made := make(map[sumKey]amount.Units), make(map[sumKey]amount.Units)
	nobody := make([]byte, len(solana.PublicKey{}))
	err := s.writer.do(ctx, func(tx *session) error {
		newest, err := readNewest(tx)
		if err != nil {
			return err
		}
		first := bucketOf(newest.Add(-48 * time.Hour))
		if err := sumInto(tx, kept, `SELECT scope, bucket, ?2, mint, amount FROM spent_day WHERE bucket >= ?1`, first, nobody); err != nil {
			return err
		}
		if err := sumInto(tx, kept, `SELECT scope, bucket, recipient, mint, amount FROM paid_day WHERE bucket >= ?`, first); err != nil {
			return err
		}
		width := int64(bucketWidth)
		if err := sumInto(tx, made, `SELECT entry.scope, entry.settled_at / ?1, ?3, charge.mint, charge.charged
			FROM entry JOIN charge ON charge.entry = entry.seq
			WHERE entry.settled_at >= ?2 * ?1 AND charge.charged IS NOT NULL`, width, first, nobody); err != nil {
			return err
		}
		return sumInto(tx, made, `SELECT entry.scope, entry.settled_at / ?1, payment.recipient, payment.mint, payment.amount
			FROM entry JOIN payment ON payment.entry = entry.seq
			WHERE entry.settled_at >= ?2 * ?1 AND entry.outcome = ?3`, width, first, ledger.Landed)
	})
	if err != nil {
		return locked("the ledger cannot be read", err)
	}
	for key, units := range kept {
		if units != math.MaxUint64 && units != made[key] {
			return locked("the ledger's sums do not agree with its entries; the file was damaged or edited", nil)
		}
		delete(made, key)
	}
	for _, units := range made {
		if units != 0 {
			return locked("the ledger lacks a sum that its entries need; the file was damaged or edited", nil)
		}
	}
	return nil
}

func sumInto(tx *session, sums map[sumKey]amount.Units, query string, args ...any) error {
	return tx.each(func(rows *sql.Rows) error {
		var at sumKey
		var recipient, key, raw []byte
		if err := rows.Scan(&at.scope, &at.bucket, &recipient, &key, &raw); err != nil {
			return fmt.Errorf("read sum: %w", err)
		}
		var err error
		if at.recipient, err = keyOf(recipient); err != nil {
			return err
		}
		if at.mint, err = keyOf(key); err != nil {
			return err
		}
		units, err := fromU64(raw)
		sums[at] = add(sums[at], amount.Units(units))
		return err
	}, query, args...)
}
