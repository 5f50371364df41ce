package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Entry is a record as it stands in a journal.
type Entry struct {
	Record
	Seq  uint64
	Hash [32]byte
	// Line is the record's own line, its end included. It is good until the
	// reader goes on.
	Line []byte
}

// Reader gives the records of a journal in order, and checks each one as Verify
// does. It needs no lock: the signer may go on writing meanwhile.
type Reader struct {
	path  string
	file  *os.File
	lines *bufio.Reader
	chain checker
}

// NewReader reads a journal from its first record on.
func NewReader(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	return &Reader{path: path, file: file, lines: bufio.NewReaderSize(file, longestLine)}, nil
}

// Close ends reading.
func (r *Reader) Close() error { return r.file.Close() }

// Next gives the next record, or io.EOF where there is none yet: it can be asked
// again. An incomplete last line is not there yet. The error is a *BadRecord for
// a record that does not verify.
func (r *Reader) Next() (Entry, error) {
	line, err := r.lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return Entry{}, r.chain.bad("its line is longer than any record")
	case errors.Is(err, io.EOF):
		if err := r.seek(r.chain.offset); err != nil {
			return Entry{}, err
		}
		return Entry{}, io.EOF
	case err != nil:
		return Entry{}, fmt.Errorf("read audit log: %w", err)
	}
	record, err := r.chain.add(line)
	if err != nil {
		return Entry{}, err
	}
	when, err := time.Parse(time.RFC3339Nano, record.Time)
	if err != nil {
		return Entry{}, r.chain.badAt(r.chain.head.Seq, "its time cannot be read")
	}
	return Entry{
		Record: Record{
			Time: when, Kind: record.Kind, Session: record.Session, Correlation: record.Correlation,
			Proposal: record.Proposal, Digest: record.Digest, Data: record.Data,
		},
		Seq: r.chain.head.Seq, Hash: r.chain.head.Hash, Line: line,
	}, nil
}

// seek has the next line read from there.
func (r *Reader) seek(offset int64) error {
	if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	r.lines.Reset(r.file)
	r.chain.offset = offset
	return nil
}

// SkipToLast skips all but the last n records. What is skipped is not checked.
func (r *Reader) SkipToLast(n int) error {
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("look at audit log: %w", err)
	}
	// One line end more than lines: the end of the record before the first.
	data := make([]byte, longestLine)
	for end, ends := info.Size(), 0; end > 0; {
		block := data[:min(end, longestLine)]
		end -= int64(len(block))
		if _, err := r.file.ReadAt(block, end); err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
		for {
			at := bytes.LastIndexByte(block, '\n')
			if at < 0 {
				break
			}
			if ends++; ends > n {
				r.chain.loose = true
				return r.seek(end + int64(at) + 1)
			}
			block = block[:at]
		}
	}
	return r.seek(0)
}

// Same says why the journal is not the file any more that was opened, if it is
// not: who follows a journal would wait for ever.
func (r *Reader) Same() error {
	opened, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("look at audit log: %w", err)
	}
	now, err := os.Stat(r.path)
	switch {
	case err != nil:
		return fmt.Errorf("look at audit log: %w", err)
	case !os.SameFile(opened, now):
		return errors.New("the audit log was replaced by another file while it was read")
	case now.Size() < r.chain.offset:
		return errors.New("the audit log was cut short while it was read")
	}
	return nil
}
