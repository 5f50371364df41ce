package bagsandbox

import (
	"strconv"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/google/go-cmp/cmp"

	"countersign/scripts/sandbox/internal/build"
)

// The tests in this file execute on the local chain what the sandbox hands
// out, and look at the result through the observer.

const (
	startLamports = 10_000_000_000
	startTokens   = 1_000_000_000_000
)

// balances are what a person holds: absent token accounts hold nothing.
type balances struct {
	Lamports, WSOL, Token, Token2022 uint64
}

// of reads a person's balances from the chain.
func (l live) of(c client, owner solana.PublicKey) balances {
	l.t.Helper()
	layout := c.s.layout
	tokens := func(mint, program solana.PublicKey) uint64 {
		return l.token(build.AssociatedAccount(owner, mint, program)).Amount
	}
	return balances{
		Lamports:  l.lamports(owner),
		WSOL:      tokens(build.WSOL, build.Token),
		Token:     tokens(layout.Token.Address, layout.Token.TokenProgram),
		Token2022: tokens(layout.Token2022.Address, layout.Token2022.TokenProgram),
	}
}

// field is where a mint is counted: SOL for wrapped SOL, which the swaps unwrap.
func (b *balances) field(c client, mint string) *uint64 {
	switch mint {
	case c.s.World().TokenMint:
		return &b.Token
	case c.s.World().Token2022Mint:
		return &b.Token2022
	}
	return &b.Lamports
}

// startRich starts a sandbox on the local chain, the wallet with SOL and both
// tokens.
func startRich(t *testing.T) (client, live) {
	t.Helper()
	chain := startLive(t)
	c := startOn(t, chain.chain.RPCURL)
	chain.fund(testWallet.PublicKey(), startLamports)
	for _, mint := range c.s.layout.Mints() {
		if err := c.s.Endow(t.Context(), mint.Address.String(), startTokens); err != nil {
			t.Fatal(err)
		}
	}
	return c, chain
}

// signed puts the wallet's signature into its slot and leaves the others.
func signed(t *testing.T, text string) []byte {
	t.Helper()
	tx := decodeTransaction(t, text)
	if _, err := tx.PartialSign(func(key solana.PublicKey) *solana.PrivateKey {
		if key == testWallet.PublicKey() {
			return &testWallet
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// networkFee is what the wallet pays when it alone signs.
func networkFee(answer swapReply) uint64 { return 5_000 + answer.PrioritizationFeeLamports }

func TestSwapsLandAndMoveExactlyWhatWasQuoted(t *testing.T) {
	c, chain := startRich(t)
	w := c.s.World()
	for _, version := range []Behaviour{{V0, LegacyClaims, 2}, {Legacy, LegacyClaims, 2}} {
		for _, test := range []struct{ name, in, out, amount string }{
			{"buy", w.WSOL, w.TokenMint, "50000000"},
			{"buy token-2022", w.WSOL, w.Token2022Mint, "70000001"},
			{"token for token-2022", w.TokenMint, w.Token2022Mint, "123456789"},
			{"token-2022 for token", w.Token2022Mint, w.TokenMint, "987654321"},
			{"sell", w.TokenMint, w.WSOL, "100000003"},
			{"sell token-2022", w.Token2022Mint, w.WSOL, "100000000007"},
		} {
			t.Run(string(version.SwapVersion)+" "+test.name, func(t *testing.T) {
				c, chain := client{t: t, s: c.s, key: testKey}, chain.in(t)
				c.behave(version)
				want := chain.of(c, testWallet.PublicKey())
				quote, q := c.quoted(test.in, test.out, test.amount)
				var answer swapReply
				c.decode(c.post("/trade/swap", c.swapBody(quote, w.Wallet)), &answer)
				chain.mustLand(signed(t, answer.SwapTransaction))
				*want.field(c, test.in) -= number(t, test.amount)
				*want.field(c, test.out) += number(t, q.OutAmount)
				want.Lamports -= networkFee(answer)
				if diff := cmp.Diff(want, chain.of(c, testWallet.PublicKey())); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestFirstBuyOpensTheAccount(t *testing.T) {
	chain := startLive(t)
	c := startOn(t, chain.chain.RPCURL)
	chain.fund(testWallet.PublicKey(), startLamports)
	w := c.s.World()
	quote, q := c.quoted(w.WSOL, w.Token2022Mint, "50000000")
	var answer swapReply
	c.decode(c.post("/trade/swap", c.swapBody(quote, w.Wallet)), &answer)
	chain.mustLand(signed(t, answer.SwapTransaction))
	opened := build.AssociatedAccount(testWallet.PublicKey(), c.s.layout.Token2022.Address, build.Token2022)
	want := balances{
		Lamports:  startLamports - 50_000_000 - networkFee(answer) - chain.lamports(opened),
		Token2022: number(t, q.OutAmount),
	}
	if diff := cmp.Diff(want, chain.of(c, testWallet.PublicKey())); diff != "" {
		t.Error(diff)
	}
}

func TestOldQuoteFailsOnceThePriceHasMoved(t *testing.T) {
	c, chain := startRich(t)
	w := c.s.World()
	c.misbehave(Misbehaviour{Mode: PriceMove})
	answer, _ := c.swapped(w.WSOL, w.TokenMint, "50000000")
	before := chain.of(c, testWallet.PublicKey())
	if failure := chain.send(signed(t, answer.SwapTransaction)); failure == "" {
		t.Fatal("a swap below its least amount landed")
	}
	before.Lamports -= networkFee(answer)
	if diff := cmp.Diff(before, chain.of(c, testWallet.PublicKey())); diff != "" {
		t.Errorf("more than the fee: %s", diff)
	}
}

func TestClaimsLandAndPayWhatWasWaiting(t *testing.T) {
	c, chain := startRich(t)
	for _, style := range []ClaimStyle{LegacyClaims, SponsoredClaims, MixedClaims} {
		for count := 1; count <= maxClaimTransactions; count++ {
			for _, mint := range c.s.layout.Mints() {
				t.Run(string(style)+" "+strconv.Itoa(count), func(t *testing.T) {
					c, chain := client{t: t, s: c.s, key: testKey}, chain.in(t)
					c.behave(Behaviour{V0, style, count})
					if err := c.s.Accrue(t.Context(), 30_000_001); err != nil {
						t.Fatal(err)
					}
					want := chain.of(c, testWallet.PublicKey())
					sponsor := chain.lamports(c.s.layout.Sponsor.PublicKey())
					want.Lamports += 2 * 30_000_001
					for _, answer := range c.claimed(mint.Address.String()) {
						tx := decodeTransaction(t, answer.Transaction)
						cost := uint64(len(tx.Signatures))*5_000 + claimPriorityFee
						if len(tx.Signatures) == 2 {
							sponsor -= cost
						} else {
							want.Lamports -= cost
						}
						chain.mustLand(signed(t, answer.Transaction))
					}
					if diff := cmp.Diff(want, chain.of(c, testWallet.PublicKey())); diff != "" {
						t.Error(diff)
					}
					if got := chain.lamports(c.s.layout.Sponsor.PublicKey()); got != sponsor {
						t.Errorf("the sponsor holds %d, want %d", got, sponsor)
					}
				})
			}
		}
	}
}
