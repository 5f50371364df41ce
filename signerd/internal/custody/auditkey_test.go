package custody

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"countersign/shared/solana"
	"countersign/signerd/internal/audit"
)

func TestAuditKeySignsCheckpoints(t *testing.T) {
	options := fileOptions(t)
	vault := open(t, options)
	if _, err := vault.AuditKey(t.Context()); !errors.Is(err, ErrNoAuditKey) {
		t.Fatalf("before there is one: %v", err)
	}
	key, err := vault.CreateAuditKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	verifier, err := note.NewVerifier(key.Key())
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign(audit.Checkpoint{Origin: "somebody else", Size: 7, Root: [32]byte{1}, Previous: 3})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if want := (audit.Checkpoint{Origin: verifier.Name(), Size: 7, Root: [32]byte{1}, Previous: 3}).Text(); err != nil || opened.Text != want {
		t.Errorf("signed %q, %v, want %q", signed, err, want)
	}
	// It is kept, and made once.
	again, err := open(t, options).CreateAuditKey(t.Context())
	if err != nil || again.Key() != key.Key() {
		t.Fatalf("a second key was made: %v", err)
	}
	again.Close()
	if _, err := again.Sign(audit.Checkpoint{Size: 1}); err == nil {
		t.Error("a key that was wiped signs")
	}
}

// Neither key is ever used for the other: not by a name, and not by a blob that
// is put in the other's place.
func TestAuditKeyIsNoWallet(t *testing.T) {
	vault := open(t, fileOptions(t))
	wallet, err := vault.Create(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	key, err := vault.CreateAuditKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	if keys, err := vault.List(t.Context()); err != nil || len(keys) != 1 || keys[0].PublicKey != wallet || key.signer.PublicKey() == wallet {
		t.Errorf("keys %v, %v, want the wallet's alone", keys, err)
	}
	for _, name := range []string{auditName, auditItem, "audit"} {
		if _, err := vault.Unlock(t.Context(), name); err == nil {
			t.Errorf("%q unlocks as a wallet", name)
		}
	}
	auditBlob, err := vault.store.Get(t.Context(), auditItem)
	if err != nil {
		t.Fatal(err)
	}
	walletBlob, err := vault.store.Get(t.Context(), itemPrefix+"main")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(vault.store.Set(t.Context(), auditItem, walletBlob), vault.store.Set(t.Context(), itemPrefix+"main", auditBlob)); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Unlock(t.Context(), "main"); err == nil {
		t.Error("the audit key's blob unlocks as a wallet")
	}
	if _, err := vault.AuditKey(t.Context()); err == nil {
		t.Error("a wallet's blob unlocks as the audit key")
	}
}

func TestAuditKeyShowsNoSecret(t *testing.T) {
	vault := open(t, fileOptions(t))
	blob, err := seal(vault.sealKey, auditName, publicOf(canary()), canary())
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.store.Set(t.Context(), auditItem, blob); err != nil {
		t.Fatal(err)
	}
	key, err := vault.AuditKey(t.Context())
	if err != nil || key.signer.PublicKey() != solana.PublicKey(pair()[32:]) {
		t.Fatal(err)
	}
	defer key.Close()
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		expectNoCanary(t, fmt.Sprintf(format, key))
	}
	expectNoCanary(t, key.LogValue().String())
}
