package worldtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/solana"
)

// Account is one account of the node.
type Account struct {
	Lamports   uint64
	Owner      solana.PublicKey
	Executable bool
	Data       []byte
}

// Node is an RPC node that keeps accounts.
type Node struct {
	URL string

	mu       sync.Mutex // guards the rest
	accounts map[solana.PublicKey]Account
	requests int
	fail     json.RawMessage
	logs     []string
	down     bool
}

// Balances of the wallet at the start.
const (
	StartLamports = 2_000_000_000
	StartTokens   = 500_000_000
)

// Rent per byte, as the runtime counts it.
func rentOf(size uint64) uint64 { return (size + 128) * 5080 }

func newNode(t testing.TB) *Node {
	node := &Node{accounts: map[solana.PublicKey]Account{
		Wallet:    {Lamports: StartLamports},
		Recipient: {Lamports: 1_000_000},
		Token:     {Lamports: 1, Owner: solana.TokenProgram, Data: mintData(TokenDecimals)},
		Token2022: {Lamports: 1, Owner: solana.Token2022Program, Data: mintData(9)},
	}}
	node.Put(solana.AssociatedTokenAddress(Wallet, Token, solana.TokenProgram), Account{Lamports: 1, Owner: solana.TokenProgram, Data: TokenData(Token, Wallet, StartTokens)})
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	node.URL = server.URL
	return node
}

func mintData(decimals byte) []byte {
	data := make([]byte, 82)
	data[44], data[45] = decimals, 1
	return data
}

// TokenData is the data of a token account.
func TokenData(mint, owner solana.PublicKey, held uint64) []byte {
	data := make([]byte, 165)
	copy(data, mint[:])
	copy(data[32:], owner[:])
	binary.LittleEndian.PutUint64(data[64:], held)
	data[108] = 1
	return data
}

// Put sets an account.
func (n *Node) Put(key solana.PublicKey, account Account) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.accounts[key] = account
}

// Lamports is the balance of an account.
func (n *Node) Lamports(key solana.PublicKey) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.accounts[key].Lamports
}

// Requests counts calls.
func (n *Node) Requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.requests
}

// FailSimulation makes every simulation fail with an error of the runtime.
func (n *Node) FailSimulation(err string, logs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail, n.logs = json.RawMessage(err), logs
}

// Break makes the node answer HTTP 500.
func (n *Node) Break() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
}

// apply moves what an executed proposal moves.
func (n *Node) apply(bounds *signerv1.Bounds) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wallet := n.accounts[Wallet]
	for _, out := range bounds.GetMaxOut() {
		if len(out.GetMint()) == 0 {
			wallet.Lamports -= out.GetAmount()
		}
	}
	for _, in := range bounds.GetMinIn() {
		if len(in.GetMint()) == 0 {
			wallet.Lamports += in.GetAmount()
		}
	}
	n.accounts[Wallet] = wallet
}

type call struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	var request call
	if n.down || json.NewDecoder(r.Body).Decode(&request) != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	result, err := n.answer(request)
	if err != nil {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"canary: %s"}}`, request.ID, err)
		return
	}
	raw, _ := json.Marshal(result)
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, raw)
}

func inContext(value any) map[string]any {
	return map[string]any{"context": map[string]any{"slot": 9}, "value": value}
}

func (n *Node) answer(request call) (any, error) {
	switch request.Method {
	case "getGenesisHash":
		return Genesis.String(), nil
	case "getLatestBlockhash":
		return inContext(map[string]any{"blockhash": solana.Hash{9}.String(), "lastValidBlockHeight": 1000}), nil
	case "getMinimumBalanceForRentExemption":
		var size uint64
		err := json.Unmarshal(request.Params[0], &size)
		return rentOf(size), err
	case "getBalance":
		var key solana.PublicKey
		err := json.Unmarshal(request.Params[0], &key)
		return inContext(n.accounts[key].Lamports), err
	case "getMultipleAccounts":
		var keys []solana.PublicKey
		err := json.Unmarshal(request.Params[0], &keys)
		return inContext(n.views(keys)), err
	case "getTokenAccountsByOwner":
		return n.tokenAccounts(request.Params)
	case "simulateTransaction":
		return n.simulate(request.Params)
	}
	return nil, fmt.Errorf("no method %s", request.Method)
}

func view(account Account) map[string]any {
	return map[string]any{
		"lamports": account.Lamports, "owner": account.Owner, "executable": account.Executable, "rentEpoch": 0, "space": len(account.Data),
		"data": []string{base64.StdEncoding.EncodeToString(account.Data), "base64"},
	}
}

func (n *Node) views(keys []solana.PublicKey) []any {
	views := []any{}
	for _, key := range keys {
		account, exists := n.accounts[key]
		if !exists {
			views = append(views, nil)
			continue
		}
		views = append(views, view(account))
	}
	return views
}

func (n *Node) tokenAccounts(params []json.RawMessage) (any, error) {
	var owner solana.PublicKey
	var filter struct {
		ProgramID solana.PublicKey `json:"programId"`
	}
	if err := json.Unmarshal(params[0], &owner); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(params[1], &filter); err != nil {
		return nil, err
	}
	found := []any{}
	for key, account := range n.accounts {
		if account.Owner == filter.ProgramID && len(account.Data) >= 165 && solana.PublicKey(account.Data[32:64]) == owner {
			found = append(found, map[string]any{"pubkey": key, "account": view(account)})
		}
	}
	return inContext(found), nil
}

func (n *Node) simulate(params []json.RawMessage) (any, error) {
	var text string
	if err := json.Unmarshal(params[0], &text); err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if _, err := solana.ParseTransaction(raw); err != nil {
		return nil, err
	}
	var options struct {
		Accounts struct {
			Addresses []solana.PublicKey `json:"addresses"`
		} `json:"accounts"`
	}
	if err := json.Unmarshal(params[1], &options); err != nil {
		return nil, err
	}
	value := map[string]any{"err": n.fail, "logs": n.logs, "unitsConsumed": 1234, "accounts": n.views(options.Accounts.Addresses)}
	if n.fail != nil {
		value["accounts"] = nil
	}
	return inContext(value), nil
}
