package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// LastProposal is the proposal that the newest record naming one names. It is
// empty where none of the last records does.
func (l *Log) LastProposal() (string, error) {
	info, err := l.file.Stat()
	if err != nil {
		return "", fmt.Errorf("look at audit log: %w", err)
	}
	start := max(0, info.Size()-3*longestLine)
	data := make([]byte, info.Size()-start)
	if _, err := l.file.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read audit log: %w", err)
	}
	last := ""
	for line := range bytes.Lines(data) {
		// The first line may be cut in the middle; Open has verified the others.
		if record, _, err := decode(line); err == nil && record.Proposal != "" {
			last = record.Proposal
		}
	}
	return last, nil
}
