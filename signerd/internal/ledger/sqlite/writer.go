package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// mostTogether bounds how many jobs share a commit, and so how long the first
// of them waits.
const mostTogether = 128

// job is one caller's work inside a shared transaction.
type job struct {
	ctx  context.Context // a message between two goroutines, gone when answered
	run  func(*session) error
	done chan error
}

// doer runs jobs: each in a transaction, or all in one.
type doer interface {
	do(ctx context.Context, run func(*session) error) error
	stop() error
}

// together runs jobs inside the transaction of another.
type together struct{ tx *session }

func (t together) do(_ context.Context, run func(*session) error) error { return run(t.tx) }

func (together) stop() error { return errors.New("a transaction is not closed by those who share it") }

// Together gives work a store whose methods all belong to one transaction: what
// they do is on the disk when Together returns, or has not happened.
func (s *Store) Together(ctx context.Context, work func(*Store) error) error {
	return s.writer.do(ctx, func(tx *session) error { return work(&Store{writer: together{tx}}) })
}

// writer is the one goroutine that uses the connection.
type writer struct {
	session *session
	// also is done in every transaction, after its jobs.
	also   func(*session) error
	jobs   chan job
	quit   chan struct{}
	ended  chan struct{}
	failed error // only loop uses it, and stop after it
}

func startWriter(db *sql.DB, also func(*session) error) (*writer, error) {
	connection, err := db.Conn(context.Background())
	if err != nil {
		return nil, locked("the ledger cannot be opened", err)
	}
	w := &writer{
		session: &session{connection: connection, statements: make(map[string]*sql.Stmt)},
		also:    also,
		jobs:    make(chan job), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.loop()
	return w, nil
}

// do runs the job in a transaction and answers when that is on the disk. A
// context that ends before the job has begun withdraws it; after that the
// answer is waited for, since only it says what happened.
func (w *writer) do(ctx context.Context, run func(*session) error) error {
	j := job{ctx: ctx, run: run, done: make(chan error, 1)}
	select {
	case w.jobs <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return locked("the ledger is closed", nil)
	}
}

func (w *writer) stop() error {
	close(w.quit)
	<-w.ended
	var errs error
	if w.failed == nil {
		errs = w.commit(nil, nil)
	}
	// With a statement left open SQLite would not close the file, and leave what
	// was written last in the -wal file.
	for _, prepared := range w.session.statements {
		errs = errors.Join(errs, prepared.Close())
	}
	return errors.Join(errs, w.session.connection.Close())
}

func (w *writer) loop() {
	defer close(w.ended)
	for {
		select {
		case first := <-w.jobs:
			batch := w.gather(first)
			answers := make([]error, len(batch))
			if w.failed == nil {
				w.failed = w.commit(batch, answers)
			}
			for i, j := range batch {
				if w.failed != nil {
					answers[i] = w.failed
				}
				j.done <- answers[i]
			}
		case <-w.quit:
			return
		}
	}
}

// gather takes along whoever waits already.
func (w *writer) gather(first job) []job {
	batch := []job{first}
	for len(batch) < mostTogether {
		select {
		case next := <-w.jobs:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// commit runs the batch in one transaction. Its error ends the writer's life:
// what a failed commit left on the disk is known only after the file is opened
// again. The error of one job undoes that job alone.
func (w *writer) commit(batch []job, answers []error) error {
	if err := w.session.exec("BEGIN IMMEDIATE"); err != nil {
		return unwritable(err)
	}
	for i, j := range batch {
		answers[i] = j.ctx.Err()
		if answers[i] != nil {
			continue
		}
		if err := w.session.exec("SAVEPOINT job"); err != nil {
			return w.abandon(err)
		}
		answers[i] = j.run(w.session)
		if failsForAll(answers[i]) {
			return w.abandon(answers[i])
		}
		if answers[i] != nil {
			if err := w.session.exec("ROLLBACK TO job"); err != nil {
				return w.abandon(err)
			}
		}
		if err := w.session.exec("RELEASE job"); err != nil {
			return w.abandon(err)
		}
	}
	if err := w.also(w.session); err != nil {
		return w.abandon(err)
	}
	if err := w.session.exec("COMMIT"); err != nil {
		return w.abandon(err)
	}
	return nil
}

// failsForAll recognises what is wrong with the file or its disk, and not with
// one job.
func failsForAll(err error) bool {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch failure.Code() & 0xff { // The primary code.
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

func (w *writer) abandon(cause error) error {
	return unwritable(errors.Join(cause, w.session.exec("ROLLBACK")))
}

func unwritable(cause error) error {
	return locked("the ledger cannot be read or written; look at the disk, then restart signerd", cause)
}

// session is the connection inside a transaction. Statements are prepared once.
type session struct {
	connection *sql.Conn
	statements map[string]*sql.Stmt
}

func (s *session) statement(query string) (*sql.Stmt, error) {
	if prepared, ok := s.statements[query]; ok {
		return prepared, nil
	}
	prepared, err := s.connection.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	s.statements[query] = prepared
	return prepared, nil
}

func (s *session) exec(query string, args ...any) error {
	_, err := s.insert(query, args...)
	return err
}

// insert is exec that returns the new row's number.
func (s *session) insert(query string, args ...any) (int64, error) {
	prepared, err := s.statement(query)
	if err != nil {
		return 0, err
	}
	result, err := prepared.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// each calls scan for every row.
func (s *session) each(scan func(*sql.Rows) error, query string, args ...any) (err error) {
	prepared, err := s.statement(query)
	if err != nil {
		return err
	}
	rows, err := prepared.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
