package speed

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"runtime"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
)

var (
	walletKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	wallet    = solana.PublicKey(walletKey.Public().(ed25519.PublicKey))
	mint      = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	ata       = solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
	wsol      = solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)
	table     = solana.PublicKey{200}
)

const (
	holds  = 5_000_000_000
	tokens = 1_000
	pays   = 50_000_000
	gets   = 700
)

// swap is a buy as the trade API writes it, and all that the chain says of it.
type swap struct {
	raw    []byte
	tables decode.Tables
	state  effects.State
	bounds effects.Bounds
	// simulation is what an honest program leaves behind.
	simulation chain.Simulation
	holdings   effects.Holdings
	policy     *policy.Policy
	// judged is the swap as the policy gets it.
	judged judge.Judged
	now    time.Time
}

// static and looked are how many pool accounts a route of two hops names, in
// the bytes and through a table.
const static, looked = 11, 14

func calls() ([]decodetest.Call, decode.Tables) {
	route := decodetest.Call{
		Program: solana.DFlowProgram, Data: append([]byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}, make([]byte, 48)...),
		Accounts: []decodetest.Meta{decodetest.SW(wallet), decodetest.W(ata), decodetest.W(wsol)},
	}
	for i := range static {
		route.Accounts = append(route.Accounts, decodetest.W(solana.PublicKey{201, byte(i)}))
	}
	tables := decode.Tables{table: {}}
	for i := range looked {
		pool := solana.PublicKey{202, byte(i)}
		tables[table] = append(tables[table], pool)
		route.Accounts = append(route.Accounts, decodetest.W(pool))
	}
	return []decodetest.Call{
		decodetest.UnitLimit(200_000), decodetest.UnitPrice(50_000),
		decodetest.CreateIdempotent(wallet, wallet, solana.WrappedSOL, solana.TokenProgram),
		decodetest.Transfer(wallet, wsol, pays),
		decodetest.SyncNative(wsol),
		decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram),
		route,
		decodetest.Close(solana.TokenProgram, wsol, wallet, wallet),
	}, tables
}

