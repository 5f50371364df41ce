package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

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

// AcceptClock takes the clock for right, on its owner's word, after it was set
// ahead by so much, if at all. No time passed in such a step, so what was stamped
// before it is stamped anew by as much later: it is as old as it was. What would
// be stamped later than now happened before now, and counts from now on. So
// nothing leaves a window earlier than it should.
func (s *Store) AcceptClock(ctx context.Context, reading clock.Reading, ahead time.Duration) error {
	now, by := nanos(reading.Wall), int64(max(0, ahead))
	return s.writer.do(ctx, func(tx *session) error {
		for _, change := range []string{
			`UPDATE entry SET reserved_at = min(?1, reserved_at + ?2)`,
			`UPDATE entry SET settled_at = min(?1, settled_at + ?2) WHERE outcome <> 0`,
			`UPDATE meta SET value = min(?1, value + ?2) WHERE name = 'newest'`,
		} {
			if err := tx.exec(change, now, by); err != nil {
				return err
			}
		}
		return errors.Join(sumAnew(tx), writeClock(tx, reading))
	})
}
