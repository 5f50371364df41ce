package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/shared/stricttoml"
)

// LoadErrors are the faults of a policy file, with line and column.
type LoadErrors = stricttoml.Errors

// Limits of a policy file that no sensible owner meets.
const (
	maxMints    = 256
	maxListed   = 4096
	maxPrograms = 256
	maxPerHour  = 100_000
	maxDecimals = 18

	shortestSession = time.Minute
	longestSession  = 720 * time.Hour
)

// loader collects faults while it builds a policy, so that one run of
// `policy check` shows all of them.
type loader struct {
	file   file
	at     *stricttoml.Positions
	found  LoadErrors
	policy *Policy
}

// Load reads and checks a policy file. The error is of type LoadErrors.
func Load(raw []byte) (*Policy, error) {
	digest := sha256.Sum256(raw)
	l := loader{policy: &Policy{version: hex.EncodeToString(digest[:8])}}
	var err error
	if l.at, err = stricttoml.Decode(raw, &l.file); err != nil {
		return nil, err
	}
	for _, part := range []func(){
		l.network, l.caps, l.sessions, l.fees, l.mintCaps, l.programs, l.mints, l.recipients, l.tiers, l.rules,
	} {
		part()
	}
	if len(l.found) > 0 {
		inOrderOfFile(l.found)
		return nil, l.found
	}
	l.warn()
	inOrderOfFile(l.policy.warnings)
	return l.policy, nil
}

