package flow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/amount"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger"
)

// TestWhatTheLogCallsLandedStaysSpent puts back a ledger from between the sending
// and the settlement of a payment that landed, and has the node forget it: one that
// keeps no long history does. By the node's word it has expired, and its spend would
// be gone from the caps; the audit log knows better. Flow.landedBefore keeps it.
func TestWhatTheLogCallsLandedStaysSpent(t *testing.T) {
	w := newWorld(t)
	older, changes := "", new(atomic.Int32)
	_, genesis := w.rules.Network()
	w.ledger = ledger.New(peeking{w.store, func() {
		if changes.Add(1) == 2 { // The first one stores the signed bytes.
			older = w.copyLedger()
		}
	}}, w.signer.PublicKey(), genesis)
	w.flow.Close()
	w.start()
	confirmed := w.propose()
	w.pay(confirmed)
	w.flow.Close()

	store := w.openLedger(older)
	w.ledger, w.book = ledger.New(store, w.signer.PublicKey(), genesis), approval.NewBook(store)
	if held, count, err := w.ledger.InFlight(t.Context()); err != nil || count != 1 || held < lamports {
		t.Fatalf("the older ledger has %d in flight in %d, %v", held, count, err)
	}
	check(t, w.net.Fault(t.Context(), localnet.Fault{Kind: localnet.HideStatus}))
	check(t, w.net.Advance(t.Context(), 400))
	w.net.RPCURL = withoutHistory(t, w.net.RPCURL)
	w.start()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, count, err := w.ledger.InFlight(t.Context())
		check(t, err)
		if count == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is still unresolved")
		}
	}
	usage, err := w.ledger.Usage(t.Context(), session, time.Now())
	check(t, err)
	receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
	check(t, err)
	if usage.Day[amount.SOL].Used < lamports || receipt.Outcome != flow.Landed || receipt.Transactions[0].Slot == 0 || receipt.Fault != nil {
		t.Errorf("used %d of the day, and the receipt says %s, %+v", usage.Day[amount.SOL].Used, receipt.Outcome, receipt)
	}
}

// withoutHistory is the node at an address, without an index of what an address has
// sent.
func withoutHistory(t *testing.T, address string) string {
	t.Helper()
	node, err := url.Parse(address)
	check(t, err)
	forward := httputil.NewSingleHostReverseProxy(node)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err != nil || json.Unmarshal(body, &call) != nil || call.Method == "getSignaturesForAddress" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, call.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
