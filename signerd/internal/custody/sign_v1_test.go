package custody

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"countersign/scripts/vmtest"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/guard"
)

// TestSignPutsTheSignatureOfV1AtTheEnd: over everything before it, in the
// place of the signer, with the others' left as they were.
func TestSignPutsTheSignatureOfV1AtTheEnd(t *testing.T) {
	ours, sponsor := ed25519.PrivateKey(pair()), key(3)
	for name, signers := range map[string][]ed25519.PrivateKey{
		"alone": {ours}, "fee payer": {ours, sponsor}, "sponsored": {sponsor, ours},
	} {
		signer := unlocked(t)
		var calls []decodetest.Call
		for _, each := range signers {
			calls = append(calls, decodetest.Transfer(solana.PublicKey(each.Public().(ed25519.PublicKey)), solana.PublicKey{9}, 1))
		}
		payer := solana.PublicKey(signers[0].Public().(ed25519.PublicKey))
		unsigned := decodetest.V1(payer, solana.Hash{5}, solana.Config{PriorityFee: new(uint64(7))}, calls...)
		for i, each := range signers {
			if unsigned.Message.Keys[i] != signer.PublicKey() {
				unsigned.Signatures[i] = solana.Signature(ed25519.Sign(each, unsigned.Message.Marshal()))
			}
		}
		tx := decodetest.MustDecode(t, unsigned.Marshal(), signer.PublicKey(), nil)
		raw, id, err := signer.sign(tx)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		message := tx.MessageBytes()
		if raw[0] != 0x81 || !bytes.Equal(raw[:len(message)], message) || len(raw) != len(message)+64*len(signers) {
			t.Errorf("%s: %x is not the message and %d signatures behind it", name, raw, len(signers))
		}
		for i := range signers {
			at := len(message) + 64*i
			if !unsigned.Message.Keys[i].Verify(message, solana.Signature(raw[at:at+64])) {
				t.Errorf("%s: signature %d is not good", name, i)
			}
		}
		if id != solana.Signature(raw[len(message):len(message)+64]) {
			t.Errorf("%s: id %s is not the first signature", name, id)
		}
		for _, at := range []int{0, 1, len(message) - 1, len(message), len(raw) - 1} {
			changed := bytes.Clone(raw)
			changed[at] ^= 1
			if err := checkSigned(changed, tx.Digest()); err == nil {
				t.Errorf("%s: byte %d changed, and it was let go", name, at)
			}
		}
		if err := checkSigned(raw[:len(message)], tx.Digest()); !fault.Is(err, fault.Internal) {
			t.Errorf("%s: the message alone: %v", name, err)
		}
	}
}

// TestGuardedV1LandsAsSigned: the chain takes what custody makes of a v1
// transaction, at the exact floor.
func TestGuardedV1LandsAsSigned(t *testing.T) {
	vm := vmtest.Start(t)
	signer := unlocked(t)
	const funded, sent, priority = 1_000_000_000, 300_000_000, 7_777
	payee := solana.PublicKey{9}
	vm.Fund(signer.PublicKey(), funded)
	unsigned := decodetest.V1(signer.PublicKey(), vm.Blockhash(), solana.Config{
		PriorityFee: new(uint64(priority)), UnitLimit: new(uint32(150)), LoadedDataLimit: new(uint32(200_000)),
	}, decodetest.Transfer(signer.PublicKey(), payee, sent))
	tx := decodetest.MustDecode(t, unsigned.Marshal(), signer.PublicKey(), nil)
	final, err := guard.Append(tx, guard.Plan{Floor: amount.Units(funded - sent - priority - solana.LamportsPerSignature)})
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := signer.sign(decodetest.MustDecode(t, final, signer.PublicKey(), nil))
	if err != nil {
		t.Fatal(err)
	}
	if failure := vm.Land(raw); failure != "" {
		t.Fatalf("the chain refused it: %s", failure)
	}
	if got := vm.Lamports(payee); got != sent {
		t.Errorf("the payee has %d, want %d", got, sent)
	}
	if got := vm.Lamports(signer.PublicKey()); got != funded-sent-priority-solana.LamportsPerSignature {
		t.Errorf("the wallet has %d", got)
	}
}
