// Package world puts on the local chain what the sandbox trades with: two
// mints, three pools, a lookup table, fee-share vaults with something to
// claim, a sponsor, a thief. The sandbox and tests may import it. It promises
// that the same label always gives the same addresses, and that what it writes
// is consistent: the lamports of every wSOL account match its amount, every
// account is rent exempt, supplies cover what is held.
package world

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/fixtures"
	"countersign/scripts/sandbox/internal/build"
)

// Programs that the fixtures install.
var (
	PoolProgram     = solana.MustPublicKeyFromBase58(fixtures.AMMProgramID)
	FeeShareProgram = solana.MustPublicKeyFromBase58(fixtures.FeeShareProgramID)
	UnknownProgram  = solana.MustPublicKeyFromBase58(fixtures.ScriptableProgramID)
	// FeeShareV1 is named in a position and not on the local chain.
	FeeShareV1 = solana.MustPublicKeyFromBase58("FEEhPbKVKnco9EXnaY3i4R5rQVUx91wgVfu8qokixywi")
)

// Base units: the SOL, a token of six decimals, a token of nine.
const (
	sol     = billion
	million = 1_000_000
	billion = 1_000_000_000
)

// Mint is a token of the world.
type Mint struct {
	Address      solana.PublicKey
	TokenProgram solana.PublicKey
	Decimals     uint8
	Supply       uint64
}

// Pool is a market of two mints; vaults belong to the pool program's
// authority.
type Pool struct {
	A, B           Mint
	VaultA, VaultB solana.PublicKey
	DepositA       uint64
	DepositB       uint64
}

// Other is the mint on the far side of a pool, and whether mint is on the
// near side at all.
func (p Pool) Other(mint solana.PublicKey) (Mint, bool) {
	switch mint {
	case p.A.Address:
		return p.B, true
	case p.B.Address:
		return p.A, true
	}
	return Mint{}, false
}

// Sides are the two ends of a trade of in for the other mint.
func (p Pool) Sides(in solana.PublicKey) (from, to build.Side) {
	a := build.Side{Mint: p.A.Address, TokenProgram: p.A.TokenProgram, Vault: p.VaultA}
	b := build.Side{Mint: p.B.Address, TokenProgram: p.B.TokenProgram, Vault: p.VaultB}
	if in == p.A.Address {
		return a, b
	}
	return b, a
}

// Layout is every address of a world, whether or not it is on the chain yet.
type Layout struct {
	Wallet    solana.PublicKey
	WSOL      Mint
	Token     Mint
	Token2022 Mint
	Pools     []Pool
	Market    build.Pool
	Table     solana.PublicKey
	Nonce     solana.PublicKey
	// NonceValue is the hash stored in the nonce account.
	NonceValue solana.Hash
	Thief      solana.PublicKey
	Sponsor    solana.PrivateKey
	// Ledgers hold the wallet's fees of each launched token.
	Ledgers []build.FeeShare
	// LegacyMint and PlainMint are names in two positions, nothing more.
	LegacyMint solana.PublicKey
	PlainMint  solana.PublicKey
	// Trigger is the account a bait_and_switch program waits to see.
	Trigger solana.PublicKey
	// Unknown is a program that no allow list holds.
	Unknown solana.PublicKey
}

// New lays out a world for a wallet. Another label gives other addresses, so
// that two worlds fit on one chain.
func New(label string, wallet solana.PublicKey) Layout {
	keys := keyring(label)
	authority, bump := build.DerivedWithBump(PoolProgram, []byte("authority"))
	l := Layout{
		Wallet:     wallet,
		WSOL:       Mint{Address: build.WSOL, TokenProgram: build.Token, Decimals: 9},
		Token:      Mint{Address: keys.public("token"), TokenProgram: build.Token, Decimals: 6, Supply: billion * million},
		Token2022:  Mint{Address: keys.public("token-2022"), TokenProgram: build.Token2022, Decimals: 9, Supply: billion * billion},
		Market:     build.Pool{Program: PoolProgram, Authority: authority, Bump: bump},
		Table:      keys.public("lookup table"),
		Nonce:      keys.public("nonce"),
		NonceValue: solana.Hash(keys.public("nonce value")),
		Thief:      keys.public("thief"),
		Sponsor:    keys.private("sponsor"),
		LegacyMint: keys.public("legacy mint"),
		PlainMint:  keys.public("plain mint"),
		Trigger:    keys.public("trigger"),
		Unknown:    UnknownProgram,
	}
	l.Pools = []Pool{
		{A: l.WSOL, DepositA: 100 * sol, B: l.Token, DepositB: 1_000_000 * million},
		{A: l.WSOL, DepositA: 200 * sol, B: l.Token2022, DepositB: 5_000_000 * billion},
		{A: l.Token, DepositA: 1_000_000 * million, B: l.Token2022, DepositB: 2_500_000 * billion},
	}
	for i, mint := range l.Mints() {
		l.Ledgers = append(l.Ledgers, build.NewFeeShare(FeeShareProgram, mint.Address,
			keys.public(fmt.Sprintf("ledger %d vault 0", i)), keys.public(fmt.Sprintf("ledger %d vault 1", i))))
	}
	for i := range l.Pools {
		l.Pools[i].VaultA = keys.public(fmt.Sprintf("pool %d vault a", i))
		l.Pools[i].VaultB = keys.public(fmt.Sprintf("pool %d vault b", i))
	}
	return l
}

// LedgerOf finds the fee ledger of a token.
func (l Layout) LedgerOf(mint solana.PublicKey) (build.FeeShare, bool) {
	for _, ledger := range l.Ledgers {
		if ledger.BaseMint == mint {
			return ledger, true
		}
	}
	return build.FeeShare{}, false
}

// Mints are the tokens that have their own supply.
func (l Layout) Mints() []Mint { return []Mint{l.Token, l.Token2022} }

// PoolOf finds the market for a pair.
func (l Layout) PoolOf(in, out solana.PublicKey) (Pool, bool) {
	for _, pool := range l.Pools {
		if other, near := pool.Other(in); near && other.Address == out {
			return pool, true
		}
	}
	return Pool{}, false
}

// ThiefAccount is the thief's token account of a mint.
func (l Layout) ThiefAccount(mint, tokenProgram solana.PublicKey) solana.PublicKey {
	return build.AssociatedAccount(l.Thief, mint, tokenProgram)
}

// TableEntries are the addresses of the lookup table, in order. A program that
// a message calls stays in the message all the same: the runtime wants it so.
func (l Layout) TableEntries() []solana.PublicKey {
	entries := []solana.PublicKey{l.WSOL.Address, build.System, build.Token, build.Token2022, build.Associated, l.Market.Authority}
	for _, mint := range l.Mints() {
		entries = append(entries, mint.Address)
	}
	for _, pool := range l.Pools {
		entries = append(entries, pool.VaultA, pool.VaultB)
	}
	for _, ledger := range l.Ledgers {
		entries = append(entries, ledger.Config, ledger.Authority, ledger.AuthorityATA)
		entries = append(entries, ledger.Vaults...)
	}
	return entries
}

// keyring derives keys from a label. They guard nothing: the world exists on a
// local chain only, and being the same in every run makes failures readable.
type keyring string

func (k keyring) private(name string) solana.PrivateKey {
	seed := sha256.Sum256([]byte("countersign sandbox\x00" + string(k) + "\x00" + name))
	return solana.PrivateKey(ed25519.NewKeyFromSeed(seed[:]))
}

func (k keyring) public(name string) solana.PublicKey { return k.private(name).PublicKey() }
