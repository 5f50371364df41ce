package hostile

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/scripts/fixtures"
	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

// The people. The thief signs for himself once something was handed to him.
var (
	walletKey, wallet = person(1)
	thiefKey, thief   = person(2)
	scriptable        = solana.MustPublicKey(fixtures.ScriptableProgramID)
	nonceSysvar       = solana.MustPublicKey("SysvarRecentB1ockHashes11111111111111111111")
	rentSysvar        = solana.MustPublicKey("SysvarRent111111111111111111111111111111111")
	// pool is the address that the program signs for: the other side of a trade.
	pool, poolBump = programAddress()
	// flag decides what the program does: it looks whether it holds lamports.
	flag = place("flag")
)

func person(number byte) (ed25519.PrivateKey, solana.PublicKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	return key, solana.PublicKey(key.Public().(ed25519.PublicKey))
}

func place(name string) solana.PublicKey { return solana.PublicKey(sha256.Sum256([]byte(name))) }

func programAddress() (solana.PublicKey, uint8) {
	address, bump, err := solana.FindProgramAddress(nil, scriptable)
	if err != nil {
		panic(err)
	}
	return address, bump
}

// What everybody has at the start.
const (
	startLamports = 2_000_000_000
	startTokens   = 5_000_000
	startWrapped  = 500_000_000
	price         = 50_000_000 // what the trade costs, in lamports
	bought        = 1_000_000  // what it brings, in tokens
	fee           = solana.LamportsPerSignature
)

// scene is the world on a real chain, and a signerd of the wallet whose only
// node is the one that the test can corrupt.
type scene struct {
	t     *testing.T
	net   *localnet.Chain
	node  *node
	eye   *observer.Observer
	rpc   *jsonrpc.Client
	flow  *flow.Flow
	token token
}

func startScene(t *testing.T) *scene {
	t.Helper()
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag, FinalizedLag: 2})
	check(t, err)
	t.Cleanup(net.Stop)
	check(t, localnet.AddFixtures(t.Context(), net))
	rpc, err := jsonrpc.New(net.RPCURL, jsonrpc.Options{})
	check(t, err)
	s := &scene{t: t, net: net, node: startNode(t, net.RPCURL), eye: observer.New(net.RPCURL), rpc: rpc, token: plain}
	s.flow = s.startSigner(s.node.url)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// with is the scene for a subtest.
func (s *scene) with(t *testing.T, token token) *scene {
	next := *s
	next.t, next.token = t, token
	return &next
}

// startSigner runs signerd's stages over these nodes, with files of its own.
func (s *scene) startSigner(nodes ...string) *flow.Flow {
	s.t.Helper()
	return s.startSignerWith(nil, nodes...)
}

