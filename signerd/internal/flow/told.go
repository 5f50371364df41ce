package flow

import (
	"crypto/sha256"
	"encoding/hex"

	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
)

// The audit log tells enough for the ledger to be made anew from it. These are
// the fields of its records that package rebuild reads.
const (
	FieldFingerprint = "fingerprint"
	FieldKey         = "idempotency_key"
	// FieldCode is the SHA-256 of the confirmation code, from which nobody finds
	// the code.
	FieldCode   = "code_sha256"
	FieldWallet = "wallet"
	FieldChain  = "genesis"
	// PrefixCharge and PrefixPays precede an asset, and a recipient and an asset.
	PrefixCharge = "charge "
	PrefixPays   = "pays "
)

// GivenKey is what an action is called that its caller has named.
func GivenKey(name string) approval.ActionKey { return approval.ActionKey{Name: "given " + name} }

// identity is by what a decided proposal is found again.
func identity(v Verdict, key string) map[string]string {
	data := map[string]string{FieldFingerprint: hex.EncodeToString(v.Proposal.Fingerprint[:])}
	if v.Code == "" {
		return data
	}
	hash := sha256.Sum256([]byte(v.Code))
	data[FieldCode] = hex.EncodeToString(hash[:])
	if key != "" {
		data[FieldKey] = key
	}
	return data
}

// tellHold adds to a record what a reservation holds, and for whom.
func (f *Flow) tellHold(data map[string]string, judged judge.Judged) {
	for mint, units := range judged.Charge() {
		data[PrefixCharge+assetName(mint)] = units.String()
	}
	held, err := ledger.Paid(judged.Effects().Payments())
	if err != nil {
		return // Reserve has refused such a sum.
	}
	for to, units := range held {
		data[PrefixPays+to.Recipient.String()+" "+assetName(to.Mint)] = units.String()
	}
	_, genesis := f.Policy().Network()
	data[FieldWallet], data[FieldChain] = f.Wallet().String(), genesis.String()
}

// Encode is a receipt as the ledger stores it.
func (r Receipt) Encode() ([]byte, error) { return encodeReceipt(r) }
