package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Newest is what the newest records name.
type Newest struct {
	// Proposal is that of the newest record which names one.
	Proposal string
	// Fields are the newest value of each field that was asked for, with the
	// proposal of its record.
	Fields map[string]Named
}

// Named is a field's value.
type Named struct{ Value, Proposal string }

// Newest looks from the end of the journal backwards until it has found a
// proposal and a value of each field. What no record names is empty.
func (l *Log) Newest(fields ...string) (Newest, error) {
	newest := Newest{Fields: make(map[string]Named, len(fields))}
	err := l.backwards(func(record stored) bool {
		if newest.Proposal == "" {
			newest.Proposal = record.Proposal
		}
		for _, field := range fields {
			if _, found := newest.Fields[field]; !found && record.Data[field] != "" {
				newest.Fields[field] = Named{record.Data[field], record.Proposal}
			}
		}
		return newest.Proposal == "" || len(newest.Fields) < len(fields)
	})
	return newest, err
}

// NewestWith is the data of the newest record that has this value in a field of it,
// or nil.
func (l *Log) NewestWith(ctx context.Context, field, value string) (data map[string]string, err error) {
	err = l.backwards(func(record stored) bool {
		if record.Data[field] == value {
			data = record.Data
		}
		return data == nil && ctx.Err() == nil
	})
	return data, errors.Join(err, ctx.Err())
}

// lastLimit is how many records Last looks at: about a second's work.
const lastLimit = 100_000

// Last is the number of the newest record of a kind about a proposal, or 0. It
// does not look further back than a caller would wait for.
func (l *Log) Last(ctx context.Context, kind, proposal string) (seq uint64, err error) {
	looked := 0
	err = l.backwards(func(record stored) bool {
		if record.Kind == kind && record.Proposal == proposal {
			seq, _ = strconv.ParseUint(record.Seq, 10, 64) // It was written by this package, or verified.
			return false
		}
		looked++
		return looked < lastLimit && ctx.Err() == nil
	})
	return seq, err
}

// backwards gives records, the newest first, for as long as more are wanted.
func (l *Log) backwards(more func(stored) bool) error {
	l.mu.Lock()
	size := l.size
	l.mu.Unlock()
	var cut []byte // The rest of a line whose beginning comes before.
	for end := size; end > 0; {
		start := max(0, end-3*longestLine)
		data := make([]byte, end-start, end-start+int64(len(cut)))
		if _, err := l.file.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read audit log: %w", err)
		}
		data, end = append(data, cut...), start
		if start > 0 {
			whole := bytes.IndexByte(data, '\n') + 1
			cut, data = data[:whole], data[whole:]
		}
		for _, line := range slices.Backward(slices.Collect(bytes.Lines(data))) {
			record, _, err := decode(line)
			if err != nil {
				return fmt.Errorf("read audit log: %w", err)
			}
			if !more(record) {
				return nil
			}
		}
	}
	return nil
}
