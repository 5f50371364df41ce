package bagsandbox

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/world"
)

// offline is a sandbox without a chain: a request that gets past the checks
// fails there, with 500.
func offline() *Sandbox {
	s := &Sandbox{apiKey: testKey, layout: world.New("", solana.PublicKey{1})}
	s.quotes.quotes = map[string]issued{}
	return s
}

func FuzzSwapBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"quoteResponse":{"requestId":"x"},"userPublicKey":"x"}`, `{"quoteResponse":{"requestId":1},"userPublicKey":"x"}`,
		`{"quoteResponse":{},"userPublicKey":"11111111111111111111111111111111"}`, `[`, "\x00", `{"quoteResponse":null}`,
	} {
		f.Add(seed)
	}
	s := offline()
	f.Fuzz(func(t *testing.T, body string) {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, basePath+"/trade/swap", strings.NewReader(body))
		request.Header.Set("x-api-key", testKey)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		s.Reset()
		// No quote has been given, so nothing can be swapped.
		if answer.Code != http.StatusBadRequest && answer.Code != http.StatusRequestEntityTooLarge {
			t.Fatalf("status %d: %s", answer.Code, answer.Body)
		}
	})
}

func FuzzReadQuery(f *testing.F) {
	for _, seed := range []string{
		"", "amount=5", "amount=05", "amount=5&amount=5", "inputMint=%zz", "a;b", "slippageBps=10001",
		"inputMint=11111111111111111111111111111111&outputMint=11111111111111111111111111111111&amount=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := readQuery(raw, quoteParams())
		if err != nil {
			return
		}
		// What is accepted holds nothing but what was declared, as it came.
		given, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(given) != len(query) {
			t.Fatalf("%q gave %v", raw, query)
		}
		if key(query["inputMint"]).String() != query["inputMint"] || text(integer(query, "amount", 0)) != query["amount"] {
			t.Fatalf("%q was accepted as %v", raw, query)
		}
	})
}
