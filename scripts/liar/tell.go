package liar

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/grpc/status"

	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
)

// Lies makes a seeded list of so many lies, by their kinds' weights.
func Lies(count int, seed uint64) []Lie { return draw(lies, count, seed) }

// Greed makes a seeded list of valid, self-confirmed spends.
func Greed(count int, seed uint64) []Lie { return draw(spends, count, seed) }

// Lie is one lie to be told.
type Lie struct {
	lie
	seed uint64
}

func draw(kinds []lie, count int, seed uint64) []Lie {
	r := rand.New(rand.NewPCG(seed, 3))
	total := 0
	for _, kind := range kinds {
		total += kind.weight
	}
	list := make([]Lie, 0, count)
	for range count {
		at := r.IntN(total)
		for _, kind := range kinds {
			if at -= kind.weight; at < 0 {
				list = append(list, Lie{kind, r.Uint64()})
				break
			}
		}
	}
	return list
}

// Tell tells one lie over one of the open connections. The error is one of the
// liar's own making, or something that must never happen; a refusal is counted.
func (l *Liar) Tell(ctx context.Context, told Lie) error {
	r := rand.New(rand.NewPCG(told.seed, 5))
	outcome, err := told.tell(l, ctx, l.pick(r), r)
	if outcome == 0 {
		return fmt.Errorf("%s (seed %d): %w", told.kind, told.seed, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tally := l.tallies[told.kind]
	if tally == nil {
		tally = &Tally{Kind: told.kind, Outcomes: map[Outcome]int{}, Reasons: map[string]int{}}
		l.tallies[told.kind] = tally
	}
	tally.Told++
	tally.Outcomes[outcome]++
	if err != nil {
		tally.Reasons[reason(err)]++
	}
	return nil
}

// reason is the code of a refusal.
func reason(err error) string {
	if denied, ok := errors.AsType[refusal](err); ok {
		return denied.code
	}
	if found, ok := status.FromError(err); ok && len(found.Details()) == 0 {
		return found.Code().String() // gRPC's own refusal.
	}
	return string(faultgrpc.FromStatus(err, fault.SignerUnavailable).Code)
}

// Tallies are the counts of all kinds, by name.
func (l *Liar) Tallies() []*Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*Tally
	for _, tally := range l.tallies {
		list = append(list, tally)
	}
	slices.SortFunc(list, func(a, b *Tally) int { return strings.Compare(a.Kind, b.Kind) })
	return list
}
