package custody

import (
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"countersign/shared/solana"
)

// A blob is: version (1 byte), public key (32), nonce (24), sealed seed (48).
// The name and the public key are authenticated with it, so that a blob cannot
// be put under another name or pass for another key.
const (
	blobVersion = 1
	sealKeySize = chacha20poly1305.KeySize
	seedSize    = 32
	nonceStart  = 1 + 32
	sealedStart = nonceStart + chacha20poly1305.NonceSizeX
	blobSize    = sealedStart + seedSize + chacha20poly1305.Overhead
)

var (
	errBlob    = errors.New("not a sealed key of this version")
	errSealed  = errors.New("the seal is broken")
	errNotPair = errors.New("the sealed secret belongs to another public key")
)

func associated(name string, public solana.PublicKey) []byte {
	return append([]byte("countersign key 1\x00"+name+"\x00"), public[:]...)
}

func seal(key []byte, name string, public solana.PublicKey, seed []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("seal key: %w", err)
	}
	blob := make([]byte, sealedStart, blobSize)
	blob[0] = blobVersion
	copy(blob[1:], public[:])
	nonce := blob[nonceStart:sealedStart]
	rand.Read(nonce) // never fails: it would end the process
	return aead.Seal(blob, nonce, seed, associated(name, public)), nil
}

func publicOfBlob(blob []byte) (solana.PublicKey, error) {
	if len(blob) != blobSize || blob[0] != blobVersion {
		return solana.PublicKey{}, errBlob
	}
	return solana.PublicKey(blob[1:nonceStart]), nil
}

// unseal opens a blob. The caller wipes the seed.
func unseal(key []byte, name string, blob []byte) (solana.PublicKey, []byte, error) {
	public, err := publicOfBlob(blob)
	if err != nil {
		return solana.PublicKey{}, nil, err
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return solana.PublicKey{}, nil, fmt.Errorf("unseal key: %w", err)
	}
	seed, err := aead.Open(nil, blob[nonceStart:sealedStart], blob[sealedStart:], associated(name, public))
	if err != nil {
		return solana.PublicKey{}, nil, errSealed
	}
	if publicOf(seed) != public {
		clear(seed)
		return solana.PublicKey{}, nil, errNotPair
	}
	return public, seed, nil
}
