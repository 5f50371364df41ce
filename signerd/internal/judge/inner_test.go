package judge_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
)

// These tests hold what programs call from within to the rules of the top
// level, on the VM. In most of them the state afterwards shows nothing wrong, so
// only the calls themselves tell. What keeps them is judgeInner, called in
// Finish (effects/finish.go).

// names demands that the refusal tells the call by its name.
func (s scene) names(raw []byte, out solana.PublicKey, most amount.Units, words ...string) {
	s.t.Helper()
	_, err := s.judge.Judge(s.t.Context(), raw, swapping(out, most))
	if !fault.Is(err, fault.OutsideBounds) {
		s.t.Fatalf("%v, want %s", err, fault.OutsideBounds)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			s.t.Errorf("%v, and does not say %q", err, word)
		}
	}
}

// packed is a p-token batch of calls.
func packed(calls ...decodetest.Call) decodetest.Call {
	batch := decodetest.Call{Program: solana.TokenProgram, Data: []byte{255}}
	for _, call := range calls {
		batch.Data = append(batch.Data, byte(len(call.Accounts)), byte(len(call.Data)))
		batch.Data = append(batch.Data, call.Data...)
		batch.Accounts = append(batch.Accounts, call.Accounts...)
	}
	return batch
}

func TestInnerCallsObeyTheRules(t *testing.T) {
	s, friend, thief := startAttack(t)
	token, account := s.key(s.world.TokenMint), s.tokenAccount()
	loot := solana.AssociatedTokenAddress(thief, token, solana.TokenProgram)
	approve := decodetest.Approve(solana.TokenProgram, account, thief, wallet, 5)
	revoke := decodetest.Revoke(solana.TokenProgram, account, wallet)
	burn := decodetest.Call{
		Program:  solana.TokenProgram,
		Accounts: []decodetest.Meta{decodetest.W(account), decodetest.W(token), decodetest.S(wallet)},
		Data:     binary.LittleEndian.AppendUint64([]byte{8}, 5),
	}
	given := []decodetest.Meta{
		decodetest.W(loot), decodetest.W(token), decodetest.W(friend), decodetest.R(thief),
		decodetest.R(solana.TokenProgram), decodetest.R(solana.SystemProgram), decodetest.R(solana.AssociatedTokenProgram),
	}
	for name, test := range map[string]struct {
		calls []decodetest.Call
		out   solana.PublicKey
		most  amount.Units
		says  []string
	}{
		"a delegate for a moment": {[]decodetest.Call{approve, revoke}, token, 1, []string{"SPL Token.Approve", "spend from a token account"}},
		"in a batch":              {[]decodetest.Call{packed(approve, revoke)}, token, 1, []string{"SPL Token.Approve"}},
		"burnt within the bounds": {[]decodetest.Call{burn}, token, 5, []string{"SPL Token.Burn"}},
		"opened for others": {[]decodetest.Call{decodetest.CreateIdempotent(wallet, thief, token, solana.TokenProgram)},
			amount.SOL, 10_000_000, []string{"Associated Token.CreateIdempotent", "at the wallet's cost"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.empty(loot)
			metas := given
			if test.out == token {
				metas = append(slices.Clone(given), decodetest.W(account))
			}
			script := scripted(metas...)
			for _, call := range test.calls {
				script.does(call)
			}
			raw := s.unsigned(script.call())
			s.names(raw, test.out, test.most, append(test.says, "instruction 1", "from within")...)
			s.robs(raw)
		})
	}
}

