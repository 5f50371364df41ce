package custody

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

// transfer is a decoded transfer of one lamport that the given keys must sign,
// in this order; all but the wallet have.
func transfer(t testing.TB, wallet solana.PublicKey, signers ...ed25519.PrivateKey) decode.Tx {
	t.Helper()
	message := solana.Message{
		Version: solana.V0, RequiredSignatures: uint8(len(signers)), ReadonlyUnsigned: 1, Blockhash: solana.Hash{5},
		Instructions: []solana.Instruction{{
			Program: uint8(len(signers) + 1), Accounts: []uint8{0, uint8(len(signers))}, Data: []byte{2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		}},
	}
	for _, signer := range signers {
		message.Keys = append(message.Keys, solana.PublicKey(signer.Public().(ed25519.PublicKey)))
	}
	message.Keys = append(message.Keys, solana.PublicKey{9}, solana.SystemProgram)
	tx := solana.Transaction{Message: message, Signatures: make([]solana.Signature, len(signers))}
	for i, signer := range signers {
		if message.Keys[i] != wallet {
			tx.Signatures[i] = solana.Signature(ed25519.Sign(signer, message.Marshal()))
		}
	}
	return decodetest.MustDecode(t, tx.Marshal(), wallet, nil)
}

func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func TestSignInOwnSlot(t *testing.T) {
	ours, sponsor := ed25519.PrivateKey(pair()), key(3)
	for name, signers := range map[string][]ed25519.PrivateKey{
		"alone": {ours}, "fee payer": {ours, sponsor}, "sponsored": {sponsor, ours},
	} {
		t.Run(name, func(t *testing.T) {
			signer := unlocked(t)
			tx := transfer(t, signer.PublicKey(), signers...)
			raw, id, err := signer.sign(tx)
			if err != nil {
				t.Fatal(err)
			}
			got, err := solana.ParseTransaction(raw)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Message.Marshal(), tx.MessageBytes()) {
				t.Error("another message was signed")
			}
			before := tx.Transaction()
			for i, signature := range got.Signatures {
				if !got.Message.Keys[i].Verify(tx.MessageBytes(), signature) {
					t.Errorf("signature %d is not good", i)
				}
				if i != tx.WalletSlot() && signature != before.Signatures[i] {
					t.Errorf("foreign signature %d was replaced", i)
				}
			}
			if id != got.Signatures[0] || id.IsZero() {
				t.Errorf("id %s is not the first signature", id)
			}
			if !tx.Transaction().Signatures[tx.WalletSlot()].IsZero() {
				t.Error("signing changed the decoded transaction")
			}
		})
	}
}

func TestRefuseOtherWallet(t *testing.T) {
	other := key(3)
	tx := transfer(t, solana.PublicKey(other.Public().(ed25519.PublicKey)), other)
	if _, _, err := unlocked(t).sign(tx); !fault.Is(err, fault.Internal) {
		t.Errorf("got %v", err)
	}
	if _, _, err := unlocked(t).sign(decode.Tx{}); err == nil {
		t.Error("a zero transaction was signed")
	}
}

func TestLookAgainBeforeItLeaves(t *testing.T) {
	signer := unlocked(t)
	tx := transfer(t, signer.PublicKey(), ed25519.PrivateKey(pair()))
	raw, _, err := signer.sign(tx)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSigned(raw, tx.Digest()); err != nil {
		t.Fatal(err)
	}
	if err := checkSigned(raw, [32]byte{1}); !fault.Is(err, fault.Internal) {
		t.Errorf("another message than judged: %v", err)
	}
	for _, at := range []int{1, 64} {
		changed := bytes.Clone(raw)
		changed[at] ^= 1
		if err := checkSigned(changed, tx.Digest()); !fault.Is(err, fault.TransactionMalformed) {
			t.Errorf("a signature with byte %d changed: %v", at, err)
		}
	}
	if err := checkSigned(raw[:len(raw)-1], tx.Digest()); err == nil {
		t.Error("half a transaction passed")
	}
}
