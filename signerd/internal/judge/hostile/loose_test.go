package hostile

import (
	"testing"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
)

// TestLooseLamportsAreWarnedOfChargedAndTold: SOL that lies in a token account
// beyond its rent can be taken by a program that deceives simulation, and no
// guard asserts it. So it is warned of beforehand, counts against the caps like
// what may leave, and the receipt tells that it is gone.
func TestLooseLamportsAreWarnedOfChargedAndTold(t *testing.T) {
	const loose = 400_000_000
	withLoose := func(s *scene, account chain.Account) {
		account.Lamports += loose
		s.put(account)
		s.lower()
	}
	loot := place("loot of wrapped SOL")
	s := startScene(t)
	for _, a := range fill([]attack{
		{
			name: "taken out of a token account", further: []decodetest.Meta{decodetest.W(thief)},
			harm: func(p *script) {
				const withdrawExcessLamports = 38
				p.does(decodetest.Call{
					Program: solana.TokenProgram, Data: []byte{withdrawExcessLamports},
					Accounts: []decodetest.Meta{decodetest.W(plain.ofWallet), decodetest.W(thief), decodetest.S(wallet)},
				})
			},
			on: (*scene).raise, off: func(s *scene) {
				withLoose(s, chaintest.Token(plain.ofWallet, plain.program, plain.mint, wallet, startTokens))
			},
		},
		{
			name: "not yet counted as wrapped SOL", further: []decodetest.Meta{decodetest.W(wrapped), decodetest.W(loot), decodetest.R(solana.WrappedSOL)},
			harm: func(p *script) {
				p.does(decodetest.SyncNative(wrapped), decodetest.TransferChecked(solana.TokenProgram, wrapped, solana.WrappedSOL, loot, wallet, loose, amount.SOLDecimals))
			},
			on: (*scene).raise, off: func(s *scene) {
				s.put(chaintest.Token(loot, solana.TokenProgram, solana.WrappedSOL, thief, 0))
				withLoose(s, chaintest.Token(wrapped, solana.TokenProgram, solana.WrappedSOL, wallet, startWrapped))
			},
		},
	}) {
		t.Run(a.name, func(t *testing.T) { s.with(t, a.token).losesLoose(a, loose) })
	}
}

func (s *scene) losesLoose(a attack, loose amount.Units) {
	s.t.Helper()
	s.reset()
	a.off(s)
	a.warned = effects.LooseLamports
	confirmed := s.confirms(a)
	used := s.usedToday()
	s.node.springs(func() { s.raise() })
	receipt, err := s.flow.Execute(s.t.Context(), confirmed, ignore)
	check(s.t, err)
	if receipt.Outcome != flow.Landed {
		s.t.Fatalf("outcome %s, fault %+v", receipt.Outcome, receipt.Fault)
	}
	const agreed = price + fee
	for _, change := range receipt.Transactions[0].Changes {
		if change.Mint == amount.SOL && (change.Out != agreed+loose || change.In != 0) {
			s.t.Errorf("the receipt tells %s lamports out and %s in, and %s are gone", change.Out, change.In, agreed+loose)
		}
	}
	if charged := s.usedToday() - used; charged < agreed+loose {
		s.t.Errorf("%s lamports are charged, and %s are gone", charged, agreed+loose)
	}
}

// usedToday is what stands against the cap on SOL of a day.
func (s *scene) usedToday() amount.Units {
	s.t.Helper()
	used, _ := s.today()
	return used
}

// today is what counts against the day's cap on SOL, and what is held for what
// has no proven end.
func (s *scene) today() (used, reserved amount.Units) {
	s.t.Helper()
	windows, _, err := s.flow.Limits(s.t.Context(), "")
	check(s.t, err)
	for _, window := range windows {
		if window.Name == "day" && window.Mint == amount.SOL {
			return window.Used, window.Reserved
		}
	}
	s.t.Fatal("there is no cap on SOL of a day")
	return 0, 0
}
