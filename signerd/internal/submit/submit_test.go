package submit

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/txerror"
	"countersign/signerd/internal/custody"
)

const lastValid = 1000

// fakeChain is a node with as much behaviour as the tests need. Its fields are
// what it would answer.
type fakeChain struct {
	*httptest.Server
	mu sync.Mutex
	// onSend answers the nth sendTransaction, counted from 1; nil accepts it.
	onSend sendHook
	height uint64
	status any
	meta   any
	// genesis is empty where it refuses to say.
	genesis string
	// history is what getSignaturesForAddress answers.
	history any
	sent    []string
	asked   []string
	// options are those of the first send.
	options map[string]any
}

type call struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func newFakeChain(t *testing.T) *fakeChain {
	t.Helper()
	c := &fakeChain{height: 10}
	c.Server = httptest.NewServer(http.HandlerFunc(c.answer))
	t.Cleanup(c.Close)
	return c
}

func (c *fakeChain) answer(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var got call
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	c.asked = append(c.asked, got.Method)
	var result any
	switch got.Method {
	case "sendTransaction":
		var wire string
		_ = json.Unmarshal(got.Params[0], &wire)
		if c.sent == nil {
			_ = json.Unmarshal(got.Params[1], &c.options)
		}
		c.sent = append(c.sent, wire)
		if c.onSend != nil && c.onSend(len(c.sent), got.ID, w) {
			return
		}
		result = theID().String()
	case "getBlockHeight":
		result = c.height
	case "getGenesisHash":
		if c.genesis == "" {
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		result = c.genesis
	case "getSignatureStatuses":
		result = map[string]any{"context": map[string]any{"slot": 1}, "value": []any{c.status}}
	case "getTransaction":
		result = c.meta
	case "getSignaturesForAddress":
		result = c.history
	}
	respond(w, map[string]any{"jsonrpc": "2.0", "id": got.ID, "result": result})
}

func respond(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (c *fakeChain) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *fakeChain) sends() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

type sendHook func(n int, id json.RawMessage, w http.ResponseWriter) bool

// rpcError answers every send with an error.
func rpcError(code int, data any) sendHook {
	return func(_ int, id json.RawMessage, w http.ResponseWriter) bool {
		respond(w, map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": "m", "data": data}})
		return true
	}
}

var (
	walletKey = ed25519.NewKeyFromSeed(make([]byte, 32))
	wallet    = solana.PublicKey(walletKey.Public().(ed25519.PublicKey))
)

// theTransaction is a signed call of the Jupiter program by the wallet.
func theTransaction() solana.Transaction {
	message := solana.Message{
		RequiredSignatures: 1, ReadonlyUnsigned: 1, Keys: []solana.PublicKey{wallet, {8}, solana.JupiterV6Program},
		Instructions: []solana.Instruction{{Program: 2, Accounts: []uint8{0, 1}, Data: []byte{1}}},
	}
	return solana.Transaction{Message: message, Signatures: []solana.Signature{solana.Signature(ed25519.Sign(walletKey, message.Marshal()))}}
}

func theID() solana.Signature { return theTransaction().ID() }

// quick is the interval of a sender that has nothing to wait for.
const quick = 5 * time.Millisecond

func sender(t *testing.T, endpoints ...string) *Sender {
	t.Helper()
	return senderEvery(t, quick, endpoints...)
}

func senderNeeding(t *testing.T, mustAnswer int, interval time.Duration, endpoints ...string) *Sender {
	t.Helper()
	s, err := New(endpoints, Options{Timeout: time.Second, Interval: interval, MustAnswer: mustAnswer})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// senderEvery waits so long for the other nodes once one has answered.
func senderEvery(t *testing.T, interval time.Duration, endpoints ...string) *Sender {
	t.Helper()
	s, err := New(endpoints, Options{Timeout: time.Second, Interval: interval})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run submits the transaction and gives up after a while.
func run(t *testing.T, s *Sender, limit time.Duration) (Result, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var stages []string
	result := s.submit(ctx, theTransaction().Marshal(), theID(), lastValid, func(stage string) { stages = append(stages, stage) })
	if result.Signature != theID() {
		t.Errorf("the result names %s", result.Signature)
	}
	return result, stages
}

func expect(t *testing.T, got Result, outcome Outcome, code fault.Code) {
	t.Helper()
	if got.Outcome != outcome {
		t.Errorf("outcome %s, want %s (%v)", got.Outcome, outcome, got.Fault)
	}
	if code == "" && got.Fault != nil || code != "" && (got.Fault == nil || got.Fault.Code != code) {
		t.Errorf("fault %v, want %q", got.Fault, code)
	}
}

const (
	soon = 5 * time.Second
	// never is how long a test watches that no verdict is given.
	never = 150 * time.Millisecond
)

func confirmed(slot uint64, failed any) map[string]any {
	return map[string]any{"slot": slot, "confirmations": 1, "err": failed, "confirmationStatus": "confirmed"}
}

func honestMeta(failed any) map[string]any {
	token := func(mint, owner solana.PublicKey, units string) map[string]any {
		return map[string]any{
			"accountIndex": 1, "mint": mint, "owner": owner,
			"uiTokenAmount": map[string]any{"amount": units, "decimals": 6, "uiAmount": 0.5, "uiAmountString": "0.5"},
		}
	}
	return map[string]any{"slot": 77, "blockTime": nil, "version": "legacy", "transaction": []string{"", "base64"}, "meta": map[string]any{
		"err": failed, "fee": 5000, "preBalances": []uint64{1_000_000, 5, 1}, "postBalances": []uint64{700_000, 5, 1},
		"preTokenBalances": []any{token(solana.WrappedSOL, wallet, "50000"), token(solana.PublicKey{3}, solana.PublicKey{4}, "9")},
		"postTokenBalances": []any{
			token(solana.WrappedSOL, wallet, "20000"), token(solana.PublicKey{3}, wallet, "40"), token(solana.PublicKey{3}, wallet, "2"),
		},
		"logMessages": []string{"Program " + solana.MeteoraDBCProgram.String() + " failed: custom program error: 0x1772"},
	}}
}

func TestTellLanding(t *testing.T) {
	c := newFakeChain(t)
	c.status, c.meta = confirmed(77, nil), honestMeta(nil)
	got, stages := run(t, sender(t, c.URL), soon)
	want := Result{Outcome: Landed, Signature: theID(), Slot: 77, Fee: 5000, Changes: []Change{
		{Mint: amount.SOL, Decimals: 9, Out: 330_000}, {Mint: solana.PublicKey{3}, Decimals: 6, In: 42},
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *fault.Fault) bool { return a == b })); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sent"}, stages); diff != "" {
		t.Error(diff)
	}
	if got := c.sends(); len(got) != 1 || got[0] != base64.StdEncoding.EncodeToString(theTransaction().Marshal()) {
		t.Errorf("%d sends, want exactly the signed bytes once", len(got))
	}
}

func TestTellFailureOnChain(t *testing.T) {
	c := newFakeChain(t)
	failed := map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 6002}}}
	c.status, c.meta = confirmed(77, failed), honestMeta(failed)
	got, _ := run(t, sender(t, c.URL), soon)
	expect(t, got, LandedFailed, fault.FailedOnChain)
	if got.Err == nil || got.Err.Program != solana.MeteoraDBCProgram || got.Err.Code != "6002" || got.Fee != 5000 || len(got.Changes) == 0 {
		t.Errorf("%+v, fee %d, %v", got.Err, got.Fee, got.Changes)
	}
}

