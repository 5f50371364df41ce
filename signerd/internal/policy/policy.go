// Package policy is the owner's rules: caps, ceilings, fees, programs, mints,
// recipients and the tier of consent that each transaction needs. It is data
// in, decision out: no clock, no network, no file. Everything that no rule
// allows is denied.
//
// approval, ledger, flow, server and app import it. It promises that every
// decision carries the names of the rules that made it, that a deny cannot be
// outweighed, that of several tiers the strictest holds, and that a [[rule]]
// can only ask for more than the rest of the file does.
package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/stricttoml"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
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

// keySet is a set of addresses.
type keySet map[solana.PublicKey]struct{}

func (s keySet) has(key solana.PublicKey) bool {
	_, in := s[key]
	return in
}

// Policy is a loaded, checked policy file. Load makes one; it never changes.
type Policy struct {
	version  string
	warnings []stricttoml.Error
	cluster  string
	genesis  solana.Hash

	caps             []AssetCap
	transactionsHour int
	sessionsHour     int
	sessionLasts     time.Duration
	maxPriorityFee   amount.Units
	maxTip           amount.Units
	allowUncapped    bool
	allowV1          bool

	programs map[effects.Flow]keySet
	pins     map[solana.PublicKey]judge.Pin

	// mintsAllowed is nil where every token may be traded.
	mintsAllowed   keySet
	mintsDenied    keySet
	lookAlikeMint  Tier
	unverifiedMint Tier

	recipientsAllowed  keySet
	recipientsDenied   keySet
	newRecipient       Tier
	lookAlikeRecipient Tier

	tier      Tier
	unguarded Tier
	// autoUpTo, humanAbove and humanAboveShare are nil where the owner drew no
	// such line.
	autoUpTo        *amount.Units
	humanAbove      *amount.Units
	humanAboveShare *share
	// rules are in the order of their names.
	rules []rule
}

// Version names the file's exact content: the first 16 hex digits of its SHA-256.
func (p *Policy) Version() string { return p.version }

// Warnings are what is allowed in the file and hardly meant, in its order.
func (p *Policy) Warnings() []stricttoml.Error { return slices.Clone(p.warnings) }

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

// CheckDecimals refuses a mint that the policy gives other decimals than it has:
// it would cap something else than its owner meant.
func (p *Policy) CheckDecimals(mint solana.PublicKey, decimals uint8) error {
	asset, capped := p.Cap(mint)
	if !capped || asset.Decimals == decimals {
		return nil
	}
	return fault.New(fault.PolicyDenied, "the policy gives %s %d decimals, and the mint %s has %d; the owner must correct it",
		asset.Name, asset.Decimals, mint, decimals)
}

// TransactionsPerHour is how many transactions may be signed in any hour, or 0
// for no such limit.
func (p *Policy) TransactionsPerHour() int { return p.transactionsHour }

// SessionsPerHour is how many sessions may begin to propose in any hour, or 0
// for no such limit. Without one a session cap is reset by reconnecting.
func (p *Policy) SessionsPerHour() int { return p.sessionsHour }

// SessionLasts is how long after its first request a session is still served,
// or 0 for no such limit.
func (p *Policy) SessionLasts() time.Duration { return p.sessionLasts }

// AllowUncappedTokens reports whether tokens without a cap may be spent.
func (p *Policy) AllowUncappedTokens() bool { return p.allowUncapped }

// AllowV1 reports whether transactions in the v1 format may be signed.
func (p *Policy) AllowV1() bool { return p.allowV1 }

// Pins are the programs that may only be called as the owner saw them deployed.
func (p *Policy) Pins() map[solana.PublicKey]judge.Pin { return maps.Clone(p.pins) }

// Known is whom and what the file names: recipients without names, and the
// tokens that have caps.
func (p *Policy) Known() effects.Known {
	var known effects.Known
	for _, address := range slices.SortedFunc(maps.Keys(p.recipientsAllowed), solana.PublicKey.Compare) {
		known.Recipients = append(known.Recipients, effects.Recipient{Address: address})
	}
	for _, asset := range p.caps {
		if asset.Mint != amount.SOL {
			known.Mints = append(known.Mints, effects.NamedMint{Name: asset.Name, Mint: asset.Mint})
		}
	}
	return known
}

// Rules names the [[rule]] tables, in order.
func (p *Policy) Rules() []string {
	names := make([]string, 0, len(p.rules))
	for _, each := range p.rules {
		names = append(names, each.name)
	}
	return names
}

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
