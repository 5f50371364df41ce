package judge_test

import (
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode/decodetest"
)

// TestGuardSumsWhatClosedAccountsHeld: tokens of accounts that are closed have
// no account left that the guard could assert, so they count against what may
// leave or belong to what the account that stays must hold.
func TestGuardSumsWhatClosedAccountsHeld(t *testing.T) {
	start := func(t *testing.T) (s scene, mint, loot, flag solana.PublicKey) {
		t.Helper()
		s, _, thief := startAttack(t)
		mint, loot, flag = s.key(s.world.TokenMint), stranger(4), stranger(5)
		s.place(held(s.tokenAccount(), mint, wallet, 3*batch))
		s.place(held(loot, mint, thief, 0))
		s.empty(flag)
		return s, mint, loot, flag
	}
	given := func(accounts ...solana.PublicKey) []decodetest.Meta {
		metas := []decodetest.Meta{decodetest.R(solana.TokenProgram)}
		for _, account := range accounts {
			metas = append(metas, decodetest.W(account))
		}
		return metas
	}
	// Kept by the sum over all accounts in heldInClosed (effects/plan.go):
	// account for account, each is within what may leave.
	t.Run("all together", func(t *testing.T) {
		s, mint, loot, flag := start(t)
		stays, first, second := s.tokenAccount(), stranger(2), stranger(3)
		s.place(held(first, mint, wallet, batch))
		s.place(held(second, mint, wallet, batch))
		metas := append(given(first, second, stays, loot), decodetest.R(mint), decodetest.R(flag))
		sells := scripted(metas...).does(s.move(first, stays, batch)).does(s.move(second, stays, batch)).does(s.move(stays, loot, batch)).
			stopsUnless(flag).does(s.move(stays, loot, 2*batch))
		raw := s.unsigned(sells.call(), decodetest.Close(solana.TokenProgram, first, wallet, wallet), decodetest.Close(solana.TokenProgram, second, wallet, wallet))
		s.refuses(raw, swapping(mint, batch), fault.OutsideBounds)

		s.raise(flag)
		s.robs(raw)
		if got := s.account(loot).Amount; got != 3*batch {
			t.Errorf("the thief has %d, want three times what was agreed: this attack attacks nothing", got)
		}
	})
	// Kept by adding closed to held in Draft.line (effects/plan.go): what was
	// merged into the account that stays is asserted with it.
	t.Run("in the account that stays", func(t *testing.T) {
		s, mint, loot, flag := start(t)
		stays, merged := s.tokenAccount(), stranger(2)
		s.place(held(merged, mint, wallet, batch))
		metas := append(given(merged, stays, loot), decodetest.R(mint), decodetest.R(flag))
		sells := scripted(metas...).does(s.move(merged, stays, batch)).does(s.move(stays, loot, batch)).
			stopsUnless(flag).does(s.move(stays, loot, batch))
		raw := s.unsigned(sells.call(), decodetest.Close(solana.TokenProgram, merged, wallet, wallet))
		judged, err := s.judge.Judge(t.Context(), raw, swapping(mint, batch))
		if err != nil {
			t.Fatalf("the bait was refused, so the switch proves nothing: %v", err)
		}
		s.raise(flag)
		if failure := s.send(signed(judged.Tx().Raw(), 0)); failure == "" || failure == "not confirmed" {
			t.Errorf("the switch did not fail on chain: %q", failure)
		}
		if kept, stolen := s.account(stays).Amount, s.account(loot).Amount; kept != 3*batch || stolen != 0 {
			t.Errorf("the wallet kept %d and the thief has %d, want %d and 0", kept, stolen, 3*batch)
		}
	})
}

// opens is a script that opens the wallet's associated account of a mint and
// hands it to the thief, once the flag is raised.
func opens(mint, thief, flag solana.PublicKey) (account solana.PublicKey, call decodetest.Call) {
	const accountOwner = 2
	account = solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
	return account, scripted(
		decodetest.W(account), decodetest.R(mint), decodetest.R(solana.TokenProgram), decodetest.R(solana.AssociatedTokenProgram),
		decodetest.R(solana.SystemProgram), decodetest.R(flag),
	).stopsUnless(flag).
		does(decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram)).
		does(decodetest.SetAuthority(solana.TokenProgram, account, wallet, accountOwner, &thief)).call()
}

// TestGuardCoversAccountsThatAProgramOpens: an account that no instruction
// opens is not there to be asserted. Once somebody else's, whatever is ever
// paid to the wallet in that token would go there. Kept by wouldBeOwn in
// checkWritable (effects/check.go).
func TestGuardCoversAccountsThatAProgramOpens(t *testing.T) {
	s, _, thief := startAttack(t)
	flag := stranger(2)
	account, call := opens(solana.WrappedSOL, thief, flag)
	s.empty(account)
	s.empty(flag)
	raw := s.unsigned(call)
	s.refuses(raw, swapping(amount.SOL, 3_000_000), fault.TransactionRefused)

	s.raise(flag)
	s.robs(raw)
	if got := s.account(account).Owner; got != thief.String() {
		t.Errorf("the wallet's associated account belongs to %q: this attack attacks nothing", got)
	}
}

