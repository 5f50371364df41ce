package guard_test

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"countersign/scripts/fixtures"
	"countersign/scripts/vmtest"
	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/guard"
)

var walletKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))

const (
	funded     = 1_000_000_000
	priorityV1 = 7_777
)

// account is a token account of the wallet that is guarded on the VM.
type account struct {
	name          string
	mint          []vmtest.Extension
	token         []vmtest.Extension
	program       solana.PublicKey
	line          guard.Line
	mintKey, held solana.PublicKey
}

// accounts are one of each kind: the extensions are those that change what a
// transfer needs.
func accounts() []account {
	hook := solana.PublicKey{66}
	list := []account{
		{name: "SPL Token", program: solana.TokenProgram},
		{name: "Token-2022", program: solana.Token2022Program, token: []vmtest.Extension{vmtest.ImmutableOwner()}},
		{
			name: "fee mint", program: solana.Token2022Program, mint: []vmtest.Extension{vmtest.FeeMint()},
			token: []vmtest.Extension{vmtest.ImmutableOwner(), vmtest.FeeAccount()},
		},
		{
			name: "hook mint", program: solana.Token2022Program, mint: []vmtest.Extension{vmtest.HookMint(hook)},
			token: []vmtest.Extension{vmtest.ImmutableOwner(), vmtest.HookAccount()},
		},
		{
			name: "fee and hook mint", program: solana.Token2022Program, mint: []vmtest.Extension{vmtest.FeeMint(), vmtest.HookMint(hook)},
			token: []vmtest.Extension{vmtest.ImmutableOwner(), vmtest.FeeAccount(), vmtest.HookAccount()},
		},
	}
	for i := range list {
		list[i].mintKey = solana.PublicKey{70, byte(i)}
		list[i].held = solana.AssociatedTokenAddress(wallet, list[i].mintKey, list[i].program)
		list[i].line = guard.Line{Account: list[i].held, Mint: list[i].mintKey, Program: list[i].program, Decimals: 6, Least: 700}
	}
	return list
}

func place(vm *vmtest.VM, a account) {
	vm.Put(a.mintKey, a.program, vmtest.Rent, vmtest.Mint(6, a.mint...))
	vm.Put(a.held, a.program, vmtest.Rent, vmtest.TokenAccount(a.mintKey, wallet, 700, a.token...))
}

func signed(tx decode.Tx) []byte {
	wire := tx.Transaction()
	wire.Signatures[tx.WalletSlot()] = solana.Signature(ed25519.Sign(walletKey, tx.MessageBytes()))
	return wire.Marshal()
}

// guarded appends the plan to an inert transaction of the version that names
// the token account as writable.
func guarded(t *testing.T, vm *vmtest.VM, version solana.Version, plan guard.Plan, calls ...decodetest.Call) decode.Tx {
	t.Helper()
	var tx solana.Transaction
	switch version {
	case solana.V1:
		tx = decodetest.V1(wallet, vm.Blockhash(), solana.Config{
			PriorityFee: new(uint64(priorityV1)), UnitLimit: new(uint32(1_000)), LoadedDataLimit: new(uint32(1 << 20)),
		}, calls...)
	case solana.V0:
		tx = decodetest.V0(wallet, vm.Blockhash(), nil, nil, calls...)
	case solana.Legacy:
		tx = decodetest.Legacy(wallet, vm.Blockhash(), calls...)
	}
	raw, err := guard.Append(decoded(t, tx.Marshal(), nil), plan)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, raw, nil)
}

// touch names the account as writable, and does it no harm.
func touch(a account) decodetest.Call { return decodetest.Revoke(a.program, a.held, wallet) }

