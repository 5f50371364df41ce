package bagsandbox

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"
)

const testKey = "stub_bags_key_no_network"

// testWallet is the wallet of the published vectors: the seed is 32 times 1.
var testWallet = seedKey(1)

func seedKey(b byte) solana.PrivateKey {
	return solana.PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, 32)))
}

// client speaks to a sandbox as an honest program would.
type client struct {
	t   *testing.T
	s   *Sandbox
	key string
}

func startOnMemory(t *testing.T) client {
	c, _ := startWithMemory(t)
	return c
}

func startWithMemory(t *testing.T) (client, *memoryChain) {
	t.Helper()
	memory, rpc := startMemoryChain(t)
	return startOn(t, rpc), memory
}

func startOn(t *testing.T, rpc string) client {
	t.Helper()
	s, err := Start(t.Context(), Config{RPC: rpc, Wallet: testWallet.PublicKey().String(), APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return client{t: t, s: s, key: testKey}
}

type reply struct {
	status int
	header http.Header
	raw    []byte
	// The envelope.
	Success  bool
	Response json.RawMessage
	Error    *string
}

func (c client) do(request *http.Request) reply {
	c.t.Helper()
	response, err := (&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	r := reply{status: response.StatusCode, header: response.Header, raw: raw}
	_ = json.Unmarshal(raw, &r)
	return r
}

func (c client) request(method, path, body string) *http.Request {
	c.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = bytes.NewReader([]byte(body))
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.s.URL()+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("x-api-key", c.key)
	}
	return request
}

func (c client) get(path string) reply { return c.do(c.request(http.MethodGet, path, "")) }

func (c client) post(path, body string) reply { return c.do(c.request(http.MethodPost, path, body)) }

// mustGet is get of what must succeed, decoded.
func (c client) mustGet(path string, into any) {
	c.t.Helper()
	c.decode(c.get(path), into)
}

func (c client) decode(r reply, into any) {
	c.t.Helper()
	if r.status != http.StatusOK || !r.Success {
		c.t.Fatalf("status %d: %s", r.status, r.raw)
	}
	if err := json.Unmarshal(r.Response, into); err != nil {
		c.t.Fatal(err)
	}
}

func (c client) misbehave(m Misbehaviour) {
	c.t.Helper()
	if err := c.s.Misbehave(m); err != nil {
		c.t.Fatal(err)
	}
}

func quotePath(in, out, amount string) string {
	return "/trade/quote?" + url.Values{
		"inputMint": {in}, "outputMint": {out}, "amount": {amount}, "slippageMode": {"manual"}, "slippageBps": {"100"},
	}.Encode()
}

// quoteAnswer is a quote as a client reads it.
type quoteAnswer struct {
	RequestID, InAmount, InputMint, OutAmount, OutputMint, MinOutAmount, OtherAmountThreshold, PriceImpactPct string
	ContextSlot, SlippageBps                                                                                  uint64
}

func (c client) quoted(in, out, amount string) (json.RawMessage, quoteAnswer) {
	c.t.Helper()
	r := c.get(quotePath(in, out, amount))
	var q quoteAnswer
	c.decode(r, &q)
	return r.Response, q
}

func (c client) swapBody(quote json.RawMessage, wallet string) string {
	return `{"quoteResponse":` + string(quote) + `,"userPublicKey":"` + wallet + `"}`
}

type swapReply struct {
	SwapTransaction           string
	ComputeUnitLimit          uint32
	LastValidBlockHeight      uint64
	PrioritizationFeeLamports uint64
}

// swapped asks for a quote and its swap, and decodes the transaction.
func (c client) swapped(in, out, amount string) (swapReply, *solana.Transaction) {
	c.t.Helper()
	quote, _ := c.quoted(in, out, amount)
	var answer swapReply
	c.decode(c.post("/trade/swap", c.swapBody(quote, testWallet.PublicKey().String())), &answer)
	return answer, decodeTransaction(c.t, answer.SwapTransaction)
}

func decodeTransaction(t *testing.T, text string) *solana.Transaction {
	t.Helper()
	raw, err := base58.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := solana.TransactionFromBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}
