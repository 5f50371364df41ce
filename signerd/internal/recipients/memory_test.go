package recipients_test

import (
	"context"
	"slices"
	"time"

	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/recipients"
)

// memory is a store for the many books of a property test.
type memory struct{ entries []effects.Recipient }

func (m *memory) Recipients(context.Context) ([]effects.Recipient, error) {
	return slices.Clone(m.entries), nil
}

func (m *memory) AddRecipient(_ context.Context, entry effects.Recipient, _ time.Time) error {
	m.entries = append(m.entries, entry)
	return nil
}

func (m *memory) RemoveRecipient(_ context.Context, name string) error {
	before := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(entry effects.Recipient) bool { return entry.Name == name })
	if len(m.entries) == before {
		return recipients.ErrNotFound
	}
	return nil
}

// nowhere is a journal that keeps nothing.
type nowhere struct{}

func (nowhere) Append(context.Context, audit.Record) (uint64, error) { return 1, nil }