// TestUnitsCoverTheGuard measures each suite on the VM: what Append adds to a
// limit must be enough, and not much more, since it is paid for.
func TestUnitsCoverTheGuard(t *testing.T) {
	vm := vmtest.Start(t)
	vm.Fund(wallet, funded)
	for _, a := range accounts() {
		place(vm, a)
		plan := guard.Plan{Floor: 1, Lines: []guard.Line{a.line}}
		before, failure := vm.Simulate(decodetest.Legacy(wallet, vm.Blockhash(), touch(a)).Marshal())
		if failure != "" {
			t.Fatalf("%s: %s", a.name, failure)
		}
		after, failure := vm.Simulate(guarded(t, vm, solana.Legacy, plan, touch(a)).Raw())
		if failure != "" {
			t.Errorf("%s: the guard fails: %s", a.name, failure)
			continue
		}
		took, said := after-before, uint64(plan.Units())
		t.Logf("%s: %d units, %d said", a.name, took, said)
		if took > said || said > 2*took {
			t.Errorf("%s: the guard takes %d units, and is said to take %d", a.name, took, said)
		}
	}
}

// TestGuardLandsOnEveryKindOfAccount: at the exact amounts the guard lets an
// honest transaction through, and at one more it undoes it. An account whose
// mint has a fee or a hook takes TransferChecked alone, and to itself it is
// neither charged nor hooked.
func TestGuardLandsOnEveryKindOfAccount(t *testing.T) {
	vm := vmtest.Start(t)
	for _, a := range accounts() {
		for _, version := range []solana.Version{solana.Legacy, solana.V0, solana.V1} {
			vm.Fund(wallet, funded)
			place(vm, a)
			fee := uint64(solana.LamportsPerSignature)
			if version == solana.V1 {
				fee += priorityV1
			}
			exact := guard.Plan{Floor: amount.Units(funded - fee), Lines: []guard.Line{a.line}}
			for name, spoil := range map[string]func(*guard.Plan){
				"a lamport short": func(p *guard.Plan) { p.Floor++ },
				"a token short":   func(p *guard.Plan) { p.Lines = []guard.Line{a.line}; p.Lines[0].Least++ },
			} {
				vm.Fund(wallet, funded)
				plan := exact
				spoil(&plan)
				if failure := vm.Land(signed(guarded(t, vm, version, plan, touch(a)))); !strings.Contains(failure, `{"Custom":1}`) {
					t.Errorf("%s, %s, %s: %q, want insufficient funds in the guard", a.name, version, name, failure)
				}
				if got := vm.Lamports(wallet); got != funded-fee {
					t.Errorf("%s, %s, %s: the wallet holds %d, want all but the fee of %d", a.name, version, name, got, fee)
				}
			}
			vm.Fund(wallet, funded)
			if failure := vm.Land(signed(guarded(t, vm, version, exact, touch(a)))); failure != "" {
				t.Errorf("%s, %s: the exact guard fails: %s", a.name, version, failure)
			}
			if got := vm.Lamports(wallet); got != funded-fee {
				t.Errorf("%s, %s: the wallet holds %d, want all but the fee of %d", a.name, version, got, fee)
			}
			if got := vm.Token(a.held); got.Amount != 700 || got.Delegate != "" {
				t.Errorf("%s, %s: the token account became %+v", a.name, version, got)
			}
		}
	}
}

// TestTightLimitSurvivesTheGuard: a transaction that asks for no unit more
// than it needs would die in its guard if the limit stayed.
func TestTightLimitSurvivesTheGuard(t *testing.T) {
	vm := vmtest.Start(t)
	vm.Fund(wallet, funded)
	for _, a := range accounts() {
		place(vm, a)
		plan := guard.Plan{Floor: 1, Lines: []guard.Line{a.line}}
		legacy := func(limit uint32) solana.Transaction {
			return decodetest.Legacy(wallet, vm.Blockhash(), decodetest.UnitLimit(limit), touch(a))
		}
		needed, failure := vm.Simulate(legacy(200_000).Marshal())
		if failure != "" {
			t.Fatal(failure)
		}
		tight := legacy(uint32(needed))
		raw, err := guard.Append(decoded(t, tight.Marshal(), nil), plan)
		if err != nil {
			t.Fatal(err)
		}
		final := decoded(t, raw, nil)
		stayed := final.Transaction()
		stayed.Message.Instructions[0].Data = tight.Message.Instructions[0].Data
		if _, failure := vm.Simulate(stayed.Marshal()); failure == "" {
			t.Fatalf("%s: the guard runs within a limit of %d, so this test proves nothing", a.name, needed)
		}
		if failure := vm.Land(signed(final)); failure != "" {
			t.Errorf("%s: a limit of %d, raised to %d: %s", a.name, needed, final.Fee().UnitLimit, failure)
		}
	}
}

