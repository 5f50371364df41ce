package decode_test

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

// Accounts of the tests. Only the wallet and the co-signer have keys.
var (
	walletKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	otherKey  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	wallet    = solana.PublicKey(walletKey.Public().(ed25519.PublicKey))
	other     = solana.PublicKey(otherKey.Public().(ed25519.PublicKey))
	thief     = solana.PublicKey{9, 9, 9}
	mint      = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	blockhash = solana.Hash{7}
	ata       = solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
)

func read(tx solana.Transaction, tables decode.Tables) (decode.Tx, error) {
	parsed, err := decode.Parse(tx.Marshal())
	if err != nil {
		return decode.Tx{}, err
	}
	return decode.Decode(parsed, wallet, tables)
}

func readCalls(calls ...decodetest.Call) (decode.Tx, error) {
	return read(decodetest.Legacy(wallet, blockhash, calls...), nil)
}

// data joins an opcode and what follows it.
func data(parts ...[]byte) []byte { return slices.Concat(parts...) }

// call makes a call of n accounts that are all the wallet's to sign.
func call(program solana.PublicKey, n int, raw ...byte) decodetest.Call {
	c := decodetest.Call{Program: program, Data: raw}
	for i := range n {
		key := wallet
		if i > 0 {
			key = solana.PublicKey{42, byte(i)}
		}
		c.Accounts = append(c.Accounts, decodetest.W(key))
	}
	return c
}

