// Package policy is the owner's rules: caps, fees, programs, recipients and
// the tier of consent that each transaction needs. It is data in, decision
// out: no clock, no network, no file. Everything that no rule allows is denied.
//
// approval, ledger, flow, server and app import it. It promises that every decision
// carries the names of the rules that made it, that a deny cannot be
// outweighed, and that of several tiers the strictest holds.
package policy

import (
	"fmt"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// Tier is how much consent a transaction needs, weakest first.
type Tier uint8

// The tiers.
const (
	// Auto needs nobody.
	Auto Tier = iota + 1
	// Confirm needs the code that the proposal returned.
	Confirm
	// Human needs a person whom the caller cannot impersonate.
	Human
	// Quorum needs several such people.
	Quorum
	// Deny is no.
	Deny
)

func (t Tier) String() string {
	switch t {
	case Auto:
		return "auto"
	case Confirm:
		return "confirm"
	case Human:
		return "human"
	case Quorum:
		return "quorum"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("Tier(%d)", uint8(t))
}

// AssetCap is what may leave of one asset. SOL's mint is amount.SOL.
type AssetCap struct {
	Mint           solana.PublicKey
	Name           string
	Decimals       uint8
	PerTransaction amount.Units
	PerSession     amount.Units
	PerDay         amount.Units
}

// Exceeded words that units do not fit under one of the asset's caps. window is
// transaction, session or day. The ledger, which decides, says it in the same
// words as the policy, which only looks.
func (a AssetCap) Exceeded(window string, most amount.Units, held Held, units amount.Units) *fault.Fault {
	if held == (Held{}) {
		return fault.New(fault.CapExceeded, "%s %s is over the cap of %s %s per %s",
			units.Decimal(a.Decimals), a.Name, most.Decimal(a.Decimals), a.Name, window)
	}
	return fault.New(fault.CapExceeded, "%s %s is over what the cap per %s leaves: cap %s, used %s, reserved %s, left %s",
		units.Decimal(a.Decimals), a.Name, window, most.Decimal(a.Decimals), held.Used.Decimal(a.Decimals),
		held.Reserved.Decimal(a.Decimals), most.Less(held.Used).Less(held.Reserved).Decimal(a.Decimals))
}

// Uncapped words that a token without a cap is not spent.
func Uncapped(mint solana.PublicKey) *fault.Fault {
	return fault.New(fault.AssetUncapped, "token %s has no cap, so what it is worth cannot be limited", mint)
}

// HourExceeded words that the cap on transactions per hour is reached.
func HourExceeded(recent, most int) *fault.Fault {
	return fault.New(fault.CapExceeded, "%d transactions were signed in the last hour, and the cap is %d", recent, most)
}

// Policy is a loaded, checked policy file. Load makes one; it never changes.
type Policy struct {
	version           string
	cluster           string
	genesis           solana.Hash
	caps              []AssetCap
	transactionsHour  int
	sessionsHour      int
	maxPriorityFee    amount.Units
	maxTip            amount.Units
	allowUncapped     bool
	programs          map[effects.Flow]map[solana.PublicKey]struct{}
	recipientsAllowed map[solana.PublicKey]struct{}
	recipientsDenied  map[solana.PublicKey]struct{}
	newRecipient      Tier
	tier              Tier
	unguarded         Tier
	// autoUpTo and humanAbove are nil where the owner drew no such line.
	autoUpTo   *amount.Units
	humanAbove *amount.Units
}

// Version names the file's exact content: the first 16 hex digits of its SHA-256.
func (p *Policy) Version() string { return p.version }

// Network is the owner's name for the cluster, and the genesis hash that pins it.
func (p *Policy) Network() (string, solana.Hash) { return p.cluster, p.genesis }

// Caps lists the capped assets, SOL first.
func (p *Policy) Caps() []AssetCap { return slices.Clone(p.caps) }

// Cap finds the cap of one asset.
func (p *Policy) Cap(mint solana.PublicKey) (AssetCap, bool) {
	for _, each := range p.caps {
		if each.Mint == mint {
			return each, true
		}
	}
	return AssetCap{}, false
}

// TransactionsPerHour is how many transactions may be signed in any hour, or 0
// for no such limit.
func (p *Policy) TransactionsPerHour() int { return p.transactionsHour }

// SessionsPerHour is how many sessions may begin to propose in any hour, or 0
// for no such limit. Without one a session cap is reset by reconnecting.
func (p *Policy) SessionsPerHour() int { return p.sessionsHour }

// AllowUncappedTokens reports whether tokens without a cap may be spent.
func (p *Policy) AllowUncappedTokens() bool { return p.allowUncapped }

// Tier is the consent that a transaction needs where no other rule asks for more.
func (p *Policy) Tier() Tier { return p.tier }

// Unguarded is the tier of transactions that only simulation speaks for.
func (p *Policy) Unguarded() Tier { return p.unguarded }

// NewRecipient is the tier of payments to recipients that are in no list.
func (p *Policy) NewRecipient() Tier { return p.newRecipient }

// Auto says in words what needs nobody's consent, if anything does.
func (p *Policy) Auto() (string, bool) {
	switch {
	case p.tier == Auto:
		return "everything in SOL within the caps", true
	case p.autoUpTo != nil:
		return "what may take up to " + inSOL(*p.autoUpTo) + " SOL in all", true
	}
	return "", false
}

// Held is what stands against a cap.
type Held struct {
	// Used is settled.
	Used amount.Units
	// Reserved is under way or of unknown outcome.
	Reserved amount.Units
}

// Usage is what stands against every cap at one moment.
type Usage struct {
	Session              map[solana.PublicKey]Held
	Day                  map[solana.PublicKey]Held
	TransactionsLastHour int
}

// Decision is what the policy says about one batch. Evaluate makes one.
type Decision struct {
	tier    Tier
	rules   []string
	fault   *fault.Fault
	version string
	stamped bool
}

// Tier is the consent needed.
func (d Decision) Tier() Tier { return d.tier }

// Rules names the rules that made the decision.
func (d Decision) Rules() []string { return slices.Clone(d.rules) }

// Fault says why the batch cannot go ahead now, or is nil for auto and confirm.
func (d Decision) Fault() *fault.Fault { return d.fault }

// PolicyVersion is the version of the policy that decided.
func (d Decision) PolicyVersion() string { return d.version }

// Stamped reports whether Evaluate made this decision.
func (d Decision) Stamped() bool { return d.stamped }
