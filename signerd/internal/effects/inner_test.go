package effects_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
)

// the positions of the instructions in swap.
const (
	atOpenWSOL = 0
	atSwap     = 4
)

// inner has calls made from within the instruction at top.
func inner(t *testing.T, top int, calls ...decodetest.Call) []chain.InnerCall {
	t.Helper()
	var list []chain.InnerCall
	for _, call := range calls {
		made := decode.Call{Program: call.Program, Data: call.Data}
		for _, account := range call.Accounts {
			made.Accounts = append(made.Accounts, decode.Account{Key: account.Key, Signer: account.Signer, Writable: account.Writable})
		}
		decoded, err := decode.Inner(top, made)
		if err != nil {
			t.Fatal(err)
		}
		for _, instruction := range decoded {
			list = append(list, chain.InnerCall{Top: top, Instruction: instruction})
		}
	}
	return list
}

func system(opcode byte, data []byte, keys ...solana.PublicKey) decodetest.Call {
	return program(solana.SystemProgram, append([]byte{opcode, 0, 0, 0}, data...), keys...)
}

func program(id solana.PublicKey, data []byte, keys ...solana.PublicKey) decodetest.Call {
	call := decodetest.Call{Program: id, Data: data}
	for _, key := range keys {
		call.Accounts = append(call.Accounts, decodetest.W(key))
	}
	return call
}

func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func moved(from, to, by solana.PublicKey, units uint64) decodetest.Call {
	return decodetest.TransferChecked(solana.TokenProgram, from, mint, to, by, units, 6)
}

func wrappedMoved(from, to, by solana.PublicKey, units uint64) decodetest.Call {
	return decodetest.TransferChecked(solana.TokenProgram, from, solana.WrappedSOL, to, by, units, 9)
}

func minted(to, by solana.PublicKey, units uint64) decodetest.Call {
	return program(solana.TokenProgram, append([]byte{7}, number(units)...), mint, to, by)
}

