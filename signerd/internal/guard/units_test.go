package guard_test

import (
	"testing"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/guard"
)

// TestAppendRaisesTheLimitOfUnits: by what the guard takes, up to the most
// there is, and only where the transaction sets one.
func TestAppendRaisesTheLimitOfUnits(t *testing.T) {
	plan := guard.Plan{Lines: []guard.Line{line}, Floor: 1}
	const most = 1_400_000
	for name, test := range map[string]struct {
		tx   solana.Transaction
		want uint32
	}{
		"legacy":        {decodetest.Legacy(wallet, blockhash, decodetest.UnitPrice(5), decodetest.UnitLimit(10_000), swap()), 10_000 + plan.Units()},
		"v0":            {decodetest.V0(wallet, blockhash, nil, nil, decodetest.UnitLimit(1), swap()), 1 + plan.Units()},
		"v1":            {decodetest.V1(wallet, blockhash, solana.Config{UnitLimit: new(uint32(10_000))}, swap()), 10_000 + plan.Units()},
		"almost all":    {decodetest.Legacy(wallet, blockhash, decodetest.UnitLimit(most-1), swap()), most},
		"almost all v1": {decodetest.V1(wallet, blockhash, solana.Config{UnitLimit: new(uint32(most - 1))}, swap()), most},
		"more than all": {decodetest.Legacy(wallet, blockhash, decodetest.UnitLimit(1<<32-1), swap()), most},
		"v1 without":    {decodetest.V1(wallet, blockhash, solana.Config{}, swap()), 0},
		// The runtime grants each instruction that is not built in 200,000.
		"legacy without": {decodetest.Legacy(wallet, blockhash, swap()), 5*200_000 + 3_000},
		"v1 with a budget that means nothing": {
			decodetest.V1(wallet, blockhash, solana.Config{UnitLimit: new(uint32(7))}, decodetest.UnitLimit(50), swap()), 7 + plan.Units(),
		},
	} {
		raw, err := guard.Append(decoded(t, test.tx.Marshal(), nil), plan)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := decoded(t, raw, nil).Fee().UnitLimit; got != test.want {
			t.Errorf("%s: limit %d, want %d", name, got, test.want)
		}
	}
}

// TestAppendTakesWhatJustFits: 64 instructions and, in v1, 64 accounts.
func TestAppendTakesWhatJustFits(t *testing.T) {
	plan := guard.Plan{Lines: []guard.Line{line}, Floor: 1}
	accounts := func(n int) []decodetest.Meta {
		var list []decodetest.Meta
		for i := range n {
			list = append(list, decodetest.R(solana.PublicKey{100, byte(i)}))
		}
		return list
	}
	calls := func(n int) []decodetest.Call {
		var list []decodetest.Call
		for range n {
			list = append(list, decodetest.Call{Program: opaque, Accounts: []decodetest.Meta{decodetest.W(ata)}})
		}
		return list
	}
	for name, tx := range map[string]solana.Transaction{
		// Three accounts are there, and the guard adds a mint and two programs.
		"64 accounts in v1":     decodetest.V1(wallet, blockhash, solana.Config{}, swap(accounts(64-6)...)),
		"64 instructions in v1": decodetest.V1(wallet, blockhash, solana.Config{}, calls(59)...),
		"64 instructions":       decodetest.Legacy(wallet, blockhash, calls(59)...),
	} {
		raw, err := guard.Append(decoded(t, tx.Marshal(), nil), plan)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if found := guard.Recognise(decoded(t, raw, nil)); len(found.Lines) != 1 {
			t.Errorf("%s: the guard is not recognised", name)
		}
	}
	for name, tx := range map[string]solana.Transaction{
		"65 instructions in v1": decodetest.V1(wallet, blockhash, solana.Config{}, calls(60)...),
		"65 instructions":       decodetest.Legacy(wallet, blockhash, calls(60)...),
	} {
		if _, err := guard.Append(decoded(t, tx.Marshal(), nil), plan); !fault.Is(err, fault.GuardImpossible) {
			t.Errorf("%s: %v, want %s", name, err, fault.GuardImpossible)
		}
	}
}
