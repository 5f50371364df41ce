package judge_test

import (
	"testing"

	"countersign/scripts/sandbox/bagsandbox"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// tradeWithoutTables makes the API write swaps whose accounts are all in the
// bytes, as they must be in v1.
func (s scene) tradeWithoutTables() {
	s.t.Helper()
	s.must(s.api.SetBehaviour(bagsandbox.Behaviour{SwapVersion: "legacy", ClaimStyle: "legacy", ClaimTransactions: 2}))
}

// asV1 is the same swap in the v1 format, with its fee and limits in the header.
func (s scene) asV1(o offer) offer {
	s.t.Helper()
	tx, err := solana.ParseTransaction(o.raw)
	s.must(err)
	tx.Message.Version = solana.V1
	tx.Message.Config = solana.Config{
		PriorityFee: new(o.priority), UnitLimit: new(uint32(400_000)), LoadedDataLimit: new(uint32(64 << 20)),
	}
	o.raw = tx.Marshal()
	return o
}

// TestV1SwapIsJudgedAndLands: like any other, with the fee of its header; the
// ComputeBudget instructions that are still in it mean nothing.
func TestV1SwapIsJudgedAndLands(t *testing.T) {
	s := startScene(t)
	s.reset()
	s.tradeWithoutTables()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	o.priority++ // so that the fee is the header's and not the instructions'
	o = s.asV1(o)
	judged, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
	if err != nil {
		t.Fatal(err)
	}
	found := judged.Effects()
	if judged.Tx().Version() != solana.V1 || found.Class() != effects.Guarded || found.PriorityFee() != amount.Units(o.priority) {
		t.Errorf("%s, %s, priority fee %d, want v1, guarded and %d", judged.Tx().Version(), found.Class(), found.PriorityFee(), o.priority)
	}
	if failure := s.send(signed(judged.Tx().Raw(), judged.Tx().WalletSlot())); failure != "" {
		t.Fatalf("the judged transaction failed: %s", failure)
	}
	kept := uint64(found.Rent() - found.RentReturned())
	if got, want := s.lamports(wallet.String()), startLamports-spend-5_000-o.priority-kept; got != want {
		t.Errorf("the wallet holds %d lamports, want %d", got, want)
	}
	if got := s.tokens().Amount; got < startTokens+o.minimum {
		t.Errorf("the wallet holds %d tokens, want %d more", got, o.minimum)
	}
}

// TestV1ChangesNoVerdict: a thief gains nothing by the newer format, neither
// with the judge nor, where simulation is out of the way, with the chain.
func TestV1ChangesNoVerdict(t *testing.T) {
	s := startScene(t)
	for mode, want := range map[bagsandbox.Mode]fault.Code{
		bagsandbox.Skim: fault.OutsideBounds, bagsandbox.Assign: fault.OutsideBounds,
		bagsandbox.SetOwner: fault.OutsideBounds, bagsandbox.Half: fault.PriceMoved,
	} {
		s.reset()
		s.tradeWithoutTables()
		s.must(s.api.Misbehave(bagsandbox.Misbehaviour{Mode: mode}))
		o := s.asV1(s.trade(s.world.WSOL, s.world.TokenMint, spend))
		if _, err := s.judge.Judge(t.Context(), o.raw, s.buying(o)); !fault.Is(err, want) {
			t.Errorf("%s: %v, want %s", mode, err, want)
		}
		final := s.guardedBytes(o.raw, s.buying(o).Bounds)
		if failure := s.send(signed(final.Raw(), 0)); failure == "" || failure == "not confirmed" {
			t.Errorf("%s: the guarded theft did not fail on chain: %q", mode, failure)
		}
		if got, cost := s.lamports(wallet.String()), 5_000+o.priority; got != startLamports-cost {
			t.Errorf("%s: the wallet holds %d lamports, want all but the fee of %d", mode, got, cost)
		}
	}
	s.reset()
	s.tradeWithoutTables()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	o.priority = 10_000_000
	if _, err := s.judge.Judge(t.Context(), s.asV1(o).raw, s.buying(offer{priority: 10_000, minimum: o.minimum})); !fault.Is(err, fault.OutsideBounds) {
		t.Errorf("a priority fee in the header over what was agreed: %v, want %s", err, fault.OutsideBounds)
	}
}
