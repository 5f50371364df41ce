package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/ledger/sqlite"
)

// memories are what is known, beside an audit log, of how far it had come.
type memories struct {
	heads []audit.Head
	// told is up to which record each one knows the log, and silent why one does
	// not tell.
	told   map[string]uint64
	silent map[string]string
}

// remembered asks the ledger and the key store. It comes before the log is read,
// which may be longer by then, and not shorter.
func (c *console) remembered(ctx context.Context) memories {
	known := memories{told: make(map[string]uint64), silent: make(map[string]string)}
	known.ask("ledger", func() (audit.Head, error) {
		cfg, err := c.load()
		if err != nil {
			return audit.Head{}, err
		}
		seq, hash, err := sqlite.ReadAnchor(ctx, cfg.LedgerPath())
		return audit.Head{Seq: seq, Hash: hash}, err
	})
	known.ask("key store", func() (audit.Head, error) {
		vault, _, err := c.vault()
		if err != nil {
			return audit.Head{}, err
		}
		if !vault.Outside() {
			return audit.Head{}, fmt.Errorf("%s remembers nothing outside the state folder", vault.Backend())
		}
		return vault.Head(ctx)
	})
	return known
}

func (m *memories) ask(whom string, ask func() (audit.Head, error)) {
	head, err := ask()
	if err == nil && head.Seq == 0 {
		err = errors.New("it has not been told yet")
	}
	if err != nil {
		m.silent[whom] = err.Error()
		return
	}
	m.heads = append(m.heads, head)
	m.told[whom] = head.Seq
}

func (m *memories) show(out io.Writer) {
	for _, whom := range slices.Sorted(maps.Keys(m.told)) {
		fmt.Fprintf(out, "the %s remembers record %d, and it is the same\n", whom, m.told[whom])
	}
	for _, whom := range slices.Sorted(maps.Keys(m.silent)) {
		fmt.Fprintf(out, "not held against the %s: %s\n", whom, m.silent[whom])
	}
}
