package sqlite

import (
	"path/filepath"
	"testing"
)

// TestAnchorNeverGoesBack fails without the condition in SetAnchor: of executions that
// run side by side, the later write may be of the earlier record.
func TestAnchorNeverGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{7, 300, 8, 0} {
		if err := store.SetAnchor(t.Context(), seq, [32]byte{byte(seq)}); err != nil {
			t.Fatal(err)
		}
	}
	seq, hash, err := store.Anchor(t.Context())
	if want := uint64(300); err != nil || seq != want || hash != [32]byte{44} {
		t.Errorf("the anchor is %d, %x, %v; want %d", seq, hash[0], err, want)
	}
	// Whoever only reads finds the same while the ledger is open and when it is
	// closed, and leaves no file behind.
	for _, closed := range []bool{false, true} {
		seq, hash, err := ReadAnchor(t.Context(), path)
		if err != nil || seq != 300 || hash != [32]byte{44} {
			t.Errorf("closed %t: read %d, %x, %v", closed, seq, hash[0], err)
		}
		if closed {
			break
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path + "-*")
	if err != nil || len(files) > 0 {
		t.Errorf("reading has left %v, %v", files, err)
	}
}
