package bags

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"countersign/shared/fault"
)

// How a call is repeated: a few times, each after a longer and somewhat random
// pause, and never for longer than a person would wait.
const (
	tries      = 3
	firstPause = 200 * time.Millisecond
	// longestPause is also the longest rest that is waited for when the API asks
	// for one; the caller is told of a longer one.
	longestPause = 2 * time.Second
)

// When the API is left alone: after so many calls in a row that came to nothing,
// for so long. Then one call finds out.
const (
	blowsAfter = 5
	openTime   = 15 * time.Second
)

// errSlow is a call that took all the time it had. It is not repeated.
var errSlow = errors.New("no answer in time")

// fuse repeats calls that failed in passing, and stops asking an API that is down.
type fuse struct {
	breaker *gobreaker.CircuitBreaker[json.RawMessage]
}

func newFuse() *fuse {
	return &fuse{gobreaker.NewCircuitBreaker[json.RawMessage](gobreaker.Settings{
		Timeout:      openTime,
		ReadyToTrip:  func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= blowsAfter },
		IsSuccessful: func(err error) bool { return !fault.Is(err, fault.UpstreamUnavailable) },
		// A caller who left says nothing of the API.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
	})}
}

func (f *fuse) guard(ctx context.Context, once func() (json.RawMessage, error)) (json.RawMessage, error) {
	raw, err := f.breaker.Execute(func() (json.RawMessage, error) {
		pauses := backoff.NewExponentialBackOff()
		pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
		raw, err := backoff.Retry(ctx, func() (json.RawMessage, error) {
			raw, err := once()
			return raw, again(err)
		}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries))
		if err != nil && ctx.Err() != nil {
			return nil, fault.New(fault.UpstreamUnavailable, "the Bags API did not answer in time").Because(ctx.Err())
		}
		return raw, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, fault.New(fault.UpstreamUnavailable, "the Bags API has failed several times in a row and is not asked for a moment").After(openTime)
	}
	return raw, plain(err)
}

// again marks what is not worth repeating, or how long to wait before it is.
func again(err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.UpstreamUnavailable) && !errors.Is(err, errSlow):
		return err
	case fault.Is(err, fault.UpstreamRateLimited):
		if rest := fault.From(err).RetryAfter; rest > 0 && rest <= longestPause {
			return errors.Join(err, &backoff.RetryAfterError{Duration: rest})
		}
	}
	return backoff.Permanent(err)
}

// plain takes off what marked an error.
func plain(err error) error {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	return err
}