// TestDecodeEveryOpcode lists each opcode of the byte- and word-tagged programs
// with data of exactly the right length, and demands its name, and refusal for
// one byte less and one byte more.
func TestDecodeEveryOpcode(t *testing.T) {
	key, none, some := make([]byte, 32), []byte{0}, append([]byte{1}, make([]byte, 32)...)
	n8, n4 := make([]byte, 8), make([]byte, 4)
	seeded := append([]byte{3, 0, 0, 0, 0, 0, 0, 0}, "abc"...)
	word := func(tag byte) []byte { return []byte{tag, 0, 0, 0} }
	system, token := solana.SystemProgram, solana.TokenProgram
	for _, test := range []struct {
		program  solana.PublicKey
		accounts int
		data     []byte
		name     string
		signed   bool // may stand in a transaction that is signed
	}{
		{system, 2, data(word(0), n8, n8, key), "System.CreateAccount", false},
		{system, 1, data(word(1), key), "System.Assign", false},
		{system, 2, data(word(2), n8), "System.Transfer", true},
		{system, 2, data(word(3), key, seeded, n8, n8, key), "System.CreateAccountWithSeed", false},
		{system, 3, word(4), "System.AdvanceNonceAccount", false},
		{system, 5, data(word(5), n8), "System.WithdrawNonceAccount", false},
		{system, 3, data(word(6), key), "System.InitializeNonceAccount", false},
		{system, 2, data(word(7), key), "System.AuthorizeNonceAccount", false},
		{system, 1, data(word(8), n8), "System.Allocate", false},
		{system, 2, data(word(9), key, seeded, n8, key), "System.AllocateWithSeed", false},
		{system, 2, data(word(10), key, seeded, key), "System.AssignWithSeed", false},
		{system, 3, data(word(11), n8, seeded, key), "System.TransferWithSeed", false},
		{system, 1, word(12), "System.UpgradeNonceAccount", false},
		{system, 1, data(word(13), n8, n8, key), "System.CreateAccountAllowPrefund", false},
		{token, 2, data([]byte{0, 9}, key, none), "SPL Token.InitializeMint", false},
		{token, 2, data([]byte{0, 9}, key, some), "SPL Token.InitializeMint", false},
		{token, 4, []byte{1}, "SPL Token.InitializeAccount", false},
		{token, 2, []byte{2, 1}, "SPL Token.InitializeMultisig", false},
		{token, 3, data([]byte{3}, n8), "SPL Token.Transfer", true},
		{token, 3, data([]byte{4}, n8), "SPL Token.Approve", false},
		{token, 2, []byte{5}, "SPL Token.Revoke", false},
		{token, 2, []byte{6, 2, 0}, "SPL Token.SetAuthority", false},
		{token, 2, data([]byte{6, 2}, some), "SPL Token.SetAuthority", false},
		{token, 3, data([]byte{7}, n8), "SPL Token.MintTo", false},
		{token, 3, data([]byte{8}, n8), "SPL Token.Burn", false},
		{token, 3, []byte{9}, "SPL Token.CloseAccount", true},
		{token, 3, []byte{10}, "SPL Token.FreezeAccount", false},
		{token, 3, []byte{11}, "SPL Token.ThawAccount", false},
		{token, 4, data([]byte{12}, n8, []byte{6}), "SPL Token.TransferChecked", true},
		{token, 4, data([]byte{13}, n8, []byte{6}), "SPL Token.ApproveChecked", false},
		{token, 3, data([]byte{14}, n8, []byte{6}), "SPL Token.MintToChecked", false},
		{token, 3, data([]byte{15}, n8, []byte{6}), "SPL Token.BurnChecked", false},
		{token, 3, data([]byte{16}, key), "SPL Token.InitializeAccount2", false},
		{token, 1, []byte{17}, "SPL Token.SyncNative", true},
		{token, 2, data([]byte{18}, key), "SPL Token.InitializeAccount3", false},
		{token, 1, []byte{19, 1}, "SPL Token.InitializeMultisig2", false},
		{token, 1, data([]byte{20, 9}, key, none), "SPL Token.InitializeMint2", false},
		{token, 1, []byte{22}, "SPL Token.InitializeImmutableOwner", false},
		{token, 1, data([]byte{23}, n8), "SPL Token.AmountToUiAmount", true},
		{token, 3, []byte{38}, "SPL Token.WithdrawExcessLamports", false},
		{token, 3, []byte{45, 0}, "SPL Token.UnwrapLamports", false},
		{token, 3, data([]byte{45, 1}, n8), "SPL Token.UnwrapLamports", false},
		{solana.Token2022Program, 3, data([]byte{45, 1}, n8), "Token-2022.UnwrapLamports", false},
		{solana.Token2022Program, 4, data([]byte{26, 1}, n8, []byte{6}, n8), "Token-2022.TransferCheckedWithFee", true},
		{solana.ComputeBudgetProgram, 0, data([]byte{1}, []byte{0, 0, 1, 0}), "ComputeBudget.RequestHeapFrame", true},
		{solana.ComputeBudgetProgram, 0, data([]byte{2}, n4), "ComputeBudget.SetComputeUnitLimit", true},
		{solana.ComputeBudgetProgram, 0, data([]byte{3}, n8), "ComputeBudget.SetComputeUnitPrice", true},
		{solana.ComputeBudgetProgram, 0, data([]byte{4}, []byte{1, 0, 0, 0}), "ComputeBudget.SetLoadedAccountsDataSizeLimit", true},
		{solana.LookupTableProgram, 4, data(word(0), n8, []byte{1}), "Address Lookup Table.CreateLookupTable", false},
		{solana.LookupTableProgram, 2, word(1), "Address Lookup Table.FreezeLookupTable", false},
		{solana.LookupTableProgram, 2, data(word(2), []byte{1, 0, 0, 0, 0, 0, 0, 0}, key), "Address Lookup Table.ExtendLookupTable", false},
		{solana.LookupTableProgram, 2, word(3), "Address Lookup Table.DeactivateLookupTable", false},
		{solana.LookupTableProgram, 3, word(4), "Address Lookup Table.CloseLookupTable", false},
	} {
		tx, err := readCalls(call(test.program, test.accounts, test.data...))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := tx.Instructions()[0]
		if got.Name != test.name || (got.Refusal == "") != test.signed {
			t.Errorf("%s decoded as %s with refusal %q, may be signed: %v", test.name, got.Name, got.Refusal, test.signed)
		}
		if _, err := readCalls(call(test.program, test.accounts, append(slices.Clone(test.data), 0)...)); err == nil {
			t.Errorf("%s: a byte too many was accepted", test.name)
		}
		if _, err := readCalls(call(test.program, test.accounts, test.data[:len(test.data)-1]...)); err == nil && len(test.data) > 1 {
			t.Errorf("%s: a byte too few was accepted", test.name)
		}
		if test.accounts > 0 {
			if _, err := readCalls(call(test.program, test.accounts-1, test.data...)); err == nil {
				t.Errorf("%s: an account too few was accepted", test.name)
			}
		}
	}
}

