package judge_test

import (
	"encoding/binary"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/judge"
)

// TestMultisigNamingTheWalletIsRefused: the wallet's signature empties the
// account of a multisig that it is one of. Called directly, both the further
// signers in Draft.signs (effects/walk.go) and checkMultisigs (effects/check.go)
// see it; inside a program only checkMultisigs does.
func TestMultisigNamingTheWalletIsRefused(t *testing.T) {
	s, friend, thief := startAttack(t)
	token := s.key(s.world.TokenMint)
	shared, vault, loot := stranger(2), stranger(3), stranger(4)
	steal := decodetest.Call{
		Program:  solana.TokenProgram,
		Accounts: []decodetest.Meta{decodetest.W(vault), decodetest.W(loot), decodetest.R(shared), decodetest.S(wallet)},
		Data:     binary.LittleEndian.AppendUint64([]byte{3}, 777),
	}
	inside := scripted(decodetest.W(vault), decodetest.W(loot), decodetest.R(shared), decodetest.R(solana.TokenProgram)).does(steal)
	for name, test := range map[string]struct {
		calls []decodetest.Call
		r     judge.Request
	}{
		"directly":     {[]decodetest.Call{decodetest.Transfer(wallet, friend, 1), steal}, paying(amount.SOL, 1, friend)},
		"by a program": {[]decodetest.Call{inside.call()}, swapping(token, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.place(multisig(shared, wallet))
			s.place(held(vault, token, shared, 777))
			s.place(held(loot, token, thief, 0))
			raw := s.unsigned(test.calls...)
			s.refuses(raw, test.r, fault.TransactionRefused)
			s.robs(raw)
			if got := s.account(loot).Amount; got != 777 {
				t.Errorf("the thief got %d of 777: this attack attacks nothing", got)
			}
		})
	}
}

// TestRentOfOthersAccountsNeedsAPayment: whoever owns an account gets its rent
// when they close it, so opening accounts pays people. Kept by the loop over
// d.opened in checkTransfer (effects/check.go).
func TestRentOfOthersAccountsNeedsAPayment(t *testing.T) {
	s, friend, thief := startAttack(t)
	calls := []decodetest.Call{decodetest.Transfer(wallet, friend, 1)}
	var opened []solana.PublicKey
	for mint, program := range map[string]solana.PublicKey{
		s.world.TokenMint: solana.TokenProgram, s.world.WSOL: solana.TokenProgram, s.world.Token2022Mint: solana.Token2022Program,
	} {
		account := solana.AssociatedTokenAddress(thief, s.key(mint), program)
		s.empty(account)
		opened = append(opened, account)
		calls = append(calls, decodetest.CreateIdempotent(wallet, thief, s.key(mint), program))
	}
	raw := s.unsigned(calls...)
	s.refuses(raw, paying(amount.SOL, 1, friend, thief), fault.IntentMismatch)
	s.robs(raw)
	var rent uint64
	for _, account := range opened {
		if s.account(account).Owner != thief.String() {
			t.Errorf("account %s is not the thief's: this attack attacks nothing", account)
		}
		rent += s.lamports(account.String())
	}
	if got, want := s.lamports(wallet.String()), startLamports-1-5_000-rent; got != want {
		t.Errorf("the wallet holds %d lamports, want %d: it pays all the rent", got, want)
	}
}

// TestTransferPaysOnlyAssociatedAccounts: an account that is the friend's now
// can be closed by its close authority and made anew before the transfer lands.
// Kept by the comparison with AssociatedTokenAddress in tokenTransfer
// (effects/walk.go).
func TestTransferPaysOnlyAssociatedAccounts(t *testing.T) {
	s, friend, thief := startAttack(t)
	token := s.key(s.world.TokenMint)
	account := stranger(2)
	s.place(held(account, token, friend, 0, chaintest.Closer(thief)))
	raw := s.unsigned(s.move(s.tokenAccount(), account, 1_000))
	s.refuses(raw, paying(token, 1_000, friend), fault.TransactionRefused)

	s.place(held(account, token, thief, 0)) // Closed, and made anew.
	s.robs(raw)
	if got := s.account(account); got.Owner != thief.String() || got.Amount != 1_000 {
		t.Errorf("the account is %+v: this attack attacks nothing", got)
	}
}

// TestTransferMovesNothingIntoAccountsOthersCanClose: the same with an account
// that is the wallet's now, beside an honest payment. Kept by the case
// "arrives && d.flow == Transfer" in tokenTransfer (effects/walk.go).
func TestTransferMovesNothingIntoAccountsOthersCanClose(t *testing.T) {
	s, friend, thief := startAttack(t)
	token := s.key(s.world.TokenMint)
	account := stranger(2)
	s.place(held(account, token, wallet, 0, chaintest.Closer(thief)))
	raw := s.unsigned(decodetest.Transfer(wallet, friend, 1), s.move(s.tokenAccount(), account, startTokens))
	s.refuses(raw, paying(amount.SOL, 1, friend), fault.TransactionRefused)

	s.place(held(account, token, thief, 0)) // Closed, and made anew.
	s.robs(raw)
	if got := s.account(account); got.Owner != thief.String() || got.Amount != startTokens {
		t.Errorf("the account is %+v: this attack attacks nothing", got)
	}
}

// TestTransferDoesNotWrap: SOL wrapped into an account of the wallet is out of
// its hands where others may spend from it, or where a node lies about whose
// it is. Kept by the case "d.flow == Transfer" in systemTransfer
// (effects/walk.go).
func TestTransferDoesNotWrap(t *testing.T) {
	const most = 1_900_000_000
	t.Run("into a delegated account", func(t *testing.T) {
		s, friend, thief := startAttack(t)
		wrapped := solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)
		s.place(held(wrapped, solana.WrappedSOL, wallet, 0, chaintest.Delegate(thief, most)))
		raw := s.unsigned(decodetest.Transfer(wallet, friend, 1), decodetest.Transfer(wallet, wrapped, most), decodetest.SyncNative(wrapped))
		s.refuses(raw, paying(amount.SOL, 1, friend), fault.TransactionRefused)
		s.robs(raw)
		if got := s.account(wrapped); got.Amount != most || got.Delegate != thief.String() || got.Delegated < most {
			t.Errorf("the account is %+v: this attack attacks nothing", got)
		}
	})
	t.Run("into an account that a node calls the wallet's", func(t *testing.T) {
		s, friend, thief := startAttack(t)
		account := stranger(2)
		s.place(held(account, solana.WrappedSOL, wallet, 0)) // What the node says.
		raw := s.unsigned(decodetest.Transfer(wallet, friend, 1), decodetest.Transfer(wallet, account, most), decodetest.SyncNative(account))
		s.refuses(raw, paying(amount.SOL, 1, friend), fault.TransactionRefused)

		s.place(held(account, solana.WrappedSOL, thief, 0)) // What is there.
		s.robs(raw)
		if got := s.lamports(account.String()); got != chaintest.Rent+most {
			t.Errorf("the thief's account holds %d lamports: this attack attacks nothing", got)
		}
	})
}
