package soak

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"

	"countersign/shared/solana"
)

// genesis is the network that the nodes serve.
var genesis = solana.Hash{9}

// lie is what the second node says that is not so.
type lie uint8

const (
	honest lie = iota
	hidesAll
	forgesLanding
	forgesFailure
	farAhead
	farBehind
	hidesMoney
	garbles
	lies // how many there are
)

// nodes are two RPC nodes of one chain, as one process sees them: the first is
// honest, and the second may lie. Either may be down. It is the transport of that
// process.
type nodes struct {
	chain *blockchain
	gate  *gate

	mu   sync.Mutex
	lie  lie
	down [2]bool
	// refuses has the second node answer sends with an error, and pass nothing on.
	refuses bool
}

// as is the same nodes, as another process sees them.
func (n *nodes) as(g *gate) *nodes {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &nodes{chain: n.chain, gate: g, lie: n.lie, down: n.down, refuses: n.refuses}
}

func (n *nodes) set(change func(*nodes)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

const (
	firstNode  = "first.invalid"
	secondNode = "second.invalid"
)

var errDown = errors.New("the node is down")

// RoundTrip answers one call.
func (n *nodes) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := n.gate.before(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	second := r.URL.Host == secondNode
	down, told := n.down[0], honest
	if second {
		down, told = n.down[1], n.lie
	}
	refuses := second && n.refuses
	n.mu.Unlock()
	if down {
		return nil, errDown
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	var call struct {
		ID     json.RawMessage
		Method string
		Params []json.RawMessage
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, err
	}
	result, refusal := n.chain.answer(call.Method, call.Params, told, refuses)
	if err := n.gate.after(); err != nil {
		return nil, err
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result}
	if refusal != nil {
		answer = map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": refusal}
	}
	raw, err := json.Marshal(answer)
	if told == garbles {
		raw = raw[:len(raw)/2]
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)), Request: r,
	}, err
}

// rpcError is a node's refusal.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func param[T any](params []json.RawMessage, at int) (value T) {
	if at < len(params) {
		_ = json.Unmarshal(params[at], &value) // What is not understood is empty.
	}
	return value
}

// answer is what a node says about the chain.
func (c *blockchain) answer(method string, params []json.RawMessage, told lie, refuses bool) (any, *rpcError) {
	if method == "sendTransaction" {
		return c.answerSend(param[string](params, 0), refuses)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch method {
	case "getGenesisHash":
		return genesis, nil
	case "getLatestBlockhash":
		return c.inContext(map[string]any{"blockhash": c.latest, "lastValidBlockHeight": c.slot + solana.BlockhashLifetime}), nil
	case "isBlockhashValid":
		return c.inContext(c.valid(param[solana.Hash](params, 0))), nil
	case "getBlockHeight":
		return c.height(param[struct{ Commitment string }](params, 0).Commitment, told), nil
	case "getBalance":
		return c.inContext(c.balance(param[solana.PublicKey](params, 0), told)), nil
	case "getMinimumBalanceForRentExemption":
		return rent, nil
	case "getMultipleAccounts":
		var list []any
		for _, key := range param[[]solana.PublicKey](params, 0) {
			list = append(list, account(key, c.balance(key, told)))
		}
		return c.inContext(list), nil
	case "simulateTransaction":
		return c.simulate(param[string](params, 0), param[struct {
			Accounts struct{ Addresses []solana.PublicKey }
		}](params, 1).Accounts.Addresses, told)
	case "getSignatureStatuses":
		return c.inContext([]any{c.status(param[[]solana.Signature](params, 0)[0], told)}), nil
	case "getSignaturesForAddress":
		return c.history(told), nil
	case "getTransaction":
		return c.transaction(param[solana.Signature](params, 0), told), nil
	}
	return nil, &rpcError{Code: -32601, Message: "Method not found"}
}

func (c *blockchain) inContext(value any) any {
	return map[string]any{"context": map[string]any{"slot": c.slot}, "value": value}
}

func (c *blockchain) height(commitment string, told lie) uint64 {
	height := c.slot
	if commitment == "finalized" {
		height -= finalizedAfter
	}
	if told == farAhead {
		height += 5000
	}
	if told == farBehind {
		height -= 140
	}
	return height
}

func (c *blockchain) balance(key solana.PublicKey, told lie) uint64 {
	if told == hidesMoney {
		return c.lamports[key] / 2
	}
	return c.lamports[key]
}

func account(key solana.PublicKey, lamports uint64) any {
	switch {
	case key == solana.SystemProgram:
		return map[string]any{"lamports": 1, "owner": "NativeLoader1111111111111111111111111111111", "executable": true, "data": []string{"", "base64"}}
	case lamports == 0:
		return nil
	}
	return map[string]any{"lamports": lamports, "owner": solana.SystemProgram, "executable": false, "data": []string{"", "base64"}}
}

// failure is how a transfer that cannot be paid fails.
var failure = map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 1}}}

