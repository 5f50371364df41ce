package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that a file means the same on every computer
	"unicode"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// Limits of the [[rule]] tables.
const (
	maxRules    = 256
	longestName = 48
	// longestText bounds reasons and the names of clients, in characters.
	longestText = 200
)

// The words that rules are written in.
var (
	flowNames  = names(effects.Transfer, effects.Swap, effects.Claim)
	classNames = names(effects.Complete, effects.Guarded, effects.Unguarded)
	versions   = names(solana.Legacy, solana.V0, solana.V1)
)

func names[T fmt.Stringer](all ...T) map[string]T {
	out := make(map[string]T, len(all))
	for _, each := range all {
		out[each.String()] = each
	}
	return out
}

// findingNames are the findings that a rule can ask for. A word that is none of
// them would make a rule that never applies.
var findingNames = findingWords()

func findingWords() map[string]word {
	words := make([]word, 0, len(effects.FindingCodes))
	for _, code := range effects.FindingCodes {
		words = append(words, word(code))
	}
	return names(words...)
}

type word string

func (w word) String() string { return string(w) }

func (l *loader) rules() {
	if len(l.file.Rule) > maxRules {
		l.blame("rule", "more than %d rules", maxRules)
		return
	}
	seen := make(map[string]bool)
	for i, table := range l.file.Rule {
		path := fmt.Sprintf("rule[%d]", i)
		switch {
		case !isWord(table.Name, longestName):
			l.blame(path+".name", "must be 1 to %d plain characters without spaces: decisions are explained by it", longestName)
		case seen[table.Name]:
			l.blame(path+".name", "another rule has this name")
		}
		seen[table.Name] = true
		l.policy.rules = append(l.policy.rules, l.rule(path, table))
	}
	slices.SortFunc(l.policy.rules, func(a, b rule) int { return cmp.Compare(a.name, b.name) })
}

func (l *loader) rule(path string, table ruleTable) rule {
	r := rule{
		name:     table.Name,
		flows:    choices(l, path+".flow", table.Flow, flowNames),
		classes:  choices(l, path+".class", table.Class, classNames),
		versions: choices(l, path+".version", table.Version, versions),
		clients:  l.clients(path+".client", table.Client),
		amount:   l.line(path+".amount_above", table.AmountAbove),
		share:    l.share(path+".share_above", table.ShareAbove),
		between:  l.between(path, table),
	}
	for _, each := range choices(l, path+".finding", table.Finding, findingNames) {
		r.findings = append(r.findings, string(each))
	}
	r.programs = l.ruleKeys(path+".program", table.Program, l.keys)
	r.mints = l.ruleKeys(path+".mint", table.Mint, l.mintKeys)
	r.recipients = l.ruleKeys(path+".recipient", table.Recipient, l.keys)
	if table.asksNothing() {
		l.blame(path, "asks for nothing, so it would hold of everything; write that under [tiers]")
	}
	l.demand(path, table, &r)
	return r
}

func (t ruleTable) asksNothing() bool {
	for _, list := range []*[]string{t.Flow, t.Class, t.Version, t.Program, t.Mint, t.Recipient, t.Finding, t.Client} {
		if list != nil {
			return false
		}
	}
	return t.AmountAbove == nil && t.ShareAbove == nil && t.Between == nil
}

// demand reads what the rule demands: a tier, or no.
func (l *loader) demand(path string, table ruleTable, r *rule) {
	switch {
	case table.Tier != nil && table.Deny != nil:
		l.blame(path+".deny", "a rule has a tier or a reason to deny, not both")
	case table.Deny != nil:
		r.tier, r.reason = Deny, *table.Deny
		if !isLine(r.reason) {
			l.blame(path+".deny", "must be the reason, in one line of 1 to %d characters", longestText)
		}
	case table.Tier == nil:
		l.blame(path, "must have a tier, or deny with a reason")
	case *table.Tier == Deny.String():
		l.blame(path+".tier", "write deny = \"the reason\" instead")
	default:
		r.tier = l.tier(path+".tier", table.Tier, Human, Confirm)
	}
}