func prepare(t testing.TB) swap {
	t.Helper()
	list, tables := calls()
	s := swap{
		raw:    decodetest.V0(wallet, solana.Hash{7}, tables, []solana.PublicKey{table}, list...).Marshal(),
		tables: tables, now: time.Unix(1_800_000_000, 0),
		bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: pays},
			MinIn:  map[solana.PublicKey]amount.Units{mint: gets},
			MaxFee: 50_000, MaxRent: 2 * chaintest.Rent, Programs: []solana.PublicKey{solana.DFlowProgram},
		},
	}
	if len(s.raw) < 950 || len(s.raw) > 1_050 {
		t.Fatalf("the swap has %d bytes, and should have about 1,000", len(s.raw))
	}
	s.state = state(t, tables)
	s.holdings = effects.Holdings{Lamports: holds, Tokens: map[solana.PublicKey]amount.Units{ata: tokens}}
	s.simulation.After = maps.Clone(s.state.Before)
	s.simulation.After[wallet] = chain.Account{Key: wallet, Lamports: holds - pays - 15_000}
	s.simulation.After[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens+gets)
	var err error
	if s.policy, err = policy.Load(policy.Default("bench", solana.Hash{1})); err != nil {
		t.Fatal(err)
	}
	accounts := maps.Clone(s.state.Before)
	accounts[table] = chaintest.Table(table, 1, 0, tables[table]...)
	accounts[mint] = chaintest.Mint(mint, solana.TokenProgram, 6)
	accounts[solana.WrappedSOL] = chaintest.Mint(solana.WrappedSOL, solana.TokenProgram, 9)
	// Judged has no other door; simulation is left out, as in a batch.
	s.judged, err = judge.New(still(t, accounts), wallet).Judge(t.Context(), s.raw, judge.Request{Flow: effects.Swap, Bounds: s.bounds, Later: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func state(t testing.TB, tables decode.Tables) effects.State {
	t.Helper()
	before := map[solana.PublicKey]chain.Account{
		wallet: {Key: wallet, Lamports: holds},
		ata:    chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens),
	}
	pool := solana.PublicKey{222}
	for i := range static {
		key := solana.PublicKey{201, byte(i)}
		before[key] = chaintest.Token(key, solana.TokenProgram, mint, pool, 1)
	}
	for _, key := range tables[table] {
		before[key] = chaintest.Token(key, solana.TokenProgram, mint, pool, 1)
	}
	mints := make(map[solana.PublicKey]chain.MintInfo)
	for key, decimals := range map[solana.PublicKey]uint8{mint: 6, solana.WrappedSOL: 9} {
		info, ok := chain.ParseMint(chaintest.Mint(key, solana.TokenProgram, decimals))
		if !ok {
			t.Fatal("not a mint")
		}
		mints[key] = info
	}
	return effects.State{Before: before, Mints: mints, Rent: map[int]amount.Units{165: chaintest.Rent}}
}

func (s swap) read(t testing.TB, raw []byte) (decode.Tx, effects.Draft) {
	parsed, err := decode.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := decode.Decode(parsed, wallet, s.tables)
	if err != nil {
		t.Fatal(err)
	}
	draft, err := effects.Read(tx, effects.Swap, s.bounds, s.state, effects.Known{})
	if err != nil {
		t.Fatal(err)
	}
	return tx, draft
}

// finish compares with the simulation, and asks the policy.
func (s swap) finish(t testing.TB, draft effects.Draft, guarded bool) {
	found, err := draft.Finish(&s.simulation, guarded)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found.Charge(); err != nil {
		t.Fatal(err)
	}
	decision := s.policy.Evaluate(effects.Swap, []judge.Judged{s.judged}, policy.Circumstances{Now: s.now})
	if decision.Tier() != policy.Confirm {
		t.Fatalf("the policy says %s, so this is no typical swap", decision.Tier())
	}
}

// judgeOnce is decode, effects and policy of the bytes as they came.
func (s swap) judgeOnce(t testing.TB) {
	_, draft := s.read(t, s.raw)
	s.finish(t, draft, false)
}

// judgeGuarded is all that is done for a swap: the bytes as they came, the
// guard, and the bytes that are signed.
func (s swap) judgeGuarded(t testing.TB) {
	tx, draft := s.read(t, s.raw)
	if _, err := draft.Finish(&s.simulation, false); err != nil {
		t.Fatal(err)
	}
	plan, err := draft.Plan(s.holdings)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := guard.Append(tx, plan)
	if err != nil {
		t.Fatal(err)
	}
	if _, draft = s.read(t, raw); draft.NeedsGuard() {
		t.Fatal("the guard is not recognised")
	}
	s.finish(t, draft, true)
}

// The floor of the others: one signature over as many bytes.
func BenchmarkSignature(b *testing.B) {
	message := make([]byte, 1_000)
	for b.Loop() {
		ed25519.Sign(walletKey, message)
	}
}

func BenchmarkDecodeEffectsPolicy(b *testing.B) {
	s := prepare(b)
	b.ReportAllocs()
	for b.Loop() {
		s.judgeOnce(b)
	}
}

func BenchmarkGuardedJudgement(b *testing.B) {
	s := prepare(b)
	b.ReportAllocs()
	for b.Loop() {
		s.judgeGuarded(b)
	}
}

// TestJudgingDoesNotGrow: the ten thousandth swap costs what the first did,
// and nothing of those before it stays.
func TestJudgingDoesNotGrow(t *testing.T) {
	s := prepare(t)
	run := func() { s.judgeGuarded(t) }
	run()
	const sample, runs = 100, 10_000
	early, before := testing.AllocsPerRun(sample, run), inUse()
	for range runs {
		run()
	}
	late, after := testing.AllocsPerRun(sample, run), inUse()
	if late > early+early/100 {
		t.Errorf("%v allocations at first, %v after %d runs", early, late, runs)
	}
	// A few words kept of each run would be more; the runtime itself moves less.
	const slack = 256 << 10
	if after > before+slack {
		t.Errorf("%d bytes in use at first, %d after %d runs", before, after, runs)
	}
}

func inUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
