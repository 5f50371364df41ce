package judge_test

import (
	"net/http"
	"testing"

	"github.com/mr-tron/base58"

	"countersign/scripts/sandbox/bagsandbox"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

const accrued = 20_000_000 // in each of two vaults

func (s scene) claim() [][]byte {
	s.t.Helper()
	var answers []struct{ Tx string }
	s.call(http.MethodPost, "/token-launch/claim-txs/v3", `{"feeClaimer":"`+wallet.String()+`","tokenMint":"`+s.world.TokenMint+`"}`, &answers)
	var list [][]byte
	for _, answer := range answers {
		raw, err := base58.Decode(answer.Tx)
		s.must(err)
		list = append(list, raw)
	}
	return list
}

// claiming are the bounds of an honest caller for one step of a claim.
func claiming(last bool) judge.Request {
	r := judge.Request{Flow: effects.Claim, Bounds: effects.Bounds{
		MaxFee: 20_000, MaxRent: 2_100_000, Programs: []solana.PublicKey{solana.FeeShareV2Program},
	}}
	if last {
		r.Bounds.MinIn = map[solana.PublicKey]amount.Units{amount.SOL: 2 * accrued}
	}
	return r
}

func TestHonestClaimsPassAndLand(t *testing.T) {
	s := startScene(t)
	for name, test := range map[string]struct {
		behaviour bagsandbox.Behaviour
		class     effects.Class
	}{
		"legacy":    {bagsandbox.Behaviour{SwapVersion: "v0", ClaimStyle: "legacy", ClaimTransactions: 2}, effects.Guarded},
		"sponsored": {bagsandbox.Behaviour{SwapVersion: "v0", ClaimStyle: "sponsored", ClaimTransactions: 2}, effects.Unguarded},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.must(s.api.SetBehaviour(test.behaviour))
			s.must(s.api.Accrue(t.Context(), accrued))
			list := s.claim()
			paid := amount.Units(0)
			for i, raw := range list {
				last := i == len(list)-1
				if last && len(list) > 1 {
					later := claiming(true)
					later.Later = true
					if early, err := s.judge.Judge(t.Context(), raw, later); err != nil || early.Effects().Simulated() {
						t.Errorf("judged before its turn: %v, simulated %v", err, early.Effects().Simulated())
					}
				}
				judged, err := s.judge.Judge(t.Context(), raw, claiming(last))
				if err != nil {
					t.Fatalf("step %d: %v", i+1, err)
				}
				if got := judged.Effects().Class(); got != test.class {
					t.Errorf("step %d: class %s, want %s", i+1, got, test.class)
				}
				if failure := s.send(signed(judged.Tx().Raw(), judged.Tx().WalletSlot())); failure != "" {
					t.Fatalf("step %d failed: %s", i+1, failure)
				}
				found := judged.Effects()
				paid += found.BaseFee() + found.PriorityFee() + found.Rent() - found.RentReturned()
			}
			if got, want := s.lamports(wallet.String()), startLamports+2*accrued-uint64(paid); got != want {
				t.Errorf("the wallet holds %d lamports, want %d", got, want)
			}
		})
	}
}

