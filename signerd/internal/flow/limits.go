package flow

import (
	"context"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/policy"
)

// Window is one cap and what stands against it.
// Left = Cap - Used - Reserved, never below zero.
type Window struct {
	// Name is transaction, session, day or transactions_per_hour.
	Name     string
	Mint     solana.PublicKey
	Decimals uint8
	Cap      amount.Units
	Used     amount.Units
	Reserved amount.Units
	Left     amount.Units
}

// Limits lists every cap with what it still admits for a session at this
// moment. Without a session only the windows that all sessions share are told.
func (f *Flow) Limits(ctx context.Context, session string) ([]Window, time.Time, error) {
	now := time.Now()
	usage, err := f.stages.Ledger.Usage(ctx, session, now)
	if err != nil {
		return nil, now, err
	}
	return windows(f.Policy(), usage, session != ""), now, nil
}

func windows(p *policy.Policy, usage policy.Usage, withSession bool) []Window {
	var list []Window
	for _, asset := range p.Caps() {
		add := func(name string, most amount.Units, held policy.Held) {
			list = append(list, Window{
				Name: name, Mint: asset.Mint, Decimals: asset.Decimals, Cap: most,
				Used: held.Used, Reserved: held.Reserved, Left: most.Less(held.Used).Less(held.Reserved),
			})
		}
		add("transaction", asset.PerTransaction, policy.Held{})
		if withSession {
			add("session", asset.PerSession, usage.Session[asset.Mint])
		}
		add("day", asset.PerDay, usage.Day[asset.Mint])
	}
	if most := count(p.TransactionsPerHour()); most > 0 {
		used := count(usage.TransactionsLastHour)
		list = append(list, Window{Name: "transactions_per_hour", Cap: most, Used: used, Left: most.Less(used)})
	}
	return list
}

// count writes a number of transactions where amounts stand.
func count(n int) amount.Units { return amount.Units(max(n, 0)) }
