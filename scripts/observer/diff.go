package observer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// Change is an account that differs between two snapshots. A nil side is an
// account that did not exist.
type Change struct {
	Address       string
	Before, After *Account
}

// Diff is what changed, ordered by address.
func Diff(before, after Snapshot) []Change {
	addresses := slices.Collect(maps.Keys(before))
	for address := range after {
		if _, ok := before[address]; !ok {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	var changes []Change
	for _, address := range addresses {
		change := Change{Address: address, Before: before.find(address), After: after.find(address)}
		if !same(change.Before, change.After) {
			changes = append(changes, change)
		}
	}
	return changes
}

func (s Snapshot) find(address string) *Account {
	if account, ok := s[address]; ok {
		return &account
	}
	return nil
}

func same(a, b *Account) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Lamports == b.Lamports && a.Owner == b.Owner && a.Executable == b.Executable && bytes.Equal(a.Data, b.Data)
}

// Lamports is what left and what came: one of them is zero.
func (c Change) Lamports() (out, in uint64) {
	var before, after uint64
	if c.Before != nil {
		before = c.Before.Lamports
	}
	if c.After != nil {
		after = c.After.Lamports
	}
	if after < before {
		return before - after, 0
	}
	return 0, after - before
}

// String is the change in the words of a failed test.
func (c Change) String() string {
	switch {
	case c.Before == nil:
		return fmt.Sprintf("%s: opened with %d lamports, owner %s", c.Address, c.After.Lamports, c.After.Owner)
	case c.After == nil:
		return fmt.Sprintf("%s: closed, %d lamports gone", c.Address, c.Before.Lamports)
	}
	text := c.Address + ":"
	if out, in := c.Lamports(); out != in {
		text += fmt.Sprintf(" lamports -%d +%d", out, in)
	}
	if c.Before.Owner != c.After.Owner {
		text += fmt.Sprintf(" owner %s, was %s", c.After.Owner, c.Before.Owner)
	}
	if !bytes.Equal(c.Before.Data, c.After.Data) {
		text += fmt.Sprintf(" data of %d bytes changed to other %d", len(c.Before.Data), len(c.After.Data))
	}
	return text
}
