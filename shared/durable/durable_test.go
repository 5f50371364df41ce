package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestKeepExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := WriteNewFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := WriteNewFile(path, []byte("new")); !errors.Is(err, os.ErrExist) {
		t.Fatalf("got %v, want ErrExist", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("read %q, %v", got, err)
	}
	expectAlone(t, path)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// expectAlone finds temporary files left behind.
func expectAlone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files in the folder, want 1 (%v)", len(files), err)
	}
}

func TestFailWithoutFolder(t *testing.T) {
	if err := WriteNewFile(filepath.Join(t.TempDir(), "missing", "file"), nil); err == nil {
		t.Error("wrote into a folder that does not exist")
	}
}
