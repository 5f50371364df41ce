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
		PerTransaction      string  `toml:"per_transaction"`
		PerSession          string  `toml:"per_session"`
		PerDay              string  `toml:"per_day"`
		PerDestination      *string `toml:"per_destination"`
		TransactionsPerHour *int    `toml:"transactions_per_hour"`
	} `toml:"caps"`
	Ceilings struct {
		PerTransaction *string `toml:"per_transaction"`
	} `toml:"ceilings"`
	Fees struct {
		MaxPriorityFee string `toml:"max_priority_fee"`
		MaxTip         string `toml:"max_tip"`
	} `toml:"fees"`
	Mint     []mintTable `toml:"mint"`
	Programs struct {
		Swap  []string `toml:"swap"`
		Claim []string `toml:"claim"`
	} `toml:"programs"`
	Program []programTable `toml:"program"`
	Mints   struct {
		Allow      *[]string `toml:"allow"`
		Deny       []string  `toml:"deny"`
		LookAlike  *string   `toml:"look_alike"`
		Unverified *string   `toml:"unverified"`
	} `toml:"mints"`
	Recipients struct {
		Allow     []string `toml:"allow"`
		Deny      []string `toml:"deny"`
		New       *string  `toml:"new"`
		LookAlike *string  `toml:"look_alike"`
	} `toml:"recipients"`
	Tiers struct {
		Default         *string `toml:"default"`
		Unguarded       *string `toml:"unguarded"`
		AutoUpTo        *string `toml:"auto_up_to"`
		HumanAbove      *string `toml:"human_above"`
		HumanAboveShare *string `toml:"human_above_share"`
	} `toml:"tiers"`
	Rule     []ruleTable `toml:"rule"`
	Versions struct {
		AllowV1 bool `toml:"allow_v1"`
	} `toml:"versions"`
	Sessions struct {
		PerHour *int    `toml:"per_hour"`
		Lasts   *string `toml:"lasts"`
	} `toml:"sessions"`
}

type mintTable struct {
	Address        string  `toml:"address"`
	Name           string  `toml:"name"`
	Decimals       *int    `toml:"decimals"`
	PerTransaction string  `toml:"per_transaction"`
	PerSession     string  `toml:"per_session"`
	PerDay         string  `toml:"per_day"`
	PerDestination *string `toml:"per_destination"`
	Ceiling        *string `toml:"ceiling"`
}

type programTable struct {
	Address        string   `toml:"address"`
	Flows          []string `toml:"flows"`
	LastDeploySlot *int64   `toml:"last_deploy_slot"`
	DataHash       *string  `toml:"data_hash"`
}

// ruleTable is one [[rule]]. Of a list, one entry must fit; of the keys that
// are there, all must.
type ruleTable struct {
	Name        string    `toml:"name"`
	Flow        *[]string `toml:"flow"`
	Class       *[]string `toml:"class"`
	Version     *[]string `toml:"version"`
	Program     *[]string `toml:"program"`
	Mint        *[]string `toml:"mint"`
	Recipient   *[]string `toml:"recipient"`
	Finding     *[]string `toml:"finding"`
	Client      *[]string `toml:"client"`
	AmountAbove *string   `toml:"amount_above"`
	ShareAbove  *string   `toml:"share_above"`
	Between     *string   `toml:"between"`
	Timezone    *string   `toml:"timezone"`
	Tier        *string   `toml:"tier"`
	Deny        *string   `toml:"deny"`
}

//go:embed default.toml
var defaultText string

// Default is a commented policy that is safe to start with, for a network.
func Default(cluster string, genesis solana.Hash) []byte {
	return []byte(strings.NewReplacer("{{cluster}}", cluster, "{{genesis_hash}}", genesis.String()).Replace(defaultText))
}
