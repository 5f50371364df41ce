// Package chain is what signerd asks the network for itself: accounts, lookup
// tables, balances, rent, simulation. It only reads, at commitment confirmed,
// and believes an answer only in the exact shape that the method promises.
//
// effects, judge, flow and app import it. It promises that an answer
// that cannot be read is a fault, never a zero, that where several nodes are
// configured the word of one can make a verdict stricter and never looser, and
// that no fault holds the address of a node.
//
// It has a file for each kind of thing that is asked.
package chain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"countersign/shared/fault"
	"countersign/shared/gather"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
)

// confirmed is the commitment of everything that is judged: the level at which
// a fresh blockhash is known.
const confirmed = "confirmed"

// Client reads from one or several nodes, some of which may lie. It is safe for
// concurrent use.
type Client struct {
	nodes []*node
	// enough is how many of them must answer where money rests on the answer.
	enough int
}

// node is one endpoint. It is left out while CheckGenesis could not establish
// which network it serves.
type node struct {
	rpc *jsonrpc.Client
	out atomic.Bool
}

// Options adjust a client; zero values mean the defaults.
type Options struct {
	// Timeout bounds one call, 10 s by default.
	Timeout time.Duration
	// MustAnswer is how many nodes must answer a question that money rests on:
	// all of them by default. With k answers, k-1 nodes may lie in any way.
	MustAnswer int
	// Transport carries the calls; over the network by default.
	Transport http.RoundTripper
}

// New makes a client of the endpoints, which are asked in this order.
func New(endpoints []string, options Options) (*Client, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("no RPC node is configured")
	}
	if options.MustAnswer < 0 || options.MustAnswer > len(endpoints) {
		return nil, fmt.Errorf("%d RPC nodes are to answer, of %d", options.MustAnswer, len(endpoints))
	}
	client := &Client{enough: options.MustAnswer}
	if client.enough == 0 {
		client.enough = len(endpoints)
	}
	for _, endpoint := range endpoints {
		rpc, err := jsonrpc.New(endpoint, jsonrpc.Options{Timeout: options.Timeout, Transport: options.Transport})
		if err != nil {
			return nil, err
		}
		client.nodes = append(client.nodes, &node{rpc: rpc})
	}
	return client, nil
}

// Each is every node as a client of its own, so that what one node says can be
// judged by itself.
func (c *Client) Each() []*Client {
	each := make([]*Client, 0, len(c.nodes))
	for i := range c.nodes {
		each = append(each, &Client{nodes: c.nodes[i : i+1], enough: 1})
	}
	return each
}

// MustAnswer is how many of the nodes must answer.
func (c *Client) MustAnswer() int { return c.enough }

// Enough fails unless so many of the nodes have answered as must. last is why
// the latest of the others did not.
func (c *Client) Enough(answered int, last error) error {
	if answered >= c.enough {
		return nil
	}
	if len(c.nodes) == 1 && last != nil {
		return last
	}
	short := fault.New(fault.RPCUnavailable,
		"%d of %d RPC nodes gave an answer that can be used, and signerd needs %d: wait, take a node that is down out of [network] rpc in signerd.toml, or set must_answer there",
		answered, len(c.nodes), c.enough)
	if last != nil {
		short = short.After(fault.From(last).RetryAfter).Because(last)
	}
	return short
}

// ask makes a read call at the first node that answers it well. check judges
// the answer's shape and may be nil.
func ask[T any](ctx context.Context, c *Client, method string, params []any, check func(T) error) (T, error) {
	var last error = errOut
	for _, node := range c.nodes {
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

// askAll asks all nodes at once and collects their answers in order. Fewer than
// must answer are a fault: a liar could be all that is left. Once enough have
// answered, the others are waited for a moment only.
func askAll[T any](ctx context.Context, c *Client, method string, params []any, check func(T) error) ([]T, error) {
	return gatherAll(ctx, c, func(ctx context.Context, n *node) (T, error) {
		return askNode(ctx, n, method, params, check)
	})
}

func gatherAll[T any](ctx context.Context, c *Client, ask func(context.Context, *node) (T, error)) ([]T, error) {
	var answers []T
	var last error
	for _, one := range gather.Enough(ctx, c.nodes, c.enough, nil, ask) {
		if one.Err != nil {
			last = one.Err
		} else {
			answers = append(answers, one.Value)
		}
	}
	if err := c.Enough(len(answers), last); err != nil {
		return nil, err
	}
	return answers, nil
}

// errOut is a node that is not known to serve the pinned network.
var errOut = fault.New(fault.RPCUnavailable, "no RPC node is known to serve the pinned network")

func askNode[T any](ctx context.Context, n *node, method string, params []any, check func(T) error) (T, error) {
	var answer T
	if n.out.Load() {
		return answer, errOut
	}
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
// network is a fault; one that does not answer counts as silent in every read
// until it has answered here, and enough must answer.
func (c *Client) CheckGenesis(ctx context.Context, want solana.Hash) error {
	outcomes := gather.Enough(ctx, c.nodes, c.enough, nil, func(ctx context.Context, n *node) (string, error) {
		var genesis string
		err := n.rpc.Call(ctx, methodGenesis, nil, &genesis)
		return genesis, err
	})
	var silent error
	answered := 0
	for i, one := range outcomes {
		switch {
		case one.Err != nil:
			c.nodes[i].out.Store(true)
			silent = jsonrpc.FaultOf(methodGenesis, one.Err)
		case one.Value != want.String():
			c.nodes[i].out.Store(true)
			return fault.New(fault.NetworkMismatch, "RPC node %d of %d in signerd.toml serves the network with genesis hash %s, and policy.toml pins %s",
				i+1, len(c.nodes), untrusted.Clean(one.Value, untrusted.Name).Display(), want)
		default:
			c.nodes[i].out.Store(false)
			answered++
		}
	}
	return c.Enough(answered, silent)
}

const methodGenesis = "getGenesisHash"
