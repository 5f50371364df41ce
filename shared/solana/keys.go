package solana

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"
)

// PublicKey is an account address: 32 bytes, written in base58.
type PublicKey [32]byte

// Signature is an Ed25519 signature: 64 bytes, written in base58.
type Signature [64]byte

// Hash is a blockhash or genesis hash: 32 bytes, written in base58.
type Hash [32]byte

// Base58 texts of 32 and 64 bytes are never longer than this, so longer input
// is refused before the quadratic decoder sees it.
const (
	maxKeyText       = 44
	maxSignatureText = 88
)

// ParsePublicKey reads a base58 address of exactly 32 bytes.
func ParsePublicKey(text string) (PublicKey, error) {
	var key PublicKey
	err := decodeExact(key[:], text, maxKeyText, "address")
	return key, err
}

// MustPublicKey is ParsePublicKey for constants of this program.
func MustPublicKey(text string) PublicKey {
	key, err := ParsePublicKey(text)
	if err != nil {
		panic(fmt.Sprintf("constant %q: %v", text, err))
	}
	return key
}

// PublicKeyFromBytes copies exactly 32 bytes.
func PublicKeyFromBytes(raw []byte) (PublicKey, error) {
	var key PublicKey
	err := copyExact(key[:], raw, "address")
	return key, err
}

// ParseSignature reads a base58 signature of exactly 64 bytes.
func ParseSignature(text string) (Signature, error) {
	var signature Signature
	err := decodeExact(signature[:], text, maxSignatureText, "signature")
	return signature, err
}

// SignatureFromBytes copies exactly 64 bytes.
func SignatureFromBytes(raw []byte) (Signature, error) {
	var signature Signature
	err := copyExact(signature[:], raw, "signature")
	return signature, err
}

// ParseHash reads a base58 hash of exactly 32 bytes.
func ParseHash(text string) (Hash, error) {
	var hash Hash
	err := decodeExact(hash[:], text, maxKeyText, "hash")
	return hash, err
}

// HashFromBytes copies exactly 32 bytes.
func HashFromBytes(raw []byte) (Hash, error) {
	var hash Hash
	err := copyExact(hash[:], raw, "hash")
	return hash, err
}

func decodeExact(into []byte, text string, longest int, what string) error {
	if len(text) > longest {
		return fmt.Errorf("%s is longer than %d characters", what, longest)
	}
	raw, err := base58.Decode(text)
	if err != nil {
		return fmt.Errorf("%s is not base58", what)
	}
	return copyExact(into, raw, what)
}

func copyExact(into, raw []byte, what string) error {
	if len(raw) != len(into) {
		return fmt.Errorf("%s has %d bytes, want %d", what, len(raw), len(into))
	}
	copy(into, raw)
	return nil
}

func (k PublicKey) String() string { return base58.Encode(k[:]) }

// Compare orders keys by their bytes.
func (k PublicKey) Compare(other PublicKey) int { return bytes.Compare(k[:], other[:]) }

// IsZero reports the all-zero key, which is also the System program's address.
func (k PublicKey) IsZero() bool { return k == PublicKey{} }

// MarshalText writes base58, so that JSON and TOML carry addresses as text.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads base58.
func (k *PublicKey) UnmarshalText(text []byte) error {
	parsed, err := ParsePublicKey(string(text))
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

// OnCurve reports whether a private key may exist for this address. A
// program-derived address never is on the curve.
func (k PublicKey) OnCurve() bool {
	_, err := new(edwards25519.Point).SetBytes(k[:])
	return err == nil
}

// Verify reports whether signature is k's over message.
func (k PublicKey) Verify(message []byte, signature Signature) bool {
	return ed25519.Verify(k[:], message, signature[:])
}

func (s Signature) String() string { return base58.Encode(s[:]) }

// IsZero reports an empty slot: not signed yet.
func (s Signature) IsZero() bool { return s == Signature{} }

// MarshalText writes base58.
func (s Signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads base58.
func (s *Signature) UnmarshalText(text []byte) error {
	parsed, err := ParseSignature(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

func (h Hash) String() string { return base58.Encode(h[:]) }

// IsZero reports a hash that was never set.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText writes base58.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads base58.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

var errNoAddress = errors.New("no program-derived address exists for these seeds")
