package submit

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// hangs makes a node whose answers to one method never come.
func (c *fakeChain) hangs(t *testing.T, method string) {
	t.Helper()
	honest := c.Config.Handler
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	c.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // The client has left.
		}
		if strings.Contains(string(raw), `"`+method+`"`) {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		honest.ServeHTTP(w, r)
	})
}

// TestHungNodeKeepsNoOtherFromTelling: one node hangs where it is asked for the
// account of the transaction, and the others tell it.
func TestHungNodeKeepsNoOtherFromTelling(t *testing.T) {
	hung, one, two := newFakeChain(t), newFakeChain(t), newFakeChain(t)
	for _, c := range []*fakeChain{hung, one, two} {
		c.status, c.meta = confirmed(77, nil), honestMeta(nil)
	}
	hung.hangs(t, "getTransaction")
	s, err := New([]string{hung.URL, one.URL, two.URL}, Options{Timeout: time.Minute, Interval: 20 * time.Millisecond, MustAnswer: 2})
	if err != nil {
		t.Fatal(err)
	}
	// Less than one call to the hung node may take.
	got, _ := run(t, s, 8*time.Second)
	expect(t, got, Landed, "")
	if len(got.Changes) == 0 {
		t.Error("two of three nodes tell the account, and it is not told")
	}
}

// TestUnknownSaysWhy: what the owner is told where the nodes disagree, or are too
// few.
func TestUnknownSaysWhy(t *testing.T) {
	states := map[string]func(*fakeChain){
		"landed": func(c *fakeChain) { c.status, c.meta = confirmed(77, nil), honestMeta(nil) },
		"absent": func(c *fakeChain) { c.height = lastValid + 1 },
		"behind": func(*fakeChain) {},
		"processed": func(c *fakeChain) {
			c.height, c.status = lastValid+1, map[string]any{"slot": 5, "err": nil, "confirmationStatus": "processed"}
		},
		"silent": (*fakeChain).Close,
	}
	for _, test := range []struct {
		nodes []string
		says  string
	}{
		{[]string{"landed", "absent"}, "different things"},
		{[]string{"landed", "behind"}, "different things"},
		{[]string{"absent", "processed"}, "different things"},
		{[]string{"landed", "silent"}, "must_answer"},
		{[]string{"absent", "silent"}, "must_answer"},
	} {
		for range 2 {
			var addresses []string
			for _, state := range test.nodes {
				c := newFakeChain(t)
				states[state](c)
				addresses = append(addresses, c.URL)
			}
			got, _ := run(t, sender(t, addresses...), never)
			expect(t, got, Unknown, fault.OutcomeUnknown)
			if !strings.Contains(got.Fault.Message, test.says) {
				t.Errorf("%v: %q does not say %q", test.nodes, got.Fault.Message, test.says)
			}
			slices.Reverse(test.nodes)
		}
	}
}

// TestOtherDecimalsAreNotTold: what a person reads would be off by powers of ten.
func TestOtherDecimalsAreNotTold(t *testing.T) {
	for range 2 {
		liar, truth := newFakeChain(t), newFakeChain(t)
		truth.status, truth.meta = confirmed(77, nil), honestMeta(nil)
		liar.status, liar.meta = confirmed(77, nil), honestMeta(nil)
		for _, balance := range metaOf(liar)["postTokenBalances"].([]any) {
			balance.(map[string]any)["uiTokenAmount"].(map[string]any)["decimals"] = 0
		}
		got, _ := run(t, sender(t, truth.URL, liar.URL), soon)
		expect(t, got, Landed, "")
		if got.Told() || len(got.Changes) != 0 {
			t.Errorf("the nodes differ about the decimals, and %+v is told", got.Changes)
		}
	}
}

func metaOf(c *fakeChain) map[string]any { return c.meta.(map[string]any)["meta"].(map[string]any) }

// TestSpoiltAccountTellsNothing: an account that is not whole, or is one of
// another end, does not count among those that must tell. What the other node
// says stands alone then, and it may be the one that lies.
func TestSpoiltAccountTellsNothing(t *testing.T) {
	failed := map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 1}}}
	for name, spoil := range map[string]func(c *fakeChain){
		"meta is null": func(c *fakeChain) { c.meta = map[string]any{"slot": 77, "meta": nil} },
		"no fee":       func(c *fakeChain) { metaOf(c)["fee"] = 0 },
		"no balances":  func(c *fakeChain) { metaOf(c)["preBalances"], metaOf(c)["postBalances"] = []uint64{}, []uint64{} },
		"no owners": func(c *fakeChain) {
			for _, list := range []string{"preTokenBalances", "postTokenBalances"} {
				for _, balance := range metaOf(c)[list].([]any) {
					delete(balance.(map[string]any), "owner")
				}
			}
		},
		"no amount": func(c *fakeChain) {
			metaOf(c)["preTokenBalances"].([]any)[0].(map[string]any)["uiTokenAmount"].(map[string]any)["amount"] = ""
		},
		"another end":  func(c *fakeChain) { c.meta = honestMeta(failed) },
		"another slot": func(c *fakeChain) { c.meta.(map[string]any)["slot"] = 78 },
	} {
		for _, reversed := range []bool{true, false} {
			liar, spoilt := newFakeChain(t), newFakeChain(t)
			for _, c := range []*fakeChain{liar, spoilt} {
				c.status, c.meta = confirmed(77, nil), honestMeta(nil)
			}
			metaOf(liar)["postBalances"] = []uint64{999_000, 5, 1}
			spoil(spoilt)
			nodes := []string{spoilt.URL, liar.URL}
			if reversed {
				slices.Reverse(nodes)
			}
			got, _ := run(t, sender(t, nodes...), soon)
			expect(t, got, Landed, "")
			if got.Told() || len(got.Changes) > 0 {
				t.Errorf("%s: told %+v, by one node alone", name, got.Changes)
			}
		}
	}
}

// TestNodeOfAnotherNetworkProvesNothing: its silence about a transaction is no
// absence.
func TestNodeOfAnotherNetworkProvesNothing(t *testing.T) {
	for answer, want := range map[string]Outcome{ours.String(): Expired, (solana.Hash{9}).String(): Unknown, "": Unknown} {
		one, other := newFakeChain(t), newFakeChain(t)
		for _, c := range []*fakeChain{one, other} {
			c.height, c.genesis = lastValid+1, ours.String()
		}
		other.genesis = answer
		s, err := New([]string{one.URL, other.URL}, Options{Timeout: time.Second, Interval: quick, Genesis: ours})
		if err != nil {
			t.Fatal(err)
		}
		limit := soon
		if want == Unknown {
			limit = never
		}
		if got, _ := run(t, s, limit); got.Outcome != want {
			t.Errorf("a node that says that it serves %q: %s, want %s", answer, got.Outcome, want)
		}
	}
}

var ours = solana.Hash{4}
