package explain_test

import (
	"bytes"
	"crypto/ed25519"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/scripts/localnet"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/sandbox/bagsclient"
	"countersign/scripts/sandbox/world"
	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/explain"
	"countersign/signerd/internal/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	stubKey       = "stub_bags_key_no_network"
	genesis       = "HVTLj6rEoCT9xYLPjzxnnR1QDRT4xyzuWXoK3RGoytoG"
	startLamports = 2_000_000_000
	startTokens   = 5_000_000_000
	spend         = 50_000_000
)

// wallet is that of the vectors in the facts about the API: the public key of
// the seed of 32 ones. sponsor is the other signer of vector B.
var (
	wallet = keyOf(1)
	friend = keyOf(3)
)

func keyOf(seed byte) solana.PublicKey {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return solana.PublicKey(key.Public().(ed25519.PublicKey))
}

// scene is a real chain with a wallet, and the API beside it.
type scene struct {
	t      *testing.T
	net    *localnet.Chain
	api    *bagsandbox.Sandbox
	chain  *chain.Client
	policy *policy.Policy
	world  world.World
}

func startScene(t *testing.T) scene {
	t.Helper()
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 400, ConfirmedLag: localnet.NoLag, Genesis: genesis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Stop)
	api, err := bagsandbox.Start(t.Context(), bagsandbox.Config{RPC: net.RPCURL, Wallet: wallet.String(), APIKey: stubKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	client, err := chain.New([]string{net.RPCURL}, chain.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := scene{t: t, net: net, api: api, chain: client, world: api.World()}
	s.policy = loadPolicy(t, s.world.TokenMint)
	return s
}

// loadPolicy is the policy of the tests, with caps for a token.
func loadPolicy(t *testing.T, token string) *policy.Policy {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "policy.toml"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Load(bytes.ReplaceAll(text, []byte("{{token}}"), []byte(token)))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func (s scene) in(t *testing.T) scene {
	s.t = t
	return s
}

func (s scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// reset gives the wallet its money back, and the API its manners.
func (s scene) reset() {
	s.t.Helper()
	s.api.Reset()
	s.must(s.net.ClearFaults(s.t.Context()))
	s.must(s.api.Trigger(s.t.Context(), false))
	s.set(wallet, localnet.Account{Lamports: startLamports, Owner: solana.SystemProgram.String()})
	s.set(friend, localnet.Account{Lamports: startLamports, Owner: solana.SystemProgram.String()})
	s.must(s.api.Endow(s.t.Context(), s.world.TokenMint, startTokens))
}

func (s scene) set(key solana.PublicKey, account localnet.Account) {
	s.t.Helper()
	s.must(s.net.SetAccount(s.t.Context(), key.String(), account))
}

func (s scene) key(text string) solana.PublicKey {
	s.t.Helper()
	key, err := solana.ParsePublicKey(text)
	s.must(err)
	return key
}

func (s scene) latest() solana.Hash {
	s.t.Helper()
	hash, err := s.chain.LatestBlockhash(s.t.Context())
	s.must(err)
	return hash
}

func (s scene) bags() bagsclient.Client {
	return bagsclient.Client{URL: s.api.URL(), Key: stubKey, Wallet: wallet.String()}
}

// trade is what the API builds, and what it promised at least.
func (s scene) trade(in, out string, units uint64) (text string, minimum amount.Units) {
	s.t.Helper()
	trade, err := s.bags().Trade(s.t.Context(), in, out, units)
	s.must(err)
	return trade.Transaction, amount.Units(trade.Minimum)
}

// claim is what the API builds to claim the fees of the token.
func (s scene) claim() []string {
	s.t.Helper()
	list, err := s.bags().Claim(s.t.Context(), s.world.TokenMint)
	s.must(err)
	return list
}

// asked is what a caller says about a transaction.
type asked func(*explain.Request)

func (s scene) out(texts ...string) asked {
	return func(r *explain.Request) { r.Out = append(r.Out, s.wanted(texts)...) }
}

func (s scene) arrives(texts ...string) asked {
	return func(r *explain.Request) { r.In = append(r.In, s.wanted(texts)...) }
}

func (s scene) wanted(texts []string) []explain.Wanted {
	s.t.Helper()
	var list []explain.Wanted
	for _, text := range texts {
		each, err := explain.ParseWanted(text, s.policy)
		s.must(err)
		list = append(list, each)
	}
	return list
}

func flow(f effects.Flow) asked { return func(r *explain.Request) { r.Flow = f } }

// explain explains the content of a file.
func (s scene) explain(file []byte, asks ...asked) explain.Report {
	s.t.Helper()
	input, err := explain.ReadInput(file)
	s.must(err)
	r := explain.Request{Input: input, Wallet: wallet, Policy: s.policy, Now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	for _, ask := range asks {
		ask(&r)
	}
	report, err := explain.Explain(s.t.Context(), s.chain, r)
	s.must(err)
	return report
}

// changing are the parts of a text that no two runs share: blockhashes, what
// depends on them, and a network that is none.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`blockhash: \w+`), "blockhash: <hash>"},
	{regexp.MustCompile(`message SHA-256: \w+`), "message SHA-256: <digest>"},
	{regexp.MustCompile(`transaction id: \w{80,}`), "transaction id: <signature>"},
	{regexp.MustCompile(`serves the network with genesis hash \w+`), "serves the network with genesis hash <other>"},
	{regexp.MustCompile(`"value": "\w+"`), `"value": "<hash>"`},
	{regexp.MustCompile(`"message_sha256": "\w+"`), `"message_sha256": "<digest>"`},
}

// golden holds a report against the text that was read and found right.
func (s scene) golden(name string, report explain.Report) {
	s.t.Helper()
	var out bytes.Buffer
	s.must(explain.WriteText(&out, report))
	s.goldenText(name, out.String())
}

func (s scene) goldenText(name, got string) {
	s.t.Helper()
	for _, each := range changing {
		got = each.pattern.ReplaceAllString(got, each.with)
	}
	path := filepath.Join("testdata", name)
	if *update {
		s.must(os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatalf("%v (run with -update to write it, then read it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// stub and lamports write base units with their unit.
func stub(units amount.Units) string { return units.Decimal(6) + " STUB" }

func lamports(units amount.Units) string { return units.Decimal(amount.SOLDecimals) + " SOL" }

func unbase58(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base58.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
