package build

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"pgregory.net/rapid"
)

func TestPriorityFeeRoundsUp(t *testing.T) {
	for _, test := range []struct {
		price uint64
		limit uint32
		want  uint64
	}{
		{0, 200_000, 0},
		{1, 1, 1},
		{5, 200_000, 1},
		{6, 200_000, 2},
		{100_000, 200_000, 20_000},
		{math.MaxUint64, math.MaxUint32, math.MaxUint64},
	} {
		if got := PriorityFee(test.price, test.limit); got != test.want {
			t.Errorf("PriorityFee(%d, %d) = %d, want %d", test.price, test.limit, got, test.want)
		}
	}
}

func TestPriceForReachesTheFee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lamports := rapid.Uint64Range(1, 1e15).Draw(t, "lamports")
		limit := rapid.Uint32Range(1_000, 1_400_000).Draw(t, "limit")
		price := PriceFor(lamports, limit)
		if fee := PriorityFee(price, limit); fee < lamports {
			t.Fatalf("price %d costs %d, less than %d", price, fee, lamports)
		}
		if below := PriorityFee(price-1, limit); below > lamports {
			t.Fatalf("price %d is more than is needed", price)
		}
	})
	if got := PriceFor(math.MaxUint64, 1); got != math.MaxUint64 {
		t.Errorf("price is %d", got)
	}
}

func TestCompileRefusesWhatCannotBeSent(t *testing.T) {
	message := Message{Version: Legacy, Payer: solana.PublicKey{1}, Instructions: []solana.Instruction{memo(1_200)}}
	if _, err := message.Compile(); err == nil || !strings.Contains(err.Error(), "more than 1232") {
		t.Errorf("error is %v", err)
	}
	message.Oversized = true
	if raw, err := message.Compile(); err != nil || len(raw) <= MaxSize {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

func TestCompileReadsBackAsItIs(t *testing.T) {
	table := []solana.PublicKey{WSOL, System, Token}
	for _, version := range []Version{Legacy, V0} {
		payer, err := solana.NewRandomPrivateKey()
		if err != nil {
			t.Fatal(err)
		}
		message := Message{Version: version, Payer: payer.PublicKey(), Table: solana.PublicKey{9}, TableEntries: table,
			Instructions: []solana.Instruction{createAssociated(payer.PublicKey(), payer.PublicKey(), WSOL, Token)}}
		raw, err := message.Compile(payer)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := solana.TransactionFromBytes(raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := tx.MarshalBinary()
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%s: read back and written, the bytes differ, or %v", version, err)
		}
		if err := tx.VerifySignatures(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if looked := tx.Message.NumLookups(); (looked == 3) != (version == V0) {
			t.Errorf("%s: %d addresses looked up", version, looked)
		}
	}
}

func TestAddressesMatchThePublishedVectors(t *testing.T) {
	wallet := solana.MustPublicKeyFromBase58("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	base := solana.MustPublicKeyFromBase58("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	ledger := NewFeeShare(solana.MustPublicKeyFromBase58("FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK"), base)
	for name, pair := range map[string][2]string{
		"wallet wSOL":       {AssociatedAccount(wallet, WSOL, Token).String(), "7azMPufyz8EfKAif9WajHfBbFj5ic8C8rLfaTBfKdN1A"},
		"wallet token":      {AssociatedAccount(wallet, base, Token).String(), "FqBLCqbJjriKqP2H5gB5ZgGU8WbhbAWsfJvm9uVqycUF"},
		"wallet token-2022": {AssociatedAccount(wallet, base, Token2022).String(), "xoutEv9fp3HkucYqHjp6rjN8PjsnpK5uujAdhZX4dLu"},
		"ledger config":     {ledger.Config.String(), "7gPgyD2iC73EUXc9eF9cBdemkUYfpKGLBuvLPPEwccQA"},
		"ledger authority":  {ledger.Authority.String(), "AchhausQez6Ef3gG8RAntxuVQhpMwjkDj67pK9G36bVP"},
		"ledger wSOL":       {ledger.AuthorityATA.String(), "Fb4sNbYuntuJF6hFrDbKP6KuKKCCuuDNQCD663EEErMH"},
		"ledger event":      {ledger.Event.String(), "5eTTZ83Yn158nGLjsnHQYGP9frmuTadsrsnqs8xnpeVf"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %s, want %s", name, pair[0], pair[1])
		}
	}
}
