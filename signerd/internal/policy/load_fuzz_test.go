package policy_test

import (
	"bytes"
	"testing"

	"countersign/shared/alloctest"
	"countersign/shared/solana"
	"countersign/signerd/internal/policy"
)

// A policy is read at a cost that its length explains, and the same twice:
// neither depth nor repetition multiplies it.
func FuzzLoadIsCheap(f *testing.F) {
	f.Add(policy.Default("mainnet", solana.Hash{1}))
	f.Add(bytes.Repeat([]byte("["), 200))
	f.Add(append([]byte("a = "), bytes.Repeat([]byte("{a = "), 50)...))
	f.Add(bytes.Repeat([]byte("[[mint]]\n"), 30))
	f.Add(bytes.Repeat([]byte("a.b.c.d.e.f.g.h = 1\n"), 20))
	f.Add([]byte("caps.per_day = " + `"` + string(bytes.Repeat([]byte("9"), 300)) + ` SOL"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second error
		if wrong := alloctest.Excess(len(raw), 4_000, 1<<20, func() { _, first = policy.Load(raw) }); wrong != "" {
			t.Error(wrong)
		}
		if _, second = policy.Load(raw); (first == nil) != (second == nil) || (first != nil && first.Error() != second.Error()) {
			t.Fatalf("read as %v, then as %v", first, second)
		}
	})
}
