// Package audit keeps the journal of what signerd was asked, decided and did:
// an append-only file of JSON lines, each chained to the one before by
// SHA-256. Append returns when the line is on the disk, so an intent recorded
// here precedes its effect. The lines are also the leaves of a Merkle tree, of
// which checkpoints are signed: who has one, or a proof of one record, can tell
// later whether the journal still says the same.
//
// flow writes it and app verifies it. It promises that a record that was
// changed, removed or reordered is found and named by Verify, without any key,
// and that after a failed write nothing more is accepted. Records cut off the
// end are found only against a Head or a checkpoint kept elsewhere, and so is a
// journal that was written anew by somebody who has the key.
//
// Writing, checking and reading have files of their own, and share the line, the
// chain and the tree, which nobody else should be able to write.
package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"countersign/shared/durable"
	"countersign/shared/fault"
	"countersign/shared/lockfile"
)

// Fields of a record's data that name what it is about.
const (
	ReservationField = "reservation"
	SignatureField   = "signature"
)

// Record is one step of one request. Text in it may come from anybody: what
// cannot be printed is escaped before it is written.
type Record struct {
	Time        time.Time
	Kind        string
	Session     string
	Correlation string
	Proposal    string
	// Digest is the SHA-256 of the message concerned, in hex.
	Digest string
	// Data holds the step's own facts. Amounts are decimal integers as text.
	Data map[string]string
}

// Head is the end of a journal: enough to notice, later and elsewhere, that
// records are missing from it.
type Head struct {
	// Seq is the last record's number; the first is 1, and 0 is an empty journal.
	Seq  uint64
	Hash [32]byte
}

// String writes the number and the hash, for people and for keeping.
func (h Head) String() string {
	return strconv.FormatUint(h.Seq, 10) + ":" + hex.EncodeToString(h.Hash[:])
}

// MarshalText writes what String does.
func (h Head) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads it back.
func (h *Head) UnmarshalText(text []byte) error {
	number, hash, ok := strings.Cut(string(text), ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	raw, hexErr := hex.DecodeString(hash)
	if !ok || err != nil || hexErr != nil || len(raw) != len(h.Hash) {
		return errors.New("a journal's head is its number, a colon and 64 hex digits")
	}
	h.Seq, h.Hash = seq, [32]byte(raw)
	return nil
}

// kindRepaired marks where Open cut off an incomplete last line.
const kindRepaired = "journal_repaired"

// Log is an open journal. It is safe for concurrent use; concurrent Appends
// share a flush.
type Log struct {
	path string
	file *os.File
	lock *lockfile.Lock

	mu     sync.Mutex // guards what follows, and the order of writes
	head   Head
	size   int64 // what head is the end of
	failed error
	tree   *edge     // the tree of the records up to head; nil until Check
	hashes *hashFile // nil until Check
	stored []tlog.Hash

	flush    sync.Mutex // guards what follows; held while the disk is waited for; taken before mu
	flushed  Head
	durable  edge // the tree of the records up to flushed
	attester attester
}

// Create makes a new, empty journal and opens it. It is for signerd init alone,
// and refuses a file that exists.
func Create(path string) (*Log, error) {
	return acquire(path, func() (*os.File, error) {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("create audit log: %w", err)
		}
		if err := errors.Join(file.Sync(), durable.SyncFolder(filepath.Dir(path))); err != nil {
			return nil, errors.Join(fmt.Errorf("create audit log: %w", err), file.Close())
		}
		return file, nil
	})
}

// Open opens the journal that Create made, for appending. It verifies the tail
// and refuses to continue a journal whose last complete record is not sound.
// An incomplete last line, left by a crash in the middle of a write, belongs
// to an Append that never returned: it is cut off, and that is recorded. A
// missing journal is a StateLocked fault: a new one in its place would hide
// that what was recorded is gone.
func Open(path string) (*Log, error) {
	return acquire(path, func() (*os.File, error) {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fault.New(fault.StateLocked, "the audit log is missing; restore it, or run signerd init if this signer has never signed").Because(err)
		}
		if err != nil {
			return nil, fmt.Errorf("open audit log: %w", err)
		}
		return file, nil
	})
}

