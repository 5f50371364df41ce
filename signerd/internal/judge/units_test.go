package judge_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// limited is the same swap under another limit of compute units.
func (s scene) limited(raw []byte, limit uint32) []byte {
	s.t.Helper()
	tx, err := solana.ParseTransaction(raw)
	s.must(err)
	for _, instruction := range tx.Message.Instructions {
		if tx.Message.Keys[instruction.Program] == solana.ComputeBudgetProgram && instruction.Data[0] == 2 {
			binary.LittleEndian.PutUint32(instruction.Data[1:], limit)
			return tx.Marshal()
		}
	}
	s.t.Fatal("the swap sets no limit")
	return nil
}

func (s scene) units(tx decode.Tx) uint32 {
	s.t.Helper()
	simulation, err := s.chain.Simulate(s.t.Context(), tx, []solanaKey{wallet})
	s.must(err)
	return uint32(simulation.Units)
}

// TestTightSwapLandsGuarded: a swap that asks for no unit more than it needs
// gets the units of its guard on top, and its floor knows what they cost.
func TestTightSwapLandsGuarded(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	needed := s.units(s.decoded(o.raw))
	tight := s.limited(o.raw, needed)
	request := s.buying(o)
	judged, err := s.judge.Judge(t.Context(), tight, request)
	if err != nil {
		t.Fatal(err)
	}
	before, after := s.decoded(tight).Fee(), judged.Tx().Fee()
	if after.UnitLimit <= needed || after.Priority <= before.Priority {
		t.Errorf("limit %d and priority fee %d, want more than %d and %d", after.UnitLimit, after.Priority, needed, before.Priority)
	}
	if used := s.units(judged.Tx()); used <= needed {
		t.Fatalf("guarded it takes %d of %d units, so this test proves nothing", used, needed)
	}
	if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
		t.Fatalf("the judged transaction failed: %s", failure)
	}
	found := judged.Effects()
	kept := uint64(found.Rent() - found.RentReturned())
	if got, want := s.lamports(wallet.String()), startLamports-spend-uint64(after.Base+after.Priority)-kept; got != want {
		t.Errorf("the wallet holds %d lamports, want %d", got, want)
	}
}

// TestGuardDoesNotRaiseTheFeeOverItsCeiling: what was agreed to is not
// exceeded, not even for the sake of the guard, and the refusal says so.
func TestGuardDoesNotRaiseTheFeeOverItsCeiling(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	fee := s.decoded(o.raw).Fee()
	request := s.buying(o)
	request.Bounds.MaxFee = fee.Base + fee.Priority
	_, err := s.judge.Judge(t.Context(), o.raw, request)
	if !fault.Is(err, fault.OutsideBounds) || !strings.Contains(err.Error(), "compute units of the guard") {
		t.Errorf("%v, want %s for the sake of the guard", err, fault.OutsideBounds)
	}
	// Ten thousand lamports are the least that mcpd leaves room for.
	request.Bounds.MaxFee += 10_000
	judged, err := s.judge.Judge(t.Context(), o.raw, request)
	if err != nil {
		t.Fatal(err)
	}
	if got := judged.Charge()[amount.SOL]; got < spend+judged.Tx().Fee().Base+judged.Tx().Fee().Priority {
		t.Errorf("charge %d leaves out a part of the fee", got)
	}
}
