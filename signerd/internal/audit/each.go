package audit

import (
	"errors"
	"io"
	"iter"
	"time"
)

// Records gives every record of the journal at path, the first first, each
// checked as Verify does. It ends with the first error, which is a *BadRecord
// where a record does not verify.
func Records(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		records, err := NewReader(path)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer records.Close()
		for {
			entry, err := records.Next()
			if errors.Is(err, io.EOF) || !yield(entry.Record, err) || err != nil {
				return
			}
		}
	}
}

// LastTime is when the last record was written, or zero in an empty journal.
func (l *Log) LastTime() (time.Time, error) {
	var last time.Time
	var err error
	scan := l.backwards(func(s stored) bool {
		last, err = time.Parse(time.RFC3339Nano, s.Time)
		return false
	})
	return last, errors.Join(scan, err)
}