// TestGuardLandsWithProgramsOutOfTables: the runtime refuses an account that
// is loaded twice, and programs that are not static.
func TestGuardLandsWithProgramsOutOfTables(t *testing.T) {
	vm := vmtest.Start(t)
	vm.Fixtures()
	vm.Fund(wallet, funded)
	a := accounts()[0]
	place(vm, a)
	scriptable, err := solana.ParsePublicKey(fixtures.ScriptableProgramID)
	if err != nil {
		t.Fatal(err)
	}
	first, second := solana.PublicKey{5}, solana.PublicKey{6}
	tables := decode.Tables{first: {solana.TokenProgram, {88}}, second: {{77}, solana.SystemProgram, a.mintKey}}
	for key, addresses := range tables {
		vm.Put(key, solana.LookupTableProgram, vmtest.Rent, vmtest.Table(addresses...))
	}
	// The program does nothing where its data is a bump alone.
	call := decodetest.Call{Program: scriptable, Data: []byte{0}, Accounts: []decodetest.Meta{
		decodetest.SW(wallet), decodetest.W(a.held), decodetest.R(solana.TokenProgram), decodetest.W(solana.PublicKey{88}),
		decodetest.R(solana.SystemProgram), decodetest.R(a.mintKey), decodetest.R(solana.PublicKey{77}),
	}}
	before := decodetest.V0(wallet, vm.Blockhash(), tables, []solana.PublicKey{first, second}, call)
	if len(before.Message.Lookups) != 2 {
		t.Fatal("the tables are not used")
	}
	raw, err := guard.Append(decoded(t, before.Marshal(), tables), guard.Plan{Floor: funded - 5_000, Lines: []guard.Line{a.line}})
	if err != nil {
		t.Fatal(err)
	}
	if failure := vm.Land(signed(decoded(t, raw, tables))); failure != "" {
		t.Errorf("the guarded transaction failed: %s", failure)
	}
	// Left in its table as well, the same program is loaded twice.
	twice := decoded(t, raw, tables).Transaction()
	twice.Message.Lookups[0].Readonly = append(twice.Message.Lookups[0].Readonly, 0)
	if _, failure := vm.Simulate(twice.Marshal()); failure != `"AccountLoadedTwice"` {
		t.Errorf("with the program in its table too: %q, want AccountLoadedTwice", failure)
	}
}

// TestRuntimeTakesAsManyInstructionsAsAppend: 64 with the guard, and not one
// more.
func TestRuntimeTakesAsManyInstructionsAsAppend(t *testing.T) {
	vm := vmtest.Start(t)
	for _, version := range []solana.Version{solana.Legacy, solana.V0} {
		vm.Fund(wallet, funded)
		memos := slices.Repeat([]decodetest.Call{decodetest.Memo("")}, 63)
		tx := guarded(t, vm, version, guard.Plan{Floor: funded - 5_000}, memos...)
		if failure := vm.Land(signed(tx)); failure != "" {
			t.Errorf("%s: 64 instructions: %s", version, failure)
		}
		more := tx.Transaction()
		more.Message.Instructions = append(more.Message.Instructions, more.Message.Instructions[63])
		if _, failure := vm.Simulate(more.Marshal()); failure == "" {
			t.Errorf("%s: the runtime runs 65 instructions, and Append stops at 64", version)
		}
	}
}
