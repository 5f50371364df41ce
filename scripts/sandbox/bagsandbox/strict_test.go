package bagsandbox

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkRefused holds an answer against the documented error envelope.
func checkRefused(t *testing.T, r reply, status int, want string) {
	t.Helper()
	if r.status != status || r.Error == nil || !strings.Contains(*r.Error, want) {
		t.Fatalf("status %d: %s, want %d with %q", r.status, r.raw, status, want)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.raw, &fields); err != nil {
		t.Fatal(err)
	}
	if string(fields["success"]) != "false" || fields["response"] != nil {
		t.Fatalf("not the error envelope: %s", r.raw)
	}
}

func TestAuthenticateRefusesOtherCredentials(t *testing.T) {
	c := startOnMemory(t)
	path := "/solana/bags/pools"
	for _, test := range []struct {
		name   string
		set    func(http.Header)
		status int
	}{
		{"none", func(http.Header) {}, http.StatusUnauthorized},
		{"empty", func(h http.Header) { h.Set("x-api-key", "") }, http.StatusUnauthorized},
		{"wrong", func(h http.Header) { h.Set("x-api-key", testKey+"x") }, http.StatusUnauthorized},
		{"bearer", func(h http.Header) { h.Set("Authorization", "Bearer "+testKey) }, http.StatusUnauthorized},
		{"twice", func(h http.Header) { h.Add("x-api-key", testKey); h.Add("x-api-key", testKey) }, http.StatusBadRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := client{t: t, s: c.s}.request(http.MethodGet, path, "")
			test.set(request.Header)
			checkRefused(t, client{t: t, s: c.s}.do(request), test.status, "")
		})
	}
	if r := c.get(path); r.status != http.StatusOK {
		t.Errorf("the right key gave status %d", r.status)
	}
}

func TestPingNeedsNoKeyAndNoEnvelope(t *testing.T) {
	c := startOnMemory(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(c.s.URL(), basePath)+"/ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.do(request); r.status != http.StatusOK || string(r.raw) != `{"message":"pong"}` {
		t.Errorf("status %d: %s", r.status, r.raw)
	}
}

func TestServeRefusesUnknownRoutes(t *testing.T) {
	c := startOnMemory(t)
	for _, request := range []*http.Request{
		c.request(http.MethodGet, "/trade/swap", ""),
		c.request(http.MethodPost, "/trade/quote", "{}"),
		c.request(http.MethodDelete, "/trade/quote", ""),
		c.request(http.MethodGet, "/trade/quote/", ""),
		c.request(http.MethodGet, "/trade/v2/quote", ""),
		c.request(http.MethodGet, "/world", ""),
		c.request(http.MethodPost, "/modes", `{"mode":"skim"}`),
	} {
		checkRefused(t, c.do(request), http.StatusNotFound, "no endpoint")
	}
}