// TestInnerCallsAreJudged goes through the roles that the wallet and its
// accounts can have in what a program calls. The swap pays SOL and buys tokens.
func TestInnerCallsAreJudged(t *testing.T) {
	pool, other, loot := solana.PublicKey{61}, solana.PublicKey{62}, solana.PublicKey{63}
	space := append(number(165), solana.TokenProgram[:]...)
	for name, test := range map[string]struct {
		top   int
		calls []decodetest.Call
		says  string // empty: allowed
	}{
		"pays":                       {atSwap, []decodetest.Call{wrappedMoved(wsol, pool, wallet, pays), moved(other, ata, pool, gets)}, ""},
		"pays in parts":              {atSwap, []decodetest.Call{wrappedMoved(wsol, pool, wallet, 1), wrappedMoved(wsol, loot, wallet, pays-1)}, ""},
		"pays too much":              {atSwap, []decodetest.Call{wrappedMoved(wsol, pool, wallet, pays+1)}, "leave the wallet"},
		"pays too much in parts":     {atSwap, []decodetest.Call{wrappedMoved(wsol, pool, wallet, pays), decodetest.Transfer(wallet, thief, 1)}, "leave the wallet"},
		"pays back":                  {atSwap, []decodetest.Call{wrappedMoved(wsol, pool, wallet, pays), wrappedMoved(pool, wsol, pool, pays), wrappedMoved(wsol, pool, wallet, 1)}, "leave the wallet"},
		"pays more than there is":    {atSwap, []decodetest.Call{decodetest.Transfer(wallet, pool, 1<<63), decodetest.Transfer(wallet, pool, 1<<63)}, "leave the wallet"},
		"takes what it brought":      {atSwap, []decodetest.Call{moved(other, ata, pool, gets+50), moved(ata, loot, wallet, 50)}, ""},
		"takes what it minted":       {atSwap, []decodetest.Call{minted(ata, pool, gets+50), moved(ata, loot, wallet, 50)}, ""},
		"takes more than it brought": {atSwap, []decodetest.Call{moved(other, ata, pool, gets), moved(ata, loot, wallet, gets+1)}, "leave the wallet"},
		"takes before it brings":     {atSwap, []decodetest.Call{moved(ata, loot, wallet, 50), moved(other, ata, pool, gets+50)}, "leave the wallet"},
		"moves among its own":        {atSwap, []decodetest.Call{moved(pool, other, pool, 9), decodetest.Close(solana.TokenProgram, pool, loot, pool), decodetest.Approve(solana.TokenProgram, pool, thief, pool, 1)}, ""},

		"wraps":                   {atSwap, []decodetest.Call{decodetest.Transfer(wallet, wsol, 5*pays), decodetest.SyncNative(wsol)}, ""},
		"locks SOL":               {atSwap, []decodetest.Call{decodetest.Transfer(wallet, ata, 1)}, "locked"},
		"gives SOL":               {atSwap, []decodetest.Call{decodetest.Transfer(pool, wallet, 9)}, ""},
		"SOL to the wallet":       {atSwap, []decodetest.Call{decodetest.Transfer(wallet, wallet, 9)}, ""},
		"somebody else's spends":  {atSwap, []decodetest.Call{moved(ata, loot, thief, 1)}, "somebody else spends"},
		"spends somebody else's":  {atSwap, []decodetest.Call{moved(pool, loot, wallet, 1)}, "not the wallet's"},
		"for a multisig":          {atSwap, []decodetest.Call{program(solana.TokenProgram, append([]byte{3}, number(1)...), pool, loot, other, wallet)}, "not the wallet's"},
		"hook with the wallet":    {atSwap, []decodetest.Call{program(solana.TokenProgram, append([]byte{3}, number(1)...), ata, loot, wallet, wallet)}, "hook or multisig"},
		"closes to the thief":     {atSwap, []decodetest.Call{decodetest.Close(solana.TokenProgram, wsol, thief, wallet)}, "closes the wallet's token account to"},
		"closes to the wallet":    {atSwap, []decodetest.Call{decodetest.Close(solana.TokenProgram, wsol, wallet, wallet)}, "only an instruction of the transaction itself"},
		"closes somebody else's":  {atSwap, []decodetest.Call{decodetest.Close(solana.TokenProgram, pool, wallet, wallet)}, "not the wallet's"},
		"mints by the wallet":     {atSwap, []decodetest.Call{minted(loot, wallet, 1)}, "SPL Token.MintTo"},
		"approves":                {atSwap, []decodetest.Call{decodetest.Approve(solana.TokenProgram, ata, thief, wallet, 1)}, "SPL Token.Approve"},
		"revokes":                 {atSwap, []decodetest.Call{decodetest.Revoke(solana.TokenProgram, ata, wallet)}, "SPL Token.Revoke"},
		"hands over":              {atSwap, []decodetest.Call{decodetest.SetAuthority(solana.TokenProgram, ata, wallet, 2, &thief)}, "SPL Token.SetAuthority"},
		"hands over a mint":       {atSwap, []decodetest.Call{decodetest.SetAuthority(solana.TokenProgram, mint, wallet, 0, &thief)}, "SPL Token.SetAuthority"},
		"burns":                   {atSwap, []decodetest.Call{program(solana.TokenProgram, append([]byte{8}, number(1)...), ata, mint, wallet)}, "SPL Token.Burn"},
		"freezes":                 {atSwap, []decodetest.Call{program(solana.TokenProgram, []byte{10}, ata, mint, thief)}, "SPL Token.FreezeAccount"},
		"takes lamports behind":   {atSwap, []decodetest.Call{program(solana.TokenProgram, []byte{38}, ata, thief, wallet)}, "SPL Token.WithdrawExcessLamports"},
		"assigns":                 {atSwap, []decodetest.Call{system(1, thief[:], wallet)}, "System.Assign"},
		"allocates":               {atSwap, []decodetest.Call{system(8, number(80), wallet)}, "System.Allocate"},
		"makes a nonce":           {atSwap, []decodetest.Call{system(6, thief[:], wallet, solana.PublicKey{1}, solana.PublicKey{2})}, "System.InitializeNonceAccount"},
		"withdraws from a nonce":  {atSwap, []decodetest.Call{system(5, number(1), pool, thief, solana.PublicKey{1}, solana.PublicKey{2}, wallet)}, "System.WithdrawNonceAccount"},
		"opens for itself":        {atSwap, []decodetest.Call{system(0, append(number(1), space...), pool, loot)}, ""},
		"opens at our cost":       {atSwap, []decodetest.Call{system(0, append(number(1), space...), wallet, loot)}, "at the wallet's cost"},
		"opens as if it were ATA": {atSwap, []decodetest.Call{system(0, append(number(1), space...), wallet, wsol)}, "at the wallet's cost"},
		"opens for the thief":     {atSwap, []decodetest.Call{decodetest.CreateIdempotent(wallet, thief, mint, solana.TokenProgram)}, "at the wallet's cost"},
		"opens for others itself": {atSwap, []decodetest.Call{decodetest.CreateIdempotent(pool, thief, mint, solana.TokenProgram)}, ""},
		"opens what is there":     {atSwap, []decodetest.Call{decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram)}, ""},
		"opens what is opened":    {atSwap, []decodetest.Call{decodetest.CreateIdempotent(wallet, wallet, solana.WrappedSOL, solana.TokenProgram)}, ""},
		"opens one of ours":       {atSwap, []decodetest.Call{decodetest.CreateIdempotent(pool, wallet, solana.PublicKey{55}, solana.TokenProgram)}, "no guard would cover"},
		"part of opening": {atOpenWSOL, []decodetest.Call{
			program(solana.TokenProgram, []byte{21}, solana.WrappedSOL), system(0, append(number(chaintest.Rent), space...), wallet, wsol),
			program(solana.TokenProgram, []byte{22}, wsol), program(solana.TokenProgram, append([]byte{18}, wallet[:]...), wsol, solana.WrappedSOL),
		}, ""},
		"part of opening what has lamports": {atOpenWSOL, []decodetest.Call{
			decodetest.Transfer(wallet, wsol, 9), system(8, number(165), wsol), system(1, solana.TokenProgram[:], wsol),
		}, ""},
		"no part of opening": {atOpenWSOL, []decodetest.Call{system(0, append(number(1), space...), wallet, loot)}, "at the wallet's cost"},

		"a program of its own":    {atSwap, []decodetest.Call{program(pool, nil, wallet, ata)}, ""},
		"stake of ours":           {atSwap, []decodetest.Call{program(solana.StakeProgram, []byte{1, 0, 0, 0}, pool, wallet)}, "Stake"},
		"stake of others":         {atSwap, []decodetest.Call{program(solana.StakeProgram, []byte{1, 0, 0, 0}, pool, thief)}, ""},
		"a loader with ours":      {atSwap, []decodetest.Call{program(solana.UpgradeableLoader, []byte{3, 0, 0, 0}, pool, wallet)}, "BPF loader"},
		"a table of ours":         {atSwap, []decodetest.Call{program(solana.LookupTableProgram, []byte{1, 0, 0, 0}, pool, wallet)}, "Address Lookup Table"},
		"recovers what is nested": {atSwap, []decodetest.Call{program(solana.AssociatedTokenProgram, []byte{2}, pool, mint, loot, ata, mint, wallet, solana.TokenProgram)}, "RecoverNested"},
	} {
		t.Run(name, func(t *testing.T) {
			s := swap()
			_, err := s.mustRead(t).Finish(&chain.Simulation{After: s.after(), Inner: inner(t, test.top, test.calls...)}, true)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.says != "" && (!fault.Is(err, fault.OutsideBounds) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "from within")):
				t.Errorf("%v, want a refusal that says %q", err, test.says)
			}
		})
	}
}

