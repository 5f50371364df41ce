package ledger

import (
	"maps"
	"slices"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/policy"
)

// caps is what the policy allows, as the ledger checks it.
type caps struct {
	assets              map[solana.PublicKey]policy.AssetCap
	transactionsPerHour int
	allowUncapped       bool
}

func capsOf(p *policy.Policy) caps {
	c := caps{
		assets:              make(map[solana.PublicKey]policy.AssetCap),
		transactionsPerHour: p.TransactionsPerHour(),
		allowUncapped:       p.AllowUncappedTokens(),
	}
	for _, asset := range p.Caps() {
		c.assets[asset.Mint] = asset
	}
	return c
}

// clockSlack is how far back the clock may step before signing stops: time
// servers correct clocks by less.
const clockSlack = 2 * time.Second

const (
	// mostStep is by how much the clock may be set, in either direction, within
	// a day: time servers correct a clock that goes wrong by less.
	mostStep = time.Minute
	// leeway is by how much windows are longer than their names say, so that what
	// mostStep lets pass never makes a spend leave one early: an entry may be
	// stamped when the clock is back by it, and read when it is ahead by it, on
	// both sides of a new comparison.
	leeway = 4 * mostStep
)

// CheckTime refuses to go by a clock that stands before what was recorded: an
// old event would leave its window too early, or a new one would be counted as
// old.
func CheckTime(recorded, now time.Time) error {
	if recorded.Sub(now) <= clockSlack {
		return nil
	}
	return fault.New(fault.StateLocked,
		"this computer's clock stands at %s, before the newest entry of %s; nothing is signed until the clock is right. %s",
		now.UTC().Format(time.RFC3339), recorded.UTC().Format(time.RFC3339), acceptClock)
}

// acceptClock is how to go on where the clock is right after all.
const acceptClock = "If it is right now, stop signerd and run: signerd ledger accept-clock"

// checkClock refuses to count windows by a clock that stands before the newest
// event, or that was set while the system ran: what is a day old by such a clock
// may be an hour old.
func checkClock(totals Totals, reading clock.Reading, now time.Time) error {
	if err := CheckTime(totals.Newest, now); err != nil {
		return err
	}
	step, sameRun := totals.Clock.Step(reading)
	if !sameRun || step.Abs() <= mostStep {
		return nil
	}
	direction := "ahead"
	if step < 0 {
		direction = "back"
	}
	return fault.New(fault.StateLocked, "this computer's clock was set %s by %s while it ran, and no limit can be counted by it; nothing is signed until it is set right. %s",
		direction, step.Abs().Round(time.Second), acceptClock)
}

// admit decides, alone with the totals, whether an entry still fits.
func (c caps) admit(entry Entry, totals Totals, now time.Time) error {
	if err := checkClock(totals, entry.Clock, now); err != nil {
		return err
	}
	if totals.Held {
		return fault.New(fault.CodeVoid, "this step of the confirmed batch has been executed already")
	}
	if most := c.transactionsPerHour; most > 0 && totals.Transactions >= most {
		return policy.HourExceeded(totals.Transactions, most)
	}
	// In order, so that the same charge always gets the same answer.
	for _, mint := range slices.SortedFunc(maps.Keys(entry.Charge), solana.PublicKey.Compare) {
		if err := c.admitAsset(mint, entry.Charge[mint], totals); err != nil {
			return err
		}
	}
	for _, to := range slices.SortedFunc(maps.Keys(entry.Payments), policy.Destination.Compare) {
		if err := c.admitPayment(to, entry.Payments[to], totals.Destination[to]); err != nil {
			return err
		}
	}
	return nil
}

// admitPayment holds a payment against the cap of its recipient, if there is one.
func (c caps) admitPayment(to policy.Destination, units amount.Units, held policy.Held) error {
	asset, capped := c.assets[to.Mint]
	if !capped || asset.PerDestination == nil {
		return nil
	}
	sum, err := amount.Sum(held.Used, held.Reserved, units)
	if err != nil || sum > *asset.PerDestination {
		return asset.Exceeded("destination", *asset.PerDestination, held, units)
	}
	return nil
}

func (c caps) admitAsset(mint solana.PublicKey, units amount.Units, totals Totals) error {
	if units == 0 {
		return nil
	}
	asset, capped := c.assets[mint]
	if !capped {
		if c.allowUncapped && mint != amount.SOL {
			return nil
		}
		return policy.Uncapped(mint)
	}
	for _, window := range []struct {
		name string
		most amount.Units
		held policy.Held
	}{
		{"transaction", asset.PerTransaction, policy.Held{}},
		{"session", asset.PerSession, totals.Session[mint]},
		{"day", asset.PerDay, totals.Day[mint]},
	} {
		sum, err := amount.Sum(window.held.Used, window.held.Reserved, units)
		if err != nil || sum > window.most {
			return asset.Exceeded(window.name, window.most, window.held, units)
		}
	}
	return nil
}