func TestQuoteRefusesOtherParameters(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	valid := url.Values{"inputMint": {w.WSOL}, "outputMint": {w.TokenMint}, "amount": {"50000000"}, "slippageMode": {"manual"}, "slippageBps": {"100"}}
	for _, test := range []struct {
		name   string
		change func(url.Values)
		want   string
	}{
		{"no input", func(v url.Values) { v.Del("inputMint") }, "inputMint is required"},
		{"no amount", func(v url.Values) { v.Del("amount") }, "amount is required"},
		{"empty amount", func(v url.Values) { v.Set("amount", "") }, "amount must be an integer"},
		{"zero", func(v url.Values) { v.Set("amount", "0") }, "amount must be an integer"},
		{"decimal", func(v url.Values) { v.Set("amount", "0.5") }, "amount must be an integer"},
		{"exponent", func(v url.Values) { v.Set("amount", "5e7") }, "amount must be an integer"},
		{"plus", func(v url.Values) { v.Set("amount", "+5") }, "amount must be an integer"},
		{"leading zero", func(v url.Values) { v.Set("amount", "050") }, "amount must be an integer"},
		{"too large", func(v url.Values) { v.Set("amount", "18446744073709551616") }, "amount must be an integer"},
		{"repeated", func(v url.Values) { v.Add("amount", "50000000") }, "amount is repeated"},
		{"unknown", func(v url.Values) { v.Set("taker", w.Wallet) }, `unknown query parameter "taker"`},
		{"other case", func(v url.Values) { v.Set("inputmint", w.WSOL) }, `unknown query parameter "inputmint"`},
		{"no address", func(v url.Values) { v.Set("inputMint", "SOL") }, "inputMint must be a base58 address"},
		{"long address", func(v url.Values) { v.Set("inputMint", strings.Repeat("1", 4000)) }, "inputMint must be a base58 address"},
		{"unknown mint", func(v url.Values) { v.Set("outputMint", w.Thief) }, "No route found"},
		{"same mint", func(v url.Values) { v.Set("outputMint", w.WSOL) }, "No route found"},
		{"other mode", func(v url.Values) { v.Set("slippageMode", "Manual") }, "slippageMode must be one of"},
		{"manual without number", func(v url.Values) { v.Del("slippageBps") }, "slippageBps is required when"},
		{"slippage too large", func(v url.Values) { v.Set("slippageBps", "10001") }, "slippageBps must be an integer"},
		{"negative slippage", func(v url.Values) { v.Set("slippageBps", "-1") }, "slippageBps must be an integer"},
		{"nothing for it", func(v url.Values) { v.Set("inputMint", w.TokenMint); v.Set("outputMint", w.WSOL); v.Set("amount", "0") }, "amount must be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			query := url.Values{}
			for name, values := range valid {
				query[name] = append([]string(nil), values...)
			}
			test.change(query)
			checkRefused(t, client{t: t, s: c.s, key: testKey}.get("/trade/quote?"+query.Encode()), http.StatusBadRequest, test.want)
		})
	}
}

func TestQuoteAnswersEveryRequiredField(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	raw, q := c.quoted(w.WSOL, w.TokenMint, "50000000")
	// 1,000,000 tokens against 100 SOL: 1e12 × 0.05e9 ÷ (100e9 + 0.05e9), less 1 %.
	want := quoteAnswer{
		RequestID: q.RequestID, ContextSlot: memorySlot, InputMint: w.WSOL, OutputMint: w.TokenMint, InAmount: "50000000",
		OutAmount: "499750124", MinOutAmount: "494752622", OtherAmountThreshold: "494752622", PriceImpactPct: "0.0500", SlippageBps: 100,
	}
	if diff := cmp.Diff(want, q); diff != "" {
		t.Error(diff)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"routePlan", "platformFee", "outTransferFee", "simulatedComputeUnits"} {
		if _, present := fields[name]; !present {
			t.Errorf("%s is missing in %s", name, raw)
		}
	}
}

func TestQuoteChoosesSlippageUnlessTold(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	path := "/trade/quote?inputMint=" + w.WSOL + "&outputMint=" + w.TokenMint + "&amount=50000000"
	for _, mode := range []string{"", "&slippageMode=auto", "&slippageMode=auto&slippageBps=50", "&slippageBps=50"} {
		var q quoteAnswer
		c.mustGet(path+mode, &q)
		if q.SlippageBps != autoSlippage {
			t.Errorf("%q gave slippage %d", mode, q.SlippageBps)
		}
	}
}

