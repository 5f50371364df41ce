package sqlite_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/recipients"
)

var (
	alice = effects.Recipient{Name: "Alice", Address: solana.PublicKey{1}}
	bob   = effects.Recipient{Name: "bob", Address: solana.PublicKey{2}}
)

func TestKeepRecipients(t *testing.T) {
	store, path := create(t)
	if err := errors.Join(store.AddRecipient(t.Context(), bob, noon), store.AddRecipient(t.Context(), alice, noon)); err != nil {
		t.Fatal(err)
	}
	for name, twice := range map[string]effects.Recipient{
		"the name again":    {Name: "ALICE", Address: solana.PublicKey{3}},
		"the address again": {Name: "carol", Address: solana.PublicKey{1}},
	} {
		if err := store.AddRecipient(t.Context(), twice, noon); err == nil {
			t.Errorf("%s was added", name)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, err := again.Recipients(t.Context())
	if diff := cmp.Diff([]effects.Recipient{alice, bob}, got); err != nil || diff != "" {
		t.Errorf("%v; want -, got +\n%s", err, diff)
	}
	if err := errors.Join(again.RemoveRecipient(t.Context(), "Alice")); err != nil {
		t.Fatal(err)
	}
	if err := again.RemoveRecipient(t.Context(), "Alice"); !errors.Is(err, recipients.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if got, err := again.Recipients(t.Context()); err != nil || !cmp.Equal(got, []effects.Recipient{bob}) {
		t.Errorf("left: %v, %v", got, err)
	}
}