func TestTellLandingWithoutAccount(t *testing.T) {
	c := newFakeChain(t)
	c.status = confirmed(77, nil)
	got, _ := run(t, sender(t, c.URL), soon)
	expect(t, got, Landed, "")
	if len(got.Changes) != 0 || got.Fee != 0 {
		t.Errorf("changes out of nothing: %+v", got)
	}
}

// TestRefusalProvesNothing: a node that says that it sent nothing has the bytes
// and can have sent them. Its reason is told, and nothing is sent again. Kept by
// the case saysRefused in firstSend (submit/submit.go).
func TestRefusalProvesNothing(t *testing.T) {
	preflight := func(err any) map[string]any { return map[string]any{"err": err, "logs": []string{}} }
	for name, test := range map[string]struct {
		onSend sendHook
		err    string
		says   string
	}{
		"preflight failed":  {rpcError(-32002, preflight(map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 6001}}})), "6001", "slippage"},
		"blockhash too old": {rpcError(-32002, preflight("BlockhashNotFound")), "BlockhashNotFound", "too old"},
		"wallet empty":      {rpcError(-32002, preflight("AccountNotFound")), "AccountNotFound", "empty"},
		"no fee":            {rpcError(-32002, preflight("InsufficientFundsForFee")), "InsufficientFundsForFee", "fee"},
		"bad signature":     {rpcError(-32003, nil), "", "malformed"},
		"bad parameters":    {rpcError(-32602, nil), "", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeChain(t)
			c.onSend = test.onSend
			got, stages := run(t, sender(t, c.URL), soon)
			expect(t, got, Unknown, fault.OutcomeUnknown)
			if test.err != "" && (got.Err == nil || got.Err.Code != test.err) {
				t.Errorf("error %+v, want %s", got.Err, test.err)
			}
			if !strings.Contains(got.Fault.Message, test.says) {
				t.Errorf("%q does not say %q", got.Fault.Message, test.says)
			}
			if len(c.sends()) != 1 || len(stages) != 0 {
				t.Errorf("%d sends, stages %v", len(c.sends()), stages)
			}
			// The node that refused it has sent it all the same.
			c.set(func() { c.status, c.meta = confirmed(77, nil), honestMeta(nil) })
			got, _ = run(t, sender(t, c.URL), soon)
			expect(t, got, Landed, "")
			// Or it has not, and time has run out.
			c.set(func() { c.status, c.meta, c.height = nil, nil, lastValid+1 })
			got, _ = run(t, sender(t, c.URL), soon)
			expect(t, got, Expired, fault.ProvenExpired)
		})
	}
}