// TestInnerPaymentsPassWithinBounds: what honest swaps do inside is not refused.
func TestInnerPaymentsPassWithinBounds(t *testing.T) {
	s, friend, thief := startAttack(t)
	token, account := s.key(s.world.TokenMint), s.tokenAccount()
	loot, wrapped := stranger(3), solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)
	given := []decodetest.Meta{
		decodetest.W(loot), decodetest.R(token), decodetest.W(friend), decodetest.R(solana.WrappedSOL),
		decodetest.R(solana.TokenProgram), decodetest.R(solana.SystemProgram), decodetest.R(solana.AssociatedTokenProgram),
	}
	for name, test := range map[string]struct {
		calls []decodetest.Call
		out   solana.PublicKey
		most  amount.Units
	}{
		"tokens":              {[]decodetest.Call{s.move(account, loot, 5), s.move(account, loot, 2)}, token, 7},
		"tokens in a batch":   {[]decodetest.Call{packed(s.move(account, loot, 5), s.move(account, loot, 2))}, token, 7},
		"SOL":                 {[]decodetest.Call{decodetest.Transfer(wallet, friend, 5)}, amount.SOL, 5},
		"wrapping":            {[]decodetest.Call{decodetest.Transfer(wallet, wrapped, 9), decodetest.SyncNative(wrapped)}, amount.SOL, 9},
		"an account is there": {[]decodetest.Call{decodetest.CreateIdempotent(wallet, wallet, token, solana.TokenProgram)}, token, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.place(held(loot, token, thief, 0))
			s.place(held(wrapped, solana.WrappedSOL, wallet, 0))
			own := decodetest.W(wrapped)
			if test.out == token {
				own = decodetest.W(account)
			}
			script := scripted(append(slices.Clone(given), own)...)
			for _, call := range test.calls {
				script.does(call)
			}
			r := swapping(test.out, test.most)
			r.Bounds.MaxFee += 50_000
			judged, err := s.judge.Judge(t.Context(), s.unsigned(script.call()), r)
			if err != nil {
				t.Fatal(err)
			}
			if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
				t.Fatalf("the judged transaction failed: %s", failure)
			}
			// One less is too much.
			r.Bounds.MaxOut = map[solana.PublicKey]amount.Units{test.out: test.most - 1}
			if _, err := s.judge.Judge(t.Context(), s.unsigned(script.call()), r); name != "wrapping" && name != "an account is there" && !fault.Is(err, fault.OutsideBounds) {
				t.Errorf("one unit less in the bounds: %v, want %s", err, fault.OutsideBounds)
			}
		})
	}
}

// TestUnknownProgramsInsideAreFound: the scriptable program calls itself no
// other program, but the market of the fixtures is called through it.
func TestUnknownProgramsInsideAreFound(t *testing.T) {
	s, _, _ := startAttack(t)
	nested := decodetest.Call{Program: scriptable, Accounts: nil, Data: make([]byte, 9)}
	raw := s.unsigned(scripted(decodetest.R(scriptable)).does(nested).call())
	judged, err := s.judge.Judge(t.Context(), raw, swapping(amount.SOL, 1))
	if err != nil {
		t.Fatal(err)
	}
	found := judged.Effects().Findings()
	if len(found) != 1 || found[0].Code != effects.UnknownInnerProgram || !strings.Contains(found[0].Text, scriptable.String()) {
		t.Errorf("findings %+v, want the unknown program", found)
	}
}

// TestWrappedSOLIsSpentFromWhereItLies: an account of wrapped SOL that was there
// and stays can be spent from, up to the bounds and not a lamport further,
// wherever that lamport is taken.
func TestWrappedSOLIsSpentFromWhereItLies(t *testing.T) {
	s, friend, thief := startAttack(t)
	const holds, spent = 700_000_000, 300_000_000
	wrapped := solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)
	pool, flag := stranger(3), stranger(5)
	pay := func(units uint64) decodetest.Call {
		return decodetest.TransferChecked(solana.TokenProgram, wrapped, solana.WrappedSOL, pool, wallet, units, 9)
	}
	given := []decodetest.Meta{
		decodetest.W(wrapped), decodetest.W(pool), decodetest.W(friend), decodetest.R(solana.WrappedSOL),
		decodetest.R(solana.TokenProgram), decodetest.R(solana.SystemProgram), decodetest.R(flag),
	}
	for name, extra := range map[string]decodetest.Call{
		"more of the account": pay(1), "more of the wallet": decodetest.Transfer(wallet, friend, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.empty(flag)
			s.place(held(wrapped, solana.WrappedSOL, wallet, holds))
			s.place(held(pool, solana.WrappedSOL, thief, 0))
			raw := s.unsigned(scripted(given...).does(pay(spent)).stopsUnless(flag).does(extra).call())
			judged, err := s.judge.Judge(t.Context(), raw, swapping(amount.SOL, spent))
			if err != nil {
				t.Fatalf("an honest payment is refused: %v", err)
			}
			again, err := s.judge.Judge(t.Context(), judged.Tx().Raw(), swapping(amount.SOL, spent))
			if err != nil || again.Tx().Digest() != judged.Tx().Digest() {
				t.Errorf("its own guard is not taken: %v", err)
			}
			// The same bytes on a chain where the program then takes more.
			s.raise(flag)
			if failure := s.send(signed(judged.Tx().Raw(), 0)); failure == "" || failure == "not confirmed" {
				t.Errorf("a lamport more did not fail on chain: %q", failure)
			}
			s.empty(flag)
			raw = s.unsigned(scripted(given...).does(pay(spent)).stopsUnless(flag).does(extra).call())
			judged, err = s.judge.Judge(t.Context(), raw, swapping(amount.SOL, spent))
			s.must(err)
			if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
				t.Errorf("the honest transaction failed: %s", failure)
			}
			if got := s.account(wrapped).Amount; got != holds-spent {
				t.Errorf("the account holds %d, want %d", got, holds-spent)
			}
		})
	}
}

