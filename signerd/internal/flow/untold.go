package flow

import (
	"context"
	"sync"

	"countersign/signerd/internal/ledger"
)

// untold is a transaction that landed, and of which too few nodes have told what
// it did.
type untold struct {
	ledger.Pending
	// passes is how many more settling passes ask for it.
	passes int
}

// untoldPasses are about five minutes of passes: a node that has not told by
// then keeps no transactions.
const untoldPasses = 60

// backlog are transactions with a proven outcome whose receipt lacks the chain's
// account of them.
type backlog struct {
	mu   sync.Mutex
	list []untold
}

func (b *backlog) add(p ledger.Pending, passes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, untold{p, passes})
}

// next takes the one out that has waited longest.
func (b *backlog) next() (untold, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == 0 {
		return untold{}, false
	}
	first := b.list[0]
	b.list = b.list[1:]
	return first, true
}

// tellOne asks for one of them, since whoever wants to trade waits meanwhile. The
// receipt of an execution that is under way is not there yet.
func (f *Flow) tellOne(ctx context.Context) {
	first, ok := f.untold.next()
	switch {
	case !ok:
		return
	case f.turns.runs(first.ProposalID):
		f.untold.add(first.Pending, first.passes)
	case !f.resolve(ctx, first.Pending) && first.passes > 1:
		f.untold.add(first.Pending, first.passes-1)
	}
}

// tellLater has the settling passes look for the chain's account of a
// transaction that landed and that too few nodes told of.
func (f *Flow) tellLater(proposalID, reservationID string) {
	entries, err := f.stages.Ledger.OfProposal(f.work, proposalID)
	if err != nil {
		f.complain(f.work, "what a transaction changed is not told yet", err, aboutReservation(reservationID))
		return
	}
	for _, entry := range entries {
		if entry.ReservationID == reservationID {
			f.untold.add(entry, untoldPasses)
		}
	}
}
