// Package sqlite keeps proposals, the ledger and the address book in one SQLite
// file, for approval.Store, ledger.Store and recipients.Store. app opens it;
// nothing else knows SQL.
//
// It promises that what a method has answered is on the disk: write-ahead log,
// synchronous=FULL, both read back at start. One goroutine writes, and commits
// together whatever waits, so that callers share the disk's time. After a
// failed commit it accepts nothing more. A file that is missing, damaged or of
// a later version is never replaced by an empty one; one of an earlier version
// is brought forward, whole or not at all.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite" // registers the driver

	"countersign/shared/durable"
	"countersign/shared/fault"
	"countersign/shared/lockfile"
)

// applicationID marks the file as ours ("CSgn").
const applicationID = 0x4353676e

// schemaVersion says how to read a file. Each migration takes it one further.
var schemaVersion = int64(1 + len(migrations))

// schema is version 1, and stays as it is: what changes is a migration.
// Amounts are 8 bytes, most significant first: SQLite's integers are signed.
// Times are Unix nanoseconds. seq orders rows by when they were written.
const schema = `
CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('newest', 0);

CREATE TABLE anchor (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	seq  BLOB NOT NULL,
	hash BLOB NOT NULL
);

CREATE TABLE proposal (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	code_hash   BLOB UNIQUE,
	state       INTEGER NOT NULL,
	finished_at INTEGER NOT NULL,
	body        TEXT NOT NULL,
	receipt     BLOB
);
CREATE INDEX proposal_state ON proposal (state) WHERE state IN (1, 2);

CREATE TABLE entry (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	scope       TEXT NOT NULL,
	proposal    TEXT NOT NULL,
	position    INTEGER NOT NULL,
	session     TEXT NOT NULL,
	reserved_at INTEGER NOT NULL,
	height      BLOB NOT NULL,
	digest      BLOB NOT NULL,
	outcome     INTEGER NOT NULL,
	settled_at  INTEGER NOT NULL,
	raw         BLOB,
	signature   BLOB
);
CREATE INDEX entry_unresolved ON entry (scope) WHERE outcome = 0;
CREATE INDEX entry_reserved ON entry (scope, reserved_at);
CREATE INDEX entry_settled ON entry (settled_at);
CREATE INDEX entry_proposal ON entry (proposal);
CREATE INDEX entry_signature ON entry (signature) WHERE signature IS NOT NULL;

CREATE TABLE charge (
	entry   INTEGER NOT NULL REFERENCES entry (seq),
	mint    BLOB NOT NULL,
	held    BLOB NOT NULL,
	charged BLOB,
	PRIMARY KEY (entry, mint)
) WITHOUT ROWID;

CREATE TABLE spent_day (
	scope  TEXT NOT NULL,
	bucket INTEGER NOT NULL,
	mint   BLOB NOT NULL,
	amount BLOB NOT NULL,
	PRIMARY KEY (scope, bucket, mint)
) WITHOUT ROWID;

CREATE TABLE spent_session (
	scope   TEXT NOT NULL,
	session TEXT NOT NULL,
	mint    BLOB NOT NULL,
	amount  BLOB NOT NULL,
	PRIMARY KEY (scope, session, mint)
) WITHOUT ROWID;
`

// migrations[i] takes version i+1 to version i+2. They only ever grow in number.
var migrations = []string{
	`CREATE TABLE recipient (
		name     TEXT PRIMARY KEY COLLATE NOCASE,
		address  BLOB NOT NULL UNIQUE,
		added_at INTEGER NOT NULL
	) WITHOUT ROWID;`,
	paymentTables,
	`CREATE TABLE action (
		key      TEXT PRIMARY KEY,
		proposal TEXT NOT NULL
	) WITHOUT ROWID;`,
	clockTable,
}

// Store is an open database file. It is safe for concurrent use.
type Store struct {
	db     *sql.DB
	lock   *lockfile.Lock
	writer doer
	// noted is what NoteAnchor has left to be written.
	noted atomic.Pointer[anchor]
	once  sync.Once
	err   error
}

