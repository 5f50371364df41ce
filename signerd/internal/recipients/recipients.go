// Package recipients is the owner's address book: names for the wallets that
// assets may be sent to, so that nobody has to copy an address. Models drop
// letters of addresses, and people check the first and the last few only.
//
// operator changes it, server resolves names for mcpd, flow reads it for the
// judge. It promises that a name means one address and an address has one
// name, that no two names look alike, and that a change is in the audit log
// before it is made.
package recipients

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
)

// Store keeps the entries durably: a method that returns nil has its effect on
// the disk.
type Store interface {
	// Recipients reads every entry, in the order of their names.
	Recipients(ctx context.Context) ([]effects.Recipient, error)
	// AddRecipient adds an entry whose name and address are not there yet.
	AddRecipient(ctx context.Context, entry effects.Recipient, at time.Time) error
	// RemoveRecipient removes the entry with exactly this name, or returns
	// ErrNotFound.
	RemoveRecipient(ctx context.Context, name string) error
}

// Journal is the audit log.
type Journal interface {
	Append(ctx context.Context, record audit.Record) (seq uint64, err error)
}

// ErrNotFound is what a Store returns for a name that it does not hold.
var ErrNotFound = errors.New("no such recipient")

// MaxEntries bounds the book: all of it is read for every proposal.
const MaxEntries = 1000

// The kinds of audit record.
const (
	kindAdded   = "recipient_added"
	kindRemoved = "recipient_removed"
)

// Book is the owner's address book. It is safe for concurrent use.
type Book struct {
	store   Store
	journal Journal
	wallet  solana.PublicKey
	// change is held while an entry is checked, recorded and written.
	change sync.Mutex
}

// New makes the book of one wallet.
func New(store Store, journal Journal, wallet solana.PublicKey) *Book {
	return &Book{store: store, journal: journal, wallet: wallet}
}

// Author is who changes the book: the kernel's word about the peer.
type Author struct {
	UID uint32
	PID int32
}

// Addition is a new entry.
type Addition struct {
	Name    string
	Address solana.PublicKey
	// Insist adds an address although it looks like one that is known.
	Insist bool
	By     Author
}

// Add checks an entry, records it and adds it.
func (b *Book) Add(ctx context.Context, a Addition) error {
	b.change.Lock()
	defer b.change.Unlock()
	known, err := b.store.Recipients(ctx)
	if err != nil {
		return err
	}
	if err := b.check(a, known); err != nil {
		return err
	}
	data := map[string]string{"name": a.Name, "address": a.Address.String(), "insisted": strconv.FormatBool(a.Insist)}
	if err := b.record(ctx, kindAdded, a.By, data); err != nil {
		return err
	}
	return b.store.AddRecipient(ctx, effects.Recipient{Name: a.Name, Address: a.Address}, time.Now())
}

func (b *Book) check(a Addition, known []effects.Recipient) error {
	if err := checkName(a.Name); err != nil {
		return err
	}
	if err := b.checkAddress(a.Address); err != nil {
		return err
	}
	if len(known) >= MaxEntries {
		return fault.New(fault.InvalidArguments, "the address book is full (%d entries); remove one first", MaxEntries)
	}
	for _, entry := range known {
		switch {
		case entry.Address == a.Address:
			return fault.New(fault.InvalidArguments, "this address is in the book already, as %s; remove that entry first to rename it", entry.Name)
		case strings.EqualFold(entry.Name, a.Name):
			return fault.New(fault.InvalidArguments, "%s is in the book already, for %s; remove it first to change it", entry.Name, entry.Address)
		case skeleton(entry.Name) == skeleton(a.Name):
			return fault.New(fault.InvalidArguments, "%s is too easily taken for %s, which is in the book already; choose another name", a.Name, entry.Name)
		}
	}
	if a.Insist {
		return nil
	}
	if effects.LookAlike(a.Address, b.wallet) {
		return lookAlike("the wallet itself", b.wallet)
	}
	for _, entry := range known {
		if effects.LookAlike(a.Address, entry.Address) {
			return lookAlike(entry.Name, entry.Address)
		}
	}
	return nil
}

func lookAlike(name string, address solana.PublicKey) error {
	return fault.New(fault.InvalidArguments, "the address looks like that of %s (%s), as an impostor's would, or one that lost a letter; "+
		"compare every letter, and add it with --look-alike-ok only if you are certain", name, address)
}

// Remove records that an entry goes, removes it and returns it. Its name is
// matched as Resolve does.
func (b *Book) Remove(ctx context.Context, name string, by Author) (effects.Recipient, error) {
	b.change.Lock()
	defer b.change.Unlock()
	entry, err := b.Resolve(ctx, name)
	if err != nil {
		return effects.Recipient{}, err
	}
	data := map[string]string{"name": entry.Name, "address": entry.Address.String()}
	if err := b.record(ctx, kindRemoved, by, data); err != nil {
		return effects.Recipient{}, err
	}
	return entry, b.store.RemoveRecipient(ctx, entry.Name)
}

// List reads every entry, in the order of their names.
func (b *Book) List(ctx context.Context) ([]effects.Recipient, error) {
	return b.store.Recipients(ctx)
}

// Resolve finds the entry of a name. Small and capital letters are alike; a
// name that only resembles an entry is unknown.
func (b *Book) Resolve(ctx context.Context, name string) (effects.Recipient, error) {
	if err := checkName(name); err != nil {
		return effects.Recipient{}, err
	}
	known, err := b.store.Recipients(ctx)
	if err != nil {
		return effects.Recipient{}, err
	}
	for _, entry := range known {
		if strings.EqualFold(entry.Name, name) {
			return entry, nil
		}
	}
	return effects.Recipient{}, fault.New(fault.RecipientUnknown, "no recipient called %s is in the owner's address book", name)
}

// record writes who changes what, durably, before it is changed.
func (b *Book) record(ctx context.Context, kind string, by Author, data map[string]string) error {
	data["uid"], data["pid"] = strconv.FormatUint(uint64(by.UID), 10), strconv.FormatInt(int64(by.PID), 10)
	if _, err := b.journal.Append(ctx, audit.Record{Time: time.Now(), Kind: kind, Data: data}); err != nil {
		return fault.New(fault.StateLocked, "the audit log cannot be written, so the address book is not changed").Because(err)
	}
	return nil
}
