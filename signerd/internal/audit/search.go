package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Newest is what the newest records name.
type Newest struct {
	// Proposal is that of the newest record which names one.
	Proposal string
	// Value is a field's in the newest record which has it, and ValueProposal
	// the proposal of that record.
	Value, ValueProposal string
}

// Newest looks through the last records. What none of them names is empty.
func (l *Log) Newest(field string) (Newest, error) {
	var newest Newest
	info, err := l.file.Stat()
	if err != nil {
		return newest, fmt.Errorf("look at audit log: %w", err)
	}
	start := max(0, info.Size()-3*longestLine)
	data := make([]byte, info.Size()-start)
	if _, err := l.file.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
		return newest, fmt.Errorf("read audit log: %w", err)
	}
	for line := range bytes.Lines(data) {
		// The first line may be cut in the middle; Open has verified the others.
		record, _, err := decode(line)
		if err != nil {
			continue
		}
		if record.Proposal != "" {
			newest.Proposal = record.Proposal
		}
		if value := record.Data[field]; value != "" {
			newest.Value, newest.ValueProposal = value, record.Proposal
		}
	}
	return newest, nil
}