func TestProveThatNothingLeft(t *testing.T) {
	c := newFakeChain(t)
	gone := c.URL
	c.Close()
	got, _ := run(t, sender(t, gone, gone+"/second"), soon)
	expect(t, got, NothingSent, fault.RPCUnavailable)
}

// TestKeepUnknown lists answers that prove nothing: until the outcome is seen
// or time is up, it is unknown, and the same bytes go out again.
func TestKeepUnknown(t *testing.T) {
	for name, onSend := range map[string]sendHook{
		"accepted":            nil,
		"node behind":         rpcError(-32005, nil),
		"code without reason": rpcError(-32002, nil),
		"reason null":         rpcError(-32002, map[string]any{"err": nil}),
		"already processed":   rpcError(-32002, map[string]any{"err": "AlreadyProcessed"}),
		"internal error":      rpcError(-32603, nil),
		"status 500":          func(_ int, _ json.RawMessage, w http.ResponseWriter) bool { w.WriteHeader(500); return true },
		"status 502 with JSON": func(_ int, _ json.RawMessage, w http.ResponseWriter) bool {
			w.WriteHeader(502)
			respond(w, 1)
			return true
		},
		"no JSON": func(_ int, _ json.RawMessage, w http.ResponseWriter) bool {
			_, _ = w.Write([]byte("<html>"))
			return true
		},
		"answer to another call": func(_ int, _ json.RawMessage, w http.ResponseWriter) bool {
			respond(w, map[string]any{"jsonrpc": "2.0", "id": 99, "result": ""})
			return true
		},
		"signature of another": func(_ int, id json.RawMessage, w http.ResponseWriter) bool {
			respond(w, map[string]any{"jsonrpc": "2.0", "id": id, "result": solana.Signature{1}.String()})
			return true
		},
		"connection broken in reply": func(int, json.RawMessage, http.ResponseWriter) bool { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeChain(t)
			c.onSend = onSend
			got, stages := run(t, sender(t, c.URL), never)
			expect(t, got, Unknown, fault.OutcomeUnknown)
			if !slices.Equal(stages, []string{"sent"}) {
				t.Errorf("stages %v", stages)
			}
			sends := c.sends()
			if len(sends) < 3 || len(slices.Compact(sends)) != 1 {
				t.Errorf("%d sends of %d different transactions, want several of one", len(sends), len(slices.Compact(sends)))
			}
			// And when it turns out that it landed, that is what is told.
			c.set(func() { c.status, c.meta = confirmed(77, nil), honestMeta(nil) })
			got, _ = run(t, sender(t, c.URL), soon)
			expect(t, got, Landed, "")
		})
	}
}