func TestDecodeRefusesUnknownAndContainers(t *testing.T) {
	for _, program := range []solana.PublicKey{solana.TokenProgram, solana.Token2022Program} {
		for tag := range 256 {
			tx, err := readCalls(call(program, 5, byte(tag)))
			if err != nil {
				continue
			}
			got := tx.Instructions()[0]
			allowed := []string{"CloseAccount", "GetAccountDataSize", "UiAmountToAmount"}
			_, short, _ := strings.Cut(got.Name, ".")
			if got.Refusal == "" && !slices.Contains(allowed, short) {
				t.Errorf("opcode %d of %s (%s) with no argument is not refused", tag, program, got.Name)
			}
		}
	}
	batch, err := readCalls(call(solana.TokenProgram, 3, 255, 3, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0))
	if err != nil || batch.Instructions()[0].Refusal == "" {
		t.Errorf("a batch of token instructions is not refused: %v", err)
	}
	for name, c := range map[string]decodetest.Call{
		"retired budget request":   {Program: solana.ComputeBudgetProgram, Data: make([]byte, 9)},
		"budget without opcode":    {Program: solana.ComputeBudgetProgram},
		"system opcode of 3 bytes": call(solana.SystemProgram, 2, 2, 0, 0),
		"unknown system opcode":    call(solana.SystemProgram, 2, 77, 0, 0, 0),
		"heap of odd size":         {Program: solana.ComputeBudgetProgram, Data: []byte{1, 1, 0, 1, 0}},
		"memo that is not text":    {Program: solana.MemoProgram, Data: []byte{0xff}},
		"stake":                    call(solana.StakeProgram, 2, 4, 0, 0, 0),
		"ed25519 precompile":       {Program: solana.MustPublicKey("Ed25519SigVerify111111111111111111111111111"), Data: []byte{0, 0}},
		"unknown discriminator":    call(solana.FeeShareV2Program, 2, 1, 2, 3, 4, 5, 6, 7, 8),
		"no discriminator":         call(solana.FeeShareV2Program, 2, 1),
		"DFlow order":              call(solana.DFlowProgram, 2, 0xce, 0x58, 0x58, 0x8f, 0x26, 0x88, 0x32, 0xe0),
	} {
		if _, err := readCalls(c); !fault.Is(err, fault.TransactionRefused) {
			t.Errorf("%s: %v, want %s", name, err, fault.TransactionRefused)
		}
	}
}

func TestDecodeRefusesRepeatedBudget(t *testing.T) {
	if _, err := readCalls(decodetest.UnitPrice(1), decodetest.UnitPrice(1)); !fault.Is(err, fault.TransactionRefused) {
		t.Errorf("two prices: %v", err)
	}
}