// acquire takes the journal's lock and continues the file that opened gives.
func acquire(path string, opened func() (*os.File, error)) (*Log, error) {
	lock, err := lockfile.Acquire(path + ".lock")
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, fmt.Errorf("signerd is already running for this state folder; signerd status shows it: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock audit log: %w", err)
	}
	file, err := opened()
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	log := &Log{path: path, file: file, lock: lock}
	if err := log.resume(); err != nil {
		return nil, errors.Join(err, file.Close(), lock.Release())
	}
	return log, nil
}

// resume finds the head and repairs a torn end.
func (l *Log) resume() error {
	tail, err := readTail(l.file)
	if err != nil {
		return fault.New(fault.StateLocked, "the audit log's last records do not verify: %v", err).Because(err)
	}
	l.head, l.flushed, l.size = tail.head, tail.head, tail.size
	if len(tail.torn) == 0 {
		return nil
	}
	if err := l.file.Truncate(tail.size); err != nil {
		return fmt.Errorf("cut off incomplete audit record: %w", err)
	}
	_, err = l.Append(context.Background(), Record{Time: time.Now(), Kind: kindRepaired, Data: tornData(tail.torn)})
	return err
}

// Write puts the record in its place and returns its number. It is on the disk
// once an Append that comes after it has returned, and not for certain before:
// it is for what precedes no effect. It fails as Append does.
func (l *Log) Write(ctx context.Context, record Record) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("write audit record: %w", err)
	}
	return l.write(record)
}

// Append writes the record durably and returns its number. After an error of
// the disk every later Append fails too: what the file holds is then unknown
// until it is opened again.
func (l *Log) Append(ctx context.Context, record Record) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append audit record: %w", err)
	}
	seq, err := l.write(record)
	if err != nil {
		return 0, err
	}
	return seq, l.waitFlushed(seq)
}

func (l *Log) write(record Record) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return 0, l.failed
	}
	line, hash, err := encode(record, Head{Seq: l.head.Seq + 1, Hash: l.head.Hash})
	if err != nil {
		return 0, err
	}
	if _, err := l.file.Write(line); err != nil {
		return 0, l.poison(err)
	}
	l.head, l.size = Head{Seq: l.head.Seq + 1, Hash: hash}, l.size+int64(len(line))
	if l.tree != nil {
		l.stored = l.tree.add(leafOf(hash), l.stored[:0])
		if err := l.hashes.add(l.stored); err != nil {
			return 0, l.poison(err)
		}
	}
	return l.head.Seq, nil
}

// waitFlushed returns when seq is on the disk. Whoever holds flush has the
// disk write everything that was appended up to then, so those who waited
// meanwhile find their record done.
func (l *Log) waitFlushed(seq uint64) error {
	l.flush.Lock()
	defer l.flush.Unlock()
	if l.flushed.Seq >= seq {
		return nil
	}
	l.mu.Lock()
	written, failed := l.head, l.failed
	var tree edge
	if l.tree != nil {
		tree = *l.tree
	}
	l.mu.Unlock()
	if failed != nil {
		return failed
	}
	err := l.file.Sync()
	if err == nil {
		l.flushed, l.durable = written, tree
		err = l.attestWhenDue()
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.poison(err)
	}
	return nil
}

// poison ends the log's life. The caller holds mu.
func (l *Log) poison(cause error) error {
	if l.failed == nil {
		l.failed = fault.New(fault.StateLocked, "the audit log cannot be written; look at the disk, then restart signerd").Because(cause)
	}
	return l.failed
}

// Head is the last durable record, for keeping elsewhere. Records that are being
// written meanwhile do not hide it: a signer that is never idle is anchored too.
func (l *Log) Head() Head {
	l.flush.Lock()
	defer l.flush.Unlock()
	return l.flushed
}

// flushLast has on the disk what Write has left to be, and signs a checkpoint of all.
// The caller holds flush and mu.
func (l *Log) flushLast() error {
	if l.flushed != l.head {
		if err := l.file.Sync(); err != nil {
			return fmt.Errorf("flush audit log: %w", err)
		}
		l.flushed = l.head
		if l.tree != nil {
			l.durable = *l.tree
		}
	}
	return l.attest()
}

// Close ends writing, with a checkpoint of all that was written. Later Appends
// fail.
func (l *Log) Close() error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.failed == nil {
		err = l.flushLast()
		l.failed = errors.New("the audit log is closed")
	}
	if l.hashes != nil {
		err = errors.Join(err, l.hashes.file.Close())
	}
	return errors.Join(err, l.attester.close(), l.file.Close(), l.lock.Release())
}
