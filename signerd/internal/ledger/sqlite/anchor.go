package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// SetAnchor remembers how far the audit log had come: the number and hash of
// its last record. With it, records that are later cut off that log are missed.
func (s *Store) SetAnchor(ctx context.Context, seq uint64, hash [32]byte) error {
	return s.writer.do(ctx, func(tx *session) error {
		return writeAnchor(tx, anchor{seq, hash})
	})
}

// NoteAnchor has SetAnchor done along with the next change, or at Close: what is
// older than the newest record misses cut records all the same, up to itself.
func (s *Store) NoteAnchor(_ context.Context, seq uint64, hash [32]byte) error {
	s.noted.Store(&anchor{seq, hash})
	return nil
}

// anchor is the number and hash of a record.
type anchor struct {
	seq  uint64
	hash [32]byte
}

// writeNoted writes the anchor that was noted last, if it is not written yet.
func (s *Store) writeNoted(tx *session) error {
	noted := s.noted.Swap(nil)
	if noted == nil {
		return nil
	}
	return writeAnchor(tx, *noted)
}

func writeAnchor(tx *session, a anchor) error {
	return tx.exec(`INSERT INTO anchor (id, seq, hash) VALUES (1, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE excluded.seq > anchor.seq`,
		binary.BigEndian.AppendUint64(nil, a.seq), a.hash[:])
}

const selectAnchor = `SELECT seq, hash FROM anchor WHERE id = 1`

// Anchor is what SetAnchor remembered last, or zero where it never was called.
func (s *Store) Anchor(ctx context.Context) (seq uint64, hash [32]byte, err error) {
	err = s.writer.do(ctx, func(tx *session) error {
		return tx.each(func(row *sql.Rows) (err error) {
			seq, hash, err = scanAnchor(row.Scan)
			return err
		}, selectAnchor)
	})
	return seq, hash, err
}

func scanAnchor(scan func(...any) error) (seq uint64, hash [32]byte, err error) {
	var number, digest []byte
	if err := scan(&number, &digest); err != nil {
		return 0, hash, fmt.Errorf("read anchor: %w", err)
	}
	if len(number) != 8 || len(digest) != len(hash) {
		return 0, hash, locked("the ledger's memory of the audit log is damaged", nil)
	}
	return binary.BigEndian.Uint64(number), [32]byte(digest), nil
}

// ReadAnchor is Anchor of a ledger that another process may have open. It takes no
// lock, and creates and changes no file, so that anybody who can read the ledger may
// ask.
func ReadAnchor(ctx context.Context, path string) (seq uint64, hash [32]byte, err error) {
	// SQLite makes files beside a ledger that nobody has open, unless it is told that
	// it will not change. If it was opened meanwhile, that was not so.
	for {
		query := url.Values{"mode": {"ro"}}
		open := exists(path + "-wal")
		if !open {
			query.Set("immutable", "1")
		}
		seq, hash, err = readAnchor(ctx, url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()})
		if open || !exists(path+"-wal") || ctx.Err() != nil {
			return seq, hash, err
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readAnchor(ctx context.Context, name url.URL) (seq uint64, hash [32]byte, err error) {
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return 0, hash, fmt.Errorf("open ledger: %w", err)
	}
	defer db.Close()
	seq, hash, err = scanAnchor(db.QueryRowContext(ctx, selectAnchor).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, hash, nil
	}
	return seq, hash, err
}
