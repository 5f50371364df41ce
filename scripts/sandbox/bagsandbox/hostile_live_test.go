package bagsandbox

import (
	"testing"

	"countersign/scripts/sandbox/internal/build"
)

// scene is the chain before and after one hostile transaction that nothing
// guarded, as the honest quote and the numbers tell it.
type scene struct {
	c           client
	chain       live
	answer      swapReply
	paid        uint64
	before, now balances
	thiefBefore balances
	thief       balances
}

// honest is what the wallet would hold had it been served honestly.
func (s scene) honest() balances {
	want := s.before
	want.Lamports -= spent + networkFee(s.answer)
	want.Token += s.paid
	return want
}

const spent = 50_000_000

// play serves a mode, signs what comes and sends it.
func play(t *testing.T, c client, chain live, m Misbehaviour) scene {
	t.Helper()
	chain.fund(testWallet.PublicKey(), startLamports)
	for _, mint := range c.s.layout.Mints() {
		if err := c.s.Endow(t.Context(), mint.Address.String(), startTokens); err != nil {
			t.Fatal(err)
		}
	}
	w := c.s.World()
	s := scene{c: c, chain: chain, before: chain.of(c, testWallet.PublicKey()), thiefBefore: chain.of(c, c.s.layout.Thief)}
	c.misbehave(m)
	quote, q := c.quoted(w.WSOL, w.TokenMint, text(spent))
	s.paid = number(t, q.OutAmount)
	c.decode(c.post("/trade/swap", c.swapBody(quote, w.Wallet)), &s.answer)
	if m.Mode == BaitAndSwitch {
		if failure := chain.simulate(signed(t, s.answer.SwapTransaction)); failure != "" {
			t.Fatalf("simulation: %s", failure)
		}
		if err := c.s.Trigger(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	chain.mustLand(signed(t, s.answer.SwapTransaction))
	s.now, s.thief = chain.of(c, testWallet.PublicKey()), chain.of(c, c.s.layout.Thief)
	return s
}

// TestHostileSwapsDoHarm proves that each mode is a real attack: signed as it
// comes, it lands and harms.
func TestHostileSwapsDoHarm(t *testing.T) {
	c, chain := startRich(t)
	layout := c.s.layout
	wallet, thief := testWallet.PublicKey(), layout.Thief.String()
	tokens := build.AssociatedAccount(wallet, layout.Token.Address, build.Token)
	for _, test := range []struct {
		mode Mode
		harm func(scene) bool
	}{
		{Skim, func(s scene) bool {
			return s.now.Lamports == s.honest().Lamports-stolenLamports && s.thief.Lamports == s.thiefBefore.Lamports+stolenLamports
		}},
		{Half, func(s scene) bool { return s.now.Token == s.before.Token+s.paid/2 }},
		{WrongDestination, func(s scene) bool {
			return s.now.Token == s.before.Token && s.thief.Token == s.thiefBefore.Token+s.paid
		}},
		{Delegate, func(s scene) bool { return s.chain.token(tokens).Delegate == thief }},
		{Assign, func(s scene) bool { return s.chain.account(wallet).Owner == thief }},
		{SetOwner, func(s scene) bool { return s.chain.token(tokens).Owner == thief }},
		{CloseAuthority, func(s scene) bool { return s.chain.token(tokens).CloseAuthority == thief }},
		{BaitAndSwitch, func(s scene) bool { return s.now.Lamports == s.honest().Lamports-stolenLamports }},
		{Allocate, func(s scene) bool { return len(s.chain.account(wallet).Data) == 80 }},
		{ExtraTransfer, func(s scene) bool { return s.thief.Lamports == s.thiefBefore.Lamports+stolenLamports }},
		{OtherRecipient, func(s scene) bool {
			return s.now.Token == s.before.Token && s.thief.Token == s.thiefBefore.Token+s.paid
		}},
		{CloseToThief, func(s scene) bool {
			return s.thief.Lamports > s.thiefBefore.Lamports && s.now.Lamports < s.honest().Lamports
		}},
		{WrongMint, func(s scene) bool { return s.now.Token == s.before.Token && s.now.Token2022 > s.before.Token2022 }},
		{MoreIn, func(s scene) bool { return s.now.Lamports == s.honest().Lamports-spent }},
		{BigPriorityFee, func(s scene) bool {
			return s.now.Lamports == s.before.Lamports-spent-5_000-greedyPriorityFee
		}},
		{LowMinimum, func(s scene) bool { return s.now == s.honest() }},
		{UnknownProgram, func(s scene) bool { return s.now == s.honest() }},
		{NonceFirst, func(s scene) bool { return s.now == s.honest() }},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			if s := play(t, client{t: t, s: c.s, key: testKey}, chain.in(t), Misbehaviour{Mode: test.mode}); !test.harm(s) {
				t.Errorf("the wallet went from %+v to %+v, the thief from %+v to %+v, quoted %d", s.before, s.now, s.thiefBefore, s.thief, s.paid)
			}
		})
	}
}

func TestTakeInputRobsASeller(t *testing.T) {
	c, chain := startRich(t)
	w := c.s.World()
	c.misbehave(Misbehaviour{Mode: TakeInput, Param: 4_321})
	before, thief := chain.of(c, testWallet.PublicKey()), chain.of(c, c.s.layout.Thief)
	answer, _ := c.swapped(w.TokenMint, w.WSOL, "1000000")
	chain.mustLand(signed(t, answer.SwapTransaction))
	if got := before.Token - chain.of(c, testWallet.PublicKey()).Token; got != 1_004_321 {
		t.Errorf("%d tokens are gone", got)
	}
	if got := chain.of(c, c.s.layout.Thief).Token - thief.Token; got != 4_321 {
		t.Errorf("the thief has %d more", got)
	}
}

func TestHostileClaimsPayTheThief(t *testing.T) {
	c, chain := startRich(t)
	const fees = 20_000_000
	rent := chain.lamports(c.s.layout.ThiefAccount(build.WSOL, build.Token)) // an empty wSOL account
	for _, test := range []struct {
		mode Mode
		got  func(balances) uint64
		want uint64
	}{
		{ClaimOtherRecipient, func(b balances) uint64 { return b.WSOL }, 2 * fees},
		{ClaimHiddenRecipient, func(b balances) uint64 { return b.WSOL }, 2 * fees},
		{ClaimExtraTransfer, func(b balances) uint64 { return b.Lamports }, stolenLamports},
		{ClaimCloseToThief, func(b balances) uint64 { return b.Lamports }, 2*fees + rent},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			c, chain := client{t: t, s: c.s, key: testKey}, chain.in(t)
			if err := c.s.Accrue(t.Context(), fees); err != nil {
				t.Fatal(err)
			}
			before := chain.of(c, c.s.layout.Thief)
			c.misbehave(Misbehaviour{Mode: test.mode})
			for _, answer := range c.claimed(c.s.World().TokenMint) {
				chain.mustLand(signed(t, answer.Transaction))
			}
			if got := test.got(chain.of(c, c.s.layout.Thief)) - test.got(before); got != test.want {
				t.Errorf("the thief has %d more, want %d", got, test.want)
			}
		})
	}
}
