package hostile

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
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
	n.blind = false
}

// springs has something done just before a transaction is sent on, and no
// preflight after it.
func (n *node) springs(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.before["sendTransaction"] = do
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
