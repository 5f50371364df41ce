package flow

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"countersign/shared/fault"
	"countersign/signerd/internal/effects"
)

const (
	// sideBySide bounds how many transfers of the wallet run at once.
	sideBySide = 64
	// busyWait is how long a confirmation waits for those before it.
	busyWait = 20 * time.Second
)

// turns has the executions of one wallet wait for each other, in the order in
// which they come. A swap or claim runs alone, so that its guard's floor knows
// what else is under way. Transfers have no guard, and what they do is known from
// their bytes: they run side by side, and only the caps hold them together.
type turns struct {
	places *semaphore.Weighted

	mu sync.Mutex
	// running are the proposals whose execution is under way.
	running map[string]struct{}
}

func newTurns() *turns {
	return &turns{places: semaphore.NewWeighted(sideBySide), running: make(map[string]struct{})}
}

// take waits until an execution of this kind may run, and returns what ends its
// turn.
func (t *turns) take(ctx context.Context, kind effects.Flow) (release func(), err error) {
	places := int64(sideBySide)
	if kind == effects.Transfer {
		places = 1
	}
	waiting, cancel := context.WithTimeout(ctx, busyWait)
	defer cancel()
	switch err := t.places.Acquire(waiting, places); {
	case err == nil:
		return func() { t.places.Release(places) }, nil
	case ctx.Err() != nil:
		return nil, fault.New(fault.WalletBusy, "the caller left before the wallet was free").Because(ctx.Err())
	}
	return nil, fault.New(fault.WalletBusy, "another transaction of this wallet is still under way")
}

// begin notes that the execution of a proposal is under way until end is called.
func (t *turns) begin(proposalID string) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[proposalID] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, proposalID)
	}
}

// runs reports whether the execution of a proposal is under way: what becomes of
// its transactions is its own business until it ends.
func (t *turns) runs(proposalID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, runs := t.running[proposalID]
	return runs
}
