package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// Records gives every record of the journal at path, the first first, each
// checked as Verify does. It ends with the first error, which is a *BadRecord
// where a record does not verify.
func Records(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(Record{}, fmt.Errorf("open audit log: %w", err))
			return
		}
		defer file.Close()
		chain, lines := checker{}, bufio.NewReaderSize(file, longestLine)
		for {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				err = chain.bad("its line is longer than any record")
			}
			if err == nil {
				err = chain.add(line)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			record, err := parse(line)
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

func parse(line []byte) (Record, error) {
	stored, _, err := decode(line)
	if err != nil {
		return Record{}, err
	}
	return stored.record()
}

func (s stored) record() (Record, error) {
	at, err := time.Parse(time.RFC3339Nano, s.Time)
	if err != nil {
		return Record{}, fmt.Errorf("audit record %s has no time: %w", s.Seq, err)
	}
	return Record{
		Time: at, Kind: s.Kind, Session: s.Session, Correlation: s.Correlation,
		Proposal: s.Proposal, Digest: s.Digest, Data: s.Data,
	}, nil
}

// LastTime is when the last record was written, or zero in an empty journal.
func (l *Log) LastTime() (time.Time, error) {
	var last Record
	var err error
	scan := l.backwards(func(s stored) bool {
		last, err = s.record()
		return false
	})
	return last.Time, errors.Join(scan, err)
}
