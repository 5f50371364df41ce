package flow_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
)

// TestTransfersRunSideBySide: while one transfer is being judged a later one lands,
// and a swap, whose guard could not know what the first may still take, is not
// begun. The lines that keep it are the number of places in turns.take and,
// since the second lands between what the first reads and what it simulates, the
// loop of judge.unguarded.
func TestTransfersRunSideBySide(t *testing.T) {
	w := newWorld(t)
	node := w.behindHoldingNode()
	slow, fast := w.propose(), w.propose()
	decision := w.rules.Evaluate(effects.Swap, []judge.Judged{w.judged()}, policy.Circumstances{Now: time.Now()})
	_, code, err := w.book.Open(t.Context(), approval.Draft{Session: session, Flow: effects.Swap, Decision: decision, TTL: time.Minute}, time.Now())
	check(t, err)
	node.armed.Store(true)
	first := w.confirm(slow)
	<-node.held
	if receipt := <-w.confirm(fast); receipt.Outcome != flow.Landed {
		t.Fatalf("the second: %s, %v", receipt.Outcome, receipt.Fault)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	swap := flow.Confirmed{Session: session, Code: code, Transactions: [][]byte{w.transferNow(lamports)}}
	if _, err := w.flow.Execute(impatient, swap, ignore); !fault.Is(err, fault.WalletBusy) {
		t.Errorf("a swap beside a transfer: %v, want %s", err, fault.WalletBusy)
	}
	select {
	case receipt := <-first:
		t.Fatalf("the first ended while it was held: %+v", receipt)
	default:
	}
	close(node.letGo)
	if receipt := <-first; receipt.Outcome != flow.Landed {
		t.Errorf("the first: %s, %v", receipt.Outcome, receipt.Fault)
	}
	if sent := w.sent(); sent != 2 {
		t.Errorf("the observer sees %d transactions, want 2", sent)
	}
}

// confirm has a proposal executed, and tells what came of it.
func (w *world) confirm(c flow.Confirmed) <-chan flow.Receipt {
	done := make(chan flow.Receipt, 1)
	go func() {
		receipt, err := w.flow.Execute(w.t.Context(), c, ignore)
		if err != nil {
			w.t.Error(err)
		}
		done <- receipt
	}()
	return done
}

// holdingNode stands before the chain. Once armed, it does not answer the next
// simulation until it is let go.
type holdingNode struct {
	armed       atomic.Bool
	held, letGo chan struct{}
}

// behindHoldingNode has the flow read the chain through such a node.
func (w *world) behindHoldingNode() *holdingNode {
	w.t.Helper()
	target, err := url.Parse(w.net.RPCURL)
	check(w.t, err)
	node := &holdingNode{held: make(chan struct{}), letGo: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // The caller sees that it has no answer.
		}
		if bytes.Contains(body, []byte("simulateTransaction")) && node.armed.CompareAndSwap(true, false) {
			close(node.held)
			<-node.letGo
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	w.flow.Close()
	w.chain, err = chain.New([]string{server.URL}, chain.Options{Timeout: time.Minute})
	check(w.t, err)
	w.start()
	return node
}
