package sqlite

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/policy"
)

// What recipients are paid is kept as what is spent is: each payment with its
// entry, and running sums by buckets of time of what has landed.
const paymentTables = `CREATE TABLE payment (
		entry     INTEGER NOT NULL REFERENCES entry (seq),
		recipient BLOB NOT NULL,
		mint      BLOB NOT NULL,
		amount    BLOB NOT NULL,
		PRIMARY KEY (entry, recipient, mint)
	) WITHOUT ROWID;
	CREATE TABLE paid_day (
		scope     TEXT NOT NULL,
		bucket    INTEGER NOT NULL,
		recipient BLOB NOT NULL,
		mint      BLOB NOT NULL,
		amount    BLOB NOT NULL,
		PRIMARY KEY (scope, bucket, recipient, mint)
	) WITHOUT ROWID;`

func insertPayments(tx *session, seq int64, payments map[policy.Destination]amount.Units) error {
	for to, units := range payments {
		if err := tx.exec(`INSERT INTO payment (entry, recipient, mint, amount) VALUES (?, ?, ?, ?)`,
			seq, to.Recipient[:], to.Mint[:], u64(uint64(units))); err != nil {
			return err
		}
	}
	return nil
}

func readPayments(tx *session, e *storedEntry) error {
	e.Payments = nil
	return tx.each(func(rows *sql.Rows) error {
		to, units, err := scanPayment(rows)
		if e.Payments == nil {
			e.Payments = make(map[policy.Destination]amount.Units)
		}
		e.Payments[to] = units
		return err
	}, `SELECT recipient, mint, amount FROM payment WHERE entry = ?`, e.seq)
}

// addPaid adds to the running sums what has reached its recipients. Of a
// transaction that failed on chain nothing has.
func addPaid(tx *session, e ledger.Entry) error {
	if e.Outcome != ledger.Landed {
		return nil
	}
	bucket := bucketOf(e.SettledAt)
	for _, to := range slices.SortedFunc(maps.Keys(e.Payments), policy.Destination.Compare) {
		if err := addPaidDay(tx, sumKey{e.Scope, bucket, to.Recipient, to.Mint}, e.Payments[to]); err != nil {
			return err
		}
	}
	return nil
}

func addPaidDay(tx *session, at sumKey, units amount.Units) error {
	var before amount.Units
	if err := tx.each(func(rows *sql.Rows) (err error) {
		_, before, err = scanPayment(rows)
		return err
	}, `SELECT recipient, mint, amount FROM paid_day WHERE scope = ? AND bucket = ? AND recipient = ? AND mint = ?`,
		at.scope, at.bucket, at.recipient[:], at.mint[:]); err != nil {
		return err
	}
	return tx.exec(`INSERT OR REPLACE INTO paid_day (scope, bucket, recipient, mint, amount) VALUES (?, ?, ?, ?, ?)`,
		at.scope, at.bucket, at.recipient[:], at.mint[:], u64(uint64(add(before, units))))
}

// readPaid reads what each recipient was paid in the window, and may be paid by
// what has no proven outcome.
func readPaid(tx *session, window ledger.Window, totals ledger.Totals) error {
	if err := tx.each(func(rows *sql.Rows) error {
		to, units, err := scanPayment(rows)
		held := totals.Destination[to]
		held.Used = add(held.Used, units)
		totals.Destination[to] = held
		return err
	}, `SELECT recipient, mint, amount FROM paid_day WHERE scope = ? AND bucket >= ?`, window.Scope, bucketOf(window.DaySince)); err != nil {
		return err
	}
	return tx.each(func(rows *sql.Rows) error {
		to, units, err := scanPayment(rows)
		held := totals.Destination[to]
		held.Reserved = add(held.Reserved, units)
		totals.Destination[to] = held
		return err
	}, `SELECT payment.recipient, payment.mint, payment.amount FROM entry INDEXED BY entry_unresolved JOIN payment ON payment.entry = entry.seq
		WHERE entry.scope = ? AND entry.outcome = 0`, window.Scope)
}

func scanPayment(rows *sql.Rows) (policy.Destination, amount.Units, error) {
	var recipient, mint, raw []byte
	if err := rows.Scan(&recipient, &mint, &raw); err != nil {
		return policy.Destination{}, 0, fmt.Errorf("read payment: %w", err)
	}
	var to policy.Destination
	var err error
	if to.Recipient, err = keyOf(recipient); err != nil {
		return to, 0, err
	}
	if to.Mint, err = keyOf(mint); err != nil {
		return to, 0, err
	}
	units, err := fromU64(raw)
	return to, amount.Units(units), err
}
