package explain_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/explain"
	"countersign/signerd/internal/policy"
)

// TestExplainSaysWhatTheBytesShowWithoutAChain: nothing answers, or what
// answers is another network. The bytes speak, and both are refused.
func TestExplainSaysWhatTheBytesShowWithoutAChain(t *testing.T) {
	s := startScene(t)
	s.reset()
	swap, minimum := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	account := solana.AssociatedTokenAddress(wallet, s.key(s.world.TokenMint), solana.TokenProgram)
	approve := decodetest.Legacy(wallet, s.latest(), decodetest.Approve(solana.TokenProgram, account, friend, wallet, 1))
	offline := s
	var err error
	offline.chain, err = chain.New([]string{"http://127.0.0.1:1"}, chain.Options{Timeout: time.Second})
	s.must(err)
	s.golden("offline-swap.txt", offline.explain([]byte(swap), s.out("0.05 SOL"), s.arrives(stub(minimum))))
	if got := offline.explain(approve.Marshal()); got.Verdict.By != "builtin" || got.Verdict.Code != string(fault.TransactionRefused) {
		t.Errorf("an approval, refused whatever the chain says: %+v", got.Verdict)
	}
	s.must(s.net.Fault(t.Context(), localnet.Fault{Kind: localnet.WrongGenesis, Method: "getGenesisHash"}))
	transfer := decodetest.Legacy(wallet, s.latest(), decodetest.Transfer(wallet, friend, 10_000_000))
	s.golden("wrong-network.txt", s.explain(transfer.Marshal()))
}

// TestExplainBelievesNoHalfOfAnAnswer: whichever call fails, the transaction is
// explained and not allowed.
func TestExplainBelievesNoHalfOfAnAnswer(t *testing.T) {
	s := startScene(t)
	s.reset()
	text, minimum := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	for _, method := range []string{
		"getGenesisHash", "getMultipleAccounts", "isBlockhashValid", "simulateTransaction", "getMinimumBalanceForRentExemption", "getBalance",
	} {
		for _, kind := range []string{localnet.HTTP500, localnet.Garbage} {
			s.must(s.net.Fault(t.Context(), localnet.Fault{Kind: kind, Method: method}))
			report := s.explain([]byte(text), s.out("0.05 SOL"), s.arrives(stub(minimum)))
			if report.Decision != explain.Refused || report.Verdict.By != "not_checked" || len(report.Instructions) != 8 {
				t.Errorf("%s with %s: %s, %+v, %d instructions", method, kind, report.Decision, report.Verdict, len(report.Instructions))
			}
			s.must(s.net.ClearFaults(t.Context()))
		}
	}
	s.must(s.net.Fault(t.Context(), localnet.Fault{Kind: localnet.HTTP500, Method: "getLatestBlockhash"}))
	if report := s.explain([]byte(vectorA)); report.Verdict.By != "not_checked" || report.Transaction.Blockhash.Replaced {
		t.Errorf("an expired blockhash, and no fresh one: %+v, %+v", report.Verdict, report.Transaction.Blockhash)
	}
}

// TestExplainReadsWhatTheWalletHasSigned: it is refused, and told all the same,
// with its id.
func TestExplainReadsWhatTheWalletHasSigned(t *testing.T) {
	s := startScene(t)
	s.reset()
	tx := decodetest.Legacy(wallet, s.latest(), decodetest.Transfer(wallet, friend, 10_000_000))
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	tx.Signatures[0] = solana.Signature(ed25519.Sign(key, tx.Message.Marshal()))
	report := s.explain(tx.Marshal())
	if report.Transaction.ID != tx.Signatures[0].String() {
		t.Errorf("transaction id %s, want %s", report.Transaction.ID, tx.Signatures[0])
	}
	s.golden("signed-transfer.txt", report)
}

// TestExplainReadsV1: the priority fee stands in the header, as a total.
func TestExplainReadsV1(t *testing.T) {
	s := startScene(t)
	s.reset()
	config := solana.Config{PriorityFee: new(uint64(7_000)), UnitLimit: new(uint32(10_000)), LoadedDataLimit: new(uint32(200_000))}
	tx := decodetest.V1(wallet, s.latest(), config, decodetest.Transfer(wallet, friend, 10_000_000))
	s.golden("v1-transfer.txt", s.explain(tx.Marshal()))
}

// TestExplainTakesTheFlowItIsGiven: the same bytes are no claim.
func TestExplainTakesTheFlowItIsGiven(t *testing.T) {
	s := startScene(t)
	s.reset()
	text, _ := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	swap, claim := s.explain([]byte(text)), s.explain([]byte(text), flow(effects.Claim))
	if swap.Decision != explain.Allowed || swap.Flow != "swap" || !swap.OwnBounds {
		t.Errorf("as a swap: %s, %s, by its own bounds: %v", swap.Decision, swap.Flow, swap.OwnBounds)
	}
	if claim.Decision != explain.Refused || !strings.Contains(claim.Verdict.Reason, "no place in a claim") {
		t.Errorf("as a claim: %s, %s", claim.Decision, claim.Verdict.Reason)
	}
}