func TestProveExpiry(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(*fakeChain)
		want Outcome
	}{
		"past the height and absent": {func(c *fakeChain) { c.height = lastValid + 1 }, Expired},
		"at the last height":         {func(c *fakeChain) { c.height = lastValid }, Unknown},
		"processed only": {func(c *fakeChain) {
			c.height, c.status = lastValid+1, map[string]any{"slot": 5, "err": nil, "confirmationStatus": "processed"}
		}, Unknown},
		"status and transaction hidden": {func(c *fakeChain) {
			c.height = lastValid + 1
			c.history = []any{map[string]any{"signature": theID().String(), "slot": 77, "err": nil}}
		}, Landed},
		"status hidden": {func(c *fakeChain) { c.height, c.meta = lastValid+1, honestMeta(nil) }, Landed},
		"status late":   {func(c *fakeChain) { c.height, c.status, c.meta = lastValid+1, confirmed(77, nil), honestMeta(nil) }, Landed},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeChain(t)
			test.set(c)
			limit := soon
			if test.want == Unknown {
				limit = never
			}
			got, _ := run(t, sender(t, c.URL), limit)
			if got.Outcome != test.want {
				t.Errorf("got %s, want %s", got.Outcome, test.want)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if test.want == Expired && !slices.Contains(c.asked, "getTransaction") {
				t.Error("expiry was told without a look for the transaction itself")
			}
		})
	}
}

// TestBelieveEnoughNodes: an end is told when enough nodes tell it and none that
// answers denies it, in whatever order they are listed.
func TestBelieveEnoughNodes(t *testing.T) {
	failed := map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 1}}}
	states := map[string]func(*fakeChain){
		"landed": func(c *fakeChain) { c.status, c.meta = confirmed(77, nil), honestMeta(nil) },
		"failed": func(c *fakeChain) { c.status, c.meta = confirmed(77, failed), honestMeta(failed) },
		"absent": func(c *fakeChain) { c.height = lastValid + 1 },
		"behind": func(*fakeChain) {},
		"silent": (*fakeChain).Close,
	}
	for _, test := range []struct {
		nodes []string
		must  int
		want  Outcome
	}{
		{[]string{"landed", "landed"}, 0, Landed},
		{[]string{"failed", "failed"}, 0, LandedFailed},
		{[]string{"absent", "absent"}, 0, Expired},
		// A word that others deny, or do not back, is not believed.
		{[]string{"landed", "absent"}, 0, Unknown},
		{[]string{"landed", "behind"}, 0, Unknown},
		{[]string{"landed", "failed"}, 0, Unknown},
		{[]string{"landed", "silent"}, 0, Unknown},
		{[]string{"failed", "behind"}, 0, Unknown},
		{[]string{"absent", "behind"}, 0, Unknown},
		{[]string{"absent", "silent"}, 0, Unknown},
		{[]string{"landed", "behind"}, 1, Unknown},
		{[]string{"landed", "absent"}, 1, Unknown},
		{[]string{"absent", "behind"}, 1, Unknown},
		// Silence is allowed to those that need not answer.
		{[]string{"landed", "silent"}, 1, Landed},
		{[]string{"absent", "silent"}, 1, Expired},
		{[]string{"landed", "landed", "silent"}, 2, Landed},
		{[]string{"landed", "silent", "silent"}, 2, Unknown},
	} {
		for range test.nodes {
			name := fmt.Sprintf("%v, of which %d must answer", test.nodes, test.must)
			var addresses []string
			for _, state := range test.nodes {
				c := newFakeChain(t)
				states[state](c)
				addresses = append(addresses, c.URL)
			}
			limit, interval := soon, quick
			if test.want == Unknown {
				// However busy the machine is, no answer is missed.
				limit, interval = never, never
			}
			got, _ := run(t, senderNeeding(t, test.must, interval, addresses...), limit)
			if got.Outcome != test.want {
				t.Errorf("%s: %s, want %s", name, got.Outcome, test.want)
			}
			if test.want == Landed && len(got.Changes) == 0 {
				t.Errorf("%s: what it changed is not told", name)
			}
			test.nodes = append(test.nodes[1:], test.nodes[0])
		}
	}
}

