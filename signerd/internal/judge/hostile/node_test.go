package hostile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"countersign/shared/solana"
)

// lie makes another result of an honest one. params are the call's.
type lie func(params, result json.RawMessage) json.RawMessage

// node is an RPC node in the thief's hands: it passes calls on to the chain,
// and can change what is told, or do something first.
type node struct {
	url, behind string

	mu sync.Mutex // guards what follows
	// before runs once, ahead of the first call of its method.
	before map[string]func()
	// told changes answers by method.
	told map[string]lie
	// blind says that it sends on without looking, where it was asked to look.
	blind bool
	// keeps says that what it is to send is kept back, in kept.
	keeps bool
	kept  [][]byte
	// busy are methods that it does not answer.
	busy string
}

func startNode(t *testing.T, behind string) *node {
	t.Helper()
	n := &node{behind: behind}
	n.behave()
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// behave makes the node honest.
func (n *node) behave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.before = make(map[string]func())
	n.told = make(map[string]lie)
	n.blind, n.keeps, n.kept, n.busy = false, false, nil, ""
}

// keepsBack has it accept what it is to send, and send it only when released.
func (n *node) keepsBack() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keeps = true
}

// release sends what was kept back, without preflight, and whatever comes of it.
func (n *node) release(t *testing.T) {
	t.Helper()
	n.mu.Lock()
	kept := n.kept
	n.kept = nil
	n.mu.Unlock()
	for _, body := range kept {
		body = bytes.Replace(body, []byte(`"skipPreflight":false`), []byte(`"skipPreflight":true`), 1)
		response, err := http.Post(n.behind, "application/json", bytes.NewReader(body))
		check(t, err)
		check(t, response.Body.Close())
	}
}

// isBusyFor has it refuse a method as a node does that is asked too much.
func (n *node) isBusyFor(method string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy = method
}

// keep says whether this call is to be answered with what, instead of passed on.
func (n *node) keep(method string, body []byte) (status int, answer string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case method == n.busy:
		return http.StatusTooManyRequests, ""
	case method == "sendTransaction" && n.keeps:
		n.kept = append(n.kept, body)
		return http.StatusOK, sentAnswer(body)
	}
	return 0, ""
}

// sentAnswer is what a node answers that has sent the transaction.
func sentAnswer(body []byte) string {
	var call struct {
		ID     json.RawMessage
		Params []json.RawMessage
	}
	var text string
	if json.Unmarshal(body, &call) != nil || len(call.Params) == 0 || json.Unmarshal(call.Params[0], &text) != nil {
		return ""
	}
	raw, _ := base64.StdEncoding.DecodeString(text)
	tx, err := solana.ParseTransaction(raw)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%q}`, call.ID, tx.ID())
}

// springs has something done once a transaction is judged, when the height is
// asked before it is signed and sent to every node, and no preflight after it.
func (n *node) springs(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.before["getBlockHeight"] = do
	n.blind = true
}

// first has something done ahead of the next call of a method.
func (n *node) first(method string, do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.before[method] = do
}

// tells changes the answers of a method.
func (n *node) tells(method string, change lie) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told[method] = change
}

func (n *node) rules(method string) (before func(), told lie, blind bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, told = n.before[method], n.told[method]
	delete(n.before, method)
	return before, told, n.blind
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var call struct {
		Method string
		Params json.RawMessage
	}
	if err != nil || json.Unmarshal(body, &call) != nil {
		http.Error(w, "no call", http.StatusBadRequest)
		return
	}
	before, told, blind := n.rules(call.Method)
	if before != nil {
		before()
	}
	if blind {
		body = bytes.Replace(body, []byte(`"skipPreflight":false`), []byte(`"skipPreflight":true`), 1)
	}
	if status, answer := n.keep(call.Method, body); status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
		return
	}
	answer, err := n.forward(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if told != nil {
		var envelope map[string]json.RawMessage
		if json.Unmarshal(answer, &envelope) == nil && envelope["result"] != nil {
			envelope["result"] = told(call.Params, envelope["result"])
			answer, _ = json.Marshal(envelope) // What was parsed can be written.
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // A client that has left asks again.
}

func (n *node) forward(r *http.Request, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, n.behind, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}
