package bagsandbox

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"
)

const readPath = "/solana/bags/pools"

func TestFailuresAreServedOnceAndThenOver(t *testing.T) {
	c := startOnMemory(t)
	for _, test := range []struct {
		m      Misbehaviour
		status int
		want   string
	}{
		{Misbehaviour{Mode: ServerError}, http.StatusInternalServerError, "Internal server error"},
		{Misbehaviour{Mode: ServerError, Text: HostileNote}, http.StatusInternalServerError, HostileNote},
		{Misbehaviour{Mode: Unauthorized}, http.StatusUnauthorized, "revoked"},
		{Misbehaviour{Mode: Forbidden}, http.StatusForbidden, "Not allowed"},
		{Misbehaviour{Mode: RateLimited}, http.StatusTooManyRequests, "Rate limit"},
	} {
		c.misbehave(test.m)
		checkRefused(t, c.get(readPath), test.status, test.want)
		if r := c.get(readPath); r.status != http.StatusOK {
			t.Errorf("%s: the next request got status %d", test.m.Mode, r.status)
		}
		requests := c.s.Requests()
		if served := requests[len(requests)-2]; served.Mode != test.m.Mode || served.Status != test.status {
			t.Errorf("recorded mode %q with status %d", served.Mode, served.Status)
		}
	}
}

func TestRateLimitedSaysUntilWhen(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: RateLimited, Param: 120})
	before := time.Now().Unix()
	r := c.get(readPath)
	var body struct {
		Limit, Remaining int
		ResetTime        int64
	}
	if err := json.Unmarshal(r.raw, &body); err != nil {
		t.Fatal(err)
	}
	if body.Limit != 1000 || body.Remaining != 0 || body.ResetTime < before+120 || body.ResetTime > time.Now().Unix()+120 {
		t.Errorf("body is %s", r.raw)
	}
	for name, want := range map[string]string{"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(body.ResetTime, 10)} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestFailuresWaitForTheirEndpoint(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: ServerError, Count: 2, Endpoint: "trade/quote"})
	w := c.s.World()
	for range 2 {
		if r := c.get(readPath); r.status != http.StatusOK {
			t.Errorf("another endpoint got status %d", r.status)
		}
		checkRefused(t, c.get(quotePath(w.WSOL, w.TokenMint, "1000")), http.StatusInternalServerError, "")
	}
	if r := c.get(quotePath(w.WSOL, w.TokenMint, "1000")); r.status != http.StatusOK {
		t.Errorf("the third quote got status %d", r.status)
	}
}

func TestFailuresOfTheBody(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: Garbage})
	if r := c.get(readPath); r.status != http.StatusOK || json.Valid(r.raw) {
		t.Errorf("garbage: status %d: %q", r.status, r.raw)
	}
	c.misbehave(Misbehaviour{Mode: Huge, Param: 1 << 20})
	if r := c.get(readPath); len(r.raw) < 1<<20 || !json.Valid(r.raw) {
		t.Errorf("huge: %d bytes", len(r.raw))
	}
	c.misbehave(Misbehaviour{Mode: HTMLPage})
	if r := c.get(readPath); r.status != http.StatusBadGateway || r.header.Get("Content-Type") != "text/html" {
		t.Errorf("page: status %d", r.status)
	}
	c.misbehave(Misbehaviour{Mode: Truncated})
	response, err := http.DefaultClient.Do(c.request(http.MethodGet, readPath, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated: reading the body gave %v", err)
	}
}

func TestRedirectShowsWhoFollows(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: Redirect})
	r := c.get(readPath)
	if r.status != http.StatusTemporaryRedirect {
		t.Fatalf("status %d", r.status)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.header.Get("Location"), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.do(request)
	requests := c.s.Requests()
	if last := requests[len(requests)-1]; last.Path != "/redirected" || last.Status != http.StatusUnauthorized {
		t.Errorf("recorded %s with status %d", last.Path, last.Status)
	}
}

func TestSlowAnswersInTheEnd(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: Slow, Param: 80})
	start := time.Now()
	if r := c.get(readPath); r.status != http.StatusOK {
		t.Errorf("status %d", r.status)
	}
	if took := time.Since(start); took < 80*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

func TestMisbehaveRefusesWhatItCannotServe(t *testing.T) {
	c := startOnMemory(t)
	for _, m := range []Misbehaviour{
		{Mode: "nonsense"},
		{Mode: Skim, Count: -1},
		{Mode: Skim, Endpoint: "trade/quote"},
		{Mode: ServerError, Endpoint: "trade/nothing"},
	} {
		if err := c.s.Misbehave(m); err == nil {
			t.Errorf("%+v was taken", m)
		}
	}
	if pending := c.s.Pending(); len(pending) != 0 {
		t.Errorf("pending: %+v", pending)
	}
}
