package liar_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	signerv1 "countersign/proto/signer/v1"
	"countersign/scripts/liar"
	"countersign/scripts/localnet"
	"countersign/scripts/stack"
	"countersign/shared/udsgrpc"
)

// The lies of a run, and who tells them at a time.
const (
	told    = 1_000
	greed   = 50
	tellers = 6
	seed    = 20_261_201
)

// The caps of this signer, in lamports and base units of six decimals: small,
// so that greed reaches them.
const (
	perTransaction      = 100_000_000
	perSession          = 150_000_000
	perDay              = 500_000_000
	tokenPerTransaction = 1_000_000_000
	tokenPerDay         = 10_000_000_000
	tokens              = 50_000_000_000
)

// loose is a policy as loose as an owner can make it without giving up the
// caps: the code suffices for strangers and for what nothing guards.
var loose = []stack.Replacement{
	{Old: `per_session = "1 SOL"`, New: `per_session = "0.15 SOL"`},
	{Old: `per_day = "2 SOL"`, New: `per_day = "0.5 SOL"`},
	{Old: `transactions_per_hour = 30`, New: `transactions_per_hour = 0`},
	{Old: `new = "human"`, New: `new = "confirm"`},
	{Old: `unguarded = "human"`, New: `unguarded = "confirm"`},
	{Old: `allow_v1 = false`, New: `allow_v1 = true`},
}

// TestCompromisedMCPDStaysWithinTheCaps: whoever owns mcpd can spend what the
// caps allow, and not a lamport more, as the chain shows.
func TestCompromisedMCPDStaysWithinTheCaps(t *testing.T) {
	w := start(t)
	before := w.look()

	// One session: its own cap holds.
	w.tell(liar.Greed(12, seed))
	w.within("one session", before, perSession, 5*tokenPerTransaction)

	// Then as many as the policy lets begin, for all the lies.
	for range 25 {
		w.check(w.liar.Connect())
	}
	w.tell(liar.Lies(told, seed))
	w.tell(liar.Greed(greed, seed+1))
	lost := w.within("all sessions", before, perDay, tokenPerDay)

	w.untouched()
	w.report(lost)
	w.limitsAgree(lost)
	w.check(w.stack.StopSigner())
	if out, err := w.stack.Signerd(t.Context(), "", "audit", "verify"); err != nil {
		t.Errorf("the audit log does not verify: %v %s", err, out)
	}
}

// world is a signerd with a liar before it.
type world struct {
	t     *testing.T
	ctx   context.Context //nolint:containedctx // It lives exactly as long as the test.
	stack *stack.Stack
	liar  *liar.Liar
}