func TestHostileClaimsAreRefused(t *testing.T) {
	s := startScene(t)
	for _, test := range []struct {
		mode bagsandbox.Mode
		want fault.Code
	}{
		{bagsandbox.ClaimExtraTransfer, fault.IntentMismatch},
		{bagsandbox.ClaimOtherRecipient, fault.PriceMoved},
		{bagsandbox.ClaimHiddenRecipient, fault.PriceMoved},
		{bagsandbox.ClaimCloseToThief, fault.TransactionRefused},
		{bagsandbox.ClaimBigPriorityFee, fault.OutsideBounds},
		{bagsandbox.ClaimBadBlockhash, fault.BlockhashExpired},
		{bagsandbox.ClaimHugeTransaction, fault.TransactionTooLarge},
		{bagsandbox.SponsorMissing, fault.TransactionMalformed},
		{bagsandbox.SponsorBadSignature, fault.TransactionMalformed},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			s := s.in(t)
			s.reset()
			style := bagsandbox.Behaviour{SwapVersion: "v0", ClaimStyle: "legacy", ClaimTransactions: 1}
			if test.mode == bagsandbox.SponsorMissing || test.mode == bagsandbox.SponsorBadSignature {
				style.ClaimStyle = "sponsored"
			}
			s.must(s.api.SetBehaviour(style))
			s.must(s.api.Accrue(t.Context(), accrued))
			s.must(s.api.Misbehave(bagsandbox.Misbehaviour{Mode: test.mode}))
			list := s.claim()
			var err error
			for i, raw := range list {
				if _, err = s.judge.Judge(t.Context(), raw, claiming(i == len(list)-1)); err != nil {
					break
				}
			}
			if !fault.Is(err, test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// latest is a blockhash that the chain takes.
func (s scene) latest() solana.Hash {
	s.t.Helper()
	var answer struct {
		Value struct{ Blockhash solana.Hash }
	}
	s.must(s.rpc.Call(s.t.Context(), "getLatestBlockhash", []any{map[string]string{"commitment": "confirmed"}}, &answer))
	return answer.Value.Blockhash
}

func TestTransfersAreCompleteAndExact(t *testing.T) {
	s := startScene(t)
	friend := wallet
	friend[0] ^= 0x55
	token := s.key(s.world.TokenMint)
	account := s.tokenAccount()
	friendly := solana.AssociatedTokenAddress(friend, token, solana.TokenProgram)
	request := func(mint solana.PublicKey, units amount.Units) judge.Request {
		return judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{mint: units}, MaxFee: 5_000, MaxRent: 2_100_000,
			Recipients: []solana.PublicKey{friend},
		}}
	}
	for name, test := range map[string]struct {
		calls []decodetest.Call
		r     judge.Request
		want  fault.Code
	}{
		"SOL":            {[]decodetest.Call{decodetest.Transfer(wallet, friend, 1_000_000)}, request(amount.SOL, 1_000_000), ""},
		"SOL, more":      {[]decodetest.Call{decodetest.Transfer(wallet, friend, 1_000_001)}, request(amount.SOL, 1_000_000), fault.IntentMismatch},
		"SOL, less":      {[]decodetest.Call{decodetest.Transfer(wallet, friend, 999_999)}, request(amount.SOL, 1_000_000), fault.IntentMismatch},
		"SOL, elsewhere": {[]decodetest.Call{decodetest.Transfer(wallet, solana.PublicKey{8}, 1_000_000)}, request(amount.SOL, 1_000_000), fault.IntentMismatch},
		"SOL, and again": {[]decodetest.Call{decodetest.Transfer(wallet, friend, 1_000_000), decodetest.Transfer(wallet, friend, 1)}, request(amount.SOL, 1_000_000), fault.IntentMismatch},
		"tokens to a new account": {[]decodetest.Call{
			decodetest.CreateIdempotent(wallet, friend, token, solana.TokenProgram),
			decodetest.TransferChecked(solana.TokenProgram, account, token, friendly, wallet, 77, s.world.TokenDecimals),
		}, request(token, 77), ""},
		"tokens, and a delegate": {[]decodetest.Call{
			decodetest.CreateIdempotent(wallet, friend, token, solana.TokenProgram),
			decodetest.TransferChecked(solana.TokenProgram, account, token, friendly, wallet, 77, s.world.TokenDecimals),
			decodetest.Approve(solana.TokenProgram, account, friend, wallet, 1),
		}, request(token, 77), fault.TransactionRefused},
		"tokens, as SOL": {[]decodetest.Call{
			decodetest.CreateIdempotent(wallet, friend, token, solana.TokenProgram),
			decodetest.TransferChecked(solana.TokenProgram, account, token, friendly, wallet, 77, s.world.TokenDecimals),
		}, request(amount.SOL, 77), fault.IntentMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.reset()
			s.must(s.net.SetAccount(t.Context(), friend.String(), localnetFriend))
			raw := decodetest.Legacy(wallet, s.latest(), test.calls...).Marshal()
			judged, err := s.judge.Judge(t.Context(), raw, test.r)
			if test.want != "" {
				if !fault.Is(err, test.want) {
					t.Errorf("%v, want %s", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			found := judged.Effects()
			if found.Class() != effects.Complete || len(found.Payments()) != 1 || found.Payments()[0].Recipient != friend {
				t.Errorf("class %s, payments %+v", found.Class(), found.Payments())
			}
			if failure := s.send(signed(judged.Tx().Raw(), 0)); failure != "" {
				t.Fatalf("failed on chain: %s", failure)
			}
			out := uint64(found.Changes()[0].Out)
			if found.Changes()[0].Mint != amount.SOL {
				out = 0
			}
			if got, want := s.lamports(wallet.String()), startLamports-out-uint64(found.BaseFee()+found.Rent()); got != want {
				t.Errorf("the wallet holds %d lamports, the effects say %d", got, want)
			}
		})
	}
}
