// Package chain is what signerd asks the network for itself: accounts, lookup
// tables, balances, rent, simulation. It only reads, at commitment confirmed,
// and believes an answer only in the exact shape that the method promises.
//
// effects, judge, flow and app import it. It promises that an answer
// that cannot be read is a fault, never a zero, and that no fault holds the
// address of a node.
package chain

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// confirmed is the commitment of everything that is judged: the level at which
// a fresh blockhash is known.
const confirmed = "confirmed"

// Client reads from one or several nodes. It is safe for concurrent use.
type Client struct {
	nodes []*node
}

// node is one endpoint. It is left out while CheckGenesis could not establish
// which network it serves.
type node struct {
	rpc *jsonrpc.Client
	out atomic.Bool
}

// New makes a client of the endpoints, which are asked in this order.
func New(endpoints []string, timeout time.Duration) (*Client, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("no RPC node is configured")
	}
	client := &Client{}
	for _, endpoint := range endpoints {
		rpc, err := jsonrpc.New(endpoint, jsonrpc.Options{Timeout: timeout})
		if err != nil {
			return nil, err
		}
		client.nodes = append(client.nodes, &node{rpc: rpc})
	}
	return client, nil
}

// ask makes a read call at the first node that answers it well. check judges
// the answer's shape and may be nil.
func ask[T any](ctx context.Context, c *Client, method string, params []any, check func(T) error) (T, error) {
	var last error = fault.New(fault.RPCUnavailable, "no RPC node is known to serve the pinned network")
	for _, node := range c.nodes {
		if node.out.Load() {
			continue
		}
		answer, err := askNode(ctx, node, method, params, check)
		if err == nil {
			return answer, nil
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	var zero T
	return zero, last
}

// askAll collects the answers of all nodes, in their order, and fails if there
// is none. They are asked at once, so that a slow one costs its own time only.
func askAll[T any](ctx context.Context, c *Client, method string, params []any, check func(T) error) ([]T, error) {
	type outcome struct {
		answer T
		err    error
	}
	var asked []chan outcome
	for _, node := range c.nodes {
		if node.out.Load() {
			continue
		}
		answered := make(chan outcome, 1)
		asked = append(asked, answered)
		go func() {
			answer, err := askNode(ctx, node, method, params, check)
			answered <- outcome{answer, err}
		}()
	}
	var answers []T
	var last error = fault.New(fault.RPCUnavailable, "no RPC node is known to serve the pinned network")
	for _, answered := range asked {
		if got := <-answered; got.err != nil {
			last = got.err
		} else {
			answers = append(answers, got.answer)
		}
	}
	if len(answers) == 0 {
		return nil, last
	}
	return answers, nil
}

func askNode[T any](ctx context.Context, n *node, method string, params []any, check func(T) error) (T, error) {
	var answer T
	if err := n.rpc.Call(ctx, method, params, &answer); err != nil {
		return answer, jsonrpc.FaultOf(method, err)
	}
	if check == nil {
		return answer, nil
	}
	if err := check(answer); err != nil {
		return answer, jsonrpc.BadAnswer(method, err)
	}
	return answer, nil
}

// CheckGenesis asks every node which network it serves. A node of another
// network is a fault; one that does not answer is left out of every read until
// it has answered here, and at least one must answer.
func (c *Client) CheckGenesis(ctx context.Context, want solana.Hash) error {
	var silent error
	answered := 0
	for _, node := range c.nodes {
		genesis, err := askNode[string](ctx, node, "getGenesisHash", nil, nil)
		if err != nil {
			node.out.Store(true)
			silent = err
			continue
		}
		if genesis != want.String() {
			node.out.Store(true)
			return fault.New(fault.NetworkMismatch, "an RPC node serves another network than the one the policy pins")
		}
		node.out.Store(false)
		answered++
	}
	if answered == 0 {
		return silent
	}
	return nil
}
