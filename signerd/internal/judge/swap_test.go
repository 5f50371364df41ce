package judge_test

import (
	"testing"

	"countersign/scripts/sandbox/bagsandbox"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
)

func TestHonestSwapsPassGuardedAndLand(t *testing.T) {
	s := startScene(t)
	for name, behaviour := range map[string]bagsandbox.Behaviour{
		"v0":     {SwapVersion: "v0", ClaimStyle: "legacy", ClaimTransactions: 2},
		"legacy": {SwapVersion: "legacy", ClaimStyle: "legacy", ClaimTransactions: 2},
	} {
		t.Run("buy "+name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.must(s.api.SetBehaviour(behaviour))
			o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
			judged, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
			if err != nil {
				t.Fatal(err)
			}
			found := judged.Effects()
			if found.Class() != effects.Guarded || !found.Simulated() {
				t.Errorf("class %s, simulated %v, want guarded and simulated", found.Class(), found.Simulated())
			}
			fee := found.BaseFee() + found.PriorityFee()
			if got := judged.Charge()[amount.SOL]; got != spend+fee+found.Rent() {
				t.Errorf("charge %d, want %d and fee %d and rent %d", got, spend, fee, found.Rent())
			}
			if failure := s.send(signed(judged.Tx().Raw(), judged.Tx().WalletSlot())); failure != "" {
				t.Fatalf("the judged transaction failed: %s", failure)
			}
			var in amount.Units
			for _, change := range found.Changes() {
				if change.Mint == amount.SOL && (change.Out != spend || change.In != 0) {
					t.Errorf("SOL change %+v, want %d out", change, spend)
				}
				if change.Mint == s.key(s.world.TokenMint) {
					in = change.In
				}
			}
			kept := uint64(found.Rent() - found.RentReturned())
			if got, want := s.lamports(wallet.String()), startLamports-spend-uint64(fee)-kept; got != want {
				t.Errorf("the wallet holds %d lamports, the effects say %d", got, want)
			}
			if got := s.tokens().Amount; got != startTokens+uint64(in) || in == 0 {
				t.Errorf("the wallet holds %d tokens, the effects say %d and %d", got, startTokens, in)
			}
		})
	}
	t.Run("sell", func(t *testing.T) {
		s := s.in(t)
		s.reset()
		const units = 1_000_000_000
		o := s.trade(s.world.TokenMint, s.world.WSOL, units)
		judged, err := s.judge.Judge(t.Context(), o.raw, s.selling(o, units))
		if err != nil {
			t.Fatal(err)
		}
		if got := judged.Effects().Class(); got != effects.Guarded {
			t.Errorf("class %s, want guarded", got)
		}
		if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
			t.Fatalf("the judged transaction failed: %s", failure)
		}
		if got := s.tokens().Amount; got != startTokens-units {
			t.Errorf("the wallet holds %d tokens, want %d", got, startTokens-units)
		}
		if got := s.lamports(wallet.String()); got < startLamports+o.minimum-5_000-o.priority {
			t.Errorf("the wallet holds %d lamports, want at least %d more", got, o.minimum)
		}
	})
}

// TestHostileSwapsAreRefused: whatever the API returns for an agreed trade,
// what harms the wallet is not judged fit to sign.
func TestHostileSwapsAreRefused(t *testing.T) {
	s := startScene(t)
	for _, test := range []struct {
		mode bagsandbox.Mode
		want fault.Code
	}{
		{bagsandbox.Skim, fault.OutsideBounds},
		{bagsandbox.Half, fault.PriceMoved},
		{bagsandbox.WrongDestination, fault.PriceMoved},
		{bagsandbox.Delegate, fault.OutsideBounds},
		{bagsandbox.Assign, fault.OutsideBounds},
		{bagsandbox.SetOwner, fault.OutsideBounds},
		{bagsandbox.CloseAuthority, fault.OutsideBounds},
		{bagsandbox.Allocate, fault.OutsideBounds},
		{bagsandbox.ExtraTransfer, fault.IntentMismatch},
		{bagsandbox.OtherRecipient, fault.TransactionRefused},
		{bagsandbox.CloseToThief, fault.TransactionRefused},
		{bagsandbox.WrongMint, fault.PriceMoved},
		{bagsandbox.MoreIn, fault.OutsideBounds},
		{bagsandbox.UnknownProgram, fault.IntentMismatch},
		{bagsandbox.NonceFirst, fault.BlockhashExpired},
		{bagsandbox.BigPriorityFee, fault.OutsideBounds},
		{bagsandbox.OtherWallet, fault.TransactionMalformed},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.must(s.api.Misbehave(bagsandbox.Misbehaviour{Mode: test.mode}))
			o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
			judged, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
			if !fault.Is(err, test.want) {
				t.Errorf("%v, want %s (effects %+v)", err, test.want, judged.Effects().Changes())
			}
		})
	}
	t.Run("take_input", func(t *testing.T) {
		s := s.in(t)
		s.reset()
		s.must(s.api.Misbehave(bagsandbox.Misbehaviour{Mode: bagsandbox.TakeInput, Param: 4_321}))
		o := s.trade(s.world.TokenMint, s.world.WSOL, 1_000_000_000)
		if _, err := s.judge.Judge(t.Context(), o.raw, s.selling(o, 1_000_000_000)); !fault.Is(err, fault.OutsideBounds) {
			t.Errorf("a sale that takes more: %v, want %s", err, fault.OutsideBounds)
		}
	})
}

