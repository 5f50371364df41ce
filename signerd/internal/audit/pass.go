package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	checkpointsExtension = ".checkpoints"
	treeExtension        = ".tree"
)

// kindKey marks with which key checkpoints are signed from then on.
const (
	kindKey  = "audit_key"
	keyField = "key"
)

// progressEvery is how many bytes are read between two reports of progress.
const progressEvery = 1 << 20

// pass is one reading of a journal and of its checkpoints side by side.
type pass struct {
	against Against
	chain   checker
	tree    edge
	// keep takes the tree's hashes, if anybody wants them.
	keep   func([]tlog.Hash) error
	stored []tlog.Hash
	// keys are those whose signatures count, and named those of the journal.
	keys  []note.Verifier
	named []string
	// points is nil where there are no checkpoints. next is the one that is to be
	// compared next, and pointErr why there is none, once there is none.
	points   *checkpointReader
	next     signedCheckpoint
	pointErr error
	// newestOnly leaves out the signatures of all but the newest checkpoint. Each
	// root is compared in any case.
	newestOnly bool
	proven     tlog.Hash
	cover      *Checkpoint
}

func newPass(against Against) (*pass, error) {
	p := &pass{against: against, pointErr: io.EOF}
	for _, text := range slices.Compact(slices.Sorted(slices.Values(against.Keys))) {
		key, err := note.NewVerifier(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no verifier key; signerd audit key prints it", text)
		}
		p.keys = append(p.keys, key)
	}
	return p, nil
}

// openCheckpoints reads the file of checkpoints along with the journal, if it
// is there.
func (p *pass) openCheckpoints(path string) (closeFile func(), err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	p.points = &checkpointReader{lines: bufio.NewReaderSize(file, longestCheckpoint)}
	p.advance()
	return func() { _ = file.Close() }, nil // It was only read.
}

func (p *pass) advance() { p.next, p.pointErr = p.points.next() }

// run reads the whole journal.
func (p *pass) run(source io.Reader, size int64) (Summary, error) {
	lines := bufio.NewReaderSize(source, longestLine)
	reported := int64(0)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return p.summary(), p.chain.bad("its line is longer than any record")
		case errors.Is(err, io.EOF):
			summary := p.summary()
			summary.Torn = len(line)
			return summary, p.end()
		case err != nil:
			return p.summary(), fmt.Errorf("read audit log: %w", err)
		}
		if err := p.add(line); err != nil {
			return p.summary(), err
		}
		if done := p.chain.offset; p.against.Progress != nil && done-reported >= progressEvery {
			reported = done
			p.against.Progress(done, size)
		}
	}
}

func (p *pass) add(line []byte) error {
	record, err := p.chain.glance(line)
	if err != nil {
		return err
	}
	head := p.chain.head
	for _, anchor := range p.against.Anchors {
		if head.Seq == anchor.Seq && head.Hash != anchor.Hash {
			return p.chain.badAt(head.Seq, "it is not the record that once stood here: the journal was written anew")
		}
	}
	if record.Kind == kindKey {
		if err := p.learn(record.Data[keyField]); err != nil {
			return err
		}
	}
	leaf := leafOf(head.Hash)
	if p.against.Proof != nil && p.against.Proof.Index == p.tree.size {
		p.proven = leaf
	}
	p.stored = p.tree.add(leaf, p.stored[:0])
	if p.keep != nil {
		if err := p.keep(p.stored); err != nil {
			return err
		}
	}
	for p.pointErr == nil && p.next.Size == p.tree.size {
		if err := p.compare(); err != nil {
			return err
		}
		p.advance()
	}
	return nil
}

// learn takes a key that the journal names.
func (p *pass) learn(text string) error {
	key, err := note.NewVerifier(text)
	if err != nil {
		return p.chain.badAt(p.chain.head.Seq, "the key that it names cannot be read")
	}
	// A log names its key again where its checkpoints begin anew.
	if !slices.Contains(p.named, text) && len(p.against.Keys) == 0 {
		p.keys = append(p.keys, key)
	}
	p.named = append(p.named, text)
	return nil
}

// compare compares the tree with a checkpoint of as many records.
func (p *pass) compare() error {
	if !p.newestOnly {
		if err := p.next.check(note.VerifierList(p.keys...)); err != nil {
			return p.badPoint(err.Error())
		}
	}
	if p.tree.root() != p.next.Root {
		return p.badPoint(fmt.Sprintf("records %d to %d are not those that it was signed over", p.next.Previous+1, p.next.Size))
	}
	if p.cover == nil && p.against.Cover > 0 && p.next.Size >= p.against.Cover {
		found := p.next.Checkpoint
		p.cover = &found
	}
	return nil
}

// badPoint names the checkpoint that was read last.
func (p *pass) badPoint(reason string) error {
	return &BadCheckpoint{Number: p.points.number, Offset: -1, Reason: reason}
}

// end checks what can be said once all has been read.
func (p *pass) end() error {
	records, anchor := p.chain.head.Seq, uint64(0)
	for _, known := range p.against.Anchors {
		anchor = max(anchor, known.Seq)
	}
	switch {
	case records < anchor:
		return &BadRecord{
			Line: records + 1, Seq: records + 1, Offset: p.chain.offset,
			Reason: fmt.Sprintf("it is missing, as is everything up to record %d, which once existed", anchor),
		}
	case p.pointErr == nil:
		return p.badPoint(fmt.Sprintf("it is of %d records, and the log has %d: the rest is missing", p.next.Size, records))
	case !errors.Is(p.pointErr, io.EOF):
		return p.pointErr
	case (p.points == nil || p.points.number == 0) && p.against.Checkpointed && len(p.named) > 0:
		return &BadCheckpoint{Number: 1, Reason: "the log names a key, and the file of checkpoints is missing or empty"}
	case len(p.against.Keys) > 0 && p.against.Proof == nil && p.summary().Checkpoints == 0:
		return &BadCheckpoint{Number: 1, Reason: "it is missing: a key was given, and no checkpoint is there that could be signed with it"}
	}
	if p.newestOnly && p.points != nil && p.points.number > 0 {
		if err := p.points.last.check(note.VerifierList(p.keys...)); err != nil {
			return p.badPoint(err.Error())
		}
	}
	if proof := p.against.Proof; proof != nil {
		return proof.check(p.proven, note.VerifierList(p.keys...))
	}
	return nil
}

func (p *pass) summary() Summary {
	summary := Summary{Records: p.chain.head.Seq, Head: p.chain.head, Keys: p.named, Cover: p.cover}
	if p.points != nil {
		summary.Checkpoints, summary.Covered = p.points.number, p.points.last.Size
	}
	return summary
}