// TestInnerPaymentsAddToThoseOfTheTopLevel: a fee that an instruction pays is
// paid out of the same bound.
func TestInnerPaymentsAddToThoseOfTheTopLevel(t *testing.T) {
	for units, allowed := range map[uint64]bool{pays - 7: true, pays - 6: false} {
		s := swap()
		s.calls = append(s.calls, decodetest.Transfer(wallet, friend, 7))
		s.bounds.Recipients = []solana.PublicKey{friend}
		calls := inner(t, atSwap, wrappedMoved(wsol, solana.PublicKey{61}, wallet, units))
		if _, err := s.mustRead(t).Finish(&chain.Simulation{After: s.after(), Inner: calls}, true); (err == nil) != allowed {
			t.Errorf("%d inside and 7 outside of %d: %v", units, pays, err)
		}
	}
}

func TestUnknownProgramsInsideAreBounded(t *testing.T) {
	s := swap()
	var calls []decodetest.Call
	for i := range byte(20) {
		calls = append(calls, program(solana.PublicKey{200, i}, nil), program(solana.PublicKey{200, i}, nil))
	}
	calls = append(calls, program(solana.JupiterV6Program, nil), decodetest.Memo("x"))
	got, err := s.mustRead(t).Finish(&chain.Simulation{After: s.after(), Inner: inner(t, atSwap, calls...)}, true)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, finding := range got.Findings() {
		if finding.Code == effects.UnknownInnerProgram {
			texts = append(texts, finding.Text)
		}
	}
	if len(texts) != 9 || !strings.Contains(texts[8], "12 more") {
		t.Errorf("%d findings, %q, want 8 programs and how many more", len(texts), texts)
	}
}

