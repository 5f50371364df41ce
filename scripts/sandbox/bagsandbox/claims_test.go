package bagsandbox

import (
	"encoding/binary"
	"net/http"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/scripts/sandbox/internal/build"
)

func (c client) claimed(mint string) []claimAnswer {
	c.t.Helper()
	var list []claimAnswer
	c.decode(c.post("/token-launch/claim-txs/v3", claimBody(c.s.World().Wallet, mint)), &list)
	return list
}

func claimBody(wallet, mint string) string {
	return `{"feeClaimer":"` + wallet + `","tokenMint":"` + mint + `"}`
}

func (c client) behave(b Behaviour) {
	c.t.Helper()
	if err := c.s.SetBehaviour(b); err != nil {
		c.t.Fatal(err)
	}
}

func TestClaimRefusesOtherBodies(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	for _, test := range []struct{ name, body, want string }{
		{"no claimer", `{"tokenMint":"` + w.TokenMint + `"}`, `"feeClaimer" is required`},
		{"list of mints", `{"feeClaimer":"` + w.Wallet + `","tokenMint":["` + w.TokenMint + `"]}`, `"tokenMint" must be a string`},
		{"v2 field", `{"feeClaimer":"` + w.Wallet + `","tokenMint":"` + w.TokenMint + `","claimVirtualPoolFees":true}`, "unknown field"},
		{"no address", claimBody("me", w.TokenMint), "feeClaimer must be a base58 address"},
		{"no mint address", claimBody(w.Wallet, "it"), "tokenMint must be a base58 address"},
		{"stranger", claimBody(w.Thief, w.TokenMint), "No claimable position found"},
		{"unknown mint", claimBody(w.Wallet, w.WSOL), "No claimable position found"},
		{"not on this chain", claimBody(w.Wallet, w.LegacyMint), "No claimable position found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkRefused(t, client{t: t, s: c.s, key: testKey}.post("/token-launch/claim-txs/v3", test.body), http.StatusBadRequest, test.want)
		})
	}
}

func TestClaimRefusesWhatHasBeenPaidOut(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	if err := c.s.Accrue(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, c.post("/token-launch/claim-txs/v3", claimBody(w.Wallet, w.TokenMint)), http.StatusBadRequest, "Nothing to claim")
}

func TestClaimsHaveTheAgreedShapes(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	budget := []string{"budget 02", "budget 03"}
	pull, payOut := []string{"ledger e5"}, []string{"associated 01", "ledger a4", "token 09"}
	counts := map[int][][]string{
		1: {slices.Concat(budget, pull, pull, payOut)},
		2: {slices.Concat(budget, pull, pull), slices.Concat(budget, payOut)},
		3: {slices.Concat(budget, pull), slices.Concat(budget, pull), slices.Concat(budget, payOut)},
	}
	for count, want := range counts {
		for _, style := range []ClaimStyle{LegacyClaims, SponsoredClaims, MixedClaims} {
			c.behave(Behaviour{V0, style, count})
			list := c.claimed(w.TokenMint)
			if len(list) != count {
				t.Fatalf("%d transactions, want %d", len(list), count)
			}
			for i, answer := range list {
				tx := decodeTransaction(t, answer.Transaction)
				if diff := cmp.Diff(want[i], c.outline(tx)); diff != "" {
					t.Errorf("%s, %d of %d: %s", style, i, count, diff)
				}
				sponsored := style == SponsoredClaims || (style == MixedClaims && i == count-1)
				checkClaimSigners(t, tx, sponsored, w.Sponsor)
				if answer.Blockhash.Blockhash != tx.Message.RecentBlockhash.String() || answer.Blockhash.LastValidHeight != memoryHeight {
					t.Errorf("answer names %+v, message %s", answer.Blockhash, tx.Message.RecentBlockhash)
				}
			}
		}
	}
}

