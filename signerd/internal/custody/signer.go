package custody

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/ledger"
)

// Signer is an unlocked key.
type Signer struct {
	public solana.PublicKey

	mu   sync.Mutex // guards page
	page *page
}

// Signed is a transaction with our signature. Only Sign makes one.
type Signed struct {
	raw     []byte
	id      solana.Signature
	stamped bool
}

// Raw is a copy of the wire bytes.
func (s Signed) Raw() []byte { return bytes.Clone(s.raw) }

// ID is the transaction's id: its first signature, whoever's it is.
func (s Signed) ID() solana.Signature { return s.id }

// Stamped reports whether Sign made it.
func (s Signed) Stamped() bool { return s.stamped }

// PublicKey is the address of the key.
func (s *Signer) PublicKey() solana.PublicKey { return s.public }

// Sign signs the transaction that the reservation holds, over exactly its
// message bytes, and leaves every other signature as it is.
func (s *Signer) Sign(r ledger.Reservation) (Signed, error) {
	if !r.Stamped() || !r.Transaction().Stamped() {
		return Signed{}, errors.New("custody: only a reserved transaction is signed")
	}
	raw, id, err := s.sign(r.Transaction())
	if err != nil {
		return Signed{}, err
	}
	return Signed{raw: raw, id: id, stamped: true}, nil
}

func (s *Signer) sign(tx decode.Tx) ([]byte, solana.Signature, error) {
	if tx.Wallet() != s.public {
		return nil, solana.Signature{}, fault.New(fault.Internal, "the transaction was judged for another wallet than this key's")
	}
	message, slot := tx.MessageBytes(), tx.WalletSlot()
	wire := tx.Transaction()
	if slot < 0 || slot >= len(wire.Signatures) || wire.Message.Keys[slot] != s.public {
		return nil, solana.Signature{}, errors.New("custody: the wallet has no place among the signers")
	}
	signature, err := s.signMessage(message)
	if err != nil {
		return nil, solana.Signature{}, err
	}
	wire.Signatures[slot] = signature
	raw := wire.Marshal()
	if err := checkSigned(raw, tx.Digest()); err != nil {
		return nil, solana.Signature{}, err
	}
	return raw, wire.ID(), nil
}

// signMessage is the one place where the key is used. The expanded key lives
// for as long as one signature takes.
func (s *Signer) signMessage(message []byte) (solana.Signature, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.page == nil {
		return solana.Signature{}, fault.New(fault.CustodyUnavailable, "the key is locked: signerd is stopping")
	}
	private := ed25519.NewKeyFromSeed(s.page.bytes())
	defer clear(private)
	return solana.Signature(ed25519.Sign(private, message)), nil
}

// checkSigned looks once more at what is about to leave: it must be the message
// that was judged, with every signature in place and good.
func checkSigned(raw []byte, digest [32]byte) error {
	wire, err := solana.ParseTransaction(raw)
	if err != nil {
		return fault.New(fault.Internal, "the signed transaction cannot be read back").Because(err)
	}
	message := wire.Message.Marshal()
	if sha256.Sum256(message) != digest {
		return fault.New(fault.Internal, "the signed transaction is not the one that was judged")
	}
	for i, signature := range wire.Signatures {
		if !wire.Message.Keys[i].Verify(message, signature) {
			return fault.New(fault.TransactionMalformed, "the signature of %s is missing or wrong", wire.Message.Keys[i])
		}
	}
	return nil
}

// Close wipes the key. Sign fails from then on.
func (s *Signer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.page != nil {
		s.page.close()
		s.page = nil
	}
}

// String and its relatives show the address and nothing else.
func (s *Signer) String() string { return "custody.Signer(" + s.public.String() + ")" }

// GoString is String.
func (s *Signer) GoString() string { return s.String() }

// LogValue is String.
func (s *Signer) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes String.
func (s *Signer) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }
