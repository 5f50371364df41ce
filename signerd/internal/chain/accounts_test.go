package chain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
)

var (
	wallet = solana.PublicKey{1}
	thief  = solana.PublicKey{9}
	mint   = solana.PublicKey{7}
	key    = solana.PublicKey{3}
)

func TestParseTokenReadsEveryField(t *testing.T) {
	account := chaintest.Token(key, solana.TokenProgram, solana.WrappedSOL, wallet, 55, chaintest.Delegate(thief, 44), chaintest.Closer(thief), chaintest.Frozen)
	got, ok := chain.ParseToken(account)
	want := chain.Token{
		Program: solana.TokenProgram, Mint: solana.WrappedSOL, Owner: wallet, Amount: 55,
		Delegate: thief, HasDelegate: true, Delegated: 44, State: chain.TokenFrozen,
		Native: true, Reserve: chaintest.Rent, CloseAuthority: thief, HasCloser: true,
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("token account (-want +got):\n%s", diff)
	}
	memo := chaintest.Extend(chaintest.Token(key, solana.Token2022Program, mint, wallet, 1), 2, chaintest.Extension{Kind: 8, Value: []byte{1}}, chaintest.Extension{Kind: 13})
	if got, ok := chain.ParseToken(memo); !ok || !got.MemoRequired || !got.NonTransferable {
		t.Errorf("Token-2022 account: %+v, %v", got, ok)
	}
}

func TestParseTokenRefusesOtherAccounts(t *testing.T) {
	good := chaintest.Token(key, solana.TokenProgram, mint, wallet, 1)
	change := func(edit func(*chain.Account)) chain.Account {
		account := good
		account.Data = append([]byte(nil), good.Data...)
		edit(&account)
		return account
	}
	for name, account := range map[string]chain.Account{
		"another program":     change(func(a *chain.Account) { a.Owner = thief }),
		"too short":           change(func(a *chain.Account) { a.Data = a.Data[:164] }),
		"too long for Token":  change(func(a *chain.Account) { a.Data = append(a.Data, 2) }),
		"not initialised":     change(func(a *chain.Account) { a.Data[108] = 0 }),
		"state out of range":  change(func(a *chain.Account) { a.Data[108] = 3 }),
		"option out of range": change(func(a *chain.Account) { a.Data[72] = 2 }),
		"multisig":            change(func(a *chain.Account) { a.Data = make([]byte, 355) }),
		"mint of Token-2022":  chaintest.Extend(chaintest.Mint(key, solana.Token2022Program, 6), 1),
		"extension cut off":   chaintest.Extend(chaintest.Token(key, solana.Token2022Program, mint, wallet, 1), 2, chaintest.Extension{Kind: 8}, chaintest.Extension{Kind: 0xffff, Value: nil}),
	} {
		if name == "extension cut off" {
			account.Data[len(account.Data)-2] = 9 // announces more than follows
		}
		if got, ok := chain.ParseToken(account); ok {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestParseMintReadsExtensions(t *testing.T) {
	plain, ok := chain.ParseMint(chaintest.Mint(mint, solana.TokenProgram, 6))
	if !ok || plain.Decimals != 6 || plain.AccountSize != 165 || plain.Freezable {
		t.Errorf("plain mint: %+v, %v", plain, ok)
	}
	fee := make([]byte, 108)
	fee[80], fee[88] = 7, 20
	fee[98], fee[106] = 9, 50
	hook := make([]byte, 64)
	hook[40] = 1
	paused := make([]byte, 33)
	paused[32] = 1
	full := chaintest.Extend(chaintest.Mint(mint, solana.Token2022Program, 9), 1,
		chaintest.Extension{Kind: 1, Value: fee}, chaintest.Extension{Kind: 6, Value: []byte{2}}, chaintest.Extension{Kind: 9},
		chaintest.Extension{Kind: 12, Value: thief[:]}, chaintest.Extension{Kind: 14, Value: hook}, chaintest.Extension{Kind: 26, Value: paused},
		chaintest.Extension{Kind: 4, Value: make([]byte, 65)})
	got, ok := chain.ParseMint(full)
	want := chain.MintInfo{
		Mint: mint, Program: solana.Token2022Program, Decimals: 9, FeeBasisPoints: 50, Fees: [2]chain.TransferFee{{Most: 7, BasisPoints: 20}, {Most: 9, BasisPoints: 50}}, Hook: true, PermanentDelegate: true,
		DefaultFrozen: true, NonTransferable: true, Pausable: true, Paused: true, Confidential: true,
		// 165, the type, immutable owner 4, fee 12, non-transferable 4, hook 5, pausable 4.
		AccountSize: 195,
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("mint (-want +got):\n%s", diff)
	}
	for name, account := range map[string]chain.Account{
		"nothing":       {},
		"token account": chaintest.Token(key, solana.TokenProgram, mint, wallet, 1),
		"uninitialised": func() chain.Account { a := chaintest.Mint(mint, solana.TokenProgram, 6); a.Data[45] = 0; return a }(),
		"other program": chaintest.Mint(mint, thief, 6),
	} {
		if got, ok := chain.ParseMint(account); ok {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func FuzzParseAccounts(f *testing.F) {
	f.Add(chaintest.Token(key, solana.TokenProgram, mint, wallet, 5).Data, false)
	f.Add(chaintest.Extend(chaintest.Mint(mint, solana.Token2022Program, 6), 1, chaintest.Extension{Kind: 9}).Data, true)
	f.Add(chaintest.Extend(chaintest.Token(key, solana.Token2022Program, mint, wallet, 1), 2, chaintest.Extension{Kind: 8, Value: []byte{1}}).Data, true)
	f.Fuzz(func(t *testing.T, data []byte, newer bool) {
		account := chain.Account{Key: key, Lamports: 1, Owner: solana.TokenProgram, Data: data}
		if newer {
			account.Owner = solana.Token2022Program
		}
		_, isToken := chain.ParseToken(account)
		_, isMint := chain.ParseMint(account)
		if isToken && isMint {
			t.Fatal("both a mint and a token account")
		}
	})
}