// checkClaimSigners: the wallet's slot is empty; a sponsor comes first, pays,
// and has signed these very bytes.
func checkClaimSigners(t *testing.T, tx *solana.Transaction, sponsored bool, sponsor string) {
	t.Helper()
	signers := []solana.PublicKey{testWallet.PublicKey()}
	if sponsored {
		signers = append([]solana.PublicKey{solana.MustPublicKeyFromBase58(sponsor)}, signers...)
	}
	required := int(tx.Message.Header.NumRequiredSignatures)
	if diff := cmp.Diff(signers, []solana.PublicKey(tx.Message.AccountKeys[:required])); diff != "" {
		t.Errorf("signers: %s", diff)
	}
	if !tx.Signatures[len(tx.Signatures)-1].IsZero() {
		t.Error("the wallet's slot is not empty")
	}
	if tx.Message.IsVersioned() != sponsored || (tx.Message.NumLookups() > 0) != sponsored {
		t.Errorf("versioned %t, %d looked up", tx.Message.IsVersioned(), tx.Message.NumLookups())
	}
	if !sponsored {
		return
	}
	message, err := tx.Message.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if !tx.Signatures[0].Verify(signers[0], message) {
		t.Error("the sponsor's signature does not hold")
	}
}

func TestHostileClaimsDifferByWhatTheModeSays(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	thief := solana.MustPublicKeyFromBase58(w.Thief)
	wrapped := build.AssociatedAccount(testWallet.PublicKey(), build.WSOL, build.Token).String()
	for _, test := range []struct {
		mode  Mode
		holds func(client, []*solana.Transaction) bool
	}{
		{ClaimExtraTransfer, func(c client, list []*solana.Transaction) bool {
			s := c.steps(list[1])
			last := s[len(s)-1]
			return last.accounts[1] == thief && binary.LittleEndian.Uint64(last.data[4:]) == stolenLamports && len(c.steps(list[0])) == 4
		}},
		{ClaimOtherRecipient, func(c client, list []*solana.Transaction) bool {
			return c.steps(list[1])[3].accounts[5].String() == w.ThiefAccounts[w.WSOL]
		}},
		{ClaimCloseToThief, func(c client, list []*solana.Transaction) bool { return c.steps(list[1])[4].accounts[1] == thief }},
		{ClaimHiddenRecipient, func(c client, list []*solana.Transaction) bool {
			accounts := c.steps(list[1])[3].accounts
			return accounts[5].String() == wrapped && accounts[13].String() == w.ThiefAccounts[w.WSOL]
		}},
		{ClaimBigPriorityFee, func(c client, list []*solana.Transaction) bool {
			price := binary.LittleEndian.Uint64(c.steps(list[0])[1].data[1:])
			return build.PriorityFee(price, claimUnits) >= greedyPriorityFee
		}},
		{ClaimBadBlockhash, func(_ client, list []*solana.Transaction) bool {
			return list[0].Message.RecentBlockhash != memoryBlockhash
		}},
		{SponsorMissing, func(_ client, list []*solana.Transaction) bool {
			return list[0].Message.Header.NumRequiredSignatures == 2 && list[0].Signatures[0].IsZero()
		}},
		{SponsorBadSignature, func(_ client, list []*solana.Transaction) bool {
			return !list[0].Signatures[0].IsZero() && list[0].VerifySignatures() != nil
		}},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			c := client{t: t, s: c.s, key: testKey}
			c.misbehave(Misbehaviour{Mode: test.mode})
			var list []*solana.Transaction
			for _, answer := range c.claimed(w.TokenMint) {
				list = append(list, decodeTransaction(t, answer.Transaction))
			}
			if !test.holds(c, list) {
				t.Errorf("the claim is not what the mode says: %q then %q", c.outline(list[0]), c.outline(list[1]))
			}
		})
	}
}

func TestHugeClaimIsOverThePacketLimit(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: ClaimHugeTransaction})
	list := c.claimed(c.s.World().TokenMint)
	raw, err := base58.Decode(list[len(list)-1].Transaction)
	if err != nil || len(raw) <= 1232 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}