func (c *blockchain) simulate(text string, watched []solana.PublicKey, told lie) (any, *rpcError) {
	tx, err := parse(text)
	if err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	value := map[string]any{"err": nil, "logs": []string{}, "unitsConsumed": 150, "innerInstructions": []any{}}
	after, failed := c.execute(tx, false)
	switch {
	case !c.valid(tx.Message.Blockhash):
		value["err"] = "BlockhashNotFound"
	case failed:
		value["err"] = failure
	}
	var accounts []any
	for _, key := range watched {
		for i, named := range tx.Message.Keys {
			if named == key {
				if told == hidesMoney {
					after[i] /= 2
				}
				accounts = append(accounts, account(key, after[i]))
			}
		}
	}
	value["accounts"] = accounts
	return c.inContext(value), nil
}

func (c *blockchain) status(id solana.Signature, told lie) any {
	forged := map[lie]any{forgesLanding: nil, forgesFailure: failure}
	if err, lies := forged[told]; lies {
		return map[string]any{"slot": c.slot - 2, "confirmations": 2, "err": err, "confirmationStatus": "finalized"}
	}
	l := c.landed[id]
	if l == nil || told == hidesAll {
		return nil
	}
	level := "processed"
	switch age := c.slot - l.slot; {
	case age >= finalizedAfter:
		level = "finalized"
	case age >= confirmedAfter:
		level = "confirmed"
	}
	return map[string]any{"slot": l.slot, "confirmations": c.slot - l.slot, "err": l.err(), "confirmationStatus": level}
}

func (l *landing) err() any {
	if l.failed {
		return failure
	}
	return nil
}

func (c *blockchain) history(told lie) any {
	list := []any{}
	for _, id := range c.order {
		if l := c.landed[id]; l != nil && c.slot-l.slot >= confirmedAfter && told != hidesAll {
			list = append(list, map[string]any{"signature": id, "slot": l.slot, "err": l.err()})
		}
	}
	return list
}

func (c *blockchain) transaction(id solana.Signature, told lie) any {
	l := c.landed[id]
	if l == nil || c.slot-l.slot < confirmedAfter || told == hidesAll {
		return nil
	}
	return map[string]any{"slot": l.slot, "meta": map[string]any{
		"err": l.err(), "fee": baseFee, "preBalances": l.pre, "postBalances": l.post,
		"preTokenBalances": []any{}, "postTokenBalances": []any{}, "logMessages": []string{},
	}}
}

func parse(text string) (solana.Transaction, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return solana.Transaction{}, fmt.Errorf("not base64: %w", err)
	}
	return solana.ParseTransaction(raw)
}

// answerSend passes a transaction on to the network.
func (c *blockchain) answerSend(text string, refuses bool) (any, *rpcError) {
	tx, err := parse(text)
	if err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	id := tx.Signatures[0]
	if refuses {
		return nil, &rpcError{Code: -32002, Message: "Transaction simulation failed", Data: map[string]any{"err": failure, "logs": []string{}}}
	}
	if c.take(id, tx) {
		return nil, &rpcError{Code: -32603, Message: "Internal error"}
	}
	return id, nil
}
