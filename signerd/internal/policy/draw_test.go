package policy

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// The worlds that the properties draw from are small, so that rules meet often.
var (
	someMints    = []solana.PublicKey{amount.SOL, usdc, uncapped}
	somePayees   = []solana.PublicKey{friend, enemy, stranger}
	somePrograms = []solana.PublicKey{solana.DFlowProgram, solana.FeeShareV2Program, solana.JupiterV6Program}
	someFlows    = []effects.Flow{effects.Transfer, effects.Swap, effects.Claim}
	someClasses  = []effects.Class{effects.Complete, effects.Guarded, effects.Unguarded}
	someVersions = []solana.Version{solana.Legacy, solana.V0, solana.V1}
	someFindings = []string{effects.FirstSeenRecipient, effects.LookAlikeRecipient, effects.LookAlikeMint, effects.UnverifiedMint, effects.TransferFee}
	someClients  = []string{"agent", "other"}
)

// drawUnits draws small amounts, so that caps are met to the unit, and now and
// then one near the end of the range.
func drawUnits(t *rapid.T, what string) amount.Units {
	units := rapid.OneOf(rapid.Uint64Range(0, 12), rapid.Uint64Range(^uint64(0)-3, ^uint64(0)))
	return amount.Units(units.Draw(t, what))
}

func drawSet(t *rapid.T, from []solana.PublicKey, what string) keySet {
	set := make(keySet)
	for _, key := range from {
		if rapid.Bool().Draw(t, what) {
			set[key] = struct{}{}
		}
	}
	return set
}

// drawSome draws a list that is asked for: nil, or at least one.
func drawSome[T any](t *rapid.T, from []T, what string) []T {
	if rapid.IntRange(0, 2).Draw(t, "asks for "+what) > 0 {
		return nil
	}
	return rapid.Permutation(from).Draw(t, what)[:rapid.IntRange(1, len(from)).Draw(t, "how many "+what)]
}

func drawKeys(t *rapid.T, from []solana.PublicKey, what string) keySet {
	some := drawSome(t, from, what)
	if some == nil {
		return nil
	}
	set := make(keySet)
	for _, key := range some {
		set[key] = struct{}{}
	}
	return set
}

func drawLine(t *rapid.T, what string) *amount.Units {
	if rapid.Bool().Draw(t, "no "+what) {
		return nil
	}
	units := drawUnits(t, what)
	return &units
}

func drawShare(t *rapid.T, what string) *share {
	if rapid.Bool().Draw(t, "no "+what) {
		return nil
	}
	part := share(rapid.SampledFrom([]uint64{0, 1, 2500, 5000, 9999, 10000}).Draw(t, what))
	return &part
}

func drawRule(t *rapid.T, name string) rule {
	r := rule{
		name: name, tier: rapid.SampledFrom([]Tier{Confirm, Human, Deny}).Draw(t, "rule demands"), reason: "of " + name,
		flows: drawSome(t, someFlows, "flows"), classes: drawSome(t, someClasses, "classes"), versions: drawSome(t, someVersions, "versions"),
		findings: drawSome(t, someFindings, "findings"), clients: drawSome(t, someClients, "clients"),
		programs: drawKeys(t, somePrograms, "programs"), mints: drawKeys(t, someMints, "mints"), recipients: drawKeys(t, somePayees, "payees"),
		share: drawShare(t, "share of a rule"),
	}
	if units := drawLine(t, "amount of a rule"); units != nil {
		r.amount = &line{rapid.SampledFrom(someMints).Draw(t, "asset of a rule"), *units}
	}
	if rapid.Bool().Draw(t, "at a time of day") {
		r.between = &span{rapid.IntRange(0, 1439).Draw(t, "from"), rapid.IntRange(0, 1439).Draw(t, "to"), time.UTC}
	}
	return r
}

