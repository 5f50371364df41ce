package policy

import (
	"fmt"
	"slices"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
)

// warn notes what is allowed in the file and hardly meant.
func (l *loader) warn() {
	l.warnCaps("caps", "ceilings.per_transaction", l.policy.caps[0])
	for i := range l.file.Mint {
		path := fmt.Sprintf("mint[%d]", i)
		l.warnCaps(path, path+".ceiling", l.policy.caps[i+1])
	}
	l.warnTiers()
	for i, table := range l.file.Rule {
		at, _ := slices.BinarySearchFunc(l.policy.rules, table.Name, func(r rule, name string) int {
			return strings.Compare(r.name, name)
		})
		l.warnRule(fmt.Sprintf("rule[%d]", i), l.policy.rules[at])
	}
}

func (l *loader) caution(path, format string, args ...any) {
	l.policy.warnings = append(l.policy.warnings, l.at.Error(path, format, args...))
}

func (l *loader) warnCaps(path, ceiling string, asset AssetCap) {
	widening := []struct {
		key   string
		units amount.Units
	}{
		{"per_transaction", asset.PerTransaction}, {"per_session", asset.PerSession}, {"per_day", asset.PerDay},
	}
	before := widening[0]
	for _, limit := range widening {
		switch {
		case limit.units == 0:
			l.caution(path+"."+limit.key, "is 0, so no %s can be spent at all", asset.Name)
		case before.units > limit.units:
			l.caution(path+"."+limit.key, "is less than %s, which can never be used up", before.key)
		}
		before = limit
	}
	if most := asset.PerDestination; most != nil {
		switch {
		case *most == 0:
			l.caution(path+".per_destination", "is 0, so nobody can be paid in %s", asset.Name)
		case *most > asset.PerDay:
			l.caution(path+".per_destination", "is more than per_day, so it limits nothing")
		}
	}
	if most := asset.Ceiling; most != nil && *most < asset.PerTransaction {
		l.caution(ceiling, "is less than the cap per transaction, which can never be used up")
	}
}

func (l *loader) warnTiers() {
	p, most := l.policy, l.policy.caps[0].PerTransaction
	if p.humanAbove != nil && *p.humanAbove >= most {
		l.caution("tiers.human_above", "is not below the cap per transaction, so only a batch could exceed it")
	}
	if p.autoUpTo != nil && p.humanAbove != nil && *p.autoUpTo > *p.humanAbove {
		l.caution("tiers.auto_up_to", "is more than human_above, where a person is asked for in any case")
	}
	if len(p.programs[effects.Swap]) == 0 && p.mintsAllowed != nil {
		l.caution("mints.allow", "allows tokens to be traded, and no program is allowed for swaps")
	}
}

// warnRule notes a rule that can never apply, or never changes what is decided
// because something in the file refuses it first.
func (l *loader) warnRule(path string, r rule) {
	only := func(flow effects.Flow) bool { return len(r.flows) == 1 && r.flows[0] == flow }
	if only(effects.Transfer) && r.classes != nil && !slices.Contains(r.classes, effects.Complete) {
		l.caution(path+".class", "can never apply: a transfer calls known programs only, so its class is complete")
	}
	if !l.policy.allowV1 && len(r.versions) == 1 && r.versions[0] == solana.V1 {
		l.caution(path+".version", "changes nothing: v1 transactions are refused anyway (versions.allow_v1)")
	}
	if r.recipients != nil && within(r.recipients, l.policy.recipientsDenied) {
		l.caution(path+".recipient", "changes nothing: these recipients are refused anyway (recipients.deny)")
	}
	if r.mints != nil && within(r.mints, l.policy.mintsDenied) {
		l.caution(path+".mint", "changes nothing: these tokens are refused anyway (mints.deny)")
	}
	if r.amount != nil {
		if asset, ok := l.policy.Cap(r.amount.mint); ok && r.amount.units >= min(asset.PerDay, asset.PerSession) {
			l.caution(path+".amount_above", "changes nothing: the caps per session and day refuse more than that anyway")
		}
	}
	if r.share != nil && *r.share == whole {
		l.caution(path+".share_above", "can never apply: nothing takes more than all that the wallet holds")
	}
	for program := range r.programs {
		if l.policy.programs[effects.Swap].has(program) || l.policy.programs[effects.Claim].has(program) || decode.Decodes(program) {
			return
		}
	}
	if r.programs != nil {
		l.caution(path+".program", "changes nothing: no such program is allowed, so what calls it is refused anyway")
	}
}

func within(part, all keySet) bool {
	for key := range part {
		if !all.has(key) {
			return false
		}
	}
	return true
}