// TestCommissionIsPaidWithinBounds: a service that builds a swap may take its
// fee with instructions of its own, from recipients that the bounds name and
// within what may leave.
func TestCommissionIsPaidWithinBounds(t *testing.T) {
	s, friend, thief := startAttack(t)
	token, account := s.key(s.world.TokenMint), s.tokenAccount()
	loot, theirs := stranger(3), solana.AssociatedTokenAddress(friend, token, solana.TokenProgram)
	swap := scripted(decodetest.W(account), decodetest.W(loot), decodetest.R(token), decodetest.R(solana.TokenProgram)).
		does(s.move(account, loot, 100)).call()
	open := decodetest.CreateIdempotent(wallet, friend, token, solana.TokenProgram)
	tokens := []decodetest.Call{swap, open, s.move(account, theirs, 3)}
	for name, test := range map[string]struct {
		calls []decodetest.Call
		most  map[solana.PublicKey]amount.Units
		named []solana.PublicKey
		want  fault.Code
	}{
		"tokens":             {tokens, map[solana.PublicKey]amount.Units{token: 103}, []solana.PublicKey{friend}, ""},
		"tokens, over":       {tokens, map[solana.PublicKey]amount.Units{token: 102}, []solana.PublicKey{friend}, fault.OutsideBounds},
		"tokens, unnamed":    {tokens, map[solana.PublicKey]amount.Units{token: 103}, nil, fault.TransactionRefused},
		"opened, not paid":   {[]decodetest.Call{swap, open}, map[solana.PublicKey]amount.Units{token: 103}, []solana.PublicKey{friend}, fault.IntentMismatch},
		"SOL":                {[]decodetest.Call{swap, decodetest.Transfer(wallet, friend, 9)}, map[solana.PublicKey]amount.Units{token: 100, amount.SOL: 9}, []solana.PublicKey{friend}, ""},
		"SOL, not in MaxOut": {[]decodetest.Call{swap, decodetest.Transfer(wallet, friend, 9)}, map[solana.PublicKey]amount.Units{token: 100}, []solana.PublicKey{friend}, fault.OutsideBounds},
		"SOL, unnamed":       {[]decodetest.Call{swap, decodetest.Transfer(wallet, thief, 9)}, map[solana.PublicKey]amount.Units{token: 100, amount.SOL: 9}, []solana.PublicKey{friend}, fault.IntentMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.place(held(loot, token, thief, 0))
			s.empty(theirs)
			r := swapping(token, 0)
			r.Bounds.MaxOut, r.Bounds.Recipients, r.Bounds.MaxRent = test.most, test.named, 3_000_000
			r.Known = effects.Known{Recipients: []effects.Recipient{{Name: "treasury", Address: friend}}}
			judged, err := s.judge.Judge(t.Context(), s.unsigned(test.calls...), r)
			if test.want != "" {
				if !fault.Is(err, test.want) {
					t.Errorf("%v, want %s", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if paid := judged.Effects().Payments(); len(paid) != 1 || paid[0].Recipient != friend || paid[0].Name != "treasury" || judged.Effects().Class() != effects.Guarded {
				t.Errorf("payments %+v, class %s", paid, judged.Effects().Class())
			}
			if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
				t.Fatalf("the judged transaction failed: %s", failure)
			}
		})
	}
}