// TestChargeTheWorstOfAllNodes: one node names a smaller outflow than there was,
// or a failure where there was none.
func TestChargeTheWorstOfAllNodes(t *testing.T) {
	honest := []Change{{Mint: amount.SOL, Decimals: 9, Out: 330_000}, {Mint: solana.PublicKey{3}, Decimals: 6, In: 42}}
	for name, test := range map[string]struct {
		lie  func(meta map[string]any)
		want []Change
	}{
		"the same": {func(map[string]any) {}, honest},
		"less SOL": {func(m map[string]any) { m["postBalances"] = []uint64{999_999, 5, 1} }, honest},
		"none": {func(m map[string]any) {
			m["postBalances"], m["postTokenBalances"] = m["preBalances"], m["preTokenBalances"]
		}, honest[:1]},
		"more tokens": {func(m map[string]any) {
			m["postTokenBalances"] = append(m["postTokenBalances"].([]any), m["postTokenBalances"].([]any)[1])
		}, honest},
	} {
		for _, first := range []bool{true, false} {
			liar, truth := newFakeChain(t), newFakeChain(t)
			liar.status, liar.meta = confirmed(77, nil), honestMeta(nil)
			truth.status, truth.meta = confirmed(77, nil), honestMeta(nil)
			test.lie(liar.meta.(map[string]any)["meta"].(map[string]any))
			nodes := []string{truth.URL, liar.URL}
			if first {
				slices.Reverse(nodes)
			}
			got, _ := run(t, sender(t, nodes...), soon)
			expect(t, got, Landed, "")
			if diff := cmp.Diff(test.want, got.Changes); diff != "" {
				t.Errorf("%s, liar first %v (-want +got):\n%s", name, first, diff)
			}
		}
	}
	// Where one of them tells nothing, nothing is told: it may be the honest one.
	one, other := newFakeChain(t), newFakeChain(t)
	one.status, one.meta = confirmed(77, nil), honestMeta(nil)
	other.status = confirmed(77, nil)
	got, _ := run(t, sender(t, one.URL, other.URL), soon)
	expect(t, got, Landed, "")
	if len(got.Changes) != 0 || got.Fee != 0 {
		t.Errorf("by the word of one of two nodes: %+v, fee %s", got.Changes, got.Fee)
	}
}

// TestKeepUnknownWhereNodesDisagree: whether it failed decides what is charged.
func TestKeepUnknownWhereNodesDisagree(t *testing.T) {
	failed := map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 1}}}
	one, other := newFakeChain(t), newFakeChain(t)
	one.status, one.meta = confirmed(77, nil), honestMeta(nil)
	other.status, other.meta = confirmed(77, failed), honestMeta(failed)
	// However busy the machine is, the second answer is not missed.
	got, _ := run(t, senderEvery(t, never, one.URL, other.URL), never)
	expect(t, got, Unknown, fault.OutcomeUnknown)
	other.set(func() { other.status, other.meta = confirmed(77, nil), honestMeta(nil) })
	got, _ = run(t, sender(t, one.URL, other.URL), soon)
	expect(t, got, Landed, "")
}

// TestSendThroughEveryNode: a node that keeps the bytes back must not be the
// only one that has them.
func TestSendThroughEveryNode(t *testing.T) {
	keeps, works := newFakeChain(t), newFakeChain(t)
	works.onSend = func(int, json.RawMessage, http.ResponseWriter) bool {
		works.status, works.meta = confirmed(77, nil), honestMeta(nil)
		keeps.set(func() { keeps.status, keeps.meta = works.status, works.meta })
		return false
	}
	got, _ := run(t, sender(t, keeps.URL, works.URL), soon)
	expect(t, got, Landed, "")
	if len(works.sends()) == 0 {
		t.Error("the second node was sent nothing")
	}
	gone := newFakeChain(t)
	gone.Close()
	got, _ = run(t, senderNeeding(t, 1, quick, gone.URL, works.URL), soon)
	expect(t, got, Landed, "")
}

