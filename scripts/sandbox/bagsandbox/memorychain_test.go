package bagsandbox

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
)

// memoryChain holds accounts and runs nothing: enough for the strictness of
// the API and for reading the bytes it hands out. What those bytes do is
// tested on the real local chain.
type memoryChain struct {
	mu       sync.Mutex // guards accounts and broken
	accounts map[string]json.RawMessage
	broken   bool
}

const (
	memorySlot   = 441_200_317
	memoryHeight = 419_066_132
	memoryRent   = 2_039_280
)

var memoryBlockhash = solana.Hash{7, 7, 7, 7}

func startMemoryChain(t *testing.T) (*memoryChain, string) {
	t.Helper()
	m := &memoryChain{accounts: map[string]json.RawMessage{}}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, server.URL
}

func (m *memoryChain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID     json.RawMessage
		Method string
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := map[string]any{"jsonrpc": "2.0", "id": asked.ID}
	if m.broken {
		answer["error"] = map[string]any{"code": -32005, "message": "node is behind"}
	} else {
		answer["result"] = m.result(asked.Method, asked.Params)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (m *memoryChain) result(method string, params []json.RawMessage) any {
	at := map[string]any{"slot": memorySlot}
	switch method {
	case "getLatestBlockhash":
		return map[string]any{"context": at, "value": map[string]any{"blockhash": memoryBlockhash, "lastValidBlockHeight": memoryHeight}}
	case "getMinimumBalanceForRentExemption":
		return memoryRent
	case "devchain_setAccount":
		var key string
		_ = json.Unmarshal(params[0], &key)
		account := map[string]json.RawMessage{}
		_ = json.Unmarshal(params[1], &account)
		account["data"] = json.RawMessage("[" + string(account["data"]) + `,"base64"]`)
		m.accounts[key], _ = json.Marshal(account)
		return map[string]any{}
	case "devchain_addProgram":
		return map[string]any{}
	case "getMultipleAccounts":
		var keys []string
		_ = json.Unmarshal(params[0], &keys)
		list := []json.RawMessage{}
		for _, key := range keys {
			found, ok := m.accounts[key]
			if !ok {
				found = json.RawMessage("null")
			}
			list = append(list, found)
		}
		return map[string]any{"context": at, "value": list}
	}
	return nil
}

func (m *memoryChain) breakDown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = true
}
