// Package fuse is how mcpd asks servers that fail: again where that may help, a
// few times and after a pause, and not at all for a while where it did not help
// several times in a row. Only what has no effect is asked for in this way.
//
// bags and chain use it. It promises that no call is repeated whose answer would
// be the same, or which took all the time that it had.
package fuse

import (
	"context"
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
	// longestPause is also the longest rest that is waited for when a server asks
	// for one; the caller is told of a longer one.
	longestPause = 2 * time.Second
)

// When a server is left alone: after so many calls in a row that came to nothing,
// for so long. Then one call finds out.
const (
	blowsAfter = 5
	openTime   = 15 * time.Second
)

var (
	// ErrSlow is a call that took all the time it had. It is not repeated.
	ErrSlow = errors.New("no answer in time")
	// ErrRefused is a call that a server would not answer, although it is well.
	ErrRefused = errors.New("the server would not")
)

// Server is one server as callers are told of it.
type Server struct {
	// Name stands in sentences, such as "the Bags API".
	Name string
	// Down is the fault of a server that is not well.
	Down fault.Code
}

// Fuse stops asking a server that is down. It is safe for concurrent use.
type Fuse struct {
	server  Server
	breaker *gobreaker.CircuitBreaker[struct{}]
}

// New makes a fuse that has not blown.
func New(server Server) *Fuse {
	return &Fuse{server, gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      openTime,
		ReadyToTrip:  func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= blowsAfter },
		IsSuccessful: func(err error) bool { return !fault.Is(err, server.Down) || errors.Is(err, ErrRefused) },
		// A caller who left says nothing of the server.
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
	})}
}

// Do makes a call unless the fuse has blown.
func (f *Fuse) Do(call func() error) error {
	_, err := f.breaker.Execute(func() (struct{}, error) { return struct{}{}, call() })
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return fault.New(f.server.Down, "%s has failed several times in a row and is not asked for a moment", f.server.Name).After(openTime)
	}
	return err
}

// Repeat makes a call, and again where it failed in passing.
func Repeat(ctx context.Context, server Server, call func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, again(server, call())
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries))
	switch f, ok := errors.AsType[*fault.Fault](err); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fault.New(server.Down, "%s did not answer in time", server.Name).Because(ctx.Err())
	case ok:
		return f
	}
	return err
}

// again marks what is not worth repeating, or how long to wait before it is.
func again(server Server, err error) error {
	if err == nil {
		return nil
	}
	switch rest := fault.From(err).RetryAfter; {
	case errors.Is(err, ErrSlow), errors.Is(err, ErrRefused), rest > longestPause:
		return backoff.Permanent(err)
	case rest > 0:
		return errors.Join(err, &backoff.RetryAfterError{Duration: rest})
	case fault.Is(err, server.Down):
		return err
	}
	return backoff.Permanent(err)
}
