package audit

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// Summary is what a sound journal holds.
type Summary struct {
	Records uint64
	Head    Head
	// Torn is how many bytes of an incomplete last line follow the last
	// record. A crash leaves such a line; Open cuts it off.
	Torn int
	// Checkpoints is how many there are, and Covered how many records the newest
	// is of.
	Checkpoints int
	Covered     uint64
	// Keys are the verifier keys that the journal names, in order.
	Keys []string
	// Cover is the first checkpoint of as many records as Against.Cover, if there
	// is one.
	Cover *Checkpoint
}

// Against is what a journal is compared with, beside itself and the checkpoints
// that lie in the file beside it.
type Against struct {
	// Anchors are Heads that the journal had before: records cut off the end are
	// missed, and a journal rewritten from some record on.
	Anchors []Head
	// Keys are those whose signatures count, as note writes them. Where there are
	// none, those that the journal names count, and whoever can write the journal
	// may have named his own.
	Keys []string
	// Checkpointed demands that the checkpoints of a journal that names a key are
	// there: a copy may lack them.
	Checkpointed bool
	// Proof is of one record of this journal.
	Proof *Proof
	// Cover is the number of a record whose checkpoint is wanted.
	Cover uint64
	// Progress is told how many bytes of how many have been read.
	Progress func(done, all int64)
}

// BadRecord names the first record that does not verify.
type BadRecord struct {
	// Line counts from 1. Offset is where the line begins in the file.
	Line   uint64
	Offset int64
	// Seq is the number that the record should have. It and Line are 0 where only
	// the journal's end was read, which starts with this record.
	Seq    uint64
	Reason string
}

func (b *BadRecord) Error() string {
	if b.Seq == 0 {
		return fmt.Sprintf("the audit record at byte %d is bad: %s", b.Offset, b.Reason)
	}
	return fmt.Sprintf("audit record %d (line %d, byte %d) is bad: %s", b.Seq, b.Line, b.Offset, b.Reason)
}

// Verify reads the whole journal in constant memory. The error is a *BadRecord
// or a *BadCheckpoint that names the first bad one, or a failure to read.
func Verify(path string) (Summary, error) { return VerifyAgainst(path, Against{}) }

// VerifyAgainst also compares the journal with what is known of it.
func VerifyAgainst(path string, against Against) (Summary, error) {
	pass, err := newPass(against)
	if err != nil {
		return Summary{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return Summary{}, fmt.Errorf("open audit log: %w", err)
	}
	defer file.Close()
	closePoints, err := pass.openCheckpoints(beside(path, checkpointsExtension))
	if err != nil {
		return Summary{}, err
	}
	defer closePoints()
	info, err := file.Stat()
	if err != nil {
		return Summary{}, fmt.Errorf("look at audit log: %w", err)
	}
	return pass.run(file, info.Size())
}

// checker follows the chain from one line to the next.
type checker struct {
	head   Head
	line   uint64
	offset int64
	// loose is set while the first line is read in the middle of a file, where
	// what came before it is not known.
	loose bool
}

func (c *checker) bad(reason string) error { return c.badAt(c.head.Seq+1, reason) }

func (c *checker) badAt(seq uint64, reason string) error {
	if c.loose {
		return &BadRecord{Offset: c.offset, Reason: reason}
	}
	return &BadRecord{Line: c.line + 1, Offset: c.offset, Seq: seq, Reason: reason}
}

// add takes the next line and gives the record in it.
func (c *checker) add(line []byte) (stored, error) { return c.follow(line, decode) }

// glance takes the next line and gives what is needed of it to verify.
func (c *checker) glance(line []byte) (stored, error) { return c.follow(line, glance) }

func (c *checker) follow(line []byte, read func([]byte) (stored, [32]byte, error)) (stored, error) {
	record, hash, err := read(line)
	if err != nil {
		return stored{}, c.bad(err.Error())
	}
	seq, err := strconv.ParseUint(record.Seq, 10, 64)
	if err != nil || strconv.FormatUint(seq, 10) != record.Seq || seq == 0 {
		return stored{}, c.bad("its number cannot be read")
	}
	want := c.head.Seq + 1
	switch {
	case c.loose:
		c.line = seq - 1 // Each line is a record.
	case seq > want:
		return stored{}, c.bad(fmt.Sprintf("it was removed or moved: record %d stands in its place", seq))
	case seq < want:
		return stored{}, c.bad(fmt.Sprintf("record %d stands in its place: records were moved or repeated", seq))
	case !isHex(record.Prev, c.head.Hash):
		return stored{}, c.bad("it does not follow the record before it")
	}
	c.loose = false
	c.head = Head{Seq: seq, Hash: hash}
	c.line++
	c.offset += int64(len(line))
	return record, nil
}

// isHex reports whether text is the hash as it is written.
func isHex(text string, hash [32]byte) bool {
	var written [hashText]byte
	hex.Encode(written[:], hash[:])
	return text == string(written[:])
}

// tail is the end of a journal.
type tail struct {
	head Head
	// size is where the last complete line ends, and torn what follows it.
	size int64
	torn []byte
}

// readTail verifies the last records: at least the last two, if there are as
// many, since two records of the longest kind fit into what is read.
func readTail(file *os.File) (tail, error) {
	info, err := file.Stat()
	if err != nil {
		return tail{}, fmt.Errorf("look at audit log: %w", err)
	}
	start := max(0, info.Size()-3*longestLine)
	data := make([]byte, info.Size()-start)
	if _, err := file.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
		return tail{}, fmt.Errorf("read audit log: %w", err)
	}
	complete := bytes.LastIndexByte(data, '\n') + 1
	found := tail{size: start + int64(complete), torn: data[complete:]}
	if len(found.torn) > longestLine {
		return tail{}, errors.New("the file ends in something that is no record")
	}
	chain := checker{}
	lines := data[:complete]
	if start > 0 {
		// The first line is cut in the middle.
		chain.loose = true
		cut := bytes.IndexByte(lines, '\n') + 1
		lines, chain.offset = lines[cut:], start+int64(cut)
	}
	for line := range bytes.Lines(lines) {
		if _, err := chain.add(line); err != nil {
			return tail{}, err
		}
	}
	found.head = chain.head
	return found, nil
}
