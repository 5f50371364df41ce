package ledger

import (
	"fmt"
	"slices"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
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

// checkClock refuses to count windows by a clock that stands before what was
// recorded: an old event would leave the window too early, or a new one would
// be counted as old.
func checkClock(newest, now time.Time) error {
	if newest.Sub(now) > clockSlack {
		return fault.New(fault.StateLocked,
			"this computer's clock stands at %s, before the ledger's newest entry of %s; nothing is signed until the clock is right",
			now.UTC().Format(time.RFC3339), newest.UTC().Format(time.RFC3339))
	}
	return nil
}

// admit decides, alone with the totals, whether a charge still fits.
func (c caps) admit(charge map[solana.PublicKey]amount.Units, totals Totals, now time.Time) error {
	if err := checkClock(totals.Newest, now); err != nil {
		return err
	}
	if totals.Held {
		return fault.New(fault.CodeVoid, "this step of the confirmed batch has been executed already")
	}
	if most := c.transactionsPerHour; most > 0 && totals.Transactions >= most {
		return fault.New(fault.CapExceeded, "the limit of %d transactions in an hour is reached", most)
	}
	for _, mint := range sortedMints(charge) {
		if err := c.admitAsset(mint, charge[mint], totals); err != nil {
			return err
		}
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
		return fault.New(fault.AssetUncapped, "the policy has no limit for %s, so none of it may be spent", mint)
	}
	for _, window := range []struct {
		name string
		most amount.Units
		held policy.Held
	}{
		{"per-transaction", asset.PerTransaction, policy.Held{}},
		{"session", asset.PerSession, totals.Session[mint]},
		{"24-hour", asset.PerDay, totals.Day[mint]},
	} {
		sum, err := amount.Sum(window.held.Used, window.held.Reserved, units)
		if err != nil || sum > window.most {
			return exceeded(asset, window.name, window.most, window.held, units)
		}
	}
	return nil
}

func exceeded(asset policy.AssetCap, window string, most amount.Units, held policy.Held, units amount.Units) error {
	money := func(u amount.Units) string { return u.Decimal(asset.Decimals) + " " + asset.Name }
	message := fmt.Sprintf("up to %s would be spent, over the %s limit of %s", money(units), window, money(most))
	if held != (policy.Held{}) {
		message += fmt.Sprintf(" (%s used, %s reserved, %s left)",
			money(held.Used), money(held.Reserved), money(most.Less(held.Used).Less(held.Reserved)))
	}
	return fault.New(fault.CapExceeded, "%s", message)
}

// sortedMints keeps the answer the same for the same charge.
func sortedMints(charge map[solana.PublicKey]amount.Units) []solana.PublicKey {
	mints := make([]solana.PublicKey, 0, len(charge))
	for mint := range charge {
		mints = append(mints, mint)
	}
	slices.SortFunc(mints, func(a, b solana.PublicKey) int { return slices.Compare(a[:], b[:]) })
	return mints
}
