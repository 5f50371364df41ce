// Package gather asks several sources the same thing at once, and does not wait
// for the slow ones once enough have answered. Both halves of signerd that read
// from several RPC nodes use it. It knows nothing of what is asked.
package gather

import (
	"context"
	"errors"
	"time"
)

// Outcome is what one source answered.
type Outcome[T any] struct {
	Value T
	Err   error
}

// ErrSlow is a source that was not waited for any longer.
var ErrSlow = errors.New("enough others have answered, and this one was not waited for")

// grace is how long the others are waited for once enough have answered.
const grace = 500 * time.Millisecond

// Enough asks all sources at once and returns their outcomes in order. Once so
// many have answered, the others have a moment left. answers says which errors
// count as an answer; nil means none. The calls that are not waited for are
// cancelled.
func Enough[S, T any](ctx context.Context, sources []S, enough int, answers func(error) bool, ask func(context.Context, S) (T, error)) []Outcome[T] {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type placed struct {
		place   int
		outcome Outcome[T]
	}
	came := make(chan placed, len(sources))
	outcomes := make([]Outcome[T], len(sources))
	for i, source := range sources {
		outcomes[i].Err = ErrSlow
		go func() {
			value, err := ask(ctx, source)
			came <- placed{i, Outcome[T]{value, err}}
		}()
	}
	var late <-chan time.Time
	answered := 0
	for range sources {
		if answered >= enough && late == nil {
			late = time.After(grace)
		}
		select {
		case one := <-came:
			outcomes[one.place] = one.outcome
			if err := one.outcome.Err; err == nil || answers != nil && answers(err) {
				answered++
			}
		case <-late:
			return outcomes
		}
	}
	return outcomes
}
