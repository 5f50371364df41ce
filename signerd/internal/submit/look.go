package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/shared/txerror"
)

// status is a transaction's status at one node.
type status struct {
	known  bool
	slot   uint64
	failed json.RawMessage
	// settled is confirmed or finalized.
	settled bool
}

// signatureStatus asks one node. history makes it search everything that it
// keeps and not only the last few minutes.
func (n *node) signatureStatus(ctx context.Context, id solana.Signature, history bool) (status, error) {
	var answer struct {
		Value []*struct {
			Slot               uint64          `json:"slot"`
			Err                json.RawMessage `json:"err"`
			ConfirmationStatus string          `json:"confirmationStatus"`
		} `json:"value"`
	}
	err := n.call(ctx, "getSignatureStatuses", []any{[]string{id.String()}, map[string]any{"searchTransactionHistory": history}}, &answer)
	if err != nil {
		return status{}, err
	}
	if len(answer.Value) != 1 {
		return status{}, fmt.Errorf("%w: %d statuses for one signature", jsonrpc.ErrBadAnswer, len(answer.Value))
	}
	found := answer.Value[0]
	if found == nil {
		return status{}, nil
	}
	s := status{known: true, slot: found.Slot, settled: found.ConfirmationStatus == "confirmed" || found.ConfirmationStatus == "finalized"}
	if !txerror.IsNone(found.Err) {
		s.failed = found.Err
	}
	return s, nil
}

// historyPage is how many of the payer's newest transactions are looked
// through. One whose time has just run out is among them.
const historyPage = 1000

// codeNoMethod is the answer of a node that does not have a method.
const codeNoMethod = -32601

// listed looks for the transaction in the node's history of its payer, which
// is an index of its own. A node that keeps none says nothing.
func (n *node) listed(ctx context.Context, payer solana.PublicKey, id solana.Signature) (status, error) {
	var answer []struct {
		Signature solana.Signature `json:"signature"`
		Slot      uint64           `json:"slot"`
		Err       json.RawMessage  `json:"err"`
	}
	err := n.call(ctx, "getSignaturesForAddress", []any{payer.String(), map[string]any{"commitment": "confirmed", "limit": historyPage}}, &answer)
	if answered := new(jsonrpc.RPCError); errors.As(err, &answered) && answered.Code == codeNoMethod {
		return status{}, nil
	}
	for _, entry := range answer {
		if entry.Signature != id {
			continue
		}
		found := status{known: true, slot: entry.Slot, settled: true}
		if !txerror.IsNone(entry.Err) {
			found.failed = entry.Err
		}
		return found, nil
	}
	return status{}, err
}

func (n *node) finalizedHeight(ctx context.Context) (uint64, error) {
	var height uint64
	err := n.call(ctx, "getBlockHeight", []any{map[string]any{"commitment": "finalized"}}, &height)
	return height, err
}

// view is what one node knows of the transaction.
type view struct {
	status status
	// absent says that this node, whose finalized chain is past the last
	// height at which the transaction could land, does not have it: neither in
	// its statuses with history nor among its transactions nor in its history
	// of the payer.
	absent bool
	err    error
}

// see asks one node. The height is asked first: a status read after it cannot
// miss a transaction that landed below it. A node of another network would prove
// anything absent.
func (a *attempt) see(ctx context.Context, n *node) view {
	if err := a.sameNetwork(ctx, n); err != nil {
		return view{err: err}
	}
	height, err := n.finalizedHeight(ctx)
	past := err == nil && height > a.lastValid
	// A resumed transaction may have landed long ago.
	found, statusErr := n.signatureStatus(ctx, a.id, past || a.resumed)
	if statusErr != nil {
		return view{err: statusErr}
	}
	if found.known || !past {
		return view{status: found, err: err}
	}
	meta, err := n.transaction(ctx, a.id)
	switch {
	case err != nil:
		return view{err: err}
	case meta != nil:
		// The status was hidden, but the transaction is there.
		return view{status: meta.status()}
	}
	found, err = n.listed(ctx, a.payer(), a.id)
	switch {
	case err != nil:
		return view{err: err}
	case found.known:
		return view{status: found}
	}
	return view{absent: true}
}

