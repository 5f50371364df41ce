// Package custody holds the private keys: it is the only package of the only
// process in which their bytes exist. A key lies in a key store of the system
// as a blob that this package sealed; unlocked, its seed lies in memory that
// is neither swapped nor dumped.
//
// flow signs and app manages keys through it; submit takes its Signed. It promises invariant I5: no
// secret in any error, log, argument or environment variable; and that it
// signs only what a ledger.Reservation holds, and, with a key of its own that is
// no wallet's, checkpoints of the audit log. There is no function that signs
// bytes.
//
// It is larger than most, so that nothing that knows a key lies outside it.
package custody

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/custody/internal/keyring"
)

// Credential is the backend that only reads: sealed keys that systemd has put
// into the service's credential folder. Others are named in Backends.
const Credential = "systemd-credential"

// Options name the one key store that is used.
type Options struct {
	// Backend is one of Backends.
	Backend string
	// StateDir holds the sealing key and the file backend's folder.
	StateDir string
	// PassphraseFile is the file backend's.
	PassphraseFile string
	// CredentialDir is where systemd put credentials: the sealing key under the
	// name countersign.seal, and keys under countersign.key.NAME as List's
	// blobs, base64.
	CredentialDir string
	// ServiceName groups our items in a shared key store; "countersign" if empty.
	ServiceName string
	// Timeout bounds every call to the key store; 3 s if zero.
	Timeout time.Duration
}

// Backends lists the backends that exist on any system.
func Backends() []string {
	return []string{keyring.File, keyring.SecretService, keyring.KWallet, keyring.Keychain, keyring.WinCred, Credential}
}

const (
	sealFile       = "seal.key"
	keysFolder     = "keys"
	itemPrefix     = "key."
	defaultTimeout = 3 * time.Second
	defaultService = "countersign"
)

// store is where sealed blobs lie.
type store interface {
	Get(ctx context.Context, name string) ([]byte, error)
	Set(ctx context.Context, name string, blob []byte) error
	Remove(ctx context.Context, name string) error
	Names(ctx context.Context, prefix string) ([]string, error)
}

// Vault is an open key store.
type Vault struct {
	backend string
	store   store
	sealKey []byte
}

// Key is a key as it may be shown.
type Key struct {
	Name      string
	PublicKey solana.PublicKey
}

// Open opens the one backend that the options name.
func Open(options Options) (*Vault, error) {
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.ServiceName == "" {
		options.ServiceName = defaultService
	}
	vault := &Vault{backend: options.Backend}
	var err error
	if vault.sealKey, err = readSealKey(options); err != nil {
		return nil, err
	}
	if options.Backend == Credential {
		vault.store = credentials{dir: options.CredentialDir}
		return vault, nil
	}
	vault.store, err = openKeyring(options)
	return vault, err
}

func openKeyring(options Options) (store, error) {
	known := false
	for _, backend := range Backends() {
		known = known || backend == options.Backend
	}
	if !known {
		return nil, fault.New(fault.CustodyUnavailable, "there is no key store %q; choose one of: %s", options.Backend, strings.Join(Backends(), ", "))
	}
	opened, err := keyring.Open(context.Background(), keyring.Options{
		Backend: options.Backend, ServiceName: options.ServiceName, Timeout: options.Timeout,
		Dir:        filepath.Join(options.StateDir, keysFolder),
		Passphrase: func() (string, error) { return readPassphrase(options.PassphraseFile) },
	})
	if err != nil {
		return nil, unavailable(options.Backend, err)
	}
	return opened, nil
}

// unavailable words a key store's failure. Its own text may hold anything and
// stays in the cause.
func unavailable(backend string, err error) error {
	if errors.Is(err, keyring.ErrTimeout) {
		return fault.New(fault.CustodyUnavailable, "the key store %s did not answer in time; it may be locked", backend).Because(err)
	}
	if backend == keyring.File && strings.Contains(err.Error(), otherPassphrase) {
		return fault.New(fault.CustodyUnavailable, "the keys were stored with another passphrase than the one in [keyring] passphrase_file: name the file that they were stored with").Because(err)
	}
	return fault.New(fault.CustodyUnavailable, "the key store %s cannot be used: %s", backend, firstLine(err)).Because(err)
}

// otherPassphrase is how the file backend's library says that a passphrase does
// not open an item.
const otherPassphrase = "aes.KeyUnwrap()"

// firstLine keeps an error readable. Key stores never see an unsealed secret,
// so their errors cannot hold one.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Backend is the key store in use.
func (v *Vault) Backend() string { return v.backend }

// keyName is narrow so that a name is the same in every key store.
var keyName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func checkName(name string) error {
	if !keyName.MatchString(name) {
		return fault.New(fault.InvalidArguments, "a key's name is 1 to 32 of: a-z 0-9 -")
	}
	return nil
}