func TestSwapRefusesOtherBodies(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	quote, _ := c.quoted(w.WSOL, w.TokenMint, "50000000")
	good := c.swapBody(quote, w.Wallet)
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for _, test := range []struct{ name, body, want string }{
		{"array", `[` + good + `]`, "must be a JSON object"},
		{"no quote", `{"userPublicKey":"` + w.Wallet + `"}`, `"quoteResponse" is required`},
		{"no wallet", `{"quoteResponse":` + string(quote) + `}`, `"userPublicKey" is required`},
		{"unknown field", replace(`,"userPublicKey"`, `,"dynamicSlippage":true,"userPublicKey"`), `unknown field "dynamicSlippage"`},
		{"quote as text", `{"quoteResponse":"{}","userPublicKey":"` + w.Wallet + `"}`, `"quoteResponse" must be an object`},
		{"wallet as number", `{"quoteResponse":` + string(quote) + `,"userPublicKey":1}`, `"userPublicKey" must be a string`},
		{"no address", c.swapBody(quote, "me"), "userPublicKey must be a base58 address"},
		{"repeated name", replace(`,"userPublicKey"`, `,"userPublicKey":"x","userPublicKey"`), "is repeated"},
		{"other quote", replace(`"contextSlot"`, `"contextslot"`), "differs from the quote"},
		{"other amount", replace(`"inAmount":"50000000"`, `"inAmount":"60000000"`), "differs from the quote"},
		{"amount as number", replace(`"inAmount":"50000000"`, `"inAmount":50000000`), "differs from the quote"},
		{"number through a float", replace("9007199254740993", "9007199254740992"), "differs from the quote"},
		{"digit dropped", replace("0.950", "0.95"), "differs from the quote"},
		{"field dropped", replace(`,"routeScore":0.950`, ``), "differs from the quote"},
		{"spaces", replace(`"contextSlot":`, `"contextSlot": `), "was re-encoded"},
		{"unknown quote", c.swapBody(json.RawMessage(`{"requestId":"5f0c2d1e-7a44-4c3b-9d0e-2f6b8e1a9c10"}`), w.Wallet), "no quote of this service"},
		{"quote without id", c.swapBody(json.RawMessage(`{}`), w.Wallet), "requestId is required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.body == good {
				t.Fatal("the case changes nothing")
			}
			checkRefused(t, client{t: t, s: c.s, key: testKey}.post("/trade/swap", test.body), http.StatusBadRequest, test.want)
		})
	}
	if r := c.post("/trade/swap", good); r.status != http.StatusOK {
		t.Errorf("the good body gave status %d: %s", r.status, r.raw)
	}
}

func TestServeRefusesOtherTransports(t *testing.T) {
	c := startOnMemory(t)
	asText := c.request(http.MethodPost, "/trade/swap", `{}`)
	asText.Header.Set("Content-Type", "text/plain")
	checkRefused(t, c.do(asText), http.StatusBadRequest, "Content-Type")
	checkRefused(t, c.do(c.request(http.MethodGet, "/solana/bags/pools", `{}`)), http.StatusBadRequest, "has no body")
	big := `{"feeClaimer":"` + strings.Repeat("a", maxBody) + `"}`
	checkRefused(t, c.post("/token-launch/claim-txs/v3", big), http.StatusRequestEntityTooLarge, "too large")
}

func TestServeNamesTroubleWithTheChain(t *testing.T) {
	c, memory := startWithMemory(t)
	memory.breakDown()
	w := c.s.World()
	checkRefused(t, c.get(quotePath(w.WSOL, w.TokenMint, "1000")), http.StatusInternalServerError, "getMultipleAccounts")
}

func TestRequestsKeepExactBytes(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	c.s.Reset()
	body := `{ "feeClaimer" : "` + w.Wallet + `","extra":1.0}`
	c.post("/token-launch/claim-txs/v3?x=%20y", body)
	requests := c.s.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	got := requests[0]
	if got.Method != http.MethodPost || got.Path != "/api/v1/token-launch/claim-txs/v3" || got.Query != "x=%20y" || string(got.Body) != body || got.BodyText != body || got.Status != http.StatusBadRequest {
		t.Errorf("recorded %+v", got)
	}
	if diff := cmp.Diff([]string{Digest(testKey)}, got.Header.Values("x-api-key")); diff != "" {
		t.Error(diff)
	}
	if all, err := json.Marshal(requests); err != nil || strings.Contains(string(all), testKey) {
		t.Errorf("the key is in the record, or %v", err)
	}
	c.s.Reset()
	if left := c.s.Requests(); len(left) != 0 {
		t.Errorf("%d requests after Reset", len(left))
	}
}
