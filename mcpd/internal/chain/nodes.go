package chain

import (
	"context"
	"errors"
	"sync"

	"countersign/mcpd/internal/fuse"
	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// server is any of the nodes as callers are told of it.
var server = fuse.Server{Name: "the RPC node", Down: fault.RPCUnavailable}

// Client reads the first of its RPC nodes that answers. It is safe for
// concurrent use.
type Client struct {
	nodes []*node

	mu sync.Mutex // guards want
	// want is the network that every node must serve, once it is known.
	want solana.Hash
}

type node struct {
	rpc  *jsonrpc.Client
	fuse *fuse.Fuse

	mu sync.Mutex // guards genesis
	// genesis is the network that the node serves, once it has said so.
	genesis solana.Hash
}

// New makes a client of the nodes at the addresses.
func New(addresses ...string) (*Client, error) {
	if len(addresses) == 0 {
		return nil, errors.New("at least one RPC node is needed")
	}
	c := new(Client)
	for _, address := range addresses {
		rpc, err := jsonrpc.New(address, jsonrpc.Options{Timeout: callTimeout})
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, &node{rpc: rpc, fuse: fuse.New(server)})
	}
	return c, nil
}

// CheckNetwork makes sure that what is read comes from the network that the
// signer is pinned to: a node is used only after it has named this one. One that
// names another is a fault.
func (c *Client) CheckNetwork(ctx context.Context, want solana.Hash) error {
	c.mu.Lock()
	c.want = want
	c.mu.Unlock()
	return c.anywhere(ctx, func(context.Context, *node) error { return nil })
}

// call asks the nodes in order until one answers, and all of them again after a
// pause where that may help. Nothing that mcpd asks for has an effect.
func (c *Client) call(ctx context.Context, method string, params []any, result any) error {
	return c.anywhere(ctx, func(ctx context.Context, n *node) error { return n.call(ctx, method, params, result) })
}

func (c *Client) anywhere(ctx context.Context, do func(context.Context, *node) error) error {
	c.mu.Lock()
	want := c.want
	c.mu.Unlock()
	return fuse.Repeat(ctx, server, func() error {
		var last error
		for _, n := range c.nodes {
			err := n.fuse.Do(func() error {
				if err := n.serves(ctx, want); err != nil {
					return err
				}
				return do(ctx, n)
			})
			if err == nil || fault.Is(err, fault.NetworkMismatch) || ctx.Err() != nil {
				return err
			}
			last = err
		}
		return last
	})
}

// serves compares the node's genesis hash with the wanted one, if any. Once it
// has said which it serves it is not asked again.
func (n *node) serves(ctx context.Context, want solana.Hash) error {
	if want.IsZero() {
		return nil
	}
	n.mu.Lock()
	known := n.genesis
	n.mu.Unlock()
	if known.IsZero() {
		var text string
		if err := n.call(ctx, "getGenesisHash", nil, &text); err != nil {
			return err
		}
		hash, err := solana.ParseHash(text)
		if err != nil {
			return errShape
		}
		n.mu.Lock()
		n.genesis, known = hash, hash
		n.mu.Unlock()
	}
	if known != want {
		return fault.New(fault.NetworkMismatch, "an RPC node of mcpd serves another network than signerd is pinned to")
	}
	return nil
}

func (n *node) call(ctx context.Context, method string, params []any, result any) error {
	err := n.rpc.Call(ctx, method, params, result)
	if err == nil {
		return nil
	}
	told := jsonrpc.FaultOf(method, err)
	if transport, ok := errors.AsType[*jsonrpc.TransportError](err); ok && transport.Timeout {
		return told.Because(errors.Join(err, fuse.ErrSlow))
	}
	if refused, ok := errors.AsType[*jsonrpc.RPCError](err); ok && refused.Code != jsonrpc.NodeUnhealthy {
		return told.Because(errors.Join(err, fuse.ErrRefused))
	}
	return told
}
