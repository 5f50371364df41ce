package decode_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"countersign/scripts/vmtest"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

const funded = 5_000_000_000

func signedByWallet(tx solana.Transaction) []byte {
	tx.Signatures[0] = solana.Signature(ed25519.Sign(walletKey, tx.Message.Marshal()))
	return tx.Marshal()
}

// TestVMLoadsTablesInTheOrderOfDecode: whoever decode says is paid, is paid.
// Each of three tables gives accounts of both kinds, and the read-only ones
// are mints that the token program compares.
func TestVMLoadsTablesInTheOrderOfDecode(t *testing.T) {
	vm := vmtest.Start(t)
	vm.Fund(wallet, funded)
	order := []solana.PublicKey{{5}, {6}, {7}}
	tables := decode.Tables{}
	var calls []decodetest.Call
	paid := make(map[solana.PublicKey]uint64)
	for i, table := range order {
		n := byte(i)
		mint, payee := solana.PublicKey{30, n}, solana.PublicKey{40, n}
		from, to := solana.PublicKey{50, n}, solana.PublicKey{60, n}
		tables[table] = []solana.PublicKey{{99, n}, mint, to, payee, from}
		vm.Put(table, solana.LookupTableProgram, vmtest.Rent, vmtest.Table(tables[table]...))
		vm.Put(mint, solana.TokenProgram, vmtest.Rent, vmtest.Mint(6))
		vm.Put(from, solana.TokenProgram, vmtest.Rent, vmtest.TokenAccount(mint, wallet, 1_000))
		vm.Put(to, solana.TokenProgram, vmtest.Rent, vmtest.TokenAccount(mint, thief, 0))
		paid[payee], paid[to] = 10_000_000+uint64(i), 100+uint64(i)
		calls = append(calls, decodetest.Transfer(wallet, payee, paid[payee]),
			decodetest.TransferChecked(solana.TokenProgram, from, mint, to, wallet, paid[to], 6))
	}
	compiled := decodetest.V0(wallet, vm.Blockhash(), tables, order, calls...)
	if len(compiled.Message.Lookups) != 3 || len(compiled.Message.Lookups[1].Readonly) != 1 || len(compiled.Message.Lookups[1].Writable) != 3 {
		t.Fatalf("the tables are used as %+v, so this test proves nothing", compiled.Message.Lookups)
	}
	tx := decodetest.MustDecode(t, compiled.Marshal(), wallet, tables)
	if failure := vm.Land(signedByWallet(compiled)); failure != "" {
		t.Fatalf("the chain read another message than decode: %s", failure)
	}
	for _, instruction := range tx.Instructions() {
		got := vm.Lamports(instruction.To)
		if instruction.Kind == decode.TokenTransfer {
			got = vm.Token(instruction.To).Amount
		}
		if got != paid[instruction.To] || got != uint64(instruction.Amount) {
			t.Errorf("%s: %s has %d, decode says %d and the test %d", instruction.Name, instruction.To, got, instruction.Amount, paid[instruction.To])
		}
	}
}

