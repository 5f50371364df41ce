package chain_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/mcpd/internal/chain"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

var (
	ours   = solana.Hash{1}
	theirs = solana.Hash{2}
)

// stub is an RPC node that serves a network and answers every other call with the
// same rent, or fails in one way.
type stub struct {
	url   string
	asked atomic.Int64
	// fails writes another answer, if set.
	fails atomic.Pointer[func(http.ResponseWriter, json.RawMessage)]
}

func startStub(t *testing.T, network solana.Hash, rent int) *stub {
	t.Helper()
	s := new(stub)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		var call struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		if fails := s.fails.Load(); fails != nil {
			(*fails)(w, call.ID)
			return
		}
		result := fmt.Sprint(rent)
		if call.Method == "getGenesisHash" {
			result = fmt.Sprintf("%q", network)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *stub) failWith(write func(http.ResponseWriter, json.RawMessage)) { s.fails.Store(&write) }

func status(code int) func(http.ResponseWriter, json.RawMessage) {
	return func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(code) }
}

func rest(w http.ResponseWriter, _ json.RawMessage) {
	w.Header().Set("Retry-After", "30")
	w.WriteHeader(http.StatusTooManyRequests)
}

// answers writes a body, in which ID stands for that of the call.
func answers(contentType, body string) func(http.ResponseWriter, json.RawMessage) {
	return func(w http.ResponseWriter, id json.RawMessage) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(strings.Replace(body, "ID", string(id), 1))) // The caller sees what is missing.
	}
}

func newClient(t *testing.T, addresses ...string) *chain.Client {
	t.Helper()
	c, err := chain.New(addresses...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNextNodeAnswers: whatever is wrong with the first node, the second one is
// read, and alone the first is told of for what is wrong with it.
func TestNextNodeAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		fails func(http.ResponseWriter, json.RawMessage)
		code  fault.Code
		says  string
	}{
		"fails":            {status(http.StatusBadGateway), fault.RPCUnavailable, "HTTP 502"},
		"asks for rest":    {rest, fault.RPCUnavailable, "slow down"},
		"is behind":        {answers("application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32005,"message":"x","data":{"numSlotsBehind":42}}}`), fault.RPCUnavailable, "behind the network (42 slots)"},
		"does not know it": {answers("application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"x"}}`), fault.RPCUnavailable, "error -32601"},
		"talks nonsense":   {answers("application/json", `{"jsonrpc":`), fault.RPCBadAnswer, "malformed JSON"},
		"sends a page":     {answers("text/html", `<html>`), fault.RPCBadAnswer, "content type"},
		"hangs up":         {func(http.ResponseWriter, json.RawMessage) { panic(http.ErrAbortHandler) }, fault.RPCUnavailable, "broke"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := startStub(t, ours, 1), startStub(t, ours, 2)
			first.failWith(test.fails)
			if rent, err := newClient(t, first.url, second.url).Rent(t.Context(), 0); err != nil || rent != 2 {
				t.Errorf("rent %d, %v; want that of the second node", rent, err)
			}
			if _, err := newClient(t, first.url).Rent(t.Context(), 0); !fault.Is(err, test.code) || !strings.Contains(fault.From(err).Message, test.says) {
				t.Errorf("alone it is told as %v, want %s that says %q", err, test.code, test.says)
			}
		})
	}
	t.Run("is not there", func(t *testing.T) {
		second := startStub(t, ours, 2)
		if rent, err := newClient(t, "http://127.0.0.1:1", second.url).Rent(t.Context(), 0); err != nil || rent != 2 {
			t.Errorf("rent %d, %v; want that of the second node", rent, err)
		}
	})
}

// TestNodeOfAnotherNetworkIsNotRead: a node is asked for nothing before it has
// named the network of the signer, also one that steps in later. The line that
// keeps it is the call of serves.
func TestNodeOfAnotherNetworkIsNotRead(t *testing.T) {
	first, second := startStub(t, ours, 1), startStub(t, theirs, 2)
	c := newClient(t, first.url, second.url)
	if err := c.CheckNetwork(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	first.failWith(status(http.StatusInternalServerError))
	if rent, err := c.Rent(t.Context(), 0); !fault.Is(err, fault.NetworkMismatch) {
		t.Errorf("rent %d, %v; want %s", rent, err, fault.NetworkMismatch)
	}
	if err := newClient(t, second.url).CheckNetwork(t.Context(), ours); !fault.Is(err, fault.NetworkMismatch) {
		t.Errorf("the other network: %v, want %s", err, fault.NetworkMismatch)
	}
}

// TestNodeThatIsDownIsLeftAlone: after some calls that came to nothing the first
// node is not asked for a while.
func TestNodeThatIsDownIsLeftAlone(t *testing.T) {
	first, second := startStub(t, ours, 1), startStub(t, ours, 2)
	first.failWith(status(http.StatusInternalServerError))
	c := newClient(t, first.url, second.url)
	const calls = 20
	for range calls {
		if rent, err := c.Rent(t.Context(), 0); err != nil || rent != 2 {
			t.Fatalf("rent %d, %v; want that of the second node", rent, err)
		}
	}
	if asked := first.asked.Load(); asked >= calls {
		t.Errorf("a node that is down was asked %d times in %d calls", asked, calls)
	}
}