// guardedBytes does what the judge does, but asks no simulation: what a lying
// node could make it believe.
func (s scene) guardedBytes(raw []byte, bounds effects.Bounds) decode.Tx {
	s.t.Helper()
	ctx := s.t.Context()
	tx := s.decoded(raw)
	state := effects.State{Rent: map[int]amount.Units{}}
	var err error
	var keys []solanaKey
	for _, account := range tx.Accounts() {
		keys = append(keys, account.Key)
	}
	state.Before, err = s.chain.Accounts(ctx, keys)
	s.must(err)
	state.Mints, err = s.chain.Mints(ctx, []solanaKey{s.key(s.world.WSOL), s.key(s.world.TokenMint)})
	s.must(err)
	state.Rent[165], err = s.chain.RentExempt(ctx, 165)
	s.must(err)
	draft, err := effects.Read(tx, effects.Swap, bounds, state, effects.Known{})
	s.must(err)
	lamports, err := s.chain.HighestBalance(ctx, wallet)
	s.must(err)
	plan, err := draft.Plan(effects.Holdings{Lamports: lamports})
	s.must(err)
	final, err := guard.Append(tx, plan)
	s.must(err)
	return s.decoded(final)
}

// TestGuardRevertsOnChain: with simulation out of the way, each program that
// takes more than agreed is undone by the chain, and costs the fee only.
func TestGuardRevertsOnChain(t *testing.T) {
	s := startScene(t)
	for _, test := range []struct {
		mode  bagsandbox.Mode
		param uint64
	}{
		{bagsandbox.Skim, 1}, {bagsandbox.Skim, 10_000_000}, {bagsandbox.Half, 0}, {bagsandbox.WrongDestination, 0},
		{bagsandbox.Assign, 0}, {bagsandbox.SetOwner, 0}, {bagsandbox.CloseAuthority, 0}, {bagsandbox.Allocate, 0},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.must(s.api.Misbehave(bagsandbox.Misbehaviour{Mode: test.mode, Param: test.param}))
			o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
			final := s.guardedBytes(o.raw, s.buying(o).Bounds)
			if failure := s.send(signed(final.Raw(), 0)); failure == "" || failure == "not confirmed" {
				t.Fatalf("the guarded theft did not fail on chain: %q", failure)
			}
			fee := uint64(final.Fee().Base + final.Fee().Priority)
			if got, want := s.lamports(wallet.String()), startLamports-fee; got != want {
				t.Errorf("the wallet holds %d lamports, want %d: all but the fee", got, want)
			}
			if token := s.tokens(); token.Amount != startTokens || token.Owner != wallet.String() || token.CloseAuthority != "" {
				t.Errorf("the token account is %+v", token)
			}
		})
	}
}

// TestBaitAndSwitchReverts: honest in simulation, dishonest on chain. The same
// signed bytes.
func TestBaitAndSwitchReverts(t *testing.T) {
	s := startScene(t)
	s.reset()
	s.must(s.api.Misbehave(bagsandbox.Misbehaviour{Mode: bagsandbox.BaitAndSwitch, Param: 1}))
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	judged, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
	if err != nil {
		t.Fatalf("the bait was refused, so the switch proves nothing: %v", err)
	}
	s.must(s.api.Trigger(t.Context(), true))
	if failure := s.send(signed(judged.Tx().Raw(), 0)); failure == "" || failure == "not confirmed" {
		t.Fatalf("the switch did not fail on chain: %q", failure)
	}
	fee := uint64(judged.Effects().BaseFee() + judged.Effects().PriorityFee())
	if got, want := s.lamports(wallet.String()), startLamports-fee; got != want {
		t.Errorf("the wallet holds %d lamports, want %d: all but the fee", got, want)
	}
}

// TestJudgeRefusesStaleBlockhash: on another network the blockhash is unknown.
func TestJudgeRefusesStaleBlockhash(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	s.must(s.net.ExpireBlockhash(t.Context()))
	if _, err := s.judge.Judge(t.Context(), o.raw, s.buying(o)); !fault.Is(err, fault.BlockhashExpired) {
		t.Errorf("%v, want %s", err, fault.BlockhashExpired)
	}
}

// TestJudgeUsesHighestBalance: a node that hides money cannot lower the floor
// while another tells the truth.
func TestJudgeUsesHighestBalance(t *testing.T) {
	s := startScene(t)
	s.reset()
	both, err := chain.New([]string{s.net.RPCURL, s.net.RPCURL}, chain.Options{Timeout: callTime})
	s.must(err)
	s.must(s.net.Fault(t.Context(), liarOnce))
	highest, err := both.HighestBalance(t.Context(), wallet)
	if err != nil || highest != startLamports {
		t.Errorf("highest balance %d, %v, want %d", highest, err, startLamports)
	}
}
