package speed

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
)

// still answers as a node on which nothing moves.
func still(t testing.TB, accounts map[solana.PublicKey]chain.Account) *chain.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage   `json:"id"`
			Method string            `json:"method"`
			Params []json.RawMessage `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var result any
		switch call.Method {
		case "isBlockhashValid":
			result = atSlot(true)
		case "getMultipleAccounts":
			var keys []solana.PublicKey
			if err := json.Unmarshal(call.Params[0], &keys); err != nil {
				t.Error(err)
			}
			result = atSlot(shown(accounts, keys))
		case "getBalance":
			result = atSlot(uint64(accounts[wallet].Lamports))
		case "getMinimumBalanceForRentExemption":
			result = uint64(chaintest.Rent)
		default:
			http.Error(w, "no such method: "+call.Method, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := chain.New([]string{server.URL}, chain.Options{Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func atSlot(value any) any {
	return map[string]any{"context": map[string]any{"slot": 9}, "value": value}
}

func shown(accounts map[solana.PublicKey]chain.Account, keys []solana.PublicKey) []any {
	list := make([]any, len(keys))
	for i, key := range keys {
		if account, exists := accounts[key]; exists {
			list[i] = map[string]any{
				"lamports": account.Lamports, "owner": account.Owner, "executable": false,
				"data": []string{base64.StdEncoding.EncodeToString(account.Data), "base64"},
			}
		}
	}
	return list
}
