package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// programs reads who may be called, from the short lists and from [[program]].
func (l *loader) programs() {
	l.policy.programs = map[effects.Flow]keySet{
		effects.Swap:  l.keys("programs.swap", l.file.Programs.Swap),
		effects.Claim: l.keys("programs.claim", l.file.Programs.Claim),
	}
	if len(l.file.Program) > maxPrograms {
		l.blame("program", "more than %d programs", maxPrograms)
		return
	}
	l.policy.pins = make(map[solana.PublicKey]judge.Pin)
	seen := make(keySet)
	for i, table := range l.file.Program {
		path := fmt.Sprintf("program[%d]", i)
		address, err := solana.ParsePublicKey(table.Address)
		switch {
		case err != nil:
			l.blame(path+".address", "%v", err)
			continue
		case seen.has(address):
			l.blame(path+".address", "this program has a table already")
			continue
		}
		seen[address] = struct{}{}
		l.program(path, address, table)
	}
}

func (l *loader) program(path string, address solana.PublicKey, table programTable) {
	if len(table.Flows) == 0 {
		l.blame(path+".flows", "must name at least one of swap, claim")
	}
	for _, name := range table.Flows {
		flow, ok := flowNames[name]
		set := l.policy.programs[flow]
		if !ok || set == nil {
			l.blame(path+".flows", "must name only swap and claim")
			continue
		}
		set[address] = struct{}{}
	}
	var pin judge.Pin
	if slot := table.LastDeploySlot; slot != nil {
		if *slot < 0 {
			l.blame(path+".last_deploy_slot", "must be the slot of the program's last deployment")
			return
		}
		deployed := uint64(*slot)
		pin.LastDeploySlot = &deployed
	}
	if text := table.DataHash; text != nil {
		raw, err := hex.DecodeString(*text)
		if err != nil || len(raw) != sha256.Size {
			l.blame(path+".data_hash", "must be the SHA-256 of the program's code in %d hex digits", 2*sha256.Size)
			return
		}
		digest := [sha256.Size]byte(raw)
		pin.DataHash = &digest
	}
	if pin != (judge.Pin{}) {
		l.policy.pins[address] = pin
	}
}

// keys reads a list of addresses. It is never nil.
func (l *loader) keys(path string, texts []string) keySet {
	return l.each(path, texts, solana.ParsePublicKey)
}

// mintKeys reads a list of mints, each by its address or by the name that it
// has in this file.
func (l *loader) mintKeys(path string, texts []string) keySet {
	return l.each(path, texts, func(text string) (solana.PublicKey, error) {
		for _, asset := range l.policy.caps {
			if asset.Name == text {
				return asset.Mint, nil
			}
		}
		key, err := solana.ParsePublicKey(text)
		switch {
		case err != nil:
			return key, fmt.Errorf("%q is neither the address of a mint nor a name from this file", text)
		case key == solana.WrappedSOL:
			return amount.SOL, nil // They are one asset here.
		}
		return key, nil
	})
}

func (l *loader) each(path string, texts []string, parse func(string) (solana.PublicKey, error)) keySet {
	if len(texts) > maxListed {
		l.blame(path, "more than %d addresses", maxListed)
		texts = nil
	}
	set := make(keySet, len(texts))
	for i, text := range texts {
		key, err := parse(text)
		if err != nil {
			l.blame(path, "entry %d: %v", i+1, err)
			continue
		}
		set[key] = struct{}{}
	}
	return set
}

// apart refuses what is allowed and denied at once: which of the two was meant?
func (l *loader) apart(path string, allowed, denied keySet) {
	for _, key := range slices.SortedFunc(maps.Keys(denied), solana.PublicKey.Compare) {
		if allowed.has(key) {
			l.blame(path, "%s is in the list of what is allowed, too", key)
		}
	}
}

func (l *loader) mints() {
	mints := l.file.Mints
	if mints.Allow != nil {
		l.policy.mintsAllowed = l.mintKeys("mints.allow", *mints.Allow)
	}
	l.policy.mintsDenied = l.mintKeys("mints.deny", mints.Deny)
	l.apart("mints.deny", l.policy.mintsAllowed, l.policy.mintsDenied)
	if l.policy.mintsDenied.has(amount.SOL) {
		l.blame("mints.deny", "SOL pays every fee, so it cannot be denied; cap it at 0 instead")
	}
	l.policy.lookAlikeMint = l.tier("mints.look_alike", mints.LookAlike, Human, Confirm)
	l.policy.unverifiedMint = l.tier("mints.unverified", mints.Unverified, Auto, Auto)
}

func (l *loader) recipients() {
	l.policy.recipientsAllowed = l.keys("recipients.allow", l.file.Recipients.Allow)
	l.policy.recipientsDenied = l.keys("recipients.deny", l.file.Recipients.Deny)
	l.apart("recipients.deny", l.policy.recipientsAllowed, l.policy.recipientsDenied)
	l.policy.newRecipient = l.tier("recipients.new", l.file.Recipients.New, Human, Confirm)
	l.policy.lookAlikeRecipient = l.tier("recipients.look_alike", l.file.Recipients.LookAlike, Deny, Human)
}

func (l *loader) tiers() {
	tiers, sol := l.file.Tiers, l.policy.caps[0]
	l.policy.tier = l.tier("tiers.default", tiers.Default, Confirm, Auto)
	l.policy.unguarded = l.tier("tiers.unguarded", tiers.Unguarded, Human, Confirm)
	l.policy.autoUpTo = l.optional("tiers.auto_up_to", tiers.AutoUpTo, sol)
	l.policy.humanAbove = l.optional("tiers.human_above", tiers.HumanAbove, sol)
	l.policy.humanAboveShare = l.share("tiers.human_above_share", tiers.HumanAboveShare)
}

// tier reads a tier by name. weakest is the least that makes sense at path:
// consent by nobody is not offered for what simulation alone speaks for.
func (l *loader) tier(path string, text *string, missing, weakest Tier) Tier {
	if text == nil {
		return missing
	}
	var names []string
	for _, tier := range []Tier{Auto, Confirm, Human, Deny} {
		switch {
		case tier < weakest:
			continue
		case tier.String() == *text:
			return tier
		}
		names = append(names, tier.String())
	}
	if *text == Quorum.String() {
		l.blame(path, "quorum is not available in this version")
		return missing
	}
	l.blame(path, "must be one of %s", strings.Join(names, ", "))
	return missing
}
