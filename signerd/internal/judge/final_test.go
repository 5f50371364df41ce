package judge_test

import (
	"slices"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
)

// TestJudgeJudgesAgainAfterInsertion: without a unit limit each guard
// instruction raises the priority fee, so only the final bytes tell it.
func TestJudgeJudgesAgainAfterInsertion(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	tx, err := solana.ParseTransaction(o.raw)
	s.must(err)
	limit := slices.IndexFunc(tx.Message.Instructions, func(i solana.Instruction) bool {
		return tx.Message.Keys[i.Program] == solana.ComputeBudgetProgram && i.Data[0] == 2
	})
	if limit < 0 {
		t.Fatal("the API set no unit limit, so there is none to leave out")
	}
	tx.Message.Instructions = slices.Delete(tx.Message.Instructions, limit, limit+1)
	r := s.buying(o)
	r.Bounds.MaxFee = 10_000_000
	judged, err := s.judge.Judge(t.Context(), tx.Marshal(), r)
	if err != nil {
		t.Fatal(err)
	}
	before := s.decoded(tx.Marshal()).Fee()
	final := judged.Tx().Fee()
	if final.Priority <= before.Priority || judged.Effects().PriorityFee() != final.Priority {
		t.Errorf("priority fee %d before, %d in the final bytes, %d in the effects", before.Priority, final.Priority, judged.Effects().PriorityFee())
	}
	if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
		t.Fatalf("the judged transaction failed: %s", failure)
	}
	found := judged.Effects()
	want := startLamports - spend - uint64(found.BaseFee()+found.PriorityFee()+found.Rent()-found.RentReturned())
	if got := s.lamports(wallet.String()); got != want {
		t.Errorf("the wallet holds %d lamports, the effects say %d", got, want)
	}
}

func (s scene) decoded(raw []byte) decode.Tx {
	s.t.Helper()
	parsed, err := decode.Parse(raw)
	s.must(err)
	tables, err := s.chain.Tables(s.t.Context(), parsed.Lookups())
	s.must(err)
	tx, err := decode.Decode(parsed, wallet, tables)
	s.must(err)
	return tx
}

// TestJudgeHoldsForeignGuardsToThePlan: a guard that came with the bytes
// counts only if it asserts all that the bounds call for.
func TestJudgeHoldsForeignGuardsToThePlan(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	good, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
	s.must(err)
	again, err := s.judge.Judge(t.Context(), good.Tx().Raw(), s.buying(o))
	if err != nil || again.Effects().Class() != effects.Guarded || again.Tx().Digest() != good.Tx().Digest() {
		t.Errorf("its own guard: class %s, %v", again.Effects().Class(), err)
	}
	plan := guard.Recognise(good.Tx()).Plan
	for name, weaken := range map[string]func(*guard.Plan){
		"floor one lower":  func(p *guard.Plan) { p.Floor-- },
		"amount one lower": func(p *guard.Plan) { p.Lines[0].Least-- },
		"no account":       func(p *guard.Plan) { p.Lines = nil },
	} {
		weak := guard.Plan{Lines: slices.Clone(plan.Lines), Floor: plan.Floor}
		weaken(&weak)
		raw, err := guard.Append(s.decoded(o.raw), weak)
		s.must(err)
		if _, err := s.judge.Judge(t.Context(), raw, s.buying(o)); !fault.Is(err, fault.OutsideBounds) {
			t.Errorf("%s: %v, want %s", name, err, fault.OutsideBounds)
		}
	}
}

// TestJudgeLowersFloorByWhatIsInFlight: another transaction may still land.
func TestJudgeLowersFloorByWhatIsInFlight(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	alone, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
	s.must(err)
	r := s.buying(o)
	r.InFlight = 1_000_000
	beside, err := s.judge.Judge(t.Context(), o.raw, r)
	s.must(err)
	if got := guard.Recognise(alone.Tx()).Floor - guard.Recognise(beside.Tx()).Floor; got != amount.Units(1_000_000) {
		t.Errorf("the floor is %d lower, want 1000000", got)
	}
}