// isLine reports printable text of one line, in any language.
func isLine(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	length := len([]rune(text))
	return length > 0 && length <= longestText && strings.TrimSpace(text) != ""
}

// choices reads a list of words of a closed set.
func choices[T any](l *loader, path string, texts *[]string, known map[string]T) []T {
	if texts == nil {
		return nil
	}
	l.notEmpty(path, *texts)
	var list []T
	for i, text := range *texts {
		choice, ok := known[text]
		if !ok {
			all := make([]string, 0, len(known))
			for name := range known {
				all = append(all, name)
			}
			slices.Sort(all)
			l.blame(path, "entry %d must be one of %s", i+1, strings.Join(all, ", "))
			continue
		}
		list = append(list, choice)
	}
	return list
}

func (l *loader) notEmpty(path string, texts []string) {
	if len(texts) == 0 {
		l.blame(path, "names nothing, so the rule could never apply")
	}
}

func (l *loader) ruleKeys(path string, texts *[]string, read func(string, []string) keySet) keySet {
	if texts == nil {
		return nil
	}
	l.notEmpty(path, *texts)
	return read(path, *texts)
}

func (l *loader) clients(path string, texts *[]string) []string {
	if texts == nil {
		return nil
	}
	l.notEmpty(path, *texts)
	if len(*texts) > maxListed {
		l.blame(path, "more than %d names", maxListed)
		return nil
	}
	for i, text := range *texts {
		if !isLine(text) {
			l.blame(path, "entry %d must be a name of 1 to %d characters", i+1, longestText)
		}
	}
	return *texts
}

// line reads an amount of any asset of this file: its unit says which.
func (l *loader) line(path string, text *string) *line {
	if text == nil {
		return nil
	}
	_, unit, _ := strings.Cut(*text, " ")
	for _, asset := range l.policy.caps {
		if asset.Name == unit {
			return &line{mint: asset.Mint, units: l.money(path, *text, asset)}
		}
	}
	l.blame(path, "must be an amount with its unit, such as \"0.1 SOL\"; the unit must be SOL or the name of a [[mint]]")
	return nil
}

// share reads a part of what the wallet holds, such as "12.5%".
func (l *loader) share(path string, text *string) *share {
	if text == nil {
		return nil
	}
	number, percent := strings.CutSuffix(*text, "%")
	units, err := amount.ParseDecimal(number, 2)
	if !percent || err != nil || share(units) > whole {
		l.blame(path, "must lie above \"0%%\" and up to \"100%%\", with at most two digits behind the point, such as \"12.5%%\"")
		return nil
	}
	part := share(units)
	return &part
}

func (l *loader) between(path string, table ruleTable) *span {
	if table.Between == nil {
		if table.Timezone != nil {
			l.blame(path+".timezone", "means nothing without between")
		}
		return nil
	}
	from, to, ok := strings.Cut(*table.Between, "-")
	begins, errBegins := time.Parse("15:04", from)
	ends, errEnds := time.Parse("15:04", to)
	if !ok || errBegins != nil || errEnds != nil || len(from) != 5 || len(to) != 5 || from == to {
		l.blame(path+".between", "must be two different times of day, such as \"22:00-06:00\"")
		return nil
	}
	zone := time.UTC
	if name := table.Timezone; name != nil {
		loaded, err := time.LoadLocation(*name)
		if err != nil || *name == "" || *name == time.Local.String() {
			l.blame(path+".timezone", "must be UTC or a name such as \"Europe/Berlin\"")
			return nil
		}
		zone = loaded
	}
	return &span{from: begins.Hour()*60 + begins.Minute(), to: ends.Hour()*60 + ends.Minute(), zone: zone}
}
