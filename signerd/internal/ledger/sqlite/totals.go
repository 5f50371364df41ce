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
	"countersign/signerd/internal/policy"
)

// What was spent is summed up as it happens, in buckets of time, so that
// reading a window costs the same however long the log is. A window counts
// each bucket that it touches in full: up to one bucket's width too much, and
// never too little.
const bucketWidth = 15 * time.Minute

func bucketOf(t time.Time) int64 {
	seconds, width := t.Unix(), int64(bucketWidth/time.Second)
	bucket := seconds / width
	if seconds%width < 0 {
		bucket--
	}
	return bucket
}

// Totals is part of ledger.Store.
func (s *Store) Totals(ctx context.Context, window ledger.Window) (ledger.Totals, error) {
	var totals ledger.Totals
	err := s.writer.do(ctx, func(tx *session) (err error) {
		totals, err = readTotals(tx, window)
		return err
	})
	return totals, err
}

func readTotals(tx *session, window ledger.Window) (ledger.Totals, error) {
	totals := ledger.Totals{
		Session: make(map[solana.PublicKey]policy.Held), Day: make(map[solana.PublicKey]policy.Held),
		Destination: make(map[policy.Destination]policy.Held),
	}
	used := func(into map[solana.PublicKey]policy.Held) func(*sql.Rows) error {
		return func(rows *sql.Rows) error {
			mint, units, err := scanAmount(rows)
			held := into[mint]
			held.Used = add(held.Used, units)
			into[mint] = held
			return err
		}
	}
	if err := tx.each(used(totals.Session), `SELECT mint, amount FROM spent_session WHERE scope = ? AND session = ?`,
		window.Scope, window.Session); err != nil {
		return totals, err
	}
	if err := tx.each(used(totals.Day), `SELECT mint, amount FROM spent_day WHERE scope = ? AND bucket >= ?`,
		window.Scope, bucketOf(window.DaySince)); err != nil {
		return totals, err
	}
	if err := readReserved(tx, window, totals); err != nil {
		return totals, err
	}
	if err := readPaid(tx, window, totals); err != nil {
		return totals, err
	}
	if err := tx.each(func(rows *sql.Rows) error { return rows.Scan(&totals.Transactions) },
		`SELECT count(*) FROM entry WHERE scope = ? AND reserved_at >= ?`, window.Scope, nanos(window.HourSince)); err != nil {
		return totals, err
	}
	if err := tx.each(func(rows *sql.Rows) error { return rows.Scan(&totals.Held) },
		`SELECT count(*) > 0 FROM entry WHERE proposal = ? AND position = ? AND scope = ? AND outcome IN (?, ?, ?)`,
		window.ProposalID, window.Position, window.Scope, ledger.Unknown, ledger.Landed, ledger.LandedFailed); err != nil {
		return totals, err
	}
	var err error
	if totals.Newest, err = readNewest(tx); err != nil {
		return totals, err
	}
	totals.Clock, err = readClock(tx)
	return totals, err
}

// readReserved adds what has no proven outcome, however old it is. Its index is
// named: SQLite, left to choose, reads the whole history.
func readReserved(tx *session, window ledger.Window, totals ledger.Totals) error {
	return tx.each(func(rows *sql.Rows) error {
		var session string
		var key, raw []byte
		if err := rows.Scan(&session, &key, &raw); err != nil {
			return fmt.Errorf("read reservation: %w", err)
		}
		units, err := fromU64(raw)
		if err != nil {
			return err
		}
		mint, err := keyOf(key)
		if err != nil {
			return err
		}
		held := totals.Day[mint]
		held.Reserved = add(held.Reserved, amount.Units(units))
		totals.Day[mint] = held
		if session == window.Session {
			held := totals.Session[mint]
			held.Reserved = add(held.Reserved, amount.Units(units))
			totals.Session[mint] = held
		}
		return nil
	}, `SELECT entry.session, charge.mint, charge.held FROM entry INDEXED BY entry_unresolved JOIN charge ON charge.entry = entry.seq
		WHERE entry.scope = ? AND entry.outcome = 0`, window.Scope)
}

// addSpent adds to the running sums.
func addSpent(tx *session, e ledger.Entry, mint solana.PublicKey, units amount.Units) error {
	if err := addSpentDay(tx, sumKey{scope: e.Scope, bucket: bucketOf(e.SettledAt), mint: mint}, units); err != nil {
		return err
	}
	session, err := readAmount(tx, `SELECT mint, amount FROM spent_session WHERE scope = ? AND session = ? AND mint = ?`,
		e.Scope, e.Session, mint[:])
	if err != nil {
		return err
	}
	return tx.exec(`INSERT OR REPLACE INTO spent_session (scope, session, mint, amount) VALUES (?, ?, ?, ?)`,
		e.Scope, e.Session, mint[:], u64(uint64(add(session, units))))
}

func addSpentDay(tx *session, at sumKey, units amount.Units) error {
	day, err := readAmount(tx, `SELECT mint, amount FROM spent_day WHERE scope = ? AND bucket = ? AND mint = ?`,
		at.scope, at.bucket, at.mint[:])
	if err != nil {
		return err
	}
	return tx.exec(`INSERT OR REPLACE INTO spent_day (scope, bucket, mint, amount) VALUES (?, ?, ?, ?)`,
		at.scope, at.bucket, at.mint[:], u64(uint64(add(day, units))))
}

func readAmount(tx *session, query string, args ...any) (amount.Units, error) {
	var units amount.Units
	err := tx.each(func(rows *sql.Rows) (err error) {
		_, units, err = scanAmount(rows)
		return err
	}, query, args...)
	return units, err
}

func scanAmount(rows *sql.Rows) (solana.PublicKey, amount.Units, error) {
	var key, raw []byte
	if err := rows.Scan(&key, &raw); err != nil {
		return solana.PublicKey{}, 0, fmt.Errorf("read sum: %w", err)
	}
	mint, err := keyOf(key)
	if err != nil {
		return solana.PublicKey{}, 0, err
	}
	units, err := fromU64(raw)
	return mint, amount.Units(units), err
}

func keyOf(raw []byte) (solana.PublicKey, error) {
	mint, err := solana.PublicKeyFromBytes(raw)
	if err != nil {
		return solana.PublicKey{}, locked("a stored address cannot be read", err)
	}
	return mint, nil
}

// add stops at the largest amount instead of wrapping: a sum that large is
// over every cap.
func add(a, b amount.Units) amount.Units {
	sum, err := amount.Sum(a, b)
	if err != nil {
		return math.MaxUint64
	}
	return sum
}

func readNewest(tx *session) (time.Time, error) {
	var newest int64
	err := tx.each(func(rows *sql.Rows) error { return rows.Scan(&newest) }, `SELECT value FROM meta WHERE name = 'newest'`)
	return fromNanos(newest), err
}

func setNewest(tx *session, t time.Time) error {
	return tx.exec(`UPDATE meta SET value = max(value, ?) WHERE name = 'newest'`, nanos(t))
}
