package judge

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"countersign/shared/fault"
	"countersign/shared/gather"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
)

// view is a transaction as one node shows what it is about.
type view struct {
	node  *chain.Client
	state effects.State
	draft effects.Draft
}

// everywhere does the same for each view at once, and returns what came of it
// in order. A node that does not answer, or not in a way that can be used, is
// left out as long as enough others do; any other error is a verdict, and one
// is enough to refuse. That the transaction is on chain already is no refusal but
// an end: enough must tell it, and none that answers deny it.
func everywhere[V, T any](ctx context.Context, c *chain.Client, views []V, do func(context.Context, V) (T, error)) ([]T, error) {
	var found []T
	var verdict, silent error
	answered, landed := 0, 0
	for _, one := range gather.Enough(ctx, views, c.MustAnswer(), isVerdict, do) {
		switch {
		case one.Err == nil:
			answered++
			found = append(found, one.Value)
		case !isVerdict(one.Err):
			silent = one.Err
		case fault.Is(one.Err, fault.AlreadyLanded):
			answered++
			landed++
		default:
			answered++
			if verdict == nil || rejects(one.Err) && !rejects(verdict) {
				verdict = one.Err
			}
		}
	}
	switch {
	case verdict != nil:
		return nil, verdict
	case landed == 0:
		return found, c.Enough(len(found), silent)
	case landed < answered:
		return nil, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about whether this very transaction is on chain already; nothing was sent now")
	}
	if err := c.Enough(landed, silent); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.AlreadyLanded, "this very transaction is on chain already")
}

// isVerdict tells a refusal from a node that does not answer.
func isVerdict(err error) bool {
	return !fault.Is(err, fault.RPCUnavailable) && !fault.Is(err, fault.RPCBadAnswer) && !errors.Is(err, gather.ErrSlow)
}

// rejects tells what must never be signed from what may be tried again: a node
// that says that a price has moved must not hide what another node has seen.
func rejects(verdict error) bool {
	return fault.From(verdict).Class() == fault.AuthorizationRejected
}

// views reads the transaction through every node.
func (j *Judge) views(ctx context.Context, tx decode.Tx, r Request) ([]view, error) {
	named := namedMints(tx, r.Bounds)
	return everywhere(ctx, j.chain, j.chain.Each(), func(ctx context.Context, node *chain.Client) (view, error) {
		v := view{node: node}
		var err error
		if v.state, err = fetch(ctx, node, tx, named); err != nil {
			return view{}, err
		}
		v.draft, err = effects.Read(tx, r.Flow, r.Bounds, v.state, r.Known)
		return v, err
	})
}

// sameState reports that two readings show the same accounts at every node.
func sameState(x, y []view) bool {
	return slices.EqualFunc(x, y, func(x, y view) bool {
		return maps.EqualFunc(x.state.Before, y.state.Before, func(x, y chain.Account) bool {
			return x.Lamports == y.Lamports && x.Owner == y.Owner && x.Executable == y.Executable && bytes.Equal(x.Data, y.Data)
		})
	})
}

// read is the same views of other bytes about the same accounts.
func read(tx decode.Tx, views []view, r Request) ([]view, error) {
	again := make([]view, 0, len(views))
	for _, v := range views {
		var err error
		if v.draft, err = effects.Read(tx, r.Flow, r.Bounds, v.state, r.Known); err != nil {
			return nil, err
		}
		again = append(again, v)
	}
	return again, nil
}

// simulate runs the bytes at the view's node, unless it is too early to: nil.
func (v view) simulate(ctx context.Context, tx decode.Tx, r Request) (*chain.Simulation, error) {
	if r.Later {
		return nil, nil //nolint:nilnil // There is nothing to simulate yet, and that is no failure.
	}
	simulation, err := v.node.Simulate(ctx, tx, v.draft.Watch())
	return &simulation, err
}
