package policy

import (
	_ "embed"
	"strings"

	"countersign/shared/solana"
)

// file mirrors the policy file. Money is text with its unit; Load resolves it.
// What may be absent, or must be told from a zero, is a pointer.
type file struct {
	Network struct {
		Cluster     string `toml:"cluster"`
		GenesisHash string `toml:"genesis_hash"`
	} `toml:"network"`
	AllowUncappedTokens bool `toml:"allow_uncapped_tokens"`
	Caps                struct {
		PerTransaction      string `toml:"per_transaction"`
		PerSession          string `toml:"per_session"`
		PerDay              string `toml:"per_day"`
		TransactionsPerHour *int   `toml:"transactions_per_hour"`
	} `toml:"caps"`
	Fees struct {
		MaxPriorityFee string `toml:"max_priority_fee"`
		MaxTip         string `toml:"max_tip"`
	} `toml:"fees"`
	Mint     []mintTable `toml:"mint"`
	Programs struct {
		Swap  []string `toml:"swap"`
		Claim []string `toml:"claim"`
	} `toml:"programs"`
	Recipients struct {
		Allow []string `toml:"allow"`
		Deny  []string `toml:"deny"`
		New   *string  `toml:"new"`
	} `toml:"recipients"`
	Tiers struct {
		Default    *string `toml:"default"`
		Unguarded  *string `toml:"unguarded"`
		AutoUpTo   *string `toml:"auto_up_to"`
		HumanAbove *string `toml:"human_above"`
	} `toml:"tiers"`
	Sessions struct {
		PerHour *int `toml:"per_hour"`
	} `toml:"sessions"`
}

type mintTable struct {
	Address        string `toml:"address"`
	Name           string `toml:"name"`
	Decimals       *int   `toml:"decimals"`
	PerTransaction string `toml:"per_transaction"`
	PerSession     string `toml:"per_session"`
	PerDay         string `toml:"per_day"`
}

//go:embed default.toml
var defaultText string

// Default is a commented policy that is safe to start with, for a network.
func Default(cluster string, genesis solana.Hash) []byte {
	return []byte(strings.NewReplacer("{{cluster}}", cluster, "{{genesis_hash}}", genesis.String()).Replace(defaultText))
}