// TestReadRefusesCustodiansThatNameTheWallet: accounts of programs that give
// rights to the keys in them.
func TestReadRefusesCustodiansThatNameTheWallet(t *testing.T) {
	for _, owner := range []string{
		"LoaderV411111111111111111111111111111111111", "Config1111111111111111111111111111111111111",
		"BPFLoader1111111111111111111111111111111111", "Stake11111111111111111111111111111111111111",
	} {
		s := swap()
		at := solana.PublicKey{71}
		s.calls[atSwap] = swapCall(decodetest.W(at))
		s.before[at] = chain.Account{Key: at, Lamports: 1, Owner: solana.MustPublicKey(owner), Data: append(make([]byte, 8), wallet[:]...)}
		if _, err := s.read(t); !fault.Is(err, fault.TransactionRefused) {
			t.Errorf("%s: %v, want %s", owner, err, fault.TransactionRefused)
		}
	}
}

// TestPlanSplitsWhatLeavesInWrappedSOL: whatever the split, no more may leave in
// all than the bounds say.
func TestPlanSplitsWhatLeavesInWrappedSOL(t *testing.T) {
	const wraps = 300
	s := swap()
	s.calls = []decodetest.Call{swapCall()}
	s.before[wsol] = chaintest.Token(wsol, solana.TokenProgram, solana.WrappedSOL, wallet, wraps)
	s.bounds.MaxOut[amount.SOL] = 200
	draft := s.mustRead(t)
	for wrapped, want := range map[amount.Units][2]amount.Units{
		0: {holds - fee - 200, wraps}, 50: {holds - fee - 150, wraps - 50}, 200: {holds - fee, wraps - 200}, 1 << 60: {holds - fee, wraps - 200},
	} {
		h := holdings(nil)
		h.Wrapped = wrapped
		plan, err := draft.Plan(h)
		if err != nil {
			t.Fatal(err)
		}
		line := plan.Lines[len(plan.Lines)-1]
		if line.Account != wsol || plan.Floor != want[0] || line.Least != want[1] {
			t.Errorf("wrapped %d: floor %d, account %+v, want %v", wrapped, plan.Floor, line, want)
		}
	}
	// Without an account that stays there is nothing to split.
	s = swap()
	h := holdings(nil)
	h.Wrapped = pays
	plan, err := s.mustRead(t).Plan(h)
	if err != nil || plan.Floor != holds-pays-fee {
		t.Errorf("floor %d, %v, want %d", plan.Floor, err, holds-pays-fee)
	}
}

// TestDurableNonceIsRefused: a transaction that begins by advancing a nonce
// stays valid for ever. Kept by the refusal of AdvanceNonceAccount in systemSpecs
// (decode/system.go).
func TestDurableNonceIsRefused(t *testing.T) {
	advance := program(solana.SystemProgram, []byte{4, 0, 0, 0}, solana.PublicKey{44}, solana.PublicKey{45})
	advance.Accounts = append(advance.Accounts, decodetest.S(wallet))
	for name, s := range map[string]stage{"transfer": pay(5), "swap": swap()} {
		s.calls = append([]decodetest.Call{advance}, s.calls...)
		if _, err := s.read(t); !fault.Is(err, fault.TransactionRefused) || !strings.Contains(err.Error(), "nonce") {
			t.Errorf("%s: %v, want a refusal of the nonce", name, err)
		}
	}
}
