package decode_test

import (
	"crypto/ed25519"
	"testing"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
)

// TestDecodeReadsTheFeeOfV1InItsHeader: the priority fee is a total there, and
// ComputeBudget instructions mean nothing, not even when they are repeated.
func TestDecodeReadsTheFeeOfV1InItsHeader(t *testing.T) {
	for name, test := range map[string]struct {
		config   solana.Config
		priority uint64
		units    uint32
	}{
		"all absent":            {solana.Config{}, 0, 0},
		"both":                  {solana.Config{PriorityFee: new(uint64(7777)), UnitLimit: new(uint32(1000))}, 7777, 1000},
		"a limit over the most": {solana.Config{UnitLimit: new(uint32(4_000_000_000))}, 0, 1_400_000},
		"the largest fee":       {solana.Config{PriorityFee: new(uint64(1<<64 - 1))}, 1<<64 - 1, 0},
	} {
		tx, err := read(decodetest.V1(wallet, blockhash, test.config,
			decodetest.UnitPrice(1_000_000_000), decodetest.UnitLimit(1_000_000), decodetest.UnitPrice(5),
			decodetest.Transfer(wallet, thief, 1)), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fee := tx.Fee()
		if fee.Base != 5_000 || uint64(fee.Priority) != test.priority || fee.UnitLimit != test.units || fee.UnitPrice != 0 {
			t.Errorf("%s: fee %+v, want 5000 and %d for %d units", name, fee, test.priority, test.units)
		}
	}
}

func TestDecodeVerifiesSignaturesOfV1(t *testing.T) {
	pair := decodetest.V1(other, blockhash, solana.Config{},
		decodetest.Transfer(wallet, thief, 1), decodetest.Transfer(other, thief, 1))
	pair.Signatures[0] = solana.Signature(ed25519.Sign(otherKey, pair.Message.Marshal()))
	tx, err := read(pair, nil)
	if err != nil || tx.SoleSigner() || tx.WalletSlot() != 1 || tx.Fee().Base != 10_000 {
		t.Errorf("a good signature of another: slot %d, %v", tx.WalletSlot(), err)
	}
	pair.Signatures[0][5] ^= 1
	if _, err := read(pair, nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("a bad signature of another: %v", err)
	}
}