// startSignerWith does so by a policy of which some text is replaced.
func (s *scene) startSignerWith(edits []string, nodes ...string) *flow.Flow {
	s.t.Helper()
	t, ctx := s.t, s.t.Context()
	genesis, err := solana.ParseHash(s.net.GenesisHash)
	check(t, err)
	rules, err := policy.Load([]byte(strings.NewReplacer(edits...).Replace(string(generousPolicy(genesis)))))
	check(t, err)
	dir := filepath.Join(t.TempDir(), "state")
	check(t, os.MkdirAll(dir, 0o700))
	signer := s.openKey(dir)
	store, err := sqlite.Create(ctx, filepath.Join(dir, "ledger.db"))
	check(t, err)
	log, err := audit.Create(filepath.Join(dir, "audit.jsonl"))
	check(t, err)
	client, err := chain.New(nodes, chain.Options{Timeout: 10 * time.Second})
	check(t, err)
	sender, err := submit.New(nodes, submit.Options{Wallet: wallet, Interval: 20 * time.Millisecond})
	check(t, err)
	f, err := flow.New(context.WithoutCancel(ctx), flow.Stages{
		Chain: client, Judge: judge.New(client, wallet), Policy: policy.NewLive(rules), Recipients: nobody{}, Book: approval.NewBook(store),
		Ledger: ledger.New(store, wallet, genesis), Signer: signer, Sender: sender, Audit: log,
		Anchor: store.SetAnchor, Logger: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	t.Cleanup(func() {
		f.Close()
		check(t, log.Close())
		check(t, store.Close())
		signer.Close()
	})
	return f
}

// nobody is an address book without entries.
type nobody struct{}

func (nobody) List(context.Context) ([]effects.Recipient, error) { return nil, nil }

// openKey puts the wallet's key into custody.
func (s *scene) openKey(dir string) *custody.Signer {
	s.t.Helper()
	options := custody.Options{Backend: "file", StateDir: dir, PassphraseFile: filepath.Join(dir, "passphrase"), Timeout: 10 * time.Second}
	check(s.t, custody.Prepare(options, false))
	vault, err := custody.Open(options)
	check(s.t, err)
	numbers := make([]int, len(walletKey))
	for i, b := range walletKey {
		numbers[i] = int(b)
	}
	secret, err := json.Marshal(numbers)
	check(s.t, err)
	_, err = vault.Import(s.t.Context(), "main", secret)
	check(s.t, err)
	signer, err := vault.Unlock(s.t.Context(), "main")
	check(s.t, err)
	return signer
}

// generousPolicy sets no limit that could refuse in the judge's stead.
func generousPolicy(genesis solana.Hash) []byte {
	return []byte(strings.NewReplacer(
		`per_transaction = "0.1 SOL"`, `per_transaction = "1000 SOL"`, `per_session = "1 SOL"`, `per_session = "1000 SOL"`,
		`per_day = "2 SOL"`, `per_day = "1000 SOL"`, `transactions_per_hour = 30`, `transactions_per_hour = 0`,
		"swap = [", "swap = [\n  \""+fixtures.ScriptableProgramID+"\",",
	).Replace(string(policy.Default("local", genesis))))
}

// put puts an account on the chain, over what is there.
func (s *scene) put(account chain.Account) {
	s.t.Helper()
	check(s.t, s.net.SetAccount(s.t.Context(), account.Key.String(), localnet.Account{
		Lamports: uint64(account.Lamports), Owner: account.Owner.String(), Data: account.Data,
	}))
}

// system is an account without data.
func system(key solana.PublicKey, lamports amount.Units) chain.Account {
	return chain.Account{Key: key, Lamports: lamports, Owner: solana.SystemProgram}
}

// raise and lower change what the program sees.
func (s *scene) raise() { s.t.Helper(); s.put(system(flag, 1_000_000)) }

func (s *scene) lower() { s.t.Helper(); s.put(system(flag, 0)) }

// reset gives everybody what they had, whatever was done.
func (s *scene) reset() {
	s.t.Helper()
	check(s.t, s.net.ClearFaults(s.t.Context()))
	check(s.t, s.net.Advance(s.t.Context(), 1)) // Or the same bytes would be on chain already.
	s.node.behave()
	for _, account := range s.token.accounts() {
		s.put(account)
	}
	for _, account := range []chain.Account{
		system(wallet, startLamports), system(thief, 10_000_000), system(pool, 10_000_000),
		chaintest.Token(wrapped, solana.TokenProgram, solana.WrappedSOL, wallet, startWrapped),
	} {
		s.put(account)
	}
	s.raise()
}

// belongings are what the wallet has, and what the thief has, on the chain.
func (s *scene) belongings() observer.Snapshot {
	s.t.Helper()
	var list []string
	for _, key := range []solana.PublicKey{
		wallet, wrapped, s.token.ofWallet, s.token.second, s.token.mint, thief, s.token.loot,
	} {
		list = append(list, key.String())
	}
	seen, err := s.eye.Snapshot(s.t.Context(), list...)
	check(s.t, err)
	return seen
}

func (s *scene) blockhash() solana.Hash {
	s.t.Helper()
	text, err := s.net.LatestBlockhash(s.t.Context())
	check(s.t, err)
	hash, err := solana.ParseHash(text)
	check(s.t, err)
	return hash
}

// history is how many transactions of the wallet the chain has.
func (s *scene) history() int {
	s.t.Helper()
	list, err := s.eye.Signatures(s.t.Context(), wallet.String())
	check(s.t, err)
	return len(list)
}

// send signs with a test key and sends without preflight: what anybody with
// that key could do. It returns the transaction's error, empty if it landed.
func (s *scene) send(key ed25519.PrivateKey, raw []byte) string {
	s.t.Helper()
	tx, err := solana.ParseTransaction(raw)
	check(s.t, err)
	tx.Signatures[0] = solana.Signature(ed25519.Sign(key, tx.Message.Marshal()))
	var signature string
	check(s.t, s.rpc.Call(s.t.Context(), "sendTransaction", []any{
		base64.StdEncoding.EncodeToString(tx.Marshal()), map[string]any{"encoding": "base64", "skipPreflight": true},
	}, &signature))
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		sent, ok, err := s.eye.Transaction(s.t.Context(), signature)
		check(s.t, err)
		if ok {
			return sent.Err
		}
	}
	return "not confirmed"
}