func TestGiveNodeItsRest(t *testing.T) {
	c := newFakeChain(t)
	var second time.Time
	begin := time.Now()
	c.onSend = func(n int, _ json.RawMessage, w http.ResponseWriter) bool {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		second = time.Now()
		c.status, c.meta = confirmed(77, nil), honestMeta(nil)
		return false
	}
	got, _ := run(t, sender(t, c.URL), soon)
	expect(t, got, Landed, "")
	if rested := second.Sub(begin); rested < time.Second {
		t.Errorf("asked again after %v, and it had asked for 1s", rested)
	}
	if asked := len(c.asked); asked > 12 {
		t.Errorf("%d calls; it was not left in peace", asked)
	}
}

func TestResumeNeverSaysNothingWasSent(t *testing.T) {
	c := newFakeChain(t)
	c.onSend = rpcError(-32003, nil)
	ctx, cancel := context.WithTimeout(t.Context(), never)
	defer cancel()
	got := sender(t, c.URL).Resume(ctx, theTransaction().Marshal(), theID(), lastValid)
	expect(t, got, Unknown, fault.OutcomeUnknown)
	if len(c.sends()) != 0 {
		t.Error("a look for an outcome sent something")
	}
	c.set(func() { c.status, c.meta, c.sent = confirmed(77, nil), honestMeta(nil), nil })
	got = sender(t, c.URL).Resume(t.Context(), theTransaction().Marshal(), theID(), lastValid)
	expect(t, got, Landed, "")
	if len(c.sends()) != 0 {
		t.Error("a transaction that had landed was sent again")
	}
}

func TestRefuseUnsigned(t *testing.T) {
	c := newFakeChain(t)
	got := sender(t, c.URL).Submit(t.Context(), custody.Signed{}, lastValid, func(string) {})
	expect(t, got, NothingSent, fault.Internal)
	if len(c.asked) != 0 {
		t.Errorf("the node was asked: %v", c.asked)
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("a sender without a node was made")
	}
	if _, err := New([]string{"ftp://x"}, Options{}); err == nil {
		t.Error("a sender with an address of another kind was made")
	}
}

func TestSpeakToNodeAsItExpects(t *testing.T) {
	c := newFakeChain(t)
	c.status, c.meta = confirmed(77, nil), honestMeta(nil)
	run(t, sender(t, c.URL), soon)
	want := map[string]any{"encoding": "base64", "skipPreflight": false, "preflightCommitment": "confirmed", "maxRetries": 0.0}
	if diff := cmp.Diff(want, c.options); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestCountNoChangeOfStrangers(t *testing.T) {
	var m meta
	raw, err := json.Marshal(honestMeta(nil)["meta"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if got, _ := changesOf(theTransaction().Marshal(), solana.PublicKey{4}, m); len(got) != 1 || got[0] != (Change{Mint: solana.PublicKey{3}, Decimals: 6, Out: 9}) {
		t.Errorf("changes of another wallet: %+v", got)
	}
	m.PostTokenBalances[0].Amount.Amount = "-1"
	if got, ok := changesOf(theTransaction().Marshal(), wallet, m); ok {
		t.Errorf("changes out of an account that cannot be read: %+v", got)
	}
}

func FuzzReadAnswers(f *testing.F) {
	for _, seed := range []any{confirmed(1, nil), honestMeta(nil), map[string]any{"err": "AlreadyProcessed"}, nil, "x"} {
		raw, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	raw := theTransaction().Marshal()
	f.Fuzz(func(t *testing.T, answer []byte) {
		var m meta
		if json.Unmarshal(answer, &m) != nil {
			return
		}
		changes, _ := changesOf(raw, wallet, m)
		for _, change := range changes {
			if change.In != 0 && change.Out != 0 {
				t.Errorf("%s both came and went: %s", fmt.Sprint(change), answer)
			}
		}
		if failed := txerror.Describe(m.Err, m.LogMessages, topPrograms(raw)); failed.Text == "" {
			t.Errorf("no words for %s", answer)
		}
	})
}
