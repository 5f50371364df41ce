package sqlite

import (
	"path/filepath"
	"testing"
)

// TestAnchorNeverGoesBack fails without the condition in SetAnchor: of executions that
// run side by side, the later write may be of the earlier record.
func TestAnchorNeverGoesBack(t *testing.T) {
	store, err := Create(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, seq := range []uint64{7, 300, 8, 0} {
		if err := store.SetAnchor(t.Context(), seq, [32]byte{byte(seq)}); err != nil {
			t.Fatal(err)
		}
	}
	seq, hash, err := store.Anchor(t.Context())
	if want := uint64(300); err != nil || seq != want || hash != [32]byte{44} {
		t.Errorf("the anchor is %d, %x, %v; want %d", seq, hash[0], err, want)
	}
}
