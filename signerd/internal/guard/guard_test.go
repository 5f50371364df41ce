package guard_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/guard"
)

var (
	wallet    = solana.PublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public().(ed25519.PublicKey))
	other     = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	thief     = solana.PublicKey{9, 9, 9}
	mint      = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	ata       = solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
	blockhash = solana.Hash{7}
	opaque    = solana.MustPublicKey("T1TANpTeScyeqVzzgNViGDNrkQ6qHz9KrSBS4aNXvGT")
	line      = guard.Line{Account: ata, Mint: mint, Program: solana.TokenProgram, Decimals: 6, Least: 700}
)

func decoded(t decodetest.T, raw []byte, tables decode.Tables) decode.Tx {
	t.Helper()
	return decodetest.MustDecode(t, raw, wallet, tables)
}

func swap(accounts ...decodetest.Meta) decodetest.Call {
	return decodetest.Call{Program: opaque, Accounts: append([]decodetest.Meta{decodetest.SW(wallet), decodetest.W(ata)}, accounts...), Data: []byte{1, 2, 3}}
}

func names(tx decode.Tx) []string {
	var list []string
	for _, instruction := range tx.Instructions() {
		list = append(list, instruction.Name)
	}
	return list
}

// TestAppendWritesTheSuite is the golden order: each instruction stops an
// attack that passes without it.
func TestAppendWritesTheSuite(t *testing.T) {
	tx := decoded(t, decodetest.Legacy(wallet, blockhash, swap()).Marshal(), nil)
	raw, err := guard.Append(tx, guard.Plan{Lines: []guard.Line{line}, Floor: 5})
	if err != nil {
		t.Fatal(err)
	}
	final := decoded(t, raw, nil)
	want := []string{"Titan", "SPL Token.Approve", "SPL Token.Revoke", "SPL Token.SetAuthority", "SPL Token.TransferChecked", "System.Transfer"}
	if diff := cmp.Diff(want, names(final)); diff != "" {
		t.Fatalf("instructions (-want +got):\n%s", diff)
	}
	var data []string
	for _, instruction := range final.Instructions()[1:] {
		data = append(data, hex.EncodeToString(instruction.Data))
	}
	wantData := []string{"040000000000000000", "05", "060300", "0cbc0200000000000006", "020000000500000000000000"}
	if diff := cmp.Diff(wantData, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// TestAppendTakesProgramsOutOfTables: a program must be static, and an account
// that is static may not be loaded through a table as well.
func TestAppendTakesProgramsOutOfTables(t *testing.T) {
	first, second := solana.PublicKey{5}, solana.PublicKey{6}
	tables := decode.Tables{
		first:  {solana.TokenProgram},
		second: {thief, solana.SystemProgram, mint, {77}},
	}
	before := decodetest.V0(wallet, blockhash, tables, []solana.PublicKey{first, second},
		swap(decodetest.R(solana.TokenProgram), decodetest.R(mint), decodetest.R(solana.SystemProgram), decodetest.W(thief), decodetest.R(solana.PublicKey{77})))
	tx := decoded(t, before.Marshal(), tables)
	raw, err := guard.Append(tx, guard.Plan{Lines: []guard.Line{line}, Floor: 5})
	if err != nil {
		t.Fatal(err)
	}
	final := decoded(t, raw, tables)
	message := final.Transaction().Message
	if len(message.Lookups) != 1 || message.Lookups[0].Table != second {
		t.Errorf("lookups %+v, want the first table gone since nothing is left of it", message.Lookups)
	}
	if !slices.Contains(message.Keys, solana.TokenProgram) || !slices.Contains(message.Keys, solana.SystemProgram) || slices.Contains(message.Keys, mint) {
		t.Errorf("static keys %v, want both programs and not the mint", message.Keys)
	}
	same(t, tx, final)
}

// same demands that the instructions of before stand at the front of after
// with the same accounts in the same roles.
func same(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, before, after decode.Tx) {
	t.Helper()
	for i, want := range before.Instructions() {
		got := after.Instructions()[i]
		if got.Program != want.Program || !bytes.Equal(got.Data, want.Data) || len(got.Accounts) != len(want.Accounts) {
			t.Fatalf("instruction %d changed: %+v, want %+v", i, got, want)
		}
		for j, account := range want.Accounts {
			found := got.Accounts[j]
			if found.Key != account.Key || found.Signer != account.Signer || found.Writable != account.Writable {
				t.Fatalf("instruction %d account %d became %+v, want %+v", i, j, found, account)
			}
		}
	}
}

// TestAppendKeepsEveryAccount: whatever the message, the guard changes nothing
// before it, and what was appended is recognised as exactly the plan.
func TestAppendKeepsEveryAccount(t *testing.T) {
	pool := []solana.PublicKey{{21}, {22}, {23}, {24}, {25}, solana.TokenProgram, solana.Token2022Program, solana.SystemProgram, mint}
	rapid.Check(t, func(t *rapid.T) {
		order := []solana.PublicKey{{5}, {6}, {7}}
		tables := decode.Tables{}
		for _, key := range pool {
			if at := rapid.IntRange(0, len(order)).Draw(t, "table"); at < len(order) {
				tables[order[at]] = append(tables[order[at]], key)
			}
		}
		var calls []decodetest.Call
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			var accounts []decodetest.Meta
			for _, key := range rapid.SliceOfN(rapid.SampledFrom(pool), 0, 6).Draw(t, "accounts") {
				meta := decodetest.R(key)
				meta.Writable = key[0] > 20 && key[31] == 0 && rapid.Bool().Draw(t, "writable")
				accounts = append(accounts, meta)
			}
			calls = append(calls, swap(accounts...))
		}
		compiled := decodetest.V0(wallet, blockhash, tables, order, calls...)
		switch rapid.SampledFrom([]solana.Version{solana.Legacy, solana.V0, solana.V1}).Draw(t, "version") {
		case solana.Legacy:
			compiled = decodetest.Legacy(wallet, blockhash, calls...)
		case solana.V0:
		case solana.V1:
			compiled = decodetest.V1(wallet, blockhash, solana.Config{PriorityFee: new(uint64(9))}, calls...)
		}
		tx := decoded(t, compiled.Marshal(), tables)
		plan := guard.Plan{Floor: amount.Units(rapid.Uint64Min(1).Draw(t, "floor"))}
		for i := range rapid.IntRange(0, 2).Draw(t, "lines") {
			each := line
			each.Least = amount.Units(rapid.Uint64().Draw(t, "least"))
			if i == 1 {
				each.Account, each.Program = solana.PublicKey{99}, solana.Token2022Program
			}
			plan.Lines = append(plan.Lines, each)
		}
		raw, err := guard.Append(tx, plan)
		if err != nil {
			t.Fatal(err)
		}
		final := decoded(t, raw, tables)
		same(t, tx, final)
		found := guard.Recognise(final)
		if diff := cmp.Diff(plan, found.Plan); diff != "" {
			t.Fatalf("recognised (-want +got):\n%s", diff)
		}
		if found.Start != len(tx.Instructions()) {
			t.Fatalf("the guard starts at %d, want %d", found.Start, len(tx.Instructions()))
		}
	})
}

func TestAppendRefuses(t *testing.T) {
	sole := decoded(t, decodetest.Legacy(wallet, blockhash, swap()).Marshal(), nil)
	pair := decodetest.Legacy(wallet, blockhash, swap(decodetest.S(solana.PublicKey(other.Public().(ed25519.PublicKey)))))
	pair.Signatures[1] = solana.Signature(ed25519.Sign(other, pair.Message.Marshal()))
	var many []decodetest.Call
	for range 60 {
		many = append(many, swap())
	}
	var large []decodetest.Meta
	for i := range 30 {
		large = append(large, decodetest.R(solana.PublicKey{100, byte(i)}))
	}
	full := decodetest.Legacy(wallet, blockhash, swap(large...))
	named := func(keys int) solana.Transaction {
		var accounts []decodetest.Meta
		for i := range keys - 3 { // the wallet, its token account and the program are there
			accounts = append(accounts, decodetest.R(solana.PublicKey{100, byte(i)}))
		}
		return decodetest.V1(wallet, blockhash, solana.Config{}, swap(accounts...))
	}
	long := swap()
	long.Data = make([]byte, 3_850)
	table := decode.Tables{{5}: {solana.SystemProgram}}
	writable := decodetest.V0(wallet, blockhash, table, []solana.PublicKey{{5}}, swap(decodetest.W(solana.SystemProgram)))
	for name, test := range map[string]struct {
		tx   decode.Tx
		plan guard.Plan
		want fault.Code
	}{
		"another signer":      {decoded(t, pair.Marshal(), nil), guard.Plan{Floor: 1}, fault.GuardImpossible},
		"no floor":            {sole, guard.Plan{Lines: []guard.Line{line}}, fault.GuardImpossible},
		"too many to run":     {decoded(t, decodetest.Legacy(wallet, blockhash, many...).Marshal(), nil), guard.Plan{Lines: []guard.Line{line}, Floor: 1}, fault.GuardImpossible},
		"too large to send":   {decoded(t, full.Marshal(), nil), guard.Plan{Lines: []guard.Line{line}, Floor: 1}, fault.TransactionTooLarge},
		"65 accounts in v1":   {decoded(t, named(64).Marshal(), nil), guard.Plan{Floor: 1}, fault.GuardImpossible},
		"66 accounts in v1":   {decoded(t, named(62).Marshal(), nil), guard.Plan{Lines: []guard.Line{line}, Floor: 1}, fault.GuardImpossible},
		"too large for v1":    {decoded(t, decodetest.V1(wallet, blockhash, solana.Config{}, long).Marshal(), nil), guard.Plan{Lines: []guard.Line{line}, Floor: 1}, fault.TransactionTooLarge},
		"too many in v1":      {decoded(t, decodetest.V1(wallet, blockhash, solana.Config{}, many...).Marshal(), nil), guard.Plan{Lines: []guard.Line{line}, Floor: 1}, fault.GuardImpossible},
		"a writable program":  {decoded(t, writable.Marshal(), table), guard.Plan{Floor: 1}, fault.GuardImpossible},
		"nothing was decoded": {decode.Tx{}, guard.Plan{Floor: 1}, fault.GuardImpossible},
	} {
		if _, err := guard.Append(test.tx, test.plan); !fault.Is(err, test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestRecogniseDemandsTheExactForm: each deviation leaves the account, or the
// wallet, without protection.
func TestRecogniseDemandsTheExactForm(t *testing.T) {
	suite := func() []decodetest.Call {
		return []decodetest.Call{
			swap(),
			decodetest.Approve(solana.TokenProgram, ata, wallet, wallet, 0),
			decodetest.Revoke(solana.TokenProgram, ata, wallet),
			decodetest.SetAuthority(solana.TokenProgram, ata, wallet, 3, nil),
			decodetest.TransferChecked(solana.TokenProgram, ata, mint, ata, wallet, 700, 6),
			decodetest.Transfer(wallet, wallet, 5),
		}
	}
	good := guard.Recognise(decoded(t, decodetest.Legacy(wallet, blockhash, suite()...).Marshal(), nil))
	if !good.Present() || len(good.Lines) != 1 || good.Start != 1 {
		t.Fatalf("the exact form gives %+v", good)
	}
	for name, test := range map[string]struct {
		change  func([]decodetest.Call) []decodetest.Call
		present bool
	}{
		"delegate is another": {func(c []decodetest.Call) []decodetest.Call {
			c[1] = decodetest.Approve(solana.TokenProgram, ata, thief, wallet, 0)
			return c
		}, true},
		"something is approved": {func(c []decodetest.Call) []decodetest.Call {
			c[1] = decodetest.Approve(solana.TokenProgram, ata, wallet, wallet, 1)
			return c
		}, true},
		"no approve":  {func(c []decodetest.Call) []decodetest.Call { return slices.Delete(c, 1, 2) }, true},
		"no revoke":   {func(c []decodetest.Call) []decodetest.Call { return slices.Delete(c, 2, 3) }, true},
		"other order": {func(c []decodetest.Call) []decodetest.Call { c[1], c[2] = c[2], c[1]; return c }, true},
		"authority goes to thief": {func(c []decodetest.Call) []decodetest.Call {
			c[3] = decodetest.SetAuthority(solana.TokenProgram, ata, wallet, 3, &thief)
			return c
		}, true},
		"owner goes": {func(c []decodetest.Call) []decodetest.Call {
			c[3] = decodetest.SetAuthority(solana.TokenProgram, ata, wallet, 2, nil)
			return c
		}, true},
		"transfer leaves": {func(c []decodetest.Call) []decodetest.Call {
			c[4] = decodetest.TransferChecked(solana.TokenProgram, ata, mint, thief, wallet, 700, 6)
			return c
		}, true},
		"floor of nothing":    {func(c []decodetest.Call) []decodetest.Call { c[5] = decodetest.Transfer(wallet, wallet, 0); return c }, false},
		"floor goes to thief": {func(c []decodetest.Call) []decodetest.Call { c[5] = decodetest.Transfer(wallet, thief, 5); return c }, false},
		"swap comes last":     {func(c []decodetest.Call) []decodetest.Call { return append(c[1:], c[0]) }, false},
		"swap in between":     {func(c []decodetest.Call) []decodetest.Call { return slices.Insert(c, 5, swap()) }, true},
	} {
		found := guard.Recognise(decoded(t, decodetest.Legacy(wallet, blockhash, test.change(suite())...).Marshal(), nil))
		if found.Present() != test.present || len(found.Lines) != 0 {
			t.Errorf("%s: found %+v, want a floor: %v, and no account", name, found, test.present)
		}
	}
}