// Create makes a new, empty database and opens it. It is for signerd init
// alone, and refuses a file that exists.
func Create(ctx context.Context, path string) (*Store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("a ledger exists already at %s; it is not replaced", path)
	}
	if err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	store, err := connect(ctx, path)
	if err != nil {
		return nil, err
	}
	whole := fmt.Sprintf("%s PRAGMA application_id = %d; %s", schema, applicationID, migrationFrom(1))
	if _, err := store.db.ExecContext(ctx, "BEGIN IMMEDIATE; "+whole+" COMMIT;"); err != nil {
		return nil, errors.Join(fmt.Errorf("create ledger: %w", err), store.disconnect())
	}
	if err := errors.Join(store.disconnect(), durable.SyncFolder(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	return Open(ctx, path)
}

// Open opens the database that Create made. A missing or damaged file is a
// StateLocked fault: with an empty one instead, every cap would start anew.
func Open(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, locked("the ledger file is missing; restore it, or run signerd init if this signer has never signed", err)
	}
	store, err := connect(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := store.check(ctx); err != nil {
		return nil, errors.Join(err, store.disconnect())
	}
	if err := store.bringForward(ctx); err != nil {
		return nil, errors.Join(err, store.disconnect())
	}
	writer, err := startWriter(store.db, store.writeNoted)
	if err != nil {
		return nil, errors.Join(err, store.disconnect())
	}
	store.writer = writer
	if err := store.checkSums(ctx); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func connect(ctx context.Context, path string) (*Store, error) {
	lock, err := lockfile.Acquire(path + ".lock")
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, fmt.Errorf("signerd is already running for this state folder; signerd status shows it: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock ledger: %w", err)
	}
	query := url.Values{"mode": {"rw"}, "_pragma": {
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "busy_timeout(2000)", "trusted_schema(OFF)",
	}}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, errors.Join(locked("the ledger cannot be opened", err), lock.Release())
	}
	db.SetMaxOpenConns(1)
	store := &Store{db: db, lock: lock}
	if err := store.readBack(ctx); err != nil {
		return nil, errors.Join(err, store.disconnect())
	}
	return store, nil
}

// readBack makes sure that the settings durability rests on are in force: the
// driver ignores a misspelt one without a word.
func (s *Store) readBack(ctx context.Context) error {
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := s.db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
			return locked("the ledger cannot be read", err)
		}
		if !strings.EqualFold(got, want) {
			return locked(fmt.Sprintf("the ledger's %s is %s and must be %s", pragma, got, want), nil)
		}
	}
	return nil
}

// check refuses a file that is not a sound ledger of this version or an earlier one.
func (s *Store) check(ctx context.Context) error {
	var id, version int64
	var sound string
	if err := errors.Join(
		s.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id),
		s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		s.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound),
	); err != nil {
		return locked("the ledger file is damaged", err)
	}
	switch {
	case sound != "ok":
		return locked("the ledger file is damaged", errors.New(sound))
	case id != applicationID:
		return locked("the ledger file holds no ledger", nil)
	case version < 1 || version > schemaVersion:
		return locked(fmt.Sprintf("the ledger has version %d and this signerd reads versions up to %d; install the signerd that wrote it, or a later one",
			version, schemaVersion), nil)
	}
	return nil
}

// bringForward applies what an earlier version lacks, in one transaction.
func (s *Store) bringForward(ctx context.Context) error {
	var version int64
	if err := s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return locked("the ledger file is damaged", err)
	}
	if version == schemaVersion {
		return nil
	}
	if _, err := s.db.ExecContext(ctx, "BEGIN IMMEDIATE; "+migrationFrom(version)+" COMMIT;"); err != nil {
		return locked(fmt.Sprintf("the ledger of version %d cannot be brought to version %d; nothing was changed", version, schemaVersion), err)
	}
	return nil
}

// migrationFrom is everything that a file of this version lacks.
func migrationFrom(version int64) string {
	return strings.Join(migrations[version-1:], "\n") + fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion)
}

// Close finishes what was accepted and closes the file.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.err = errors.Join(s.writer.stop(), s.disconnect())
	})
	return s.err
}

func (s *Store) disconnect() error { return errors.Join(s.db.Close(), s.lock.Release()) }

func locked(message string, cause error) error {
	return fault.New(fault.StateLocked, "%s", message).Because(cause)
}