func TestDecodeChecksAssociatedAddress(t *testing.T) {
	good := decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram)
	if _, err := readCalls(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*decodetest.Call){
		"another address": func(c *decodetest.Call) { c.Accounts[1] = decodetest.W(thief) },
		"another owner":   func(c *decodetest.Call) { c.Accounts[2] = decodetest.R(thief) },
		"another mint":    func(c *decodetest.Call) { c.Accounts[3] = decodetest.R(thief) },
		"other program":   func(c *decodetest.Call) { c.Accounts[5] = decodetest.R(solana.Token2022Program) },
		"no token":        func(c *decodetest.Call) { c.Accounts[5] = decodetest.R(thief) },
		"no system":       func(c *decodetest.Call) { c.Accounts[4] = decodetest.R(thief) },
	} {
		bad := decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram)
		change(&bad)
		if _, err := readCalls(bad); !fault.Is(err, fault.TransactionRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeComputesFee(t *testing.T) {
	for name, test := range map[string]struct {
		calls []decodetest.Call
		want  uint64
	}{
		"no price":                {[]decodetest.Call{decodetest.UnitLimit(1000)}, 0},
		"rounded up":              {[]decodetest.Call{decodetest.UnitLimit(1), decodetest.UnitPrice(1)}, 1},
		"limit is capped":         {[]decodetest.Call{decodetest.UnitLimit(4_000_000_000), decodetest.UnitPrice(1_000_000)}, 1_400_000},
		"default limit of the VM": {[]decodetest.Call{decodetest.UnitPrice(1_000_000), decodetest.Transfer(wallet, thief, 1), decodetest.Memo("hi")}, 206_000},
	} {
		tx, err := readCalls(test.calls...)
		if err != nil || uint64(tx.Fee().Priority) != test.want {
			t.Errorf("%s: priority fee %d (%v), want %d", name, tx.Fee().Priority, err, test.want)
		}
	}
	if _, err := readCalls(decodetest.UnitLimit(1_400_000), decodetest.UnitPrice(1<<64-1)); !fault.Is(err, fault.OutsideBounds) {
		t.Errorf("a fee that no integer holds: %v", err)
	}
}

func TestDecodeRefusesUnsoundSigners(t *testing.T) {
	pair := decodetest.Legacy(wallet, blockhash, decodetest.Transfer(wallet, thief, 1), decodetest.Transfer(other, thief, 1))
	if _, err := read(pair, nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("a missing signature of another: %v", err)
	}
	signed := pair
	signed.Signatures = slices.Clone(pair.Signatures)
	signed.Signatures[1] = solana.Signature(ed25519.Sign(otherKey, pair.Message.Marshal()))
	tx, err := read(signed, nil)
	if err != nil || tx.SoleSigner() {
		t.Errorf("a good signature of another: %v", err)
	}
	signed.Signatures[1][5] ^= 1
	if _, err := read(signed, nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("a bad signature of another: %v", err)
	}
	own := decodetest.Legacy(wallet, blockhash, decodetest.Transfer(wallet, thief, 1))
	own.Signatures[0] = solana.Signature(ed25519.Sign(walletKey, own.Message.Marshal()))
	if _, err := read(own, nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("a filled slot of the wallet: %v", err)
	}
	foreign := decodetest.Legacy(other, blockhash, decodetest.Transfer(other, thief, 1))
	foreign.Signatures[0] = solana.Signature(ed25519.Sign(otherKey, foreign.Message.Marshal()))
	if _, err := read(foreign, nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("a transaction without the wallet: %v", err)
	}
}

func TestDecodeRefusesAccountLoadedTwice(t *testing.T) {
	table := solana.PublicKey{5}
	tx := decodetest.V0(wallet, blockhash, decode.Tables{table: {mint, thief}}, []solana.PublicKey{table},
		decodetest.Transfer(wallet, thief, 1))
	if _, err := read(tx, decode.Tables{table: {mint, thief}}); err != nil {
		t.Fatal(err)
	}
	if _, err := read(tx, decode.Tables{table: {mint, wallet}}); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("the wallet once more through a table: %v", err)
	}
}

func TestParseNamesVersion(t *testing.T) {
	for first := 0x82; first <= 0xff; first++ {
		if _, err := decode.Parse([]byte{byte(first), 1, 0, 0}); !fault.Is(err, fault.VersionUnsupported) {
			t.Errorf("first byte %#x: %v", first, err)
		}
	}
	if _, err := decode.Parse([]byte{0x81, 1, 0, 0}); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("half a v1 transaction: %v", err)
	}
	if _, err := decode.Parse(make([]byte, solana.MaxTransactionSize+1)); !fault.Is(err, fault.TransactionTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := decode.Parse(append([]byte{0x81}, make([]byte, solana.MaxTransactionSizeV1)...)); !fault.Is(err, fault.TransactionTooLarge) {
		t.Errorf("too large for v1: %v", err)
	}
	for want, tx := range map[solana.Version]solana.Transaction{
		solana.Legacy: decodetest.Legacy(wallet, blockhash, decodetest.Transfer(wallet, thief, 1)),
		solana.V0:     decodetest.V0(wallet, blockhash, nil, nil, decodetest.Transfer(wallet, thief, 1)),
		solana.V1:     decodetest.V1(wallet, blockhash, solana.Config{}, decodetest.Transfer(wallet, thief, 1)),
	} {
		if tx, err := read(tx, nil); err != nil || tx.Version() != want {
			t.Errorf("%s: read as %s, %v", want, tx.Version(), err)
		}
	}
	if _, err := decode.Parse(nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("empty: %v", err)
	}
}

func TestDecodeOrdersLookupsLikeTheRuntime(t *testing.T) {
	first, second := solana.PublicKey{5}, solana.PublicKey{6}
	a, b, c, d := solana.PublicKey{11}, solana.PublicKey{12}, solana.PublicKey{13}, solana.PublicKey{14}
	tables := decode.Tables{first: {a, b}, second: {c, d}}
	tx, err := read(decodetest.V0(wallet, blockhash, tables, []solana.PublicKey{first, second}, decodetest.Call{
		Program:  solana.MustPublicKey("T1TANpTeScyeqVzzgNViGDNrkQ6qHz9KrSBS4aNXvGT"),
		Accounts: []decodetest.Meta{decodetest.R(b), decodetest.W(a), decodetest.W(d), decodetest.R(c)},
	}), tables)
	if err != nil {
		t.Fatal(err)
	}
	var looked []solana.PublicKey
	for _, account := range tx.Accounts() {
		if account.Looked {
			looked = append(looked, account.Key)
		}
	}
	if !slices.Equal(looked, []solana.PublicKey{a, d, b, c}) {
		t.Errorf("looked-up accounts in the order %v, want writable of all tables first", looked)
	}
}

