package judge_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/sandbox/world"
	"countersign/shared/amount"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

const (
	stubKey       = "stub_bags_key_no_network"
	startLamports = 2_000_000_000
	startTokens   = 5_000_000_000
	spend         = 50_000_000
)

// The wallet of these tests signs here only to see what the chain then does.
var (
	walletKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	wallet    = solana.PublicKey(walletKey.Public().(ed25519.PublicKey))
)

// scene is a real chain, the API beside it, and a judge of the wallet.
type scene struct {
	t     *testing.T
	net   *localnet.Chain
	eye   *observer.Observer
	rpc   *jsonrpc.Client
	api   *bagsandbox.Sandbox
	chain *chain.Client
	judge *judge.Judge
	world world.World
}

func startScene(t *testing.T) scene {
	t.Helper()
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Stop)
	api, err := bagsandbox.Start(t.Context(), bagsandbox.Config{RPC: net.RPCURL, Wallet: wallet.String(), APIKey: stubKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	rpc, err := jsonrpc.New(net.RPCURL, jsonrpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := chain.New([]string{net.RPCURL}, chain.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return scene{t: t, net: net, eye: observer.New(net.RPCURL), rpc: rpc, api: api, chain: client, judge: judge.New(client, wallet), world: api.World()}
}

func (s scene) in(t *testing.T) scene {
	s.t = t
	return s
}

// reset gives the wallet its money back, whatever was done to it.
func (s scene) reset() {
	s.t.Helper()
	s.api.Reset()
	s.must(s.net.ClearFaults(s.t.Context()))
	s.must(s.api.Trigger(s.t.Context(), false))
	s.must(s.net.SetAccount(s.t.Context(), wallet.String(), localnet.Account{Lamports: startLamports, Owner: solana.SystemProgram.String()}))
	s.must(s.api.Endow(s.t.Context(), s.world.TokenMint, startTokens))
}

func (s scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s scene) call(method, path, body string, into any) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.api.URL()+path, strings.NewReader(body))
	s.must(err)
	request.Header.Set("x-api-key", stubKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	s.must(err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	s.must(err)
	var envelope struct {
		Success  bool
		Response json.RawMessage
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || !envelope.Success {
		s.t.Fatalf("%s %s: %s", method, path, raw)
	}
	s.must(json.Unmarshal(envelope.Response, into))
}

// offer is what the API returned for a trade: bytes, and what it said of them.
type offer struct {
	raw      []byte
	minimum  uint64
	priority uint64
}

func (s scene) trade(in, out string, units uint64) offer {
	s.t.Helper()
	var quoted json.RawMessage
	s.call(http.MethodGet, "/trade/quote?"+url.Values{
		"inputMint": {in}, "outputMint": {out}, "amount": {strconv.FormatUint(units, 10)},
		"slippageMode": {"manual"}, "slippageBps": {"100"},
	}.Encode(), "", &quoted)
	var quote struct{ MinOutAmount string }
	s.must(json.Unmarshal(quoted, &quote))
	var swap struct {
		SwapTransaction           string
		PrioritizationFeeLamports uint64
	}
	s.call(http.MethodPost, "/trade/swap", `{"quoteResponse":`+string(quoted)+`,"userPublicKey":"`+wallet.String()+`"}`, &swap)
	raw, err := base58.Decode(swap.SwapTransaction)
	s.must(err)
	minimum, err := strconv.ParseUint(quote.MinOutAmount, 10, 64)
	s.must(err)
	return offer{raw: raw, minimum: minimum, priority: swap.PrioritizationFeeLamports}
}

func (s scene) key(text string) solana.PublicKey {
	s.t.Helper()
	key, err := solana.ParsePublicKey(text)
	s.must(err)
	return key
}

// buying and selling are the bounds of an honest caller.
func (s scene) buying(o offer) judge.Request {
	return s.bounded(o, amount.SOL, spend, s.key(s.world.TokenMint))
}

func (s scene) selling(o offer, units amount.Units) judge.Request {
	return s.bounded(o, s.key(s.world.TokenMint), units, amount.SOL)
}

func (s scene) bounded(o offer, out solana.PublicKey, most amount.Units, in solana.PublicKey) judge.Request {
	return judge.Request{Flow: effects.Swap, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{out: most},
		MinIn:  map[solana.PublicKey]amount.Units{in: amount.Units(o.minimum)},
		MaxFee: amount.Units(5_000 + o.priority + o.priority/8), MaxRent: 2 * 2_100_000,
		Programs: []solana.PublicKey{solana.DFlowProgram},
	}}
}

// signed puts the wallet's signature into its slot.
func signed(raw []byte, slot int) []byte {
	tx, err := solana.ParseTransaction(raw)
	if err != nil {
		panic(err)
	}
	tx.Signatures[slot] = solana.Signature(ed25519.Sign(walletKey, tx.Message.Marshal()))
	return tx.Marshal()
}

// send sends without preflight and returns the transaction's error, empty if
// it landed.
func (s scene) send(raw []byte) string {
	s.t.Helper()
	var signature string
	s.must(s.rpc.Call(s.t.Context(), "sendTransaction", []any{
		base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true},
	}, &signature))
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var answer struct {
			Value []*struct {
				Err    json.RawMessage `json:"err"`
				Status string          `json:"confirmationStatus"`
			} `json:"value"`
		}
		s.must(s.rpc.Call(s.t.Context(), "getSignatureStatuses", []any{[]string{signature}}, &answer))
		if status := answer.Value[0]; status != nil && status.Status != "processed" {
			if string(status.Err) == "null" {
				return ""
			}
			return string(status.Err)
		}
	}
	return "not confirmed"
}

func (s scene) lamports(key string) uint64 {
	s.t.Helper()
	units, err := s.eye.Balance(s.t.Context(), key)
	s.must(err)
	return units
}

func (s scene) tokens() observer.TokenAccount {
	s.t.Helper()
	token, _, err := s.eye.TokenAccount(s.t.Context(), s.tokenAccount().String())
	s.must(err)
	return token
}

func (s scene) tokenAccount() solana.PublicKey {
	return solana.AssociatedTokenAddress(wallet, s.key(s.world.TokenMint), solana.TokenProgram)
}

type solanaKey = solana.PublicKey

const callTime = 10 * time.Second

// liarOnce makes the first node asked report a balance of next to nothing.
var liarOnce = localnet.Fault{Method: "getBalance", Kind: "lie_balance", Count: 1, Pubkey: wallet.String(), Lamports: 7}

// localnetFriend is somebody who exists already.
var localnetFriend = localnet.Account{Lamports: 1_000_000_000, Owner: solana.SystemProgram.String()}

// behind is a judge that reads from several nodes.
func (s scene) behind(endpoints ...string) *judge.Judge {
	s.t.Helper()
	client, err := chain.New(endpoints, chain.Options{Timeout: callTime})
	s.must(err)
	return judge.New(client, wallet)
}