// TestExplainBoundsItsLists: a transaction of nothing but small instructions
// does not fill the screen.
func TestExplainBoundsItsLists(t *testing.T) {
	s := startScene(t)
	s.reset()
	calls := slices.Repeat([]decodetest.Call{decodetest.Memo("x")}, 200)
	report := s.explain(decodetest.Legacy(wallet, s.latest(), calls...).Marshal())
	if len(report.Instructions) != 64 || report.More != 136 {
		t.Errorf("%d instructions are listed and %d not", len(report.Instructions), report.More)
	}
}

// TestExplainNamesRecipientsOfTheBook: by the owner's name, which lowers what
// the default policy asks for.
func TestExplainNamesRecipientsOfTheBook(t *testing.T) {
	s := startScene(t)
	s.reset()
	tx := decodetest.Legacy(wallet, s.latest(), decodetest.Transfer(wallet, friend, 10_000_000))
	book := func(r *explain.Request) { r.Book = []effects.Recipient{{Name: "alice", Address: friend}} }
	report := s.explain(tx.Marshal(), book)
	if len(report.Payments) != 1 || report.Payments[0].Name != "alice" || report.Payments[0].Recipient != friend.String() {
		t.Errorf("payments %+v", report.Payments)
	}
	if slices.ContainsFunc(report.Findings, func(f explain.Finding) bool { return f.Code == effects.FirstSeenRecipient }) {
		t.Errorf("a recipient of the book is first seen: %+v", report.Findings)
	}
	s.golden("transfer-to-alice.txt", report)
}

func FuzzReadInput(f *testing.F) {
	f.Add([]byte(vectorA))
	f.Add([]byte("AQAB"))
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, file []byte) {
		input, err := explain.ReadInput(file)
		if err != nil {
			return
		}
		if len(input.Raw) > len(file) {
			t.Errorf("%d bytes out of a file of %d", len(input.Raw), len(file))
		}
		where, wrong := explain.Locate(input.Raw)
		if _, err := solana.ParseTransaction(input.Raw); err == nil && wrong {
			t.Errorf("a sound transaction ends at %s", where)
		}
	})
}

// TestExplainRefusesWhatNoToolAsksFor: signerd refuses these before it judges
// them, so they are not allowed.
func TestExplainRefusesWhatNoToolAsksFor(t *testing.T) {
	s := startScene(t)
	s.reset()
	token := s.key(s.world.TokenMint)
	mine, theirs := solana.AssociatedTokenAddress(wallet, token, solana.TokenProgram), solana.AssociatedTokenAddress(friend, token, solana.TokenProgram)
	tokens := []decodetest.Call{
		decodetest.CreateIdempotent(wallet, friend, token, solana.TokenProgram),
		decodetest.TransferChecked(solana.TokenProgram, mine, token, theirs, wallet, 7_000_000, 6),
	}
	for name, test := range map[string]struct {
		says  string
		calls []decodetest.Call
	}{
		"two recipients": {"2 others are paid, and a transfer pays 1", []decodetest.Call{
			decodetest.Transfer(wallet, friend, 10_000_000), decodetest.Transfer(wallet, keyOf(99), 10_000_000),
		}},
		"two assets":          {"of 2 assets something may leave", append(tokens, decodetest.Transfer(wallet, friend, 10_000_000))},
		"nothing of an asset": {"nothing of SOL leaves", []decodetest.Call{decodetest.Transfer(wallet, friend, 0)}},
	} {
		report := s.explain(decodetest.Legacy(wallet, s.latest(), test.calls...).Marshal())
		if report.Decision != explain.Refused || !strings.Contains(report.Verdict.Reason, test.says) {
			t.Errorf("%s: %s, %s", name, report.Decision, report.Verdict.Reason)
		}
	}
	sale, _ := s.trade(s.world.TokenMint, s.world.WSOL, 1_000_000)
	text, err := os.ReadFile(filepath.Join("testdata", "policy.toml"))
	s.must(err)
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("{{token}}"), []byte(s.world.TokenMint)), []byte("decimals = 6"), []byte("decimals = 9"))
	s.policy, err = policy.Load(text)
	s.must(err)
	if report := s.explain([]byte(sale)); report.Decision != explain.Refused || !strings.Contains(report.Verdict.Reason, "the owner must correct it") {
		t.Errorf("other decimals than the mint's: %s, %s", report.Decision, report.Verdict.Reason)
	}
}
