package policy

import (
	"math/bits"
	"slices"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// rule is one [[rule]]: where all that it asks for holds, it demands a tier.
// What is nil is not asked for. Lists about one transaction must hold of the
// same one; amounts are those of the whole batch.
type rule struct {
	name string
	// tier is Deny where reason says why.
	tier   Tier
	reason string

	flows      []effects.Flow
	classes    []effects.Class
	versions   []solana.Version
	findings   []string
	programs   keySet
	mints      keySet
	recipients keySet
	// clients are names that callers give themselves. Nothing proves them.
	clients []string
	amount  *line
	share   *share
	between *span
}

// line is an amount of one asset.
type line struct {
	mint  solana.PublicKey
	units amount.Units
}

// share is a part of what the wallet holds, in hundredths of a percent.
type share uint64

// whole is all that the wallet holds.
const whole share = 10_000

// exceeded reports whether units are more than the share of held.
func (s share) exceeded(units, held amount.Units) bool {
	leftHigh, leftLow := bits.Mul64(uint64(units), uint64(whole))
	rightHigh, rightLow := bits.Mul64(uint64(held), uint64(s))
	return leftHigh > rightHigh || leftHigh == rightHigh && leftLow > rightLow
}

// span is a time of day, from its first minute up to, and without, its last.
type span struct {
	from, to int // minutes since midnight
	zone     *time.Location
}

// holds reports whether a moment lies within the span, by the clocks of its zone.
func (s span) holds(now time.Time) bool {
	local := now.In(s.zone)
	minute := local.Hour()*60 + local.Minute()
	if s.from < s.to {
		return s.from <= minute && minute < s.to
	}
	return s.from <= minute || minute < s.to
}

// rules applies every [[rule]] to the batch.
func (e *evaluation) rules(batch []facts, sums sums) {
	for _, r := range e.policy.rules {
		if !r.appliesToAll(e, sums) || !slices.ContainsFunc(batch, r.appliesTo) {
			continue
		}
		name := "rule." + r.name
		if r.tier == Deny {
			e.deny(name, fault.New(fault.PolicyDenied, "the owner's rule %s refuses this: %s", r.name, r.reason))
			continue
		}
		e.require(name, r.tier)
	}
}

// appliesToAll checks what is asked of the batch and its circumstances.
func (r rule) appliesToAll(e *evaluation, sums sums) bool {
	switch {
	case r.flows != nil && !slices.Contains(r.flows, e.flow):
	case r.clients != nil && !slices.Contains(r.clients, e.client):
	case r.between != nil && !r.between.holds(e.now):
	case r.amount != nil && sums.total[r.amount.mint] <= r.amount.units:
	case r.share != nil && !sums.takesMoreThan(*r.share, r.mints):
	default:
		return true
	}
	return false
}

// appliesTo checks what is asked of one transaction.
func (r rule) appliesTo(found facts) bool {
	switch {
	case r.classes != nil && !slices.Contains(r.classes, found.class):
	case r.versions != nil && !slices.Contains(r.versions, found.version):
	case r.findings != nil && !slices.ContainsFunc(r.findings, found.has):
	case r.programs != nil && !slices.ContainsFunc(found.programs, r.programs.has):
	case r.mints != nil && !slices.ContainsFunc(found.assets, r.mints.has):
	case r.recipients != nil && !slices.ContainsFunc(found.payments, func(p effects.Payment) bool { return r.recipients.has(p.Recipient) }):
	default:
		return true
	}
	return false
}

// takesMoreThan reports whether the batch may take more than the share of any
// asset, or of any of those given.
func (s sums) takesMoreThan(most share, mints keySet) bool {
	for mint, units := range s.total {
		if (mints == nil || mints.has(mint)) && most.exceeded(units, s.held[mint]) {
			return true
		}
	}
	return false
}
