package world

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/build"
	"countersign/scripts/sandbox/internal/chain"
	"countersign/scripts/sandbox/internal/market"
)

// Chain is what a world needs of the local chain.
type Chain interface {
	Accounts(ctx context.Context, keys ...solana.PublicKey) ([]*chain.Account, uint64, error)
	RentExempt(ctx context.Context, size int) (uint64, error)
	SetAccount(ctx context.Context, key solana.PublicKey, account chain.Account) error
}

// What the people of the world start with.
const (
	sponsorLamports = 10 * sol
	thiefLamports   = 10 * million
	// feeLamports is in each vault of each ledger.
	feeLamports = 25 * million
)

// Seed puts the layout on the chain. Doing it again restores it.
func Seed(ctx context.Context, c Chain, l Layout) error {
	w := writer{ctx: ctx, chain: c}
	for _, mint := range l.Mints() {
		w.put(mint.Address, mint.TokenProgram, mintData(mint.Supply, mint.Decimals))
	}
	for _, pool := range l.Pools {
		w.putTokens(pool.VaultA, l.Market.Authority, pool.A, pool.DepositA)
		w.putTokens(pool.VaultB, l.Market.Authority, pool.B, pool.DepositB)
	}
	for _, ledger := range l.Ledgers {
		w.put(ledger.Config, FeeShareProgram, ledgerConfig(ledger, false))
		w.putTokens(ledger.AuthorityATA, ledger.Authority, l.WSOL, 0)
		w.putFees(ledger, l.WSOL, feeLamports)
	}
	for _, mint := range append(l.Mints(), l.WSOL) {
		w.putTokens(l.ThiefAccount(mint.Address, mint.TokenProgram), l.Thief, mint, 0)
	}
	w.put(l.Table, solana.AddressLookupTableProgramID, tableData(l.TableEntries()))
	w.put(l.Nonce, build.System, nonceData(l.Wallet, l.NonceValue))
	w.set(l.Thief, chain.Account{Lamports: thiefLamports, Owner: build.System})
	w.set(l.Sponsor.PublicKey(), chain.Account{Lamports: sponsorLamports, Owner: build.System})
	if w.err != nil {
		return fmt.Errorf("seed the local chain: %w", w.err)
	}
	return nil
}

// writer puts accounts in place until one fails.
type writer struct {
	ctx   context.Context
	chain Chain
	err   error
}

func (w *writer) set(key solana.PublicKey, account chain.Account) {
	if w.err == nil {
		w.err = w.chain.SetAccount(w.ctx, key, account)
	}
}

func (w *writer) rent(size int) uint64 {
	if w.err != nil {
		return 0
	}
	rent, err := w.chain.RentExempt(w.ctx, size)
	w.err = err
	return rent
}

func (w *writer) put(key, owner solana.PublicKey, data []byte) {
	w.set(key, chain.Account{Lamports: w.rent(len(data)), Owner: owner, Data: data})
}

// putTokens opens a token account with an amount. Tokens that are wrapped
// lamports bring the lamports with them.
func (w *writer) putTokens(key, owner solana.PublicKey, mint Mint, amount uint64) {
	rent := w.rent(tokenAccountSize)
	lamports := rent
	if mint.Address == build.WSOL {
		lamports += amount
	}
	data := tokenData(mint.Address, owner, amount, rent)
	w.set(key, chain.Account{Lamports: lamports, Owner: mint.TokenProgram, Data: data})
}

func (w *writer) putFees(ledger build.FeeShare, wsol Mint, lamports uint64) {
	for _, vault := range ledger.Vaults {
		w.putTokens(vault, ledger.VaultOwner, wsol, lamports)
	}
}

// Accrue makes every vault of every ledger hold lamports of fees.
func Accrue(ctx context.Context, c Chain, l Layout, lamports uint64) error {
	w := writer{ctx: ctx, chain: c}
	for _, ledger := range l.Ledgers {
		w.putFees(ledger, l.WSOL, lamports)
	}
	return w.err
}

// ledgerConfig is what the fee-share program reads: the bump of its authority,
// and whether it pays somebody else than the account it is given.
func ledgerConfig(ledger build.FeeShare, dishonest bool) []byte {
	config := []byte{ledger.AuthorityBump, 0}
	if dishonest {
		config[1] = 1
	}
	return config
}

// SetLedgerHonesty makes a ledger's program pay the account it is given, or
// the one hidden behind the others.
func SetLedgerHonesty(ctx context.Context, c Chain, ledger build.FeeShare, honest bool) error {
	w := writer{ctx: ctx, chain: c}
	w.put(ledger.Config, FeeShareProgram, ledgerConfig(ledger, !honest))
	return w.err
}

// Pull makes a bait_and_switch program see its trigger, or not.
func Pull(ctx context.Context, c Chain, l Layout, pulled bool) error {
	w := writer{ctx: ctx, chain: c}
	account := chain.Account{Owner: build.System}
	if pulled {
		account.Lamports = w.rent(0)
	}
	w.set(l.Trigger, account)
	return w.err
}

// Reserves reads a pool's balances from the chain, seen from a trade of in,
// with the slot they were read at.
func Reserves(ctx context.Context, c Chain, pool Pool, in solana.PublicKey) (market.Reserves, uint64, error) {
	from, to := pool.Sides(in)
	accounts, slot, err := c.Accounts(ctx, from.Vault, to.Vault)
	if err != nil {
		return market.Reserves{}, 0, err
	}
	var amounts [2]uint64
	for i, account := range accounts {
		if account == nil {
			return market.Reserves{}, 0, fmt.Errorf("a vault of the pool is not on the chain")
		}
		amount, ok := tokenAmount(account.Data)
		if !ok {
			return market.Reserves{}, 0, fmt.Errorf("a vault of the pool is no token account")
		}
		amounts[i] = amount
	}
	return market.Reserves{In: amounts[0], Out: amounts[1]}, slot, nil
}

// MovePrice makes trades of in dearer, as if somebody else had bought bps of
// the far side: the pool's vaults on the chain change.
func MovePrice(ctx context.Context, c Chain, pool Pool, in solana.PublicKey, bps uint64) error {
	reserves, _, err := Reserves(ctx, c, pool, in)
	if err != nil {
		return err
	}
	moved := reserves.Worse(bps)
	amountA, amountB := moved.In, moved.Out
	if in != pool.A.Address {
		amountA, amountB = amountB, amountA
	}
	authority, _ := build.DerivedWithBump(PoolProgram, []byte("authority"))
	w := writer{ctx: ctx, chain: c}
	w.putTokens(pool.VaultA, authority, pool.A, amountA)
	w.putTokens(pool.VaultB, authority, pool.B, amountB)
	return w.err
}

// Endow makes the wallet's associated account of mint hold exactly amount.
func Endow(ctx context.Context, c Chain, l Layout, mint Mint, amount uint64) error {
	w := writer{ctx: ctx, chain: c}
	account := build.AssociatedAccount(l.Wallet, mint.Address, mint.TokenProgram)
	w.putTokens(account, l.Wallet, mint, amount)
	return w.err
}
