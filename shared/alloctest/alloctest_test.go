package alloctest_test

import (
	"testing"

	"countersign/shared/alloctest"
)

// kept keeps what is allocated from being optimised away.
var kept []byte

func TestExcessTellsBelieversFromDoubters(t *testing.T) {
	if wrong := alloctest.Excess(1_000, 2, 4<<10, func() { kept = make([]byte, 1_500) }); wrong != "" {
		t.Errorf("within the limit: %s", wrong)
	}
	if alloctest.Excess(10, 2, 4<<10, func() { kept = make([]byte, 1<<20) }) == "" {
		t.Error("a megabyte for ten bytes went unnoticed")
	}
}
