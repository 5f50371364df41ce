package bagsandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// control sends one request to the control port.
func (c client) control(method, path, body string, into any) int {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.s.ControlURL()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.do(request)
	if into != nil {
		if err := json.Unmarshal(r.raw, into); err != nil {
			c.t.Fatalf("%s: %v", r.raw, err)
		}
	}
	return r.status
}

func TestControlPlansMisbehaviour(t *testing.T) {
	c := startOnMemory(t)
	if status := c.control(http.MethodPost, "/modes", `{"mode":"server_error","count":2,"text":"boom"}`, nil); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	checkRefused(t, c.get(readPath), http.StatusInternalServerError, "boom")
	var listed struct {
		Modes   []Mode
		Pending []Misbehaviour
	}
	c.control(http.MethodGet, "/modes", "", &listed)
	if diff := cmp.Diff([]Misbehaviour{{Mode: ServerError, Count: 1, Text: "boom"}}, listed.Pending); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Modes(), listed.Modes); diff != "" {
		t.Error(diff)
	}
	c.control(http.MethodPost, "/reset", "", nil)
	if r := c.get(readPath); r.status != http.StatusOK {
		t.Errorf("after reset: status %d", r.status)
	}
}

func TestControlShowsRequestsAndWorld(t *testing.T) {
	c := startOnMemory(t)
	c.post("/trade/swap", `{"a":1}`)
	var requests []Request
	c.control(http.MethodGet, "/requests", "", &requests)
	if diff := cmp.Diff(c.s.Requests(), requests); diff != "" {
		t.Error(diff)
	}
	if len(requests) != 1 || string(requests[0].Body) != `{"a":1}` {
		t.Errorf("requests: %+v", requests)
	}
	shown := c.s.World()
	shown.Wallet = ""
	c.control(http.MethodGet, "/world", "", &shown)
	if diff := cmp.Diff(c.s.World(), shown); diff != "" {
		t.Error(diff)
	}
}

func TestControlRefusesWhatItDoesNotKnow(t *testing.T) {
	c := startOnMemory(t)
	for _, test := range []struct{ method, path, body string }{
		{http.MethodPost, "/modes", `{"mode":"nonsense"}`},
		{http.MethodPost, "/modes", `{"mode":"skim","times":1}`},
		{http.MethodPut, "/behaviour", `{"swap_version":"v1"}`},
		{http.MethodPut, "/behaviour", `{"claim_style":"none"}`},
		{http.MethodPut, "/behaviour", `{"claim_transactions":4}`},
		{http.MethodPost, "/endow", `{"mint":"x","amount":"1"}`},
		{http.MethodPost, "/endow", `{"mint":"` + c.s.World().TokenMint + `","amount":"1.5"}`},
		{http.MethodPost, "/accrue", `{"lamports":"-1"}`},
	} {
		var answer struct{ Error string }
		if status := c.control(test.method, test.path, test.body, &answer); status != http.StatusBadRequest || answer.Error == "" {
			t.Errorf("%s %s: status %d, error %q", test.path, test.body, status, answer.Error)
		}
	}
	if diff := cmp.Diff(usual, c.s.Behaviour()); diff != "" {
		t.Error(diff)
	}
}

func TestControlChangesTheWorld(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	var b Behaviour
	c.control(http.MethodPut, "/behaviour", `{"claim_transactions":3}`, nil)
	c.control(http.MethodGet, "/behaviour", "", &b)
	if diff := cmp.Diff(Behaviour{V0, LegacyClaims, 3}, b); diff != "" {
		t.Error(diff)
	}
	c.control(http.MethodPost, "/accrue", `{"lamports":"5"}`, nil)
	var list []struct{ TotalClaimableLamportsUserShare uint64 }
	c.mustGet("/token-launch/claimable-positions?wallet="+w.Wallet, &list)
	if list[0].TotalClaimableLamportsUserShare != 10 {
		t.Errorf("two vaults of 5 owe %d", list[0].TotalClaimableLamportsUserShare)
	}
	if status := c.control(http.MethodPost, "/endow", `{"mint":"`+w.TokenMint+`","amount":"1000"}`, nil); status != http.StatusOK {
		t.Errorf("endow: status %d", status)
	}
}

func TestReadmeListsEveryMode(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range Modes() {
		if !bytes.Contains(readme, []byte("`"+string(mode)+"`")) {
			t.Errorf("README.md does not name %q", mode)
		}
	}
}