func drawPolicy(t *rapid.T) *Policy {
	drawCap := func(mint solana.PublicKey, name string) AssetCap {
		return AssetCap{Mint: mint, Name: name, Decimals: 1,
			PerTransaction: drawUnits(t, "per transaction"), PerSession: drawUnits(t, "per session"), PerDay: drawUnits(t, "per day"),
			PerDestination: drawLine(t, "per destination"), Ceiling: drawLine(t, "ceiling")}
	}
	p := &Policy{
		version: "v", caps: []AssetCap{drawCap(amount.SOL, "SOL"), drawCap(usdc, "USDC")},
		transactionsHour: rapid.IntRange(0, 4).Draw(t, "per hour"),
		maxPriorityFee:   drawUnits(t, "most priority fee"), maxTip: drawUnits(t, "most tip"),
		allowUncapped: rapid.Bool().Draw(t, "uncapped"), allowV1: rapid.Bool().Draw(t, "allow v1"),
		programs: map[effects.Flow]keySet{
			effects.Swap: drawSet(t, somePrograms, "for swaps"), effects.Claim: drawSet(t, somePrograms, "for claims"),
		},
		mintsAllowed: drawKeys(t, someMints, "traded"), mintsDenied: drawSet(t, someMints, "not touched"),
		lookAlikeMint:     rapid.SampledFrom([]Tier{Confirm, Human, Deny}).Draw(t, "look-alike mints"),
		unverifiedMint:    rapid.SampledFrom([]Tier{Auto, Confirm, Human, Deny}).Draw(t, "unverified mints"),
		recipientsAllowed: drawSet(t, somePayees, "allowed"), recipientsDenied: drawSet(t, somePayees, "denied"),
		newRecipient:       rapid.SampledFrom([]Tier{Confirm, Human, Deny}).Draw(t, "strangers"),
		lookAlikeRecipient: rapid.SampledFrom([]Tier{Human, Deny}).Draw(t, "look-alikes"),
		tier:               rapid.SampledFrom([]Tier{Auto, Confirm, Human, Deny}).Draw(t, "default"),
		unguarded:          rapid.SampledFrom([]Tier{Confirm, Human, Deny}).Draw(t, "unguarded"),
		autoUpTo:           drawLine(t, "auto"), humanAbove: drawLine(t, "human"), humanAboveShare: drawShare(t, "human above share"),
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "rules") {
		p.rules = append(p.rules, drawRule(t, "r"+strconv.Itoa(i)))
	}
	return p
}

func drawFacts(t *rapid.T) facts {
	found := facts{
		class: rapid.SampledFrom(someClasses).Draw(t, "class"), version: rapid.SampledFrom(someVersions).Draw(t, "version"),
		priorityFee: drawUnits(t, "priority fee"), tip: drawUnits(t, "tip"),
		charge: make(map[solana.PublicKey]amount.Units), held: make(map[solana.PublicKey]amount.Units),
	}
	found.opaque = slices.Collect(maps.Keys(drawSet(t, somePrograms, "calls")))
	found.programs = found.opaque
	found.assets = slices.Collect(maps.Keys(drawSet(t, someMints, "moves")))
	for _, payee := range inOrderOf(drawSet(t, somePayees, "pays")) {
		found.payments = append(found.payments, effects.Payment{
			Recipient: payee, Name: rapid.SampledFrom([]string{"", "", "bob"}).Draw(t, "called"),
			Mint: rapid.SampledFrom(someMints).Draw(t, "in"), Amount: drawUnits(t, "paid"),
		})
	}
	for _, code := range drawSome(t, someFindings, "findings") {
		found.findings = append(found.findings, effects.Finding{Code: code})
	}
	for _, mint := range inOrderOf(drawSet(t, someMints, "spends")) {
		found.charge[mint] = drawUnits(t, "charge")
	}
	for _, mint := range someMints {
		found.held[mint] = drawUnits(t, "has")
	}
	return found
}

// inOrderOf lists a set in order, so that rapid can repeat what it drew.
func inOrderOf(set keySet) []solana.PublicKey {
	return slices.SortedFunc(maps.Keys(set), solana.PublicKey.Compare)
}

func drawCircumstances(t *rapid.T) Circumstances {
	held := func() map[solana.PublicKey]Held {
		out := make(map[solana.PublicKey]Held)
		for _, mint := range inOrderOf(drawSet(t, someMints, "held")) {
			out[mint] = Held{drawUnits(t, "used"), drawUnits(t, "reserved")}
		}
		return out
	}
	paid := make(map[Destination]Held)
	for _, payee := range inOrderOf(drawSet(t, somePayees, "was paid")) {
		paid[Destination{payee, rapid.SampledFrom(someMints).Draw(t, "was paid in")}] = Held{drawUnits(t, "got"), drawUnits(t, "may get")}
	}
	return Circumstances{
		Usage:  Usage{Session: held(), Day: held(), Destination: paid, TransactionsLastHour: rapid.IntRange(0, 4).Draw(t, "last hour")},
		Client: rapid.SampledFrom(someClients).Draw(t, "client"),
		Now:    time.Date(2026, 3, 4, 0, rapid.IntRange(0, 1439).Draw(t, "minute"), 0, 0, time.UTC),
	}
}

func drawCase(t *rapid.T) (*Policy, effects.Flow, []facts, Circumstances) {
	batch := make([]facts, rapid.IntRange(1, 3).Draw(t, "batch"))
	for i := range batch {
		batch[i] = drawFacts(t)
	}
	return drawPolicy(t), rapid.SampledFrom(someFlows).Draw(t, "flow"), batch, drawCircumstances(t)
}