// TestVMChargesV1AsDecoded: fee and limits of the header, by a chain that
// reads it on its own.
func TestVMChargesV1AsDecoded(t *testing.T) {
	vm := vmtest.Start(t)
	const sent = 1_000_000_000
	payee := solana.PublicKey{44}
	whole := solana.Config{PriorityFee: new(uint64(7777)), UnitLimit: new(uint32(1_000)), LoadedDataLimit: new(uint32(200_000))}
	changed := func(change func(*solana.Config)) solana.Config {
		config := whole
		change(&config)
		return config
	}
	for name, test := range map[string]struct {
		config  solana.Config
		calls   []decodetest.Call
		failure string // "" for a transfer that lands
		refused bool   // by any node, so that it never comes to a fee
	}{
		"whole":       {config: whole},
		"no fee":      {config: changed(func(c *solana.Config) { c.PriorityFee = nil })},
		"with a heap": {config: changed(func(c *solana.Config) { c.HeapSize = new(uint32(64 << 10)) })},
		"no data may be loaded": {
			config: changed(func(c *solana.Config) { c.LoadedDataLimit = nil }), failure: "MaxLoadedAccountsDataSizeExceeded", refused: true,
		},
		"no unit may be used": {config: changed(func(c *solana.Config) { c.UnitLimit = nil }), failure: "InstructionError"},
		"a price that means nothing": {
			config: changed(func(c *solana.Config) { c.UnitLimit = new(uint32(10_000)) }),
			calls:  []decodetest.Call{decodetest.UnitPrice(1_000_000_000), decodetest.UnitLimit(1_400_000)},
		},
		"a guard that holds": {config: whole, calls: []decodetest.Call{
			decodetest.Transfer(wallet, payee, sent), decodetest.Transfer(wallet, wallet, funded-sent-5_000-7_777),
		}},
		"a guard that does not": {config: whole, failure: `[1,{"Custom":1}]`, calls: []decodetest.Call{
			decodetest.Transfer(wallet, payee, sent), decodetest.Transfer(wallet, wallet, funded-sent-5_000-7_777+1),
		}},
	} {
		vm.Fund(wallet, funded)
		vm.Put(payee, solana.SystemProgram, 0, nil)
		calls := test.calls
		if len(calls) == 0 || calls[0].Program == solana.ComputeBudgetProgram {
			calls = append(calls, decodetest.Transfer(wallet, payee, sent))
		}
		compiled := decodetest.V1(wallet, vm.Blockhash(), test.config, calls...)
		fee := decodetest.MustDecode(t, compiled.Marshal(), wallet, nil).Fee()
		run := vm.Land
		if test.refused {
			run = func(raw []byte) string { _, failure := vm.Simulate(raw); return failure }
		}
		failure := run(signedByWallet(compiled))
		if (failure == "") != (test.failure == "") || !strings.Contains(failure, test.failure) {
			t.Errorf("%s: %q, want %q", name, failure, test.failure)
		}
		left, arrived := uint64(funded), uint64(0)
		if !test.refused {
			left -= uint64(fee.Base + fee.Priority)
		}
		if test.failure == "" {
			left, arrived = left-sent, sent
		}
		if got := vm.Lamports(wallet); got != left || vm.Lamports(payee) != arrived {
			t.Errorf("%s: the wallet holds %d and the payee %d, want %d and %d", name, got, vm.Lamports(payee), left, arrived)
		}
	}
}

// TestVMRunsABatchAsUnpacked: p-token takes a batch apart as decode does, so
// that what decode calls its contents is what would happen.
func TestVMRunsABatchAsUnpacked(t *testing.T) {
	vm := vmtest.Start(t)
	vm.Fund(wallet, funded)
	batch := decodetest.Call{Program: solana.TokenProgram, Data: []byte{255}}
	add := func(call decodetest.Call) {
		batch.Data = append(batch.Data, byte(len(call.Accounts)), byte(len(call.Data)))
		batch.Data = append(batch.Data, call.Data...)
		batch.Accounts = append(batch.Accounts, call.Accounts...)
	}
	for i := range byte(3) {
		mint, from, to := solana.PublicKey{30, i}, solana.PublicKey{50, i}, solana.PublicKey{60, i}
		vm.Put(mint, solana.TokenProgram, vmtest.Rent, vmtest.Mint(6))
		vm.Put(from, solana.TokenProgram, vmtest.Rent, vmtest.TokenAccount(mint, wallet, 1_000))
		vm.Put(to, solana.TokenProgram, vmtest.Rent, vmtest.TokenAccount(mint, thief, 0))
		add(decodetest.TransferChecked(solana.TokenProgram, from, mint, to, wallet, 100+uint64(i), 6))
	}
	compiled := decodetest.Legacy(wallet, vm.Blockhash(), batch)
	unpacked := decodetest.MustDecode(t, compiled.Marshal(), wallet, nil).Instructions()[0]
	if failure := vm.Land(signedByWallet(compiled)); failure != "" {
		t.Fatalf("the chain does not take the batch: %s", failure)
	}
	if len(unpacked.Inner) != 3 || unpacked.Refusal == "" {
		t.Fatalf("unpacked as %+v", unpacked)
	}
	for _, inner := range unpacked.Inner {
		if got := vm.Token(inner.To).Amount; got != uint64(inner.Amount) || got == 0 {
			t.Errorf("%s has %d, decode says %d", inner.To, got, inner.Amount)
		}
	}
}
