// Package keyring stores small sealed items in one named key store of the
// system, through the 99designs library. Only custody can import it, and it
// sees nothing but sealed bytes.
//
// It promises exactly one backend, never another in its place; an answer
// within the time limit even from a store that hangs; and, for the file
// backend, that a crash leaves the old item or the new one.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/99designs/keyring"

	"countersign/shared/durable"
	"countersign/shared/uds"
	_ "countersign/signerd/internal/custody/internal/nobus" // before the line above takes effect
)

// The backends, by the names that configuration uses.
const (
	File          = "file"
	SecretService = "secret-service"
	KWallet       = "kwallet"
	Keychain      = "keychain"
	WinCred       = "wincred"
)

// Options name the store.
type Options struct {
	Backend string
	// ServiceName groups our items among those of other programs.
	ServiceName string
	// Dir and Passphrase are the file backend's.
	Dir        string
	Passphrase func() (string, error)
	// Timeout bounds every call.
	Timeout time.Duration
}

// Store is an open key store.
type Store struct {
	ring    keyring.Keyring
	options Options
	// busy holds one token: the library is not made for concurrent use, and a
	// call that hangs keeps the token so that none piles up behind it.
	busy chan struct{}
}

// The ways in which a store fails to answer.
var (
	ErrNotFound = errors.New("the key store has no such item")
	ErrTimeout  = errors.New("the key store did not answer in time")
)

// Open opens the named backend or says why it cannot be.
func Open(ctx context.Context, options Options) (*Store, error) {
	backend := keyring.BackendType(options.Backend)
	if !slices.Contains(keyring.AvailableBackends(), backend) {
		return nil, errors.New(missing(options.Backend))
	}
	store := &Store{options: options, busy: make(chan struct{}, 1)}
	store.busy <- struct{}{}
	if options.Backend == File {
		if err := errors.Join(uds.PrepareFolder(options.Dir, uds.OwnerOnly), store.clearStaging()); err != nil {
			return nil, err
		}
	}
	ring, err := limited(ctx, store, func() (keyring.Keyring, error) { return keyring.Open(store.config(options.Dir)) })
	if err != nil {
		return nil, fmt.Errorf("open the key store %s: %w", options.Backend, err)
	}
	store.ring = ring
	return store, nil
}

// missing says what a build or a system lacks.
func missing(backend string) string {
	switch {
	case backend == Keychain && runtime.GOOS == "darwin":
		return "this build has no macOS Keychain because it was built without cgo; use a build made on a Mac, or choose another backend"
	case backend == SecretService || backend == KWallet:
		return "no session bus is reachable, so there is no " + backend + " here; start one, or choose the backend file or systemd-credential"
	}
	return fmt.Sprintf("the key store %q does not exist on this system", backend)
}

func (s *Store) config(dir string) keyring.Config {
	return keyring.Config{
		AllowedBackends:                []keyring.BackendType{keyring.BackendType(s.options.Backend)},
		ServiceName:                    s.options.ServiceName,
		KeychainTrustApplication:       true,
		KeychainAccessibleWhenUnlocked: true,
		FileDir:                        dir,
		FilePasswordFunc:               func(string) (string, error) { return s.options.Passphrase() },
		// The collection that a login unlocks: another would have to be created
		// through a prompt that a server cannot show.
		LibSecretCollectionName: "login",
		KWalletAppID:            s.options.ServiceName,
		KWalletFolder:           s.options.ServiceName,
		WinCredPrefix:           s.options.ServiceName,
	}
}

// limited runs a call of the library in a goroutine and waits for it as long
// as the limit. A call that never returns keeps the token, so that later calls
// fail at once and nothing is started behind it.
func limited[T any](ctx context.Context, s *Store, call func() (T, error)) (T, error) {
	var nothing T
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	select {
	case <-s.busy:
	case <-ctx.Done():
		return nothing, ErrTimeout
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := call()
		s.busy <- struct{}{}
		answers <- answer{value, err}
	}()
	select {
	case got := <-answers:
		if errors.Is(got.err, keyring.ErrKeyNotFound) {
			got.err = ErrNotFound
		}
		return got.value, got.err
	case <-ctx.Done():
		return nothing, ErrTimeout
	}
}

// Get reads an item.
func (s *Store) Get(ctx context.Context, name string) ([]byte, error) {
	item, err := limited(ctx, s, func() (keyring.Item, error) { return s.ring.Get(name) })
	return item.Data, err
}

// Set stores an item, in place of one of the same name.
func (s *Store) Set(ctx context.Context, name string, data []byte) error {
	item := keyring.Item{Key: name, Data: data, Label: s.options.ServiceName + " " + name}
	_, err := limited(ctx, s, func() (struct{}, error) {
		if s.options.Backend == File {
			return struct{}{}, s.setFile(item)
		}
		return struct{}{}, s.ring.Set(item)
	})
	return err
}

// Remove deletes an item.
func (s *Store) Remove(ctx context.Context, name string) error {
	_, err := limited(ctx, s, func() (struct{}, error) {
		if err := s.ring.Remove(name); err != nil {
			return struct{}{}, err
		}
		if s.options.Backend == File {
			return struct{}{}, durable.SyncFolder(s.options.Dir)
		}
		return struct{}{}, nil
	})
	return err
}

// Names lists the items whose names begin with prefix, sorted.
func (s *Store) Names(ctx context.Context, prefix string) ([]string, error) {
	names, err := limited(ctx, s, s.ring.Keys)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	slices.Sort(names)
	return names, err
}

// staging is where the file backend writes before an item takes its place.
func (s *Store) staging() string { return s.options.Dir + ".new" }

func (s *Store) clearStaging() error { return os.RemoveAll(s.staging()) }

// setFile has the library write beside the store and moves the finished file
// into place, because the library itself would truncate the only copy and
// write it anew, without a flush.
func (s *Store) setFile(item keyring.Item) (err error) {
	if err := uds.PrepareFolder(s.staging(), uds.OwnerOnly); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.clearStaging()) }()
	beside, err := keyring.Open(s.config(s.staging()))
	if err != nil {
		return err
	}
	if err := beside.Set(item); err != nil {
		return err
	}
	from := filepath.Join(s.staging(), item.Key)
	if err := syncFile(from); err != nil {
		return err
	}
	if err := os.Rename(from, filepath.Join(s.options.Dir, item.Key)); err != nil {
		return err
	}
	return durable.SyncFolder(s.options.Dir)
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
