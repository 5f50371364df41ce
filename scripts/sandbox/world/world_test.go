package world

import (
	"context"
	"errors"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/google/go-cmp/cmp"

	"countersign/scripts/sandbox/internal/build"
	"countersign/scripts/sandbox/internal/chain"
	"countersign/scripts/sandbox/internal/market"
)

// memory is a chain of accounts alone.
type memory struct {
	accounts map[solana.PublicKey]chain.Account
	failAt   int
}

func newMemory() *memory { return &memory{accounts: map[solana.PublicKey]chain.Account{}, failAt: -1} }

func (m *memory) Accounts(_ context.Context, keys ...solana.PublicKey) ([]*chain.Account, uint64, error) {
	list := make([]*chain.Account, len(keys))
	for i, key := range keys {
		if account, there := m.accounts[key]; there {
			list[i] = &account
		}
	}
	return list, 1, nil
}

func (m *memory) RentExempt(_ context.Context, size int) (uint64, error) {
	return uint64(size+128) * 6960, nil
}

func (m *memory) SetAccount(_ context.Context, key solana.PublicKey, account chain.Account) error {
	if m.failAt == len(m.accounts) {
		return errFull
	}
	m.accounts[key] = account
	return nil
}

var errFull = errors.New("chain is full")

var wallet = solana.MustPublicKeyFromBase58("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")

func seeded(t *testing.T) (*memory, Layout) {
	t.Helper()
	m, l := newMemory(), New("", wallet)
	if err := Seed(t.Context(), m, l); err != nil {
		t.Fatal(err)
	}
	return m, l
}

func TestSeedIsConsistent(t *testing.T) {
	m, l := seeded(t)
	held := map[solana.PublicKey]uint64{}
	for key, account := range m.accounts {
		rent, _ := m.RentExempt(t.Context(), len(account.Data))
		if account.Lamports < rent {
			t.Errorf("%s holds %d lamports, rent is %d", key, account.Lamports, rent)
		}
		if len(account.Data) != tokenAccountSize {
			continue
		}
		mint := solana.PublicKey(account.Data[:32])
		amount, _ := tokenAmount(account.Data)
		held[mint] += amount
		if mint == build.WSOL && account.Lamports != rent+amount {
			t.Errorf("wSOL account %s holds %d lamports for an amount of %d", key, account.Lamports, amount)
		}
	}
	for _, mint := range l.Mints() {
		account := m.accounts[mint.Address]
		supply := le.Uint64(account.Data[36:])
		if account.Owner != mint.TokenProgram || supply != mint.Supply || supply < held[mint.Address] || held[mint.Address] == 0 {
			t.Errorf("mint %s: owner %s, supply %d, held %d", mint.Address, account.Owner, supply, held[mint.Address])
		}
	}
}

func TestSeedStopsAtTheFirstFailure(t *testing.T) {
	m := newMemory()
	m.failAt = 5
	if err := Seed(t.Context(), m, New("", wallet)); !errors.Is(err, errFull) {
		t.Errorf("error is %v", err)
	}
	if len(m.accounts) != 5 {
		t.Errorf("%d accounts were written", len(m.accounts))
	}
}

func TestLabelsKeepWorldsApart(t *testing.T) {
	if diff := cmp.Diff(New("a", wallet).World(), New("a", wallet).World()); diff != "" {
		t.Errorf("one label, two worlds: %s", diff)
	}
	a, b := newMemory(), newMemory()
	for label, m := range map[string]*memory{"a": a, "b": b} {
		if err := Seed(t.Context(), m, New(label, wallet)); err != nil {
			t.Fatal(err)
		}
	}
	for key := range a.accounts {
		if _, both := b.accounts[key]; both {
			t.Errorf("%s is in both worlds", key)
		}
	}
}

func TestPoolsServeEveryPair(t *testing.T) {
	m, l := seeded(t)
	mints := append(l.Mints(), l.WSOL)
	for _, in := range mints {
		for _, out := range mints {
			pool, found := l.PoolOf(in.Address, out.Address)
			if found != (in.Address != out.Address) {
				t.Errorf("pool of %s and %s: %t", in.Address, out.Address, found)
			}
			if !found {
				continue
			}
			from, to := pool.Sides(in.Address)
			if from.Mint != in.Address || to.Mint != out.Address || to.TokenProgram != out.TokenProgram {
				t.Errorf("sides are %v and %v", from, to)
			}
			reserves, _, err := Reserves(t.Context(), m, pool, in.Address)
			if err != nil || reserves.In == 0 || reserves.Out == 0 {
				t.Errorf("reserves %v, %v", reserves, err)
			}
		}
	}
}

func TestMovePriceKeepsLamportsInStep(t *testing.T) {
	m, l := seeded(t)
	for _, in := range []solana.PublicKey{l.WSOL.Address, l.Token.Address} {
		pool := l.Pools[0]
		before, _, err := Reserves(t.Context(), m, pool, in)
		if err != nil {
			t.Fatal(err)
		}
		if err := MovePrice(t.Context(), m, pool, in, 1_000); err != nil {
			t.Fatal(err)
		}
		after, _, err := Reserves(t.Context(), m, pool, in)
		if err != nil {
			t.Fatal(err)
		}
		if after.Out != market.Less(before.Out, 1_000) || after.In <= before.In {
			t.Errorf("reserves went from %v to %v", before, after)
		}
		vault := m.accounts[pool.VaultA]
		if amount, _ := tokenAmount(vault.Data); vault.Lamports != amount+le.Uint64(vault.Data[113:]) {
			t.Errorf("vault holds %d lamports for %d", vault.Lamports, amount)
		}
	}
}

func TestWaitingAddsUpAndAccrueRefills(t *testing.T) {
	m, l := seeded(t)
	ledger, _ := l.LedgerOf(l.Token.Address)
	for _, lamports := range []uint64{feeLamports, 7, 0} {
		if err := Accrue(t.Context(), m, l, lamports); err != nil {
			t.Fatal(err)
		}
		fees, err := Waiting(t.Context(), m, ledger)
		if err != nil || fees.Total() != 2*lamports {
			t.Errorf("total %d, %v", fees.Total(), err)
		}
	}
}

func TestReadsNameWhatIsMissing(t *testing.T) {
	m, l := newMemory(), New("", wallet)
	if _, _, err := Reserves(t.Context(), m, l.Pools[0], l.WSOL.Address); err == nil {
		t.Error("an empty chain has reserves")
	}
	if _, err := Waiting(t.Context(), m, l.Ledgers[0]); err == nil {
		t.Error("an empty chain owes fees")
	}
	m.accounts[l.Pools[0].VaultA] = chain.Account{Data: make([]byte, 10)}
	m.accounts[l.Pools[0].VaultB] = chain.Account{Data: make([]byte, 10)}
	if _, _, err := Reserves(t.Context(), m, l.Pools[0], l.WSOL.Address); err == nil {
		t.Error("ten bytes are a token account")
	}
}
