package solana_test

import (
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/shared/solana"
)

// Two claims as the Bags API returns them, made by another implementation: one
// for the wallet alone, one that a sponsor pays and has already signed.
var (
	//go:embed testdata/claim-legacy.base58
	claimLegacyText string
	//go:embed testdata/claim-v0-sponsor.base58
	claimSponsoredText string
)

func golden(t testing.TB, text string, size int) []byte {
	t.Helper()
	raw, err := base58.Decode(strings.TrimSpace(text))
	if err != nil || len(raw) != size {
		t.Fatalf("golden transaction has %d bytes, want %d: %v", len(raw), size, err)
	}
	return raw
}

func claimLegacy(t testing.TB) []byte    { return golden(t, claimLegacyText, 573) }
func claimSponsored(t testing.TB) []byte { return golden(t, claimSponsoredText, 581) }

const (
	limit120000  = "02c0d40100"
	price50000   = "0350c3000000000000"
	claimUser    = "a44037c75a4e93bc00000000"
	closeAccount = "09"
)

// told is a message as a person would list it.
type told struct {
	Keys         []string
	Instructions []instructionTold
}

type instructionTold struct {
	Program  string
	Accounts []uint8
	Data     string
}

func tell(m solana.Message) told {
	var out told
	for _, k := range m.Keys {
		out.Keys = append(out.Keys, k.String())
	}
	for _, i := range m.Instructions {
		out.Instructions = append(out.Instructions, instructionTold{m.Keys[i.Program].String(), i.Accounts, hex.EncodeToString(i.Data)})
	}
	return out
}

func TestParseGoldenLegacyClaim(t *testing.T) {
	tx, err := solana.ParseTransaction(claimLegacy(t))
	if err != nil {
		t.Fatal(err)
	}
	want := told{
		Keys: []string{
			walletText,
			"7azMPufyz8EfKAif9WajHfBbFj5ic8C8rLfaTBfKdN1A", // the wallet's wSOL account
			"AchhausQez6Ef3gG8RAntxuVQhpMwjkDj67pK9G36bVP", // fee share authority
			"Fb4sNbYuntuJF6hFrDbKP6KuKKCCuuDNQCD663EEErMH", // its wSOL account
			solana.SystemProgram.String(), baseMint.String(),
			"5eTTZ83Yn158nGLjsnHQYGP9frmuTadsrsnqs8xnpeVf", // event authority
			"7gPgyD2iC73EUXc9eF9cBdemkUYfpKGLBuvLPPEwccQA", // fee share config
			solana.AssociatedTokenProgram.String(), solana.ComputeBudgetProgram.String(),
			solana.FeeShareV2Program.String(), solana.WrappedSOL.String(), solana.TokenProgram.String(),
		},
		Instructions: []instructionTold{
			{solana.ComputeBudgetProgram.String(), []uint8{}, limit120000},
			{solana.ComputeBudgetProgram.String(), []uint8{}, price50000},
			{solana.FeeShareV2Program.String(), []uint8{0, 0, 7, 2, 3, 1, 5, 11, 4, 12, 8, 6, 10}, claimUser},
			{solana.TokenProgram.String(), []uint8{1, 0, 0}, closeAccount},
		},
	}
	if diff := cmp.Diff(want, tell(tx.Message)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	m := tx.Message
	if m.Version != solana.Legacy || m.RequiredSignatures != 1 || m.ReadonlySigned != 0 || m.ReadonlyUnsigned != 9 {
		t.Errorf("header: %s, %d signers, %d and %d read-only", m.Version, m.RequiredSignatures, m.ReadonlySigned, m.ReadonlyUnsigned)
	}
	if m.Blockhash != solana.Hash(key(7)) || !tx.ID().IsZero() {
		t.Errorf("blockhash %s, id %s", m.Blockhash, tx.ID())
	}
	for i := range m.Keys {
		if m.IsWritable(i) != (i < 4) || m.IsSigner(i) != (i == 0) {
			t.Errorf("role of account %d: signer %v, writable %v", i, m.IsSigner(i), m.IsWritable(i))
		}
	}
}

func TestParseGoldenSponsoredClaim(t *testing.T) {
	tx, err := solana.ParseTransaction(claimSponsored(t))
	if err != nil {
		t.Fatal(err)
	}
	want := told{
		Keys: []string{
			sponsorText, walletText,
			"AchhausQez6Ef3gG8RAntxuVQhpMwjkDj67pK9G36bVP", "Fb4sNbYuntuJF6hFrDbKP6KuKKCCuuDNQCD663EEErMH",
			"7azMPufyz8EfKAif9WajHfBbFj5ic8C8rLfaTBfKdN1A",
			solana.ComputeBudgetProgram.String(), solana.FeeShareV2Program.String(),
			"7gPgyD2iC73EUXc9eF9cBdemkUYfpKGLBuvLPPEwccQA", baseMint.String(), solana.TokenProgram.String(),
		},
		Instructions: []instructionTold{
			{solana.ComputeBudgetProgram.String(), []uint8{}, limit120000},
			{solana.ComputeBudgetProgram.String(), []uint8{}, price50000},
			{solana.FeeShareV2Program.String(), []uint8{0, 1, 7, 2, 3, 4, 8, 10, 11, 9, 12, 13, 6}, claimUser},
			{solana.TokenProgram.String(), []uint8{4, 1, 1}, closeAccount},
		},
	}
	if diff := cmp.Diff(want, tell(tx.Message)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	m := tx.Message
	if m.Version != solana.V0 || m.RequiredSignatures != 2 || m.ReadonlySigned != 0 || m.ReadonlyUnsigned != 5 {
		t.Errorf("header: %s, %d signers, %d and %d read-only", m.Version, m.RequiredSignatures, m.ReadonlySigned, m.ReadonlyUnsigned)
	}
	tables := []solana.Lookup{{
		Table: solana.MustPublicKey("Eq1EVs15EAWww1YtPTtWPzJRLPJoS6VYP9oW9SbNr3yp"), Writable: []uint8{}, Readonly: []uint8{0, 1, 3, 4},
	}}
	if diff := cmp.Diff(tables, m.Lookups); diff != "" {
		t.Errorf("lookups (-want +got):\n%s", diff)
	}
	if tx.ID().String() != signatureText {
		t.Errorf("id %s, want %s", tx.ID(), signatureText)
	}
	if !m.Keys[0].Verify(m.Marshal(), tx.Signatures[0]) {
		t.Error("the sponsor's signature does not verify over the message")
	}
	if !tx.Signatures[1].IsZero() || m.Keys[1].Verify(m.Marshal(), tx.Signatures[1]) {
		t.Error("the wallet's slot is not empty")
	}
}
