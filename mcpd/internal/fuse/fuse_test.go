package fuse

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"countersign/shared/fault"
)

var server = Server{Name: "the service", Down: fault.UpstreamUnavailable}

var (
	down    = fault.New(fault.UpstreamUnavailable, "it failed")
	slow    = fault.New(fault.UpstreamUnavailable, "it is slow").Because(ErrSlow)
	refused = fault.New(fault.NoRoute, "no route")
	unknown = fault.New(fault.UpstreamUnavailable, "it does not know that").Because(ErrRefused)
	busy    = fault.New(fault.UpstreamRateLimited, "slow down")
)

// TestRepeatWhatMayPass: what failed in passing is asked for again, a few times
// and after a pause; what would fail again, or took all the time there was, is
// not.
func TestRepeatWhatMayPass(t *testing.T) {
	for name, test := range map[string]struct {
		answers []error
		asked   int
		want    fault.Code
		least   time.Duration
	}{
		"good":                   {[]error{nil}, 1, "", 0},
		"down once":              {[]error{down, nil}, 2, "", firstPause / 2},
		"down for long":          {[]error{down, down, down, nil}, tries, fault.UpstreamUnavailable, firstPause},
		"slow":                   {[]error{slow, nil}, 1, fault.UpstreamUnavailable, 0},
		"refused":                {[]error{refused, nil}, 1, fault.NoRoute, 0},
		"will not":               {[]error{unknown, nil}, 1, fault.UpstreamUnavailable, 0},
		"down for a moment":      {[]error{down.After(time.Second), nil}, 2, "", time.Second},
		"busy for a moment":      {[]error{busy.After(time.Second), nil}, 2, "", time.Second},
		"busy for long":          {[]error{busy.After(time.Minute), nil}, 1, fault.UpstreamRateLimited, 0},
		"busy without an end":    {[]error{busy, nil}, 1, fault.UpstreamRateLimited, 0},
		"down, and then refused": {[]error{down, refused, nil}, 2, fault.NoRoute, firstPause / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, begin := 0, time.Now()
				err := Repeat(t.Context(), server, func() error {
					asked++
					return test.answers[asked-1]
				})
				if asked != test.asked || (test.want == "") != (err == nil) || err != nil && !fault.Is(err, test.want) {
					t.Errorf("asked %d times, %v; want %d times, %q", asked, err, test.asked, test.want)
				}
				if took := time.Since(begin); took < test.least || took > 5*time.Second {
					t.Errorf("it took %v, at least %v was to be waited", took, test.least)
				}
			})
		})
	}
}

// TestLeaveAloneWhatIsDown: after some calls that came to nothing no more are
// made, until the time is up and one call finds out.
func TestLeaveAloneWhatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, asked, answer := New(server), 0, error(slow)
		call := func() error {
			return f.Do(func() error {
				asked++
				return answer
			})
		}
		for range blowsAfter {
			if err := call(); !fault.Is(err, fault.UpstreamUnavailable) {
				t.Fatal(err)
			}
		}
		if err := call(); asked != blowsAfter || !fault.Is(err, fault.UpstreamUnavailable) || fault.From(err).RetryAfter != openTime {
			t.Errorf("asked %d times, %v, retry after %v", asked, err, fault.From(err).RetryAfter)
		}
		time.Sleep(openTime + time.Second)
		answer = nil
		first, second := call(), call()
		if first != nil || second != nil || asked != blowsAfter+2 {
			t.Errorf("when it is well again: %v, %v, asked %d times", first, second, asked)
		}
	})
}

// TestRefusalBlowsNoFuse: a server that will not answer one thing is well.
func TestRefusalBlowsNoFuse(t *testing.T) {
	f := New(server)
	for range 2 * blowsAfter {
		if err := f.Do(func() error { return unknown }); !errors.Is(err, ErrRefused) {
			t.Fatalf("%v, want what the server said", err)
		}
	}
}

// TestCallerWhoLeavesBlamesNobody: a call that was given up says nothing of the
// API.
func TestCallerWhoLeavesBlamesNobody(t *testing.T) {
	f := New(server)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 2 * blowsAfter {
		err := f.Do(func() error { return Repeat(gone, server, func() error { return slow }) })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want it to be known as given up", err)
		}
	}
	if err := f.Do(func() error { return nil }); err != nil {
		t.Errorf("the API is blamed: %v", err)
	}
}
