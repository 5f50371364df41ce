package decode

import (
	"bytes"
	"errors"
	"slices"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Parsed is a transaction whose structure is sound and whose lookup tables are
// not resolved yet.
type Parsed struct {
	raw     []byte
	message []byte
	tx      solana.Transaction
}

// Parse reads the wire bytes. The faults say which way they are wrong.
func Parse(raw []byte) (Parsed, error) {
	tx, err := solana.ParseTransaction(raw)
	switch {
	case errors.Is(err, solana.ErrTooLarge):
		return Parsed{}, fault.New(fault.TransactionTooLarge, "the %v", err).Because(err)
	case errors.Is(err, solana.ErrVersion):
		return Parsed{}, fault.New(fault.VersionUnsupported, "the transaction is of an unknown version; the signer reads legacy, v0 and v1").Because(err)
	case err != nil:
		return Parsed{}, fault.New(fault.TransactionMalformed, "the transaction is malformed: %v", err).Because(err)
	}
	message := tx.Message.Marshal()
	// The codec promises this; a signature over other bytes than were judged
	// would be the worst of all mistakes, so it is checked and not believed.
	covered := bytes.HasSuffix
	if tx.Message.Version == solana.V1 {
		covered = bytes.HasPrefix
	}
	if !covered(raw, message) || !bytes.Equal(tx.Marshal(), raw) {
		return Parsed{}, fault.New(fault.TransactionMalformed, "the transaction is not in its canonical form")
	}
	return Parsed{raw: bytes.Clone(raw), message: message, tx: tx}, nil
}

// Lookups are the address lookup tables that must be resolved before Decode.
func (p Parsed) Lookups() []solana.Lookup { return slices.Clone(p.tx.Message.Lookups) }

// Blockhash is the recent blockhash in the bytes.
func (p Parsed) Blockhash() solana.Hash { return p.tx.Message.Blockhash }