// Create makes a new key and stores it.
func (v *Vault) Create(ctx context.Context, name string) (solana.PublicKey, error) {
	seed := randomBytes(ed25519.SeedSize)
	defer clear(seed)
	return v.add(ctx, name, seed)
}

// Import stores a key that exists: the JSON array of solana-keygen, base58 or
// base64, of the 64-byte pair or the 32-byte seed. secret is wiped.
func (v *Vault) Import(ctx context.Context, name string, secret []byte) (solana.PublicKey, error) {
	defer clear(secret)
	seed, err := parseSecret(secret)
	if err != nil {
		return solana.PublicKey{}, err
	}
	defer clear(seed)
	return v.add(ctx, name, seed)
}

func (v *Vault) add(ctx context.Context, name string, seed []byte) (solana.PublicKey, error) {
	if err := checkName(name); err != nil {
		return solana.PublicKey{}, err
	}
	_, err := v.store.Get(ctx, itemPrefix+name)
	if err == nil {
		return solana.PublicKey{}, fault.New(fault.InvalidArguments, "a key named %q exists already; signerd key list shows its address. To have another one beside it, choose another name", name)
	}
	if !errors.Is(err, keyring.ErrNotFound) {
		return solana.PublicKey{}, unavailable(v.backend, err)
	}
	public := publicOf(seed)
	blob, err := seal(v.sealKey, name, public, seed)
	if err != nil {
		return solana.PublicKey{}, err
	}
	if err := v.store.Set(ctx, itemPrefix+name, blob); err != nil {
		return solana.PublicKey{}, unavailable(v.backend, err)
	}
	// A store that says yes and keeps nothing is found now, not at the first payment.
	signer, err := v.Unlock(ctx, name)
	if err != nil {
		return solana.PublicKey{}, err
	}
	signer.Close()
	return public, nil
}

// List names the keys. It unseals none.
func (v *Vault) List(ctx context.Context) ([]Key, error) {
	names, err := v.store.Names(ctx, itemPrefix)
	if err != nil {
		return nil, unavailable(v.backend, err)
	}
	keys := make([]Key, 0, len(names))
	for _, item := range names {
		name := strings.TrimPrefix(item, itemPrefix)
		blob, err := v.get(ctx, name)
		if err != nil {
			return nil, err
		}
		public, err := publicOfBlob(blob)
		if err != nil {
			return nil, damaged(name, err)
		}
		keys = append(keys, Key{Name: name, PublicKey: public})
	}
	return keys, nil
}

// Remove deletes a key for ever.
func (v *Vault) Remove(ctx context.Context, name string) error {
	if _, err := v.get(ctx, name); err != nil {
		return err
	}
	if err := v.store.Remove(ctx, itemPrefix+name); err != nil {
		return unavailable(v.backend, err)
	}
	return nil
}

func (v *Vault) get(ctx context.Context, name string) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	blob, err := v.store.Get(ctx, itemPrefix+name)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, fault.New(fault.CustodyUnavailable, "the key store %s has no key named %q; make one with signerd key new", v.backend, name)
	}
	if err != nil {
		return nil, unavailable(v.backend, err)
	}
	return blob, nil
}

func damaged(name string, cause error) error {
	return fault.New(fault.CustodyUnavailable,
		"the stored key %q does not open: it was changed, or it was sealed with another sealing key", name).Because(cause)
}

// Unlock reads a key into protected memory.
func (v *Vault) Unlock(ctx context.Context, name string) (*Signer, error) {
	blob, err := v.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return v.unlock(name, blob)
}

func (v *Vault) unlock(name string, blob []byte) (*Signer, error) {
	public, seed, err := unseal(v.sealKey, name, blob)
	if err != nil {
		return nil, damaged(name, err)
	}
	defer clear(seed)
	page, err := newPage(seed)
	if err != nil {
		return nil, fault.New(fault.CustodyUnavailable, "the system gives no locked memory for the key; raise its limit (LimitMEMLOCK)").Because(err)
	}
	return &Signer{public: public, page: page}, nil
}

// publicOf derives the address of a seed.
func publicOf(seed []byte) solana.PublicKey {
	private := ed25519.NewKeyFromSeed(seed)
	defer clear(private)
	return solana.PublicKey(private[ed25519.SeedSize:])
}

// String and its relatives keep the sealing key out of every log.
func (v *Vault) String() string { return fmt.Sprintf("custody.Vault(%s)", v.backend) }

// GoString is String.
func (v *Vault) GoString() string { return v.String() }

// LogValue is String.
func (v *Vault) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalJSON writes String.
func (v *Vault) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }
