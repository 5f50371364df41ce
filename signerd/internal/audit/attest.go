package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"countersign/shared/durable"
	"countersign/shared/fault"
)

// attestEvery is after how many records there is a checkpoint even if nobody
// asks for a proof.
const attestEvery = 256

// attester signs checkpoints and keeps them.
type attester struct {
	notary Notary
	file   *os.File
	last   signedCheckpoint
}

func (a *attester) close() error {
	if a.file == nil {
		return nil
	}
	return errors.Join(a.file.Sync(), a.file.Close())
}

// Check reads the whole journal once: it verifies it against its checkpoints and
// Heads that it had before, and makes its tree, of which Attest and Proof need
// all. What does not verify is a StateLocked fault.
func (l *Log) Check(anchors ...Head) error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	hashes, err := createHashFile(beside(l.path, treeExtension))
	if err != nil {
		return err
	}
	read, err := l.read(anchors, hashes)
	if err != nil {
		return errors.Join(err, hashes.file.Close())
	}
	l.tree, l.hashes, l.durable = &read.tree, hashes, read.tree
	if read.points != nil {
		l.attester.last = read.points.last
		err = openAttested(l, read)
	} else if len(read.named) > 0 {
		err = fault.New(fault.StateLocked, "the audit log's checkpoints (%s) are missing: restore the file from a backup; or, if there is none, put an empty file there, and new ones begin with a record that tells so",
			beside(l.path, checkpointsExtension))
	}
	return err
}

func (l *Log) read(anchors []Head, hashes *hashFile) (*pass, error) {
	read, err := newPass(Against{Anchors: anchors})
	if err != nil {
		return nil, err
	}
	read.keep, read.newestOnly = hashes.add, true
	closePoints, err := read.openCheckpoints(beside(l.path, checkpointsExtension))
	if err != nil {
		return nil, err
	}
	defer closePoints()
	if _, err := read.run(io.NewSectionReader(l.file, 0, l.size), l.size); err != nil {
		return nil, fault.New(fault.StateLocked, "the audit log is not the one that this ledger and its checkpoints belong to: %v", err).Because(err)
	}
	if read.chain.head != l.head {
		return nil, fault.New(fault.StateLocked, "the audit log has changed while it was read")
	}
	return read, nil
}

// openAttested opens the file of checkpoints and cuts off what a write that was
// cut short has left.
func openAttested(l *Log, read *pass) error {
	file, err := os.OpenFile(beside(l.path, checkpointsExtension), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open checkpoints: %w", err)
	}
	l.attester.file = file
	if read.points.torn == 0 {
		return nil
	}
	if err := file.Truncate(read.points.offset); err != nil {
		return fmt.Errorf("cut off incomplete checkpoint: %w", err)
	}
	return nil
}

// Attest has checkpoints signed from now on: when a proof is asked for, after so
// many records, and at Close. It records the key where the checkpoints begin.
// Check comes first.
func (l *Log) Attest(ctx context.Context, notary Notary) error {
	l.flush.Lock()
	fresh := l.attester.file == nil
	var err error
	switch {
	case l.hashes == nil:
		err = errors.New("audit: a log is checked before it is attested")
	case fresh:
		path := beside(l.path, checkpointsExtension)
		if err = durable.WriteNewFile(path, nil); err == nil {
			l.attester.file, err = os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
		}
		err = errors.Join(err, durable.SyncFolder(filepath.Dir(path)))
	}
	begins := l.attester.last.note == "" || l.attester.last.Origin != originOf(notary.Key())
	if err == nil {
		l.attester.notary = notary
	}
	l.flush.Unlock()
	if err != nil {
		return fmt.Errorf("begin checkpoints: %w", err)
	}
	if !begins {
		return nil
	}
	if _, err := l.Append(ctx, Record{Time: time.Now(), Kind: kindKey, Data: map[string]string{keyField: notary.Key()}}); err != nil {
		return err
	}
	l.flush.Lock()
	defer l.flush.Unlock()
	return l.attest()
}

// attestWhenDue signs a checkpoint if the last one is long ago. The caller holds
// flush.
func (l *Log) attestWhenDue() error {
	if l.durable.size < l.attester.last.Size+attestEvery {
		return nil
	}
	return l.attest()
}

// attest signs a checkpoint of all that is on the disk, unless there is one. The
// file is flushed at Close: a checkpoint that a crash loses is in the receipts
// that it was made for. The caller holds flush.
func (l *Log) attest() error {
	if l.attester.notary == nil || l.durable.size == l.attester.last.Size {
		return nil
	}
	c := Checkpoint{Size: l.durable.size, Root: l.durable.root(), Previous: l.attester.last.Size}
	signed, err := l.attester.notary.Sign(c)
	if err != nil {
		return fmt.Errorf("sign checkpoint: %w", err)
	}
	opened, err := openCheckpoint(signed)
	if err != nil {
		return fmt.Errorf("sign checkpoint: %w", err)
	}
	if _, err := l.attester.file.WriteString(signed + "\n"); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	l.attester.last = opened
	return nil
}

// ErrNoProof is of a journal whose checkpoints nobody signs.
var ErrNoProof = errors.New("the audit log's checkpoints are not signed")

// Proof shows that a record is in the tree of a signed checkpoint, and makes one
// if there is none yet that reaches so far. The record is on the disk: its Append
// has returned.
func (l *Log) Proof(seq uint64) (Proof, error) {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.attester.notary == nil:
		return Proof{}, ErrNoProof
	case l.failed != nil:
		return Proof{}, l.failed
	case seq == 0 || seq > l.flushed.Seq:
		return Proof{}, fmt.Errorf("there is no record %d yet", seq)
	}
	if l.attester.last.Size < seq {
		if err := l.attest(); err != nil {
			return Proof{}, l.poison(err)
		}
	}
	proof := Proof{Index: seq - 1, checkpoint: l.attester.last}
	size, index := int64(proof.Size()), int64(proof.Index) //nolint:gosec // Counts of records that were read.
	var err error
	if proof.path, err = tlog.ProveRecord(size, index, l.hashes); err != nil {
		return Proof{}, fmt.Errorf("prove record %d: %w", seq, err)
	}
	// The hashes come from a file that nobody vouches for; the root does not.
	leaf, err := l.hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	if err == nil {
		err = proof.checkPath(leaf[0])
	}
	if err != nil {
		return Proof{}, fmt.Errorf("the audit log's tree was changed; restart signerd, which makes it anew: %w", err)
	}
	return proof, nil
}
