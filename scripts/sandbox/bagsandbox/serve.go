package bagsandbox

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"countersign/scripts/sandbox/internal/strictjson"
)

const (
	basePath = "/api/v1"
	pingPath = "/ping"
	// maxBody is far above any request of this API.
	maxBody = 256 << 10
)

// call is one valid request on its way to its handler.
type call struct {
	query map[string]string
	body  map[string]json.RawMessage
	mode  Misbehaviour
}

// endpoint is one operation; path is written without the base.
type endpoint struct {
	method string
	path   string
	query  []param
	body   strictjson.Fields
	handle func(*Sandbox, context.Context, call) (any, error)
}

// routes is everything the API answers; what is not here is 404.
func routes() []endpoint {
	get, post := http.MethodGet, http.MethodPost
	mint := []param{{name: "tokenMint", check: isAddress}}
	wallet := []param{{name: "wallet", check: isAddress}}
	partner := []param{{name: "partner", check: isAddress}}
	migrated := []param{{name: "onlyMigrated", optional: true, check: isOneOf("true", "false")}}
	return []endpoint{
		{method: get, path: quoteEndpoint, query: quoteParams(), handle: (*Sandbox).quote},
		{method: post, path: swapEndpoint, body: swapFields, handle: (*Sandbox).swap},
		{method: get, path: "token-launch/claimable-positions", query: wallet, handle: (*Sandbox).claimable},
		{method: post, path: claimEndpoint, body: claimFields, handle: (*Sandbox).claim},
		{method: get, path: "token-launch/lifetime-fees", query: mint, handle: (*Sandbox).lifetimeFees},
		{method: get, path: "token-launch/creator/v3", query: mint, handle: (*Sandbox).creators},
		{method: get, path: "token-launch/top-tokens/lifetime-fees", handle: (*Sandbox).topTokens},
		{method: get, path: "token-launch/claim-stats", query: mint, handle: (*Sandbox).claimStats},
		{method: get, path: "fee-share/token/claim-events", query: eventParams(), handle: (*Sandbox).claimEvents},
		{method: post, path: "token-launch/fee-share/wallet/v2/bulk", body: bulkFields, handle: (*Sandbox).resolveWallets},
		{method: get, path: "fee-share/partner-config/stats", query: partner, handle: (*Sandbox).partnerStats},
		{method: get, path: "solana/bags/pools", query: migrated, handle: (*Sandbox).pools},
		{method: get, path: "solana/bags/pools/token-mint", query: mint, handle: (*Sandbox).pool},
	}
}

// ServeHTTP answers one request of the API and records it first, whatever
// becomes of it.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	entry := s.requests.add(r, body)
	out := &statusWriter{ResponseWriter: w}
	var mode Mode
	// Deferred: a broken-off answer leaves by panic.
	defer func() { s.requests.finish(entry, out.status, mode) }()
	switch {
	case err != nil:
		refuse(out, &refusal{status: http.StatusBadRequest, text: "body cannot be read"})
	case len(body) > maxBody:
		refuse(out, &refusal{status: http.StatusRequestEntityTooLarge, text: "body is too large"})
	default:
		s.answer(out, r, body, &mode)
	}
}

func (s *Sandbox) answer(w http.ResponseWriter, r *http.Request, body []byte, served *Mode) {
	if r.URL.EscapedPath() == pingPath && r.Method == http.MethodGet {
		writeJSON(w, http.StatusOK, map[string]string{"message": "pong"})
		return
	}
	if err := s.authenticate(r); err != nil {
		refuse(w, err)
		return
	}
	if mode := s.plan.take(endpointOf(r.URL.EscapedPath()), true); mode.Mode != "" {
		*served = mode.Mode
		if done := s.fail(w, r, mode); done {
			return
		}
	}
	route, c, err := parse(r, body)
	if err != nil {
		refuse(w, err)
		return
	}
	c.mode = s.plan.take(route.path, false)
	response, err := route.handle(s, r.Context(), c)
	if err != nil {
		// A refused request has not served the mode: the next one will.
		s.plan.giveBack(c.mode)
		refuse(w, err)
		return
	}
	if c.mode.Mode != "" {
		*served = c.mode.Mode
	}
	writeJSON(w, http.StatusOK, struct {
		Success  bool `json:"success"`
		Response any  `json:"response"`
	}{true, response})
}

func (s *Sandbox) authenticate(r *http.Request) error {
	keys := r.Header.Values("X-Api-Key")
	switch {
	case len(keys) == 0:
		return &refusal{status: http.StatusUnauthorized, text: "x-api-key header is required"}
	case len(keys) > 1:
		return &refusal{status: http.StatusBadRequest, text: "x-api-key header is repeated"}
	case subtle.ConstantTimeCompare([]byte(keys[0]), []byte(s.apiKey)) != 1:
		return &refusal{status: http.StatusUnauthorized, text: "API key is not valid"}
	}
	return nil
}

// parse finds the endpoint and reads the request against what it declares.
func parse(r *http.Request, body []byte) (endpoint, call, error) {
	for _, e := range routes() {
		if basePath+"/"+e.path != r.URL.EscapedPath() || e.method != r.Method {
			continue
		}
		query, err := readQuery(r.URL.RawQuery, e.query)
		if err != nil {
			return endpoint{}, call{}, err
		}
		c := call{query: query}
		if e.body == nil {
			if len(body) > 0 {
				return endpoint{}, call{}, badRequest("a %s request has no body", r.Method)
			}
			return e, c, nil
		}
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			return endpoint{}, call{}, badRequest("Content-Type must be application/json")
		}
		c.body, err = readBody(body, e.body)
		return e, c, err
	}
	return endpoint{}, call{}, notFound("no endpoint %s %s", r.Method, r.URL.EscapedPath())
}

// refuse writes the documented error envelope. An error that is no refusal is
// the sandbox's own trouble, with the chain as a rule.
func refuse(w http.ResponseWriter, err error) {
	known := &refusal{}
	if !errors.As(err, &known) {
		known = &refusal{status: http.StatusInternalServerError, text: "sandbox: " + err.Error()}
	}
	writeJSON(w, known.status, errorBody(known.text))
}

type envelope struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
}

func errorBody(text string) envelope { return envelope{Error: text} }

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		// Every answer is made of strings, numbers and lists.
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// A client that has gone away is not our trouble.
	_, _ = w.Write(raw)
}
