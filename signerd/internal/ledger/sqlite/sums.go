package sqlite

import (
	"context"
	"database/sql"
	"errors"
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
	kept := make(map[sumKey]amount.Units)
	var made map[sumKey]amount.Units
	err := s.writer.do(ctx, func(tx *session) error {
		first, err := firstSummed(tx)
		if err != nil {
			return err
		}
		if err := sumInto(tx, kept, `SELECT scope, bucket, ?2, mint, amount FROM spent_day WHERE bucket >= ?1`, first, nobody); err != nil {
			return err
		}
		if err := sumInto(tx, kept, `SELECT scope, bucket, recipient, mint, amount FROM paid_day WHERE bucket >= ?`, first); err != nil {
			return err
		}
		made, err = sumEntries(tx, first)
		return err
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

// nobody stands for the recipient of what was spent in all.
var nobody = make([]byte, len(solana.PublicKey{}))

// firstSummed is the first bucket of the last two days before the newest event.
func firstSummed(tx *session) (int64, error) {
	newest, err := readNewest(tx)
	return bucketOf(newest.Add(-48 * time.Hour)), err
}

// sumEntries sums up the entries from a bucket on.
func sumEntries(tx *session, first int64) (map[sumKey]amount.Units, error) {
	sums, width := make(map[sumKey]amount.Units), int64(bucketWidth)
	err := sumInto(tx, sums, `SELECT entry.scope, entry.settled_at / ?1, ?3, charge.mint, charge.charged
		FROM entry JOIN charge ON charge.entry = entry.seq
		WHERE entry.settled_at >= ?2 * ?1 AND charge.charged IS NOT NULL`, width, first, nobody)
	if err != nil {
		return nil, err
	}
	err = sumInto(tx, sums, `SELECT entry.scope, entry.settled_at / ?1, payment.recipient, payment.mint, payment.amount
		FROM entry JOIN payment ON payment.entry = entry.seq
		WHERE entry.settled_at >= ?2 * ?1 AND entry.outcome = ?3`, width, first, ledger.Landed)
	return sums, err
}

// sumAnew makes the sums of the last two days from the entries. Earlier ones are
// in no window.
func sumAnew(tx *session) error {
	first, err := firstSummed(tx)
	if err != nil {
		return err
	}
	sums, err := sumEntries(tx, first)
	if err := errors.Join(err, tx.exec(`DELETE FROM spent_day`), tx.exec(`DELETE FROM paid_day`)); err != nil {
		return err
	}
	for at, units := range sums {
		add := addPaidDay
		if at.recipient.IsZero() {
			add = addSpentDay
		}
		if err := add(tx, at, units); err != nil {
			return err
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
