package custody

import (
	"testing"

	"countersign/shared/fault"
	"countersign/signerd/internal/audit"
)

func TestHeadIsKeptBesideTheKeys(t *testing.T) {
	vault := open(t, fileOptions(t))
	if head, err := vault.Head(t.Context()); err != nil || head != (audit.Head{}) {
		t.Fatalf("before one was kept: %s, %v", head, err)
	}
	want := audit.Head{Seq: 7, Hash: [32]byte{7}}
	for range 2 {
		if err := vault.KeepHead(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if head, err := vault.Head(t.Context()); err != nil || head != want {
			t.Fatalf("%s, %v, want %s", head, err, want)
		}
		want.Seq++
	}
	if keys, err := vault.List(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("a head counts as a key: %v, %v", keys, err)
	}
	if err := vault.store.Set(t.Context(), headItem, []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Head(t.Context()); !fault.Is(err, fault.StateLocked) {
		t.Errorf("nonsense: %v", err)
	}
}

// What lies in the state folder is put back with it, and is no anchor.
func TestOnlyKeyStoresElsewhereAreOutside(t *testing.T) {
	for _, backend := range Backends() {
		vault := Vault{backend: backend}
		if want := backend != "file" && backend != Credential; vault.Outside() != want {
			t.Errorf("%s is outside the state folder: %t, want %t", backend, vault.Outside(), want)
		}
	}
}