// errNetwork is a node that serves another network than ours.
var errNetwork = errors.New("the RPC node serves another network")

// sameNetwork asks each node once in an attempt which network it serves.
func (a *attempt) sameNetwork(ctx context.Context, n *node) error {
	a.mu.Lock()
	known := a.ours[n]
	a.mu.Unlock()
	if known || a.options.Genesis.IsZero() {
		return nil
	}
	var genesis string
	if err := n.call(ctx, "getGenesisHash", nil, &genesis); err != nil {
		return err
	}
	if genesis != a.options.Genesis.String() {
		return errNetwork
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ours[n] = true
	return nil
}

// payer is who pays the fee, and so has the transaction in its history.
func (a *attempt) payer() solana.PublicKey {
	tx, err := solana.ParseTransaction(a.raw)
	if err != nil {
		return a.options.Wallet
	}
	return tx.Message.Keys[0]
}

// look asks every node at once. What became of the transaction is believed when
// enough nodes tell it and none that answers tells otherwise: a node that lacks
// what others have settled may be behind, or be the only one that is honest, so
// it is asked again. A node that is silent is waited for as long as a call may
// take, unless enough have settled it: then only a moment.
func (a *attempt) look(ctx context.Context) (Result, bool) {
	asking, cancel := context.WithTimeout(ctx, a.options.Timeout)
	defer cancel()
	views := make(chan view, len(a.nodes))
	for _, n := range a.nodes {
		go func() { views <- a.see(asking, n) }()
	}
	seen := tally{enough: a.options.MustAnswer}
	var soon <-chan time.Time
	for range a.nodes {
		select {
		case v := <-views:
			seen.add(v)
			if v.err != nil {
				a.lastErr = v.err
			}
		case <-soon:
			return a.landed(ctx, *seen.settled), true
		}
		switch landed := seen.landed(); {
		case !landed:
			soon = nil
		case soon == nil:
			soon = time.After(a.options.Interval)
		}
	}
	switch {
	case seen.landed():
		return a.landed(ctx, *seen.settled), true
	case seen.expired():
		return a.expired(), true
	case ctx.Err() == nil:
		// What is told if it stays like this; a look that was cut short says less.
		a.seen = seen
	}
	return Result{}, false
}

// tally is what the nodes have said so far.
type tally struct {
	// enough is how many must say the same.
	enough int
	// settled is what those say that have it, unless they differ about how it
	// ended; agree is how many they are.
	settled *status
	differ  bool
	agree   int
	absent  int
	// seen have it, and not settled; behind have not come far enough to know.
	seen, behind int
}

func (t *tally) add(v view) {
	switch {
	case v.err != nil:
	case v.status.settled && t.settled == nil:
		t.settled = &v.status
		t.agree++
	case v.status.settled:
		t.differ = t.differ || !sameEnd(*t.settled, v.status)
		t.agree++
	case v.absent:
		t.absent++
	case v.status.known:
		t.seen++
	default:
		t.behind++
	}
}

// sameEnd compares when and how two nodes say that it ended.
func sameEnd(x, y status) bool {
	return x.slot == y.slot && (x.failed == nil) == (y.failed == nil) &&
		txerror.Describe(x.failed, nil, nil) == txerror.Describe(y.failed, nil, nil)
}

// others are those that answer, and neither have it settled nor prove it absent.
func (t *tally) others() int { return t.seen + t.behind }

func (t *tally) landed() bool {
	return t.agree >= t.enough && !t.differ && t.absent == 0 && t.others() == 0
}

func (t *tally) expired() bool {
	return t.absent >= t.enough && t.settled == nil && t.others() == 0
}

// words say why the outcome is not known, where the nodes are the reason.
func (t *tally) words(nodes int) string {
	answered := t.agree + t.absent + t.others()
	switch {
	case t.differ, t.settled != nil && t.absent+t.others() > 0, t.absent > 0 && t.seen > 0:
		return "the RPC nodes tell different things about it: look at another source, and take the node that is wrong out of [network] rpc in signerd.toml"
	case answered < t.enough:
		return fmt.Sprintf("%d of %d RPC nodes answer, and signerd needs %d (must_answer in signerd.toml)", answered, nodes, t.enough)
	}
	return ""
}
