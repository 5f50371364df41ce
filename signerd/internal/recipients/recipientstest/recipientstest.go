// Package recipientstest holds what an address book of a test stands on, where
// nothing needs to outlive the test. Only tests import it. It promises that
// Shelf keeps what recipients.Store promises, but for the disk.
package recipientstest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/recipients"
)

// Shelf is a store in memory, for one goroutine at a time.
type Shelf struct{ Entries []effects.Recipient }

var _ recipients.Store = (*Shelf)(nil)

// Recipients returns every entry, in the order of their names.
func (s *Shelf) Recipients(context.Context) ([]effects.Recipient, error) {
	return slices.SortedFunc(slices.Values(s.Entries), func(a, b effects.Recipient) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// AddRecipient adds an entry.
func (s *Shelf) AddRecipient(_ context.Context, entry effects.Recipient, _ time.Time) error {
	s.Entries = append(s.Entries, entry)
	return nil
}

// RemoveRecipient removes the entry with exactly this name.
func (s *Shelf) RemoveRecipient(_ context.Context, name string) error {
	before := len(s.Entries)
	s.Entries = slices.DeleteFunc(s.Entries, func(entry effects.Recipient) bool { return entry.Name == name })
	if len(s.Entries) == before {
		return recipients.ErrNotFound
	}
	return nil
}

// Nowhere is a journal that keeps nothing.
type Nowhere struct{}

var _ recipients.Journal = Nowhere{}

// Append forgets the record.
func (Nowhere) Append(context.Context, audit.Record) (uint64, error) { return 1, nil }
