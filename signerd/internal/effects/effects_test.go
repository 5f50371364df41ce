package effects_test

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"slices"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
)

var (
	wallet    = solana.PublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public().(ed25519.PublicKey))
	thief     = solana.PublicKey{9, 9, 9}
	friend    = solana.PublicKey{8, 8, 8}
	mint      = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	ata       = solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
	wsol      = solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)
	friendATA = solana.AssociatedTokenAddress(friend, mint, solana.TokenProgram)
	jito      = solana.MustPublicKey("96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5")
)

const (
	holds  = 5_000_000_000
	tokens = 1_000
	pays   = 50_000_000
	gets   = 700
	fee    = 5_000
)

// stage is a transaction, what it is for, and the chain before it.
type stage struct {
	calls  []decodetest.Call
	flow   effects.Flow
	bounds effects.Bounds
	before map[solana.PublicKey]chain.Account
	mints  map[solana.PublicKey]chain.MintInfo
	known  effects.Known
	names  map[solana.PublicKey]chain.TokenName
}

func info(account chain.Account) chain.MintInfo {
	parsed, ok := chain.ParseMint(account)
	if !ok {
		panic("not a mint")
	}
	return parsed
}

func swapCall(more ...decodetest.Meta) decodetest.Call {
	return decodetest.Call{
		Program:  solana.DFlowProgram,
		Data:     []byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8},
		Accounts: append([]decodetest.Meta{decodetest.SW(wallet), decodetest.W(ata), decodetest.W(wsol)}, more...),
	}
}

// swap buys tokens the way the trade API writes it.
func swap() stage {
	return stage{
		flow: effects.Swap,
		calls: []decodetest.Call{
			decodetest.CreateIdempotent(wallet, wallet, solana.WrappedSOL, solana.TokenProgram),
			decodetest.Transfer(wallet, wsol, pays),
			decodetest.SyncNative(wsol),
			decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram),
			swapCall(),
			decodetest.Close(solana.TokenProgram, wsol, wallet, wallet),
		},
		bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: pays},
			MinIn:  map[solana.PublicKey]amount.Units{mint: gets},
			MaxFee: fee, MaxRent: chaintest.Rent, Programs: []solana.PublicKey{solana.DFlowProgram},
		},
		before: map[solana.PublicKey]chain.Account{
			wallet: {Key: wallet, Lamports: holds},
			ata:    chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens),
		},
		mints: map[solana.PublicKey]chain.MintInfo{
			mint:              info(chaintest.Mint(mint, solana.TokenProgram, 6)),
			solana.WrappedSOL: info(chaintest.Mint(solana.WrappedSOL, solana.TokenProgram, 9)),
		},
	}
}

// pay sends SOL to a friend.
func pay(units uint64) stage {
	s := swap()
	s.flow, s.calls = effects.Transfer, []decodetest.Call{decodetest.Transfer(wallet, friend, units)}
	s.bounds = effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: amount.Units(units)},
		MaxFee: fee, Recipients: []solana.PublicKey{friend},
	}
	return s
}

// payTokens sends tokens to a friend.
func payTokens(units uint64) stage {
	s := pay(units)
	s.calls = []decodetest.Call{decodetest.TransferChecked(solana.TokenProgram, ata, mint, friendATA, wallet, units, 6)}
	s.bounds.MaxOut = map[solana.PublicKey]amount.Units{mint: amount.Units(units)}
	s.before[friendATA] = chaintest.Token(friendATA, solana.TokenProgram, mint, friend, 0)
	return s
}

func (s stage) tx(t *testing.T) decode.Tx {
	t.Helper()
	return decodetest.MustDecode(t, decodetest.Legacy(wallet, solana.Hash{7}, s.calls...).Marshal(), wallet, nil)
}

func (s stage) state() effects.State {
	return effects.State{Before: s.before, Mints: s.mints, Names: s.names, Rent: map[int]amount.Units{165: chaintest.Rent}}
}

func (s stage) read(t *testing.T) (effects.Draft, error) {
	t.Helper()
	return effects.Read(s.tx(t), s.flow, s.bounds, s.state(), s.known)
}