func inOrderOfFile(errors []stricttoml.Error) {
	slices.SortStableFunc(errors, func(a, b stricttoml.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func (l *loader) blame(path, format string, args ...any) {
	l.found = append(l.found, l.at.Error(path, format, args...))
}

func (l *loader) network() {
	l.policy.cluster = l.file.Network.Cluster
	if !isWord(l.policy.cluster, 32) {
		l.blame("network.cluster", "give the network a name of 1 to 32 plain characters without spaces")
	}
	genesis, err := solana.ParseHash(l.file.Network.GenesisHash)
	if err != nil || genesis.IsZero() {
		l.blame("network.genesis_hash", "must be the base58 genesis hash of the network")
	}
	l.policy.genesis = genesis
	if len(l.found) > 0 {
		return // One mistake, one error.
	}
	// A name that reads like a public network's would be taken for it.
	plain := strings.TrimSuffix(strings.ToLower(l.policy.cluster), "-beta")
	if _, public := solana.PublicGenesis(plain); public && plain != l.policy.cluster {
		l.blame("network.cluster", "reads like %s: write that, or another name", plain)
		return
	}
	if want, public := solana.PublicGenesis(l.policy.cluster); public && want != genesis {
		l.blame("network.genesis_hash", "is not that of %s, which is %s", l.policy.cluster, want)
		return
	}
	if cluster, public := solana.PublicCluster(genesis); public && cluster != l.policy.cluster {
		l.blame("network.cluster", "this is the genesis hash of %s, so it must be called that", cluster)
	}
}

// isWord reports 1 to longest printable ASCII characters without spaces. Names
// of the file stand in messages and in logs, where nothing else belongs.
func isWord(text string, longest int) bool {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return text != "" && len(text) <= longest
}

func (l *loader) caps() {
	caps := l.file.Caps
	sol := AssetCap{Mint: amount.SOL, Name: "SOL", Decimals: amount.SOLDecimals}
	sol.PerTransaction = l.money("caps.per_transaction", caps.PerTransaction, sol)
	sol.PerSession = l.money("caps.per_session", caps.PerSession, sol)
	sol.PerDay = l.money("caps.per_day", caps.PerDay, sol)
	sol.PerDestination = l.optional("caps.per_destination", caps.PerDestination, sol)
	sol.Ceiling = l.optional("ceilings.per_transaction", l.file.Ceilings.PerTransaction, sol)
	l.policy.caps = append(l.policy.caps, sol)
	l.policy.transactionsHour = l.count("caps.transactions_per_hour", caps.TransactionsPerHour)
	l.policy.allowUncapped = l.file.AllowUncappedTokens
	l.policy.allowV1 = l.file.Versions.AllowV1
}

func (l *loader) sessions() {
	l.policy.sessionsHour = l.count("sessions.per_hour", l.file.Sessions.PerHour)
	text := l.file.Sessions.Lasts
	if text == nil {
		return
	}
	lasts, err := time.ParseDuration(*text)
	if err != nil || lasts < shortestSession || lasts > longestSession {
		l.blame("sessions.lasts", "must be a time from \"1m\" to \"720h\", such as \"8h\" or \"90m\"")
	}
	l.policy.sessionLasts = lasts
}

// count reads a number of times per hour. It must be there: the owner says in
// so many words that there is no such limit.
func (l *loader) count(path string, n *int) int {
	switch {
	case n == nil:
		l.blame(path, "is missing; write 0 for no such limit")
		return 0
	case *n < 0 || *n > maxPerHour:
		l.blame(path, "must lie between 0 (no such limit) and %d", maxPerHour)
	}
	return *n
}

// money reads an amount with its unit, such as "0.1 SOL". Every cap must be
// there: one that is missing would be no limit at all.
func (l *loader) money(path, text string, asset AssetCap) amount.Units {
	number, unit, spaced := strings.Cut(text, " ")
	if text == "" {
		l.blame(path, "is missing; write it as \"0.1 %s\"", asset.Name)
		return 0
	}
	if !spaced || unit != asset.Name {
		l.blame(path, "must be an amount of %s, such as \"0.1 %s\"", asset.Name, asset.Name)
		return 0
	}
	units, err := amount.ParseDecimal(number, asset.Decimals)
	if err != nil && !errors.Is(err, amount.ErrZero) {
		l.blame(path, "%v", err)
	}
	return units
}

// optional is money where its absence is no limit.
func (l *loader) optional(path string, text *string, asset AssetCap) *amount.Units {
	if text == nil {
		return nil
	}
	units := l.money(path, *text, asset)
	return &units
}

func (l *loader) fees() {
	sol := l.policy.caps[0]
	l.policy.maxPriorityFee = l.money("fees.max_priority_fee", l.file.Fees.MaxPriorityFee, sol)
	l.policy.maxTip = l.money("fees.max_tip", l.file.Fees.MaxTip, sol)
}

func (l *loader) mintCaps() {
	if len(l.file.Mint) > maxMints {
		l.blame("mint", "more than %d mints", maxMints)
		return
	}
	for i, table := range l.file.Mint {
		l.mintCap(fmt.Sprintf("mint[%d]", i), table)
	}
}

func (l *loader) mintCap(path string, table mintTable) {
	address := l.mintAddress(path+".address", table.Address)
	named := l.mintName(path+".name", table.Name)
	if table.Decimals == nil || *table.Decimals < 0 || *table.Decimals > maxDecimals {
		l.blame(path+".decimals", "must be the mint's own, between 0 and %d", maxDecimals)
		return
	}
	if !named {
		return // Without its unit no amount can be read.
	}
	asset := AssetCap{Mint: address, Name: table.Name, Decimals: uint8(*table.Decimals)}
	asset.PerTransaction = l.money(path+".per_transaction", table.PerTransaction, asset)
	asset.PerSession = l.money(path+".per_session", table.PerSession, asset)
	asset.PerDay = l.money(path+".per_day", table.PerDay, asset)
	asset.PerDestination = l.optional(path+".per_destination", table.PerDestination, asset)
	asset.Ceiling = l.optional(path+".ceiling", table.Ceiling, asset)
	l.policy.caps = append(l.policy.caps, asset)
}

func (l *loader) mintAddress(path, text string) solana.PublicKey {
	address, err := solana.ParsePublicKey(text)
	switch {
	case err != nil:
		l.blame(path, "%v", err)
	case address == amount.SOL || address == solana.WrappedSOL:
		l.blame(path, "SOL and wrapped SOL are capped by [caps]")
	default:
		if _, twice := l.policy.Cap(address); twice {
			l.blame(path, "this mint has caps already")
		}
	}
	return address
}

// mintName checks a unit. Two that differ only in case would be read as one.
func (l *loader) mintName(path, name string) bool {
	taken := func(asset AssetCap) bool { return strings.EqualFold(asset.Name, name) }
	switch {
	case !isWord(name, 16):
		l.blame(path, "must be a unit of 1 to 16 plain characters without spaces")
	case slices.ContainsFunc(l.policy.caps, taken):
		l.blame(path, "this name is taken: a unit must mean one asset")
	default:
		return true
	}
	return false
}