func start(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs-") // Sockets need short paths.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-trimpath", "-o", dir+string(filepath.Separator), "../../signerd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build signerd: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	s, err := stack.Start(ctx, stack.Options{
		Dir: dir, Bin: dir, CapTokens: true, Policy: loose, Log: io.Discard,
		Chain: localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag, FinalizedLag: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // The test stops the signer itself.
	w := &world{t: t, ctx: ctx, stack: s}
	w.check(s.Bags.Endow(ctx, s.World.TokenMint, tokens))
	w.check(s.Bags.Endow(ctx, s.World.Token2022Mint, tokens))
	w.liar = liar.New(liar.Target{
		Socket: s.AgentSocket(), ServerUID: uint32(os.Getuid()), Chain: s.Chain, API: s.Bags, APIKey: stack.APIKey, World: s.World,
		Room: perTransaction, TokenRoom: tokenPerTransaction,
	})
	t.Cleanup(func() { _ = w.liar.Close() })
	w.check(w.liar.Connect())
	w.check(s.Chain.Airdrop(ctx, w.liar.Crony(), 1_000_000_000))
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// tell tells lies, some at a time.
func (w *world) tell(list []liar.Lie) {
	w.t.Helper()
	queue := make(chan liar.Lie)
	var telling sync.WaitGroup
	for range tellers {
		telling.Go(func() {
			for lie := range queue {
				ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
				if err := w.liar.Tell(ctx, lie); err != nil {
					w.t.Error(err)
				}
				cancel()
			}
		})
	}
	for _, lie := range list {
		queue <- lie
	}
	close(queue)
	telling.Wait()
}

// purse is what the observer sees of the wallet.
type purse struct {
	lamports   uint64
	tokens     map[string]uint64
	signatures map[string]bool
}

func (w *world) look() purse {
	w.t.Helper()
	w.check(w.stack.Chain.Advance(w.ctx, 2))
	p := purse{tokens: map[string]uint64{}, signatures: map[string]bool{}}
	var err error
	p.lamports, err = w.stack.Eye.Balance(w.ctx, w.stack.Wallet)
	w.check(err)
	for _, mint := range w.mints() {
		p.tokens[mint], _, err = w.stack.Eye.TokenAmount(w.ctx, w.stack.TokenAccount(mint))
		w.check(err)
	}
	history, err := w.stack.Eye.Signatures(w.ctx, w.stack.Wallet)
	w.check(err)
	for _, each := range history {
		p.signatures[each.Signature] = true
	}
	return p
}

func (w *world) mints() []string {
	return []string{w.stack.World.WSOL, w.stack.World.TokenMint, w.stack.World.Token2022Mint}
}

// loss is what left the wallet. lamports is the sum over its transactions, each
// for itself: what came in through one makes good for none.
type loss struct {
	lamports uint64
	tokens   map[string]uint64
	landed   int
}

func (w *world) loss(before purse) loss {
	w.t.Helper()
	after := w.look()
	lost := loss{tokens: map[string]uint64{}}
	for signature := range after.signatures {
		if before.signatures[signature] {
			continue
		}
		transaction, known, err := w.stack.Eye.Transaction(w.ctx, signature)
		if err != nil || !known {
			w.t.Fatalf("transaction %s: known %v, %v", signature, known, err)
		}
		wallet := transaction.Balances[w.stack.Wallet]
		lost.lamports += wallet.Pre - min(wallet.Pre, wallet.Post)
		lost.landed++
	}
	for _, mint := range w.mints() {
		lost.tokens[mint] = before.tokens[mint] - min(before.tokens[mint], after.tokens[mint])
	}
	if net := before.lamports - min(before.lamports, after.lamports); net > lost.lamports {
		w.t.Errorf("the wallet has %d lamports less, its transactions explain %d", net, lost.lamports)
	}
	return lost
}

// within demands that the loss is real, and no larger than the caps.
func (w *world) within(when string, before purse, most, mostTokens uint64) loss {
	w.t.Helper()
	lost := w.loss(before)
	if lost.landed == 0 || lost.lamports == 0 {
		w.t.Errorf("%s: nothing was spent, so nothing is shown", when)
	}
	if lost.lamports > most {
		w.t.Errorf("%s: the wallet lost %d lamports, the cap is %d", when, lost.lamports, most)
	}
	for mint, units := range lost.tokens {
		if units > mostTokens {
			w.t.Errorf("%s: the wallet lost %d of token %s, the cap is %d", when, units, mint, mostTokens)
		}
	}
	w.t.Logf("%s: %d transactions landed, %d lamports left of %d allowed, tokens %v", when, lost.landed, lost.lamports, most, lost.tokens)
	return lost
}

// untouched demands that the wallet and its accounts are still the owner's.
func (w *world) untouched() {
	w.t.Helper()
	account, exists, err := w.stack.Eye.Account(w.ctx, w.stack.Wallet)
	w.check(err)
	const system = "11111111111111111111111111111111"
	if !exists || account.Owner != system || len(account.Data) > 0 {
		w.t.Errorf("the wallet is %+v", account)
	}
	for _, mint := range w.mints() {
		token, exists, err := w.stack.Eye.TokenAccount(w.ctx, w.stack.TokenAccount(mint))
		w.check(err)
		if exists && (token.Owner != w.stack.Wallet || token.Delegate != "" || token.CloseAuthority != "" || token.Frozen) {
			w.t.Errorf("the token account of %s is %+v", mint, token)
		}
		if !exists && mint != w.stack.World.WSOL {
			w.t.Errorf("the token account of %s is gone", mint)
		}
	}
	nonce, exists, err := w.stack.Eye.Account(w.ctx, w.stack.World.Nonce)
	w.check(err)
	if !exists || string(nonce.Data[8:40]) != string(w.nonceAuthority()) {
		w.t.Errorf("the wallet's nonce account is %+v", nonce)
	}
}

// nonceAuthority is the wallet's key, as bytes.
func (w *world) nonceAuthority() []byte {
	raw, err := base58.Decode(w.stack.Wallet)
	w.check(err)
	return raw
}

// limitsAgree demands that signerd admits to at least the loss.
func (w *world) limitsAgree(lost loss) {
	w.t.Helper()
	connection, err := udsgrpc.NewClient(w.stack.AgentSocket(), []uint32{uint32(os.Getuid())})
	w.check(err)
	defer connection.Close()
	answer, err := signerv1.NewSignerServiceClient(connection).GetLimits(w.ctx, &signerv1.GetLimitsRequest{})
	w.check(err)
	seen := 0
	for _, window := range answer.GetLimits().GetWindows() {
		if window.GetName() != "day" {
			continue
		}
		seen++
		gone := lost.lamports
		if raw := window.GetMint(); len(raw) > 0 {
			gone = lost.tokens[base58.Encode(raw)]
		}
		if counted := window.GetUsed() + window.GetReserved(); counted < gone || counted > window.GetCap() {
			w.t.Errorf("the day's window of %x counts %d, the wallet lost %d, the cap is %d", window.GetMint(), counted, gone, window.GetCap())
		}
	}
	if seen != 3 {
		w.t.Errorf("%d windows of a day, want SOL and two tokens", seen)
	}
}

// report prints the table, and fails where it shows nothing.
func (w *world) report(lost loss) {
	w.t.Helper()
	all, refused, landed := 0, 0, 0
	for _, tally := range w.liar.Tallies() {
		w.t.Logf("%s %v", tally, tally.Reasons)
		all, refused, landed = all+tally.Told, refused+tally.Outcomes[liar.Refused], landed+tally.Outcomes[liar.Landed]
	}
	w.t.Logf("%d lies and spends, %d refused, %d landed; lost %d lamports of %d, tokens %v of %d",
		all, refused, landed, lost.lamports, perDay, lost.tokens, tokenPerDay)
	if refused == 0 || landed == 0 || all != 12+told+greed {
		w.t.Errorf("%d told, %d refused, %d landed", all, refused, landed)
	}
}