// TestDecodeSharesNoMemory: what a caller does to what it was given cannot
// change what is signed.
func TestDecodeSharesNoMemory(t *testing.T) {
	tx, err := readCalls(decodetest.Transfer(wallet, thief, 1))
	if err != nil {
		t.Fatal(err)
	}
	digest := tx.Digest()
	tx.Raw()[70] ^= 1
	tx.MessageBytes()[3] ^= 1
	tx.Transaction().Message.Instructions[0].Data[4] ^= 1
	tx.Instructions()[0].Data[4] ^= 1
	if tx.Digest() != digest || tx.Transaction().Message.Instructions[0].Data[4] != 1 {
		t.Error("a copy reached into the transaction")
	}
}

// TestDecodeReadsWhatWasCompiled: any mix of transfers decodes to what was put in.
func TestDecodeReadsWhatWasCompiled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := solana.PublicKey{5}
		tables := decode.Tables{table: {{21}, {22}, {23}, mint, solana.SystemProgram}}
		var calls []decodetest.Call
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			to := solana.PublicKey{byte(rapid.IntRange(20, 26).Draw(t, "to"))}
			units := rapid.Uint64().Draw(t, "units")
			if rapid.Bool().Draw(t, "token") {
				calls = append(calls, decodetest.TransferChecked(solana.TokenProgram, ata, mint, to, wallet, units, 6))
			} else {
				calls = append(calls, decodetest.Transfer(wallet, to, units))
			}
		}
		tx, err := read(decodetest.V0(wallet, blockhash, tables, []solana.PublicKey{table}, calls...), tables)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range tx.Instructions() {
			want := calls[i]
			for j, account := range got.Accounts {
				if account.Key != want.Accounts[j].Key || !account.Writable && want.Accounts[j].Writable {
					t.Fatalf("call %d account %d: %+v, want %+v", i, j, account, want.Accounts[j])
				}
			}
			if got.Program != want.Program || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("call %d: %+v, want %+v", i, got, want)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	swap := decodetest.Legacy(wallet, blockhash, decodetest.UnitLimit(9), decodetest.UnitPrice(9),
		decodetest.CreateIdempotent(wallet, wallet, mint, solana.TokenProgram), decodetest.Transfer(wallet, ata, 3),
		decodetest.SyncNative(ata), decodetest.Close(solana.TokenProgram, ata, wallet, wallet))
	f.Add(swap.Marshal())
	f.Add(decodetest.V0(wallet, blockhash, vectorTables, []solana.PublicKey{bagsTable},
		decodetest.TransferChecked(solana.Token2022Program, ata, mint, thief, wallet, 1, 2)).Marshal())
	f.Add(decodetest.V1(wallet, blockhash, solana.Config{PriorityFee: new(uint64(9)), HeapSize: new(uint32(32 << 10))},
		decodetest.UnitPrice(9), call(solana.Token2022Program, 3, 27, 5), decodetest.Memo("hi")).Marshal())
	f.Add(decodetest.V1(wallet, blockhash, solana.Config{UnitLimit: new(uint32(9))},
		call(solana.TokenProgram, 6, 255, 3, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0, 3, 1, 9)).Marshal())
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := decode.Parse(raw)
		if err != nil {
			return
		}
		tx, err := decode.Decode(parsed, wallet, vectorTables)
		if err != nil {
			if fault.From(err).Code == fault.Internal {
				t.Fatalf("not a fault for users: %v", err)
			}
			return
		}
		covered := bytes.HasSuffix
		if tx.Version() == solana.V1 {
			covered = bytes.HasPrefix
		}
		if !bytes.Equal(tx.Raw(), raw) || !covered(raw, tx.MessageBytes()) {
			t.Fatal("what was decoded is not what was given")
		}
		for _, instruction := range tx.Instructions() {
			if instruction.Kind == 0 || instruction.Name == "" {
				t.Fatalf("instruction %d is not explained", instruction.Index)
			}
		}
	})
}
