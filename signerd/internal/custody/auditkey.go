package custody

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/mod/sumdb/note"

	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/custody/internal/keyring"
)

// The audit key lies beside the wallets' keys, under names that none of those
// can have, so that neither is ever taken for the other.
const (
	auditItem = "audit.key"
	auditName = "audit key"
	// auditOrigin begins the name of every audit key; a part of its hash follows.
	auditOrigin = "countersign.audit/"
)

// AuditKey signs checkpoints of the audit log, and nothing else.
type AuditKey struct {
	signer   *Signer
	verifier note.Verifier
	text     string
}

// ErrNoAuditKey is of a key store that holds none.
var ErrNoAuditKey = errors.New("there is no audit key yet; signerd serve makes one")

// AuditKey reads the key that signs checkpoints.
func (v *Vault) AuditKey(ctx context.Context) (*AuditKey, error) {
	blob, err := v.store.Get(ctx, auditItem)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, ErrNoAuditKey
	}
	if err != nil {
		return nil, unavailable(v.backend, err)
	}
	signer, err := v.unlock(auditName, blob)
	if err != nil {
		return nil, err
	}
	public := signer.PublicKey()
	hash := sha256.Sum256(public[:])
	text, err := note.NewEd25519VerifierKey(auditOrigin+hex.EncodeToString(hash[:8]), ed25519.PublicKey(public[:]))
	if err == nil {
		var verifier note.Verifier
		if verifier, err = note.NewVerifier(text); err == nil {
			return &AuditKey{signer, verifier, text}, nil
		}
	}
	signer.Close()
	return nil, fmt.Errorf("read audit key: %w", err)
}

// CreateAuditKey makes the key that signs checkpoints, unless there is one.
func (v *Vault) CreateAuditKey(ctx context.Context) (*AuditKey, error) {
	key, err := v.AuditKey(ctx)
	if !errors.Is(err, ErrNoAuditKey) {
		return key, err
	}
	seed := randomBytes(ed25519.SeedSize)
	defer clear(seed)
	blob, err := seal(v.sealKey, auditName, publicOf(seed), seed)
	if err != nil {
		return nil, err
	}
	if err := v.store.Set(ctx, auditItem, blob); err != nil {
		return nil, unavailable(v.backend, err)
	}
	return v.AuditKey(ctx)
}

// Key is the verifier key, which may be given to anybody.
func (k *AuditKey) Key() string { return k.text }

// Sign signs a checkpoint in this key's name.
func (k *AuditKey) Sign(c audit.Checkpoint) (string, error) {
	c.Origin = k.verifier.Name()
	signed, err := note.Sign(&note.Note{Text: c.Text()}, noteSigner{k})
	return string(signed), err
}

// Close wipes the key. Sign fails from then on.
func (k *AuditKey) Close() { k.signer.Close() }

// String and its relatives show what may be shown.
func (k *AuditKey) String() string { return "custody.AuditKey(" + k.text + ")" }

// GoString is String.
func (k *AuditKey) GoString() string { return k.String() }

// LogValue is String.
func (k *AuditKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// noteSigner is the form in which note wants a key. Only Sign makes one, so that
// nothing but a checkpoint is signed.
type noteSigner struct{ key *AuditKey }

func (s noteSigner) Name() string    { return s.key.verifier.Name() }
func (s noteSigner) KeyHash() uint32 { return s.key.verifier.KeyHash() }

func (s noteSigner) Sign(message []byte) ([]byte, error) {
	signature, err := s.key.signer.signMessage(message)
	return signature[:], err
}
