package world

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/build"
)

// World is what a test needs to know, in base58.
type World struct {
	Wallet           string   `json:"wallet"`
	WSOL             string   `json:"wsol"`
	TokenMint        string   `json:"token_mint"`
	TokenDecimals    uint8    `json:"token_decimals"`
	Token2022Mint    string   `json:"token_2022_mint"`
	Token2022Decimal uint8    `json:"token_2022_decimals"`
	PoolProgram      string   `json:"pool_program"`
	PoolAuthority    string   `json:"pool_authority"`
	Pools            []Market `json:"pools"`
	FeeShareProgram  string   `json:"fee_share_program"`
	Ledgers          []Ledger `json:"ledgers"`
	LookupTable      string   `json:"lookup_table"`
	Nonce            string   `json:"nonce"`
	UnknownProgram   string   `json:"unknown_program"`
	// Trigger, once it holds lamports, springs bait_and_switch and receives.
	Trigger string `json:"trigger"`
	Thief   string `json:"thief"`
	// ThiefAccounts are the thief's token accounts by mint.
	ThiefAccounts map[string]string `json:"thief_accounts"`
	Sponsor       string            `json:"sponsor"`
	// LegacyMint and PlainMint are the base mints of the two positions that
	// are shown and cannot be claimed.
	LegacyMint string `json:"legacy_mint"`
	PlainMint  string `json:"plain_mint"`
}

// Market is a market in base58.
type Market struct {
	MintA  string `json:"mint_a"`
	VaultA string `json:"vault_a"`
	MintB  string `json:"mint_b"`
	VaultB string `json:"vault_b"`
}

// Ledger is a fee ledger in base58.
type Ledger struct {
	BaseMint     string   `json:"base_mint"`
	Authority    string   `json:"authority"`
	AuthorityATA string   `json:"authority_ata"`
	Vaults       []string `json:"vaults"`
}

// World writes the layout out.
func (l Layout) World() World {
	w := World{
		Wallet: l.Wallet.String(), WSOL: l.WSOL.Address.String(),
		TokenMint: l.Token.Address.String(), TokenDecimals: l.Token.Decimals,
		Token2022Mint: l.Token2022.Address.String(), Token2022Decimal: l.Token2022.Decimals,
		PoolProgram: PoolProgram.String(), PoolAuthority: l.Market.Authority.String(),
		FeeShareProgram: FeeShareProgram.String(), LookupTable: l.Table.String(), Nonce: l.Nonce.String(),
		UnknownProgram: l.Unknown.String(), Thief: l.Thief.String(), Trigger: l.Trigger.String(), Sponsor: l.Sponsor.PublicKey().String(),
		ThiefAccounts: map[string]string{}, LegacyMint: l.LegacyMint.String(), PlainMint: l.PlainMint.String(),
	}
	for _, pool := range l.Pools {
		w.Pools = append(w.Pools, Market{
			MintA: pool.A.Address.String(), VaultA: pool.VaultA.String(),
			MintB: pool.B.Address.String(), VaultB: pool.VaultB.String(),
		})
	}
	for _, ledger := range l.Ledgers {
		w.Ledgers = append(w.Ledgers, Ledger{
			BaseMint: ledger.BaseMint.String(), Authority: ledger.Authority.String(),
			AuthorityATA: ledger.AuthorityATA.String(), Vaults: texts(ledger.Vaults),
		})
	}
	for _, mint := range append(l.Mints(), l.WSOL) {
		w.ThiefAccounts[mint.Address.String()] = l.ThiefAccount(mint.Address, mint.TokenProgram).String()
	}
	return w
}

func texts(keys []solana.PublicKey) []string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = key.String()
	}
	return list
}

// Fees are what a ledger holds for its user.
type Fees struct {
	// Pulled is in the ledger already, Vaults still in the pools.
	Pulled uint64
	Vaults []uint64
}

// Total is what a claim pays out.
func (f Fees) Total() uint64 {
	total := f.Pulled
	for _, amount := range f.Vaults {
		total += amount
	}
	return total
}

// Waiting reads from the chain what a ledger would pay out now.
func Waiting(ctx context.Context, c Chain, ledger build.FeeShare) (Fees, error) {
	accounts, _, err := c.Accounts(ctx, append([]solana.PublicKey{ledger.AuthorityATA}, ledger.Vaults...)...)
	if err != nil {
		return Fees{}, err
	}
	amounts := make([]uint64, len(accounts))
	for i, account := range accounts {
		if account == nil {
			return Fees{}, fmt.Errorf("a vault of the fee ledger is not on the chain")
		}
		amount, ok := tokenAmount(account.Data)
		if !ok {
			return Fees{}, fmt.Errorf("a vault of the fee ledger is no token account")
		}
		amounts[i] = amount
	}
	return Fees{Pulled: amounts[0], Vaults: amounts[1:]}, nil
}
