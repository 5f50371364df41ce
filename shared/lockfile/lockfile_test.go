package lockfile

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestHoldOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path); !errors.Is(err, ErrHeld) {
		t.Fatalf("second holder got %v, want ErrHeld", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestRefuseMissingFolder(t *testing.T) {
	if _, err := Acquire(filepath.Join(t.TempDir(), "missing", "lock")); err == nil || errors.Is(err, ErrHeld) {
		t.Fatalf("got %v, want an error that is not ErrHeld", err)
	}
}