// TestClosedAccountsAreNotOpenedAgain: the same with an account that a known
// instruction closed just before, which the guard therefore leaves out. Kept
// by the loop over closed accounts in opaqueCall (effects/walk.go).
func TestClosedAccountsAreNotOpenedAgain(t *testing.T) {
	s, _, thief := startAttack(t)
	token, flag := s.key(s.world.TokenMint), stranger(2)
	account, call := opens(token, thief, flag)
	s.place(held(account, token, wallet, 0))
	s.empty(flag)
	raw := s.unsigned(decodetest.Close(solana.TokenProgram, account, wallet, wallet), call)
	s.refuses(raw, swapping(amount.SOL, 3_000_000), fault.TransactionRefused)

	s.raise(flag)
	s.robs(raw)
	if got := s.account(account).Owner; got != thief.String() {
		t.Errorf("the wallet's associated account belongs to %q: this attack attacks nothing", got)
	}
}

// TestLamportsBehindTokensAreWatched: lamports above the rent of a token
// account can be withdrawn without touching a token. Kept by the comparison of
// lamports in compareOwn (effects/finish.go).
func TestLamportsBehindTokensAreWatched(t *testing.T) {
	s, _, thief := startAttack(t)
	const excess = 500_000_000
	account, token := s.tokenAccount(), s.key(s.world.TokenMint)
	rich := held(account, token, wallet, 5)
	rich.Lamports += excess
	s.place(rich)
	withdraw := decodetest.Call{
		Program:  solana.TokenProgram,
		Accounts: []decodetest.Meta{decodetest.W(account), decodetest.W(thief), decodetest.S(wallet)},
		Data:     []byte{38}, // WithdrawExcessLamports
	}
	raw := s.unsigned(scripted(decodetest.W(account), decodetest.W(thief), decodetest.R(solana.TokenProgram)).does(withdraw).call())
	s.refuses(raw, swapping(token, 1), fault.OutsideBounds)

	before := s.lamports(thief.String())
	s.robs(raw)
	if got := s.lamports(thief.String()) - before; got != excess {
		t.Errorf("the thief got %d lamports of %d: this attack attacks nothing", got, excess)
	}
}

// TestLooseLamportsAreCharged: a program that waits can take what simulation did
// not show, and nothing on chain asserts it. So it is charged from the start.
// Kept by countLoose in Read (effects/check.go).
func TestLooseLamportsAreCharged(t *testing.T) {
	s, _, thief := startAttack(t)
	const excess, unsynced = 500_000, 700_000
	token, flag := s.key(s.world.TokenMint), stranger(2)
	account, wrapped := s.tokenAccount(), solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)
	rich, richer := held(account, token, wallet, 5), held(wrapped, solana.WrappedSOL, wallet, 9)
	rich.Lamports += excess
	richer.Lamports += unsynced
	s.place(rich)
	s.place(richer)
	s.empty(flag)
	withdraw := decodetest.Call{
		Program:  solana.TokenProgram,
		Accounts: []decodetest.Meta{decodetest.W(account), decodetest.W(thief), decodetest.S(wallet)},
		Data:     []byte{38}, // WithdrawExcessLamports
	}
	raw := s.unsigned(scripted(decodetest.W(account), decodetest.W(wrapped), decodetest.W(thief), decodetest.R(solana.TokenProgram), decodetest.R(flag)).
		stopsUnless(flag).does(withdraw).call())
	r := swapping(token, 1)
	r.Bounds.MaxOut[amount.SOL] = 11
	judged, err := s.judge.Judge(t.Context(), raw, r)
	if err != nil {
		t.Fatal(err)
	}
	found := judged.Effects()
	if got, want := judged.Charge()[amount.SOL], 11+excess+unsynced+found.BaseFee()+found.PriorityFee(); got != want || found.Loose() != excess+unsynced {
		t.Errorf("charged %d, of which %d loose, want %d", got, found.Loose(), want)
	}
	before := s.lamports(thief.String())
	s.raise(flag)
	if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
		t.Fatalf("the theft fails on chain, so there is nothing to charge: %s", failure)
	}
	if got := s.lamports(thief.String()) - before; got != excess {
		t.Errorf("the thief got %d of %d: this attack attacks nothing", got, excess)
	}
}

// TestLamportsAtAnAddressStopNoPurchase: anybody can send lamports to the
// address of a token account that is yet to be opened, and must not be able to
// lock the wallet out with them. Kept by the owner in "exists && before.Owner !=
// solana.SystemProgram" of createAssociated (effects/walk.go).
func TestLamportsAtAnAddressStopNoPurchase(t *testing.T) {
	s, _, _ := startAttack(t)
	s.place(chain.Account{Key: s.tokenAccount(), Lamports: 1_000_000, Owner: solana.SystemProgram})
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	judged, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
	if err != nil {
		t.Fatalf("lamports at the associated address stop a purchase: %v", err)
	}
	if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
		t.Fatalf("the judged transaction failed: %s", failure)
	}
	if got := s.tokens(); got.Owner != wallet.String() || got.Amount < o.minimum {
		t.Errorf("the wallet's token account is %+v, want at least %d", got, o.minimum)
	}
}
