package effects

import (
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Strictest joins what several nodes show of one transaction, so that each of
// them can make it look worse and none better: the larger cost and loss, the
// smaller gain and possession, and every finding. What the bytes alone decide
// must be the same for all.
func Strictest(shown []Effects) (Effects, error) {
	if len(shown) == 0 || slices.ContainsFunc(shown, func(e Effects) bool { return !e.stamped }) {
		return Effects{}, fault.New(fault.Internal, "effects were joined before they were found")
	}
	joined := shown[0]
	for _, other := range shown[1:] {
		if !samePayments(joined.draft.payments, other.draft.payments) || joined.class != other.class {
			return Effects{}, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about whom the transaction pays, or in what")
		}
		if mint, same := sameMints(joined.draft.state, other.draft.state); !same {
			return Effects{}, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about the decimals of token %s", mint)
		}
		joined.join(other)
	}
	return joined, nil
}

// samePayments compares all but what arrives, which a mint's fee decides.
func samePayments(x, y []Payment) bool {
	return slices.EqualFunc(x, y, func(x, y Payment) bool {
		x.Received, y.Received = 0, 0
		return x == y
	})
}

// sameMints compares what amounts mean, of the mints that both show. Neither is
// stricter than the other, and a wrong one would be shown to people.
func sameMints(x, y State) (solana.PublicKey, bool) {
	for mint, info := range x.Mints {
		if other, both := y.Mints[mint]; both && (other.Program != info.Program || other.Decimals != info.Decimals) {
			return mint, false
		}
	}
	return solana.PublicKey{}, true
}

func (e *Effects) join(other Effects) {
	e.draft.payments = slices.Clone(e.draft.payments)
	for i := range e.draft.payments {
		e.draft.payments[i].Received = min(e.draft.payments[i].Received, other.draft.payments[i].Received)
	}
	e.draft.tip = max(e.draft.tip, other.draft.tip)
	e.draft.rent = max(e.draft.rent, other.draft.rent)
	e.draft.rentReturned = min(e.draft.rentReturned, other.draft.rentReturned)
	e.draft.loose = max(e.draft.loose, other.draft.loose)
	e.draft.findings = union(e.draft.findings, other.draft.findings)
	e.inner = union(e.inner, other.inner)
	e.assets = union(e.assets, other.assets)
	slices.SortFunc(e.assets, solana.PublicKey.Compare)
	e.changes = worseOf(e.changes, other.changes)
	e.held = lesserOf(e.held, other.held)
	e.simulated = e.simulated && other.simulated
}

// union keeps the order of x, and appends what only y has.
func union[T comparable](x, y []T) []T {
	all := slices.Clone(x)
	for _, each := range y {
		if !slices.Contains(all, each) {
			all = append(all, each)
		}
	}
	return all
}

// lesserOf keeps, of each asset, what both show: one that a node does not
// mention is not there.
func lesserOf(x, y map[solana.PublicKey]amount.Units) map[solana.PublicKey]amount.Units {
	least := make(map[solana.PublicKey]amount.Units, len(x))
	for mint, held := range x {
		least[mint] = min(held, y[mint])
	}
	return least
}

// worseOf is, asset for asset, the larger loss, or else the smaller gain.
func worseOf(x, y []Change) []Change {
	var worse []Change
	for _, change := range slices.Concat(x, y) {
		if slices.ContainsFunc(worse, func(c Change) bool { return c.Mint == change.Mint }) {
			continue
		}
		one, other := changeOf(x, change.Mint), changeOf(y, change.Mint)
		change.Out, change.In = max(one.Out, other.Out), 0
		if change.Out == 0 {
			change.In = min(one.In, other.In)
		}
		if change.Out > 0 || change.In > 0 {
			worse = append(worse, change)
		}
	}
	return worse
}

func changeOf(list []Change, mint solana.PublicKey) Change {
	for _, change := range list {
		if change.Mint == mint {
			return change
		}
	}
	return Change{Mint: mint}
}