func (s stage) mustRead(t *testing.T) effects.Draft {
	t.Helper()
	draft, err := s.read(t)
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

// after is what an honest swap leaves behind.
func (s stage) after() map[solana.PublicKey]chain.Account {
	after := maps.Clone(s.before)
	after[wallet] = chain.Account{Key: wallet, Lamports: holds - pays - fee}
	after[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens+gets)
	return after
}

func holdings(tokens map[solana.PublicKey]amount.Units) effects.Holdings {
	return effects.Holdings{Lamports: holds, Tokens: tokens}
}

// TestPlanIsExactToTheLamport: a program that skims one lamport fails.
func TestPlanIsExactToTheLamport(t *testing.T) {
	plan, err := swap().mustRead(t).Plan(holdings(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := guard.Line{Account: ata, Mint: mint, Program: solana.TokenProgram, Decimals: 6, Least: tokens + gets}
	if len(plan.Lines) != 1 || plan.Lines[0] != want || plan.Floor != holds-pays-fee {
		t.Errorf("plan %+v, want %+v and floor %d", plan, want, holds-pays-fee)
	}
	inFlight := holdings(nil)
	inFlight.InFlight = 123
	if plan, err := swap().mustRead(t).Plan(inFlight); err != nil || plan.Floor != holds-pays-fee-123 {
		t.Errorf("with 123 in flight the floor is %d, %v", plan.Floor, err)
	}
}

// TestPlanCountsWrappedSOLThatIsClosed: what is in an account that a known
// instruction closes comes to the wallet, so the floor covers it.
func TestPlanCountsWrappedSOLThatIsClosed(t *testing.T) {
	s := swap()
	s.before[wsol] = chaintest.Token(wsol, solana.TokenProgram, solana.WrappedSOL, wallet, 777)
	plan, err := s.mustRead(t).Plan(holdings(nil))
	if want := amount.Units(holds + 777 + chaintest.Rent - pays - fee); err != nil || plan.Floor != want {
		t.Errorf("floor %d, %v, want %d", plan.Floor, err, want)
	}
	plan, err = s.mustRead(t).Plan(holdings(map[solana.PublicKey]amount.Units{wsol: 1_777}))
	if want := amount.Units(holds + 1_777 + chaintest.Rent - pays - fee); err != nil || plan.Floor != want {
		t.Errorf("floor %d, %v, want %d: another node shows more", plan.Floor, err, want)
	}
}

func TestPlanGuardsWrappedSOLThatStaysOpen(t *testing.T) {
	s := swap()
	s.calls = s.calls[:len(s.calls)-1]
	s.before[wsol] = chaintest.Token(wsol, solana.TokenProgram, solana.WrappedSOL, wallet, 777)
	plan, err := s.mustRead(t).Plan(holdings(nil))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(plan.Lines, func(l guard.Line) bool { return l.Account == wsol })
	if at < 0 || plan.Lines[at].Least != 777 {
		t.Errorf("lines %+v, want 777 kept in %s", plan.Lines, wsol)
	}
}

// TestPlanDistrustsOneNode: what one node hides another may show.
func TestPlanDistrustsOneNode(t *testing.T) {
	plan, err := swap().mustRead(t).Plan(holdings(map[solana.PublicKey]amount.Units{ata: 9_000}))
	if err != nil || plan.Lines[0].Least != 9_000+gets {
		t.Errorf("least %+v, %v, want the highest amount shown", plan.Lines, err)
	}
	if _, err := swap().mustRead(t).Plan(holdings(map[solana.PublicKey]amount.Units{wsol: 9})); !fault.Is(err, fault.RPCBadAnswer) {
		t.Errorf("an account that one node hides: %v", err)
	}
	s := swap()
	hidden := solana.PublicKey{77}
	s.calls[4] = swapCall(decodetest.W(hidden))
	if _, err := s.mustRead(t).Plan(holdings(map[solana.PublicKey]amount.Units{hidden: 9})); !fault.Is(err, fault.RPCBadAnswer) {
		t.Errorf("an account that one node says is not the wallet's: %v", err)
	}
}

// TestPlanHoldsWhatIsClosedToItsBound: after a close nothing can be asserted.
func TestPlanHoldsWhatIsClosedToItsBound(t *testing.T) {
	s := swap()
	s.calls = append(s.calls, decodetest.Close(solana.TokenProgram, ata, wallet, wallet))
	s.bounds.MaxOut = map[solana.PublicKey]amount.Units{mint: tokens - 1}
	s.bounds.MinIn = nil
	if _, err := s.mustRead(t).Plan(holdings(nil)); !fault.Is(err, fault.OutsideBounds) {
		t.Errorf("%d tokens may leave with a closed account, %d were agreed: %v", tokens, tokens-1, err)
	}
}

func TestPlanRefusesWhatCannotBeAsserted(t *testing.T) {
	for name, change := range map[string]func(*stage){
		"frozen account": func(s *stage) {
			s.before[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens, chaintest.Frozen)
		},
		"paused mint":      func(s *stage) { m := s.mints[mint]; m.Paused = true; s.mints[mint] = m },
		"non-transferable": func(s *stage) { m := s.mints[mint]; m.NonTransferable = true; s.mints[mint] = m },
		"frozen at birth":  func(s *stage) { m := s.mints[mint]; m.DefaultFrozen = true; s.mints[mint] = m },
		"two accounts of a mint": func(s *stage) {
			second := solana.PublicKey{66}
			s.before[second] = chaintest.Token(second, solana.TokenProgram, mint, wallet, 1)
			s.calls[4] = swapCall(decodetest.W(second))
		},
	} {
		s := swap()
		change(&s)
		if _, err := s.mustRead(t).Plan(holdings(nil)); !fault.Is(err, fault.GuardImpossible) {
			t.Errorf("%s: %v, want %s", name, err, fault.GuardImpossible)
		}
	}
	poor := holdings(nil)
	poor.Lamports = pays
	if _, err := swap().mustRead(t).Plan(poor); !fault.Is(err, fault.InsufficientFunds) {
		t.Errorf("a wallet that would be emptied: %v", err)
	}
}

// TestReadRefuses lists what no policy lifts.
func TestReadRefuses(t *testing.T) {
	nonce := solana.PublicKey{44}
	system := func(data []byte, accounts ...decodetest.Meta) decodetest.Call {
		return decodetest.Call{Program: solana.SystemProgram, Accounts: accounts, Data: data}
	}
	named := append(make([]byte, 40), wallet[:]...)
	for name, test := range map[string]struct {
		change func(*stage)
		want   fault.Code
	}{
		"nonce first": {func(s *stage) {
			s.calls = slices.Insert(s.calls, 0, system([]byte{4, 0, 0, 0}, decodetest.W(nonce), decodetest.R(solana.PublicKey{45}), decodetest.S(wallet)))
		}, fault.TransactionRefused},
		"assign": {func(s *stage) {
			s.calls = append(s.calls, system(append([]byte{1, 0, 0, 0}, thief[:]...), decodetest.SW(wallet)))
		}, fault.TransactionRefused},
		"approve": {func(s *stage) {
			s.calls = append(s.calls, decodetest.Approve(solana.TokenProgram, ata, thief, wallet, 5))
		}, fault.TransactionRefused},
		"revoke": {func(s *stage) { s.calls = append(s.calls, decodetest.Revoke(solana.TokenProgram, ata, wallet)) }, fault.TransactionRefused},
		"set authority": {func(s *stage) {
			s.calls = append(s.calls, decodetest.SetAuthority(solana.TokenProgram, ata, wallet, 2, &thief))
		}, fault.TransactionRefused},
		"a guard's suite without its end": {func(s *stage) {
			s.calls = append(s.calls, decodetest.Approve(solana.TokenProgram, ata, wallet, wallet, 0))
		}, fault.TransactionRefused},
		"close to thief": {func(s *stage) { s.calls[5] = decodetest.Close(solana.TokenProgram, wsol, thief, wallet) }, fault.TransactionRefused},
		"close twice": {func(s *stage) {
			s.calls = append(s.calls, decodetest.Close(solana.TokenProgram, wsol, wallet, wallet))
		}, fault.TransactionRefused},
		"open after close": {func(s *stage) {
			s.calls = append(s.calls, decodetest.CreateIdempotent(wallet, wallet, solana.WrappedSOL, solana.TokenProgram))
		}, fault.TransactionRefused},
		"account for a stranger": {func(s *stage) {
			s.calls = append(s.calls, decodetest.CreateIdempotent(wallet, thief, mint, solana.TokenProgram))
		}, fault.TransactionRefused},
		"payment to a stranger": {func(s *stage) { s.calls = append(s.calls, decodetest.Transfer(wallet, thief, 1)) }, fault.IntentMismatch},
		"tokens to nowhere": {func(s *stage) {
			s.calls = append(s.calls, decodetest.TransferChecked(solana.TokenProgram, ata, mint, thief, wallet, 1, 6))
		}, fault.TransactionRefused},
		"program not named":        {func(s *stage) { s.bounds.Programs = nil }, fault.IntentMismatch},
		"swap in a claim":          {func(s *stage) { s.flow = effects.Claim }, fault.TransactionRefused},
		"swap in a transfer":       {func(s *stage) { s.flow = effects.Transfer }, fault.TransactionRefused},
		"swap without program":     {func(s *stage) { s.calls = slices.Delete(s.calls, 4, 5) }, fault.IntentMismatch},
		"fee over its ceiling":     {func(s *stage) { s.bounds.MaxFee = fee - 1 }, fault.OutsideBounds},
		"tip over the fee ceiling": {func(s *stage) { s.calls = append(s.calls, decodetest.Transfer(wallet, jito, 1)) }, fault.OutsideBounds},
		"rent over its ceiling":    {func(s *stage) { s.bounds.MaxRent = chaintest.Rent - 1 }, fault.OutsideBounds},
		"wallet of another program": {func(s *stage) {
			s.before[wallet] = chain.Account{Key: wallet, Lamports: holds, Owner: thief}
		}, fault.TransactionRefused},
		"wallet with data": {func(s *stage) {
			s.before[wallet] = chain.Account{Key: wallet, Lamports: holds, Data: []byte{1}}
		}, fault.TransactionRefused},
		"wallet without SOL": {func(s *stage) { delete(s.before, wallet) }, fault.InsufficientFunds},
		"another token account of the wallet": {func(s *stage) {
			second := solana.PublicKey{66}
			s.before[second] = chaintest.Token(second, solana.TokenProgram, solana.PublicKey{65}, wallet, 1)
			s.calls[4] = swapCall(decodetest.W(second))
		}, fault.TransactionRefused},
		"stake of the wallet":   {writable(chain.Account{Lamports: 1, Owner: solana.StakeProgram, Data: named}), fault.TransactionRefused},
		"nonce of the wallet":   {writable(chain.Account{Lamports: 1, Owner: solana.SystemProgram, Data: named}), fault.TransactionRefused},
		"program of the wallet": {writable(chain.Account{Lamports: 1, Owner: solana.UpgradeableLoader, Data: named}), fault.TransactionRefused},
		"table of the wallet":   {writable(chain.Account{Lamports: 1, Owner: solana.LookupTableProgram, Data: named}), fault.TransactionRefused},
		"mint of the wallet": {writable(func() chain.Account {
			a := chaintest.Mint(solana.PublicKey{66}, solana.TokenProgram, 6)
			a.Data[0] = 1
			copy(a.Data[4:], wallet[:])
			return a
		}()), fault.TransactionRefused},
		"account the wallet may spend from": {writable(chaintest.Token(solana.PublicKey{66}, solana.TokenProgram, mint, thief, 1, chaintest.Delegate(wallet, 1))), fault.TransactionRefused},
		"account the wallet may close":      {writable(chaintest.Token(solana.PublicKey{66}, solana.TokenProgram, mint, thief, 1, chaintest.Closer(wallet))), fault.TransactionRefused},
	} {
		s := swap()
		test.change(&s)
		if _, err := s.read(t); !fault.Is(err, test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if _, err := effects.Read(decode.Tx{}, effects.Swap, effects.Bounds{}, effects.State{}, effects.Known{}); !fault.Is(err, fault.Internal) {
		t.Errorf("a transaction that nobody decoded: %v", err)
	}
}

// writable lets the opaque program write to an account.
func writable(account chain.Account) func(*stage) {
	return func(s *stage) {
		key := solana.PublicKey{66}
		s.before[key] = account
		s.calls[4] = swapCall(decodetest.W(key))
	}
}

func TestReadAcceptsStrangersAccounts(t *testing.T) {
	for name, account := range map[string]chain.Account{
		"a vault":           chaintest.Token(solana.PublicKey{66}, solana.TokenProgram, mint, thief, 1),
		"a pool":            {Lamports: 1, Owner: solana.DFlowProgram, Data: wallet[:]},
		"somebody's wallet": {Lamports: 1},
	} {
		s := swap()
		writable(account)(&s)
		if _, err := s.read(t); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCostIsOneSum(t *testing.T) {
	s := swap()
	delete(s.before, ata)
	s.calls = append([]decodetest.Call{decodetest.UnitLimit(1000), decodetest.UnitPrice(3_000_000)}, append(s.calls, decodetest.Transfer(wallet, jito, 40))...)
	s.bounds.MaxFee, s.bounds.MaxRent = fee+3_000+40, 2*chaintest.Rent
	found, err := s.mustRead(t).Finish(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	if found.BaseFee() != fee || found.PriorityFee() != 3_000 || found.Tip() != 40 || found.Rent() != 2*chaintest.Rent || found.RentReturned() != chaintest.Rent {
		t.Errorf("base %d priority %d tip %d rent %d returned %d", found.BaseFee(), found.PriorityFee(), found.Tip(), found.Rent(), found.RentReturned())
	}
	charge, err := found.Charge()
	if want := amount.Units(pays + fee + 3_000 + 40 + 2*chaintest.Rent); err != nil || charge[amount.SOL] != want {
		t.Errorf("charge %v, %v, want %d: rent that comes back counts too", charge, err, want)
	}
}

func TestFinishTellsChangesAndClass(t *testing.T) {
	s := swap()
	found, err := s.mustRead(t).Finish(&chain.Simulation{After: s.after()}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []effects.Change{{Mint: amount.SOL, Decimals: 9, Out: pays}, {Mint: mint, Decimals: 6, In: gets}}
	if !slices.Equal(found.Changes(), want) || found.Class() != effects.Unguarded || !found.Simulated() {
		t.Errorf("changes %+v, class %s, want %+v, unguarded", found.Changes(), found.Class(), want)
	}
	if found, err := pay(5).mustRead(t).Finish(nil, false); err != nil || found.Class() != effects.Complete || found.Simulated() {
		t.Errorf("a payment: class %s, simulated %v, %v", found.Class(), found.Simulated(), err)
	}
}

// TestFinishRefusesTakeovers: three of these change no balance at all.
func TestFinishRefusesTakeovers(t *testing.T) {
	own := func(edits ...func([]byte)) chain.Account {
		return chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens+gets, edits...)
	}
	for name, test := range map[string]struct {
		change func(map[solana.PublicKey]chain.Account)
		want   fault.Code
	}{
		"wallet assigned":       {func(a map[solana.PublicKey]chain.Account) { w := a[wallet]; w.Owner = thief; a[wallet] = w }, fault.OutsideBounds},
		"wallet allocated":      {func(a map[solana.PublicKey]chain.Account) { w := a[wallet]; w.Data = make([]byte, 80); a[wallet] = w }, fault.OutsideBounds},
		"wallet made a program": {func(a map[solana.PublicKey]chain.Account) { w := a[wallet]; w.Executable = true; a[wallet] = w }, fault.OutsideBounds},
		"wallet emptied":        {func(a map[solana.PublicKey]chain.Account) { delete(a, wallet) }, fault.OutsideBounds},
		"one lamport more":      {func(a map[solana.PublicKey]chain.Account) { w := a[wallet]; w.Lamports--; a[wallet] = w }, fault.OutsideBounds},
		"delegate":              {func(a map[solana.PublicKey]chain.Account) { a[ata] = own(chaintest.Delegate(thief, 1)) }, fault.OutsideBounds},
		"close authority":       {func(a map[solana.PublicKey]chain.Account) { a[ata] = own(chaintest.Closer(thief)) }, fault.OutsideBounds},
		"frozen":                {func(a map[solana.PublicKey]chain.Account) { a[ata] = own(chaintest.Frozen) }, fault.OutsideBounds},
		"owner": {func(a map[solana.PublicKey]chain.Account) {
			a[ata] = chaintest.Token(ata, solana.TokenProgram, mint, thief, tokens+gets)
		}, fault.OutsideBounds},
		"closed": {func(a map[solana.PublicKey]chain.Account) { delete(a, ata) }, fault.OutsideBounds},
		"wSOL left open": {func(a map[solana.PublicKey]chain.Account) {
			a[wsol] = chaintest.Token(wsol, solana.TokenProgram, solana.WrappedSOL, wallet, 0)
		}, fault.OutsideBounds},
		"one token less": {func(a map[solana.PublicKey]chain.Account) {
			a[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens+gets-1)
		}, fault.PriceMoved},
		"nothing arrives": {func(a map[solana.PublicKey]chain.Account) {
			a[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens)
		}, fault.PriceMoved},
		"old tokens leave": {func(a map[solana.PublicKey]chain.Account) {
			a[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens-1)
		}, fault.OutsideBounds},
	} {
		s := swap()
		after := s.after()
		test.change(after)
		if found, err := s.mustRead(t).Finish(&chain.Simulation{After: after}, true); !fault.Is(err, test.want) {
			t.Errorf("%s: %v, want %s (changes %+v)", name, err, test.want, found.Changes())
		}
	}
}

// TestFinishNeverOffsets: what comes in of one asset pays for nothing that
// goes out of another.
func TestFinishNeverOffsets(t *testing.T) {
	s := swap()
	after := s.after()
	after[ata] = chaintest.Token(ata, solana.TokenProgram, mint, wallet, 1_000_000)
	w := after[wallet]
	w.Lamports--
	after[wallet] = w
	if _, err := s.mustRead(t).Finish(&chain.Simulation{After: after}, true); !fault.Is(err, fault.OutsideBounds) {
		t.Errorf("many tokens for one lamport too much: %v", err)
	}
}

func TestTransferPaysExactly(t *testing.T) {
	for name, test := range map[string]struct {
		calls []decodetest.Call
		want  fault.Code
	}{
		"exact":            {[]decodetest.Call{decodetest.Transfer(wallet, friend, 10)}, ""},
		"with memo":        {[]decodetest.Call{decodetest.Transfer(wallet, friend, 10), decodetest.Memo("rent")}, ""},
		"in two parts":     {[]decodetest.Call{decodetest.Transfer(wallet, friend, 4), decodetest.Transfer(wallet, friend, 6)}, ""},
		"more":             {[]decodetest.Call{decodetest.Transfer(wallet, friend, 11)}, fault.IntentMismatch},
		"less":             {[]decodetest.Call{decodetest.Transfer(wallet, friend, 9)}, fault.IntentMismatch},
		"nothing":          {[]decodetest.Call{decodetest.Memo("no")}, fault.IntentMismatch},
		"to another":       {[]decodetest.Call{decodetest.Transfer(wallet, thief, 10)}, fault.IntentMismatch},
		"tokens on top":    {[]decodetest.Call{decodetest.Transfer(wallet, friend, 10), decodetest.TransferChecked(solana.TokenProgram, ata, mint, friendATA, wallet, 1, 6)}, fault.IntentMismatch},
		"overflowing sums": {[]decodetest.Call{decodetest.Transfer(wallet, friend, 1<<64-1), decodetest.Transfer(wallet, friend, 11)}, fault.OutsideBounds},
	} {
		s := pay(10)
		s.calls = test.calls
		s.before[friendATA] = chaintest.Token(friendATA, solana.TokenProgram, mint, friend, 0)
		_, err := s.read(t)
		if test.want == "" && err != nil || test.want != "" && !fault.Is(err, test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestFindingsTellWhatAMakerCanDo(t *testing.T) {
	s := swap()
	m := s.mints[mint]
	m.Freezable, m.PermanentDelegate, m.FeeBasisPoints = true, true, 50
	s.mints[mint] = m
	found, err := s.mustRead(t).Finish(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, finding := range found.Findings() {
		codes = append(codes, finding.Code)
	}
	for _, want := range []string{"freezable", "permanent_delegate", "transfer_fee"} {
		if !slices.Contains(codes, want) {
			t.Errorf("findings %v, want %s among them", codes, want)
		}
	}
}
