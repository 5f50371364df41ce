package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/clock"
)

// The one reading that the clock is compared with.
const clockTable = `CREATE TABLE clock (
		id    INTEGER PRIMARY KEY CHECK (id = 1),
		boot  TEXT NOT NULL,
		since INTEGER NOT NULL,
		wall  INTEGER NOT NULL
	);`

// clockLife is how long readings are compared with one and the same. A clock
// goes wrong by itself, by seconds a day; anew each time, what passes as that
// would add up.
const clockLife = 24 * time.Hour

// StartClock gives later readings one to be compared with, unless there is one of
// this run of the system already: starting signerd anew excuses no step.
func (s *Store) StartClock(ctx context.Context, reading clock.Reading) error {
	return s.writer.do(ctx, func(tx *session) error {
		stored, err := readClock(tx)
		if err != nil || stored.Boot == reading.Boot {
			return err
		}
		return writeClock(tx, reading)
	})
}

// renewClock stores a reading that was admitted in place of an old one.
func renewClock(tx *session, stored, admitted clock.Reading) error {
	if admitted.Boot == "" || stored.Boot == admitted.Boot && admitted.Since-stored.Since < clockLife {
		return nil
	}
	return writeClock(tx, admitted)
}

func readClock(tx *session) (clock.Reading, error) {
	var reading clock.Reading
	err := tx.each(func(rows *sql.Rows) error {
		var since, wall int64
		if err := rows.Scan(&reading.Boot, &since, &wall); err != nil {
			return fmt.Errorf("read clock: %w", err)
		}
		reading.Since, reading.Wall = time.Duration(since), fromNanos(wall)
		return nil
	}, `SELECT boot, since, wall FROM clock WHERE id = 1`)
	return reading, err
}

func writeClock(tx *session, reading clock.Reading) error {
	return tx.exec(`INSERT OR REPLACE INTO clock (id, boot, since, wall) VALUES (1, ?, ?, ?)`,
		reading.Boot, int64(reading.Since), nanos(reading.Wall))
}

// AcceptClock takes the clock for right, on its owner's word. What is stamped
// later than now happened before now, and counts from now on: it leaves no window
// earlier than it should.
func (s *Store) AcceptClock(ctx context.Context, reading clock.Reading) error {
	now, bucket := nanos(reading.Wall), bucketOf(reading.Wall)
	return s.writer.do(ctx, func(tx *session) error {
		if err := gatherBuckets(tx, bucket); err != nil {
			return err
		}
		for _, change := range []string{
			`UPDATE entry SET reserved_at = ?1 WHERE reserved_at > ?1`,
			`UPDATE entry SET settled_at = ?1 WHERE settled_at > ?1`,
			`UPDATE meta SET value = ?1 WHERE name = 'newest' AND value > ?1`,
		} {
			if err := tx.exec(change, now); err != nil {
				return err
			}
		}
		return writeClock(tx, reading)
	})
}

// gatherBuckets adds what stands in later buckets to this one.
func gatherBuckets(tx *session, bucket int64) error {
	spent, paid := make(map[sumKey]amount.Units), make(map[sumKey]amount.Units)
	nobody := make([]byte, len(solana.PublicKey{}))
	if err := errors.Join(
		sumInto(tx, spent, `SELECT scope, bucket, ?2, mint, amount FROM spent_day WHERE bucket > ?1`, bucket, nobody),
		sumInto(tx, paid, `SELECT scope, bucket, recipient, mint, amount FROM paid_day WHERE bucket > ?`, bucket),
		tx.exec(`DELETE FROM spent_day WHERE bucket > ?`, bucket),
		tx.exec(`DELETE FROM paid_day WHERE bucket > ?`, bucket),
	); err != nil {
		return err
	}
	for at, units := range spent {
		at.bucket = bucket
		if err := addSpentDay(tx, at, units); err != nil {
			return err
		}
	}
	for at, units := range paid {
		at.bucket = bucket
		if err := addPaidDay(tx, at, units); err != nil {
			return err
		}
	}
	return nil
}
