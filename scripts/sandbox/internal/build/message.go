package build

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"
)

// Version is the message format.
type Version string

// The formats the API answers with.
const (
	Legacy Version = "legacy"
	V0     Version = "v0"
)

// MaxSize is the limit of a packet: a longer transaction can never be sent.
const MaxSize = 1232

// Message is everything a transaction is compiled from.
type Message struct {
	Version      Version
	Payer        solana.PublicKey
	Blockhash    solana.Hash
	Instructions []solana.Instruction
	// Table is used by V0 messages alone.
	Table        solana.PublicKey
	TableEntries []solana.PublicKey
	// Oversized lets the result be longer than a packet, for a hostile answer.
	Oversized bool
}

// Compile makes the wire bytes. Signature slots are empty but for those of
// signers, which sign the message as it is.
func (m Message) Compile(signers ...solana.PrivateKey) ([]byte, error) {
	options := []solana.TransactionOption{solana.TransactionPayer(m.Payer)}
	if m.Version == V0 {
		options = append(options,
			solana.TransactionMessageVersion(solana.MessageVersionV0),
			solana.TransactionAddressTables(map[solana.PublicKey]solana.PublicKeySlice{m.Table: m.TableEntries}))
	}
	tx, err := solana.NewTransaction(m.Instructions, m.Blockhash, options...)
	if err != nil {
		return nil, fmt.Errorf("compile transaction: %w", err)
	}
	_, err = tx.PartialSign(func(key solana.PublicKey) *solana.PrivateKey {
		for _, signer := range signers {
			if signer.PublicKey() == key {
				return &signer
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sign transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode transaction: %w", err)
	}
	if len(raw) > MaxSize && !m.Oversized {
		return nil, fmt.Errorf("transaction has %d bytes, more than %d", len(raw), MaxSize)
	}
	return raw, nil
}

// Text is the API's encoding of a transaction.
func Text(raw []byte) string { return base58.Encode(raw) }

// microLamports in a lamport.
const microLamports = 1_000_000

// PriorityFee is what a price in micro-lamports per unit costs at a unit
// limit, rounded up as the runtime does, and at most the largest amount.
func PriorityFee(price uint64, limit uint32) uint64 {
	high, low := bits.Mul64(price, uint64(limit))
	low, carry := bits.Add64(low, microLamports-1, 0)
	if high+carry >= microLamports {
		return math.MaxUint64
	}
	fee, _ := bits.Div64(high+carry, low, microLamports)
	return fee
}

// PriceFor is the least price whose fee at the unit limit reaches lamports,
// and at most the largest price.
func PriceFor(lamports uint64, limit uint32) uint64 {
	high, low := bits.Mul64(lamports, microLamports)
	if high >= uint64(limit) {
		return math.MaxUint64
	}
	price, rest := bits.Div64(high, low, uint64(limit))
	if rest > 0 {
		price++
	}
	return price
}
