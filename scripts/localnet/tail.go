package localnet

import (
	"fmt"
	"io"
	"sync"
)

// tail passes on what is written and remembers the end of it.
type tail struct {
	also io.Writer // may be nil

	mu  sync.Mutex // guards end
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - maxTail; extra > 0 {
		t.end = append([]byte{}, t.end[extra:]...)
	}
	t.mu.Unlock()
	if t.also == nil {
		return len(p), nil
	}
	return t.also.Write(p)
}

// quoted is the end for an error message, or nothing.
func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.end) == 0 {
		return ""
	}
	return fmt.Sprintf("; its log ends:\n%s", t.end)
}
