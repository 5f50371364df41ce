package chain_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mr-tron/base58"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

var opaqueID = solana.MustPublicKey("opaque1111111111111111111111111111111111111")

// opaqueTx calls a program that is not decoded, with these accounts.
func opaqueTx(t *testing.T, accounts ...decodetest.Meta) decode.Tx {
	t.Helper()
	call := decodetest.Call{Program: opaqueID, Accounts: append([]decodetest.Meta{decodetest.SW(wallet)}, accounts...)}
	return decodetest.MustDecode(t, decodetest.Legacy(wallet, solana.Hash{1}, call).Marshal(), wallet, nil)
}

// simulated has a node answer a simulation of tx with these inner instructions.
func simulated(t *testing.T, tx decode.Tx, inner string) ([]chain.InnerCall, error) {
	t.Helper()
	nulls := strings.TrimSuffix(strings.Repeat("null,", len(tx.Writable())), ",")
	node := startNode(t, map[string]string{
		"simulateTransaction": atSlot(3, fmt.Sprintf(`{"err":null,"logs":[],"accounts":[%s],"innerInstructions":%s}`, nulls, inner)),
	})
	got, err := clientOf(t, node).Simulate(t.Context(), tx, tx.Writable())
	return got.Inner, err
}

// TestSimulateDemandsInnerInstructions: a node that does not show what an
// opaque program calls has not simulated it. For programs that are decoded
// nothing hangs on it.
func TestSimulateDemandsInnerInstructions(t *testing.T) {
	if _, err := simulated(t, opaqueTx(t), `null`); !fault.Is(err, fault.RPCBadAnswer) {
		t.Errorf("none were shown: %v, want %s", err, fault.RPCBadAnswer)
	}
	if calls, err := simulated(t, opaqueTx(t), `[]`); err != nil || len(calls) != 0 {
		t.Errorf("there were none: %v, %v", calls, err)
	}
	if _, err := simulated(t, transfer(t), `null`); err != nil {
		t.Errorf("a transfer: %v", err)
	}
	// Another node is asked instead.
	tx := opaqueTx(t)
	answer := func(inner string) string {
		return atSlot(3, `{"err":null,"accounts":[null],"innerInstructions":`+inner+`}`)
	}
	mute := startNode(t, map[string]string{"simulateTransaction": answer(`null`)})
	speaks := startNode(t, map[string]string{"simulateTransaction": answer(`[]`)})
	if _, err := clientOf(t, mute, speaks).Simulate(t.Context(), tx, tx.Writable()); err != nil || mute.calls.Load() != 1 {
		t.Errorf("a second node shows it: %v", err)
	}
}

func TestSimulateRefusesInnerInstructionsOfOtherShapes(t *testing.T) {
	system := solana.SystemProgram.String()
	token := solana.TokenProgram.String()
	for name, set := range map[string]string{
		"no index":         `{"instructions":[]}`,
		"index of nothing": `{"index":1,"instructions":[]}`,
		"negative index":   `{"index":-1,"instructions":[]}`,
		"empty":            one(`{}`),
		"no data":          one(`{"programId":"` + system + `","accounts":[]}`),
		"no program":       one(`{"accounts":[],"data":""}`),
		"two programs":     one(`{"programId":"` + system + `","programIdIndex":0,"accounts":[],"data":""}`),
		"program far away": one(`{"programIdIndex":9,"accounts":[],"data":""}`),
		"account far away": one(`{"programIdIndex":1,"accounts":[7],"data":""}`),
		"account null":     one(`{"programIdIndex":1,"accounts":[null],"data":""}`),
		"address null":     one(`{"programId":"` + opaqueID.String() + `","accounts":[null],"data":""}`),
		"address by index": one(`{"programId":"` + opaqueID.String() + `","accounts":[0],"data":""}`),
		"data not base58":  one(`{"programId":"` + opaqueID.String() + `","accounts":[],"data":"0"}`),
		"data too long":    one(`{"programId":"` + opaqueID.String() + `","accounts":[],"data":"` + strings.Repeat("1", 30_000) + `"}`),
		"parsed nothing":   one(`{"programId":"` + token + `","parsed":null}`),
		"parsed no type":   one(`{"programId":"` + token + `","parsed":{"info":{}}}`),
		"parsed no amount": one(`{"programId":"` + token + `","parsed":{"type":"transfer","info":{"source":"` + system + `","destination":"` + system + `","authority":"` + system + `"}}}`),
		"parsed null key":  one(`{"programId":"` + token + `","parsed":{"type":"syncNative","info":{"account":null}}}`),
		"a memo elsewhere": one(`{"programId":"` + token + `","parsed":"text"}`),
		"65 of them":       `{"index":0,"instructions":[` + strings.TrimSuffix(strings.Repeat(`{"programId":"`+opaqueID.String()+`","accounts":[],"data":""},`, 65), ",") + `]}`,
	} {
		if calls, err := simulated(t, opaqueTx(t), `[`+set+`]`); !fault.Is(err, fault.RPCBadAnswer) {
			t.Errorf("%s: %+v, %v, want %s", name, calls, err, fault.RPCBadAnswer)
		}
	}
	// An opcode that is unknown is the program's doing, not the node's.
	for name, set := range map[string]string{
		"unknown opcode": one(`{"programId":"` + token + `","accounts":[],"data":"` + base58.Encode([]byte{200}) + `"}`),
		"torn batch":     one(`{"programId":"` + token + `","accounts":[],"data":"` + base58.Encode([]byte{255, 1, 1, 5}) + `"}`),
		"nested batch":   one(`{"programId":"` + token + `","accounts":[],"data":"` + base58.Encode([]byte{255, 0, 1, 255}) + `"}`),
	} {
		if calls, err := simulated(t, opaqueTx(t), `[`+set+`]`); !fault.Is(err, fault.OutsideBounds) {
			t.Errorf("%s: %+v, %v, want %s", name, calls, err, fault.OutsideBounds)
		}
	}
}

func one(instruction string) string { return `{"index":0,"instructions":[` + instruction + `]}` }

// raw is a call as a node writes one that it cannot spell out.
func raw(call decodetest.Call) string {
	var keys []string
	for _, account := range call.Accounts {
		keys = append(keys, account.Key.String())
	}
	text, err := json.Marshal(map[string]any{"programId": call.Program, "accounts": keys, "data": base58.Encode(call.Data), "stackHeight": 2})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestSpelledOutInstructionsAreRebuilt: however a node writes an instruction, it
// is the same one. The texts are as a validator's RPC writes them.
func TestSpelledOutInstructionsAreRebuilt(t *testing.T) {
	a, b, c := key, mint, thief
	account := solana.AssociatedTokenAddress(wallet, b, solana.TokenProgram)
	le := func(opcode []byte, more ...byte) []byte { return append(slices.Clone(opcode), more...) }
	token := func(data []byte, keys ...solana.PublicKey) decodetest.Call {
		call := decodetest.Call{Program: solana.TokenProgram, Data: data}
		for _, key := range keys {
			call.Accounts = append(call.Accounts, decodetest.R(key))
		}
		return call
	}
	seven := []byte{7, 0, 0, 0, 0, 0, 0, 0}
	units := `{"uiAmount":0.000007,"decimals":6,"amount":"7","uiAmountString":"0.000007"}`
	for name, test := range map[string]struct {
		call    decodetest.Call
		spelled string
	}{
		"system transfer": {decodetest.Transfer(a, b, 7), `{"type":"transfer","info":{"source":"A","destination":"B","lamports":7}}`},
		"create account": {decodetest.Call{Program: solana.SystemProgram, Accounts: []decodetest.Meta{decodetest.R(a), decodetest.R(b)},
			Data: slices.Concat([]byte{0, 0, 0, 0}, seven, seven, c[:])}, `{"type":"createAccount","info":{"source":"A","newAccount":"B","lamports":7,"space":7,"owner":"C"}}`},
		"assign": {decodetest.Call{Program: solana.SystemProgram, Accounts: []decodetest.Meta{decodetest.R(a)}, Data: le([]byte{1, 0, 0, 0}, c[:]...)},
			`{"type":"assign","info":{"account":"A","owner":"C"}}`},
		"allocate": {decodetest.Call{Program: solana.SystemProgram, Accounts: []decodetest.Meta{decodetest.R(a)}, Data: le([]byte{8, 0, 0, 0}, seven...)},
			`{"type":"allocate","info":{"account":"A","space":7}}`},
		"transfer":         {token(le([]byte{3}, seven...), a, b, c), `{"type":"transfer","info":{"source":"A","destination":"B","authority":"C","amount":"7"}}`},
		"by a multisig":    {token(le([]byte{3}, seven...), a, b, c, wallet, a), `{"type":"transfer","info":{"source":"A","destination":"B","multisigAuthority":"C","signers":["W","A"],"amount":"7"}}`},
		"transfer checked": {decodetest.TransferChecked(solana.TokenProgram, a, b, c, wallet, 7, 6), `{"type":"transferChecked","info":{"source":"A","mint":"B","destination":"C","authority":"W","tokenAmount":U}}`},
		"mint":             {token(le([]byte{7}, seven...), a, b, c), `{"type":"mintTo","info":{"mint":"A","account":"B","mintAuthority":"C","amount":"7"}}`},
		"mint checked":     {token(le([]byte{14}, append(seven, 6)...), a, b, c), `{"type":"mintToChecked","info":{"mint":"A","account":"B","mintAuthority":"C","tokenAmount":U}}`},
		"close":            {decodetest.Close(solana.TokenProgram, a, b, c), `{"type":"closeAccount","info":{"account":"A","destination":"B","owner":"C"}}`},
		"sync":             {decodetest.SyncNative(a), `{"type":"syncNative","info":{"account":"A"}}`},
		"initialise":       {token(le([]byte{18}, c[:]...), a, b), `{"type":"initializeAccount3","info":{"account":"A","mint":"B","owner":"C"}}`},
		"immutable owner":  {token([]byte{22}, a), `{"type":"initializeImmutableOwner","info":{"account":"A"}}`},
		"associated": {decodetest.CreateIdempotent(a, wallet, b, solana.TokenProgram), `{"type":"createIdempotent","info":{"source":"A","account":"` + account.String() +
			`","wallet":"W","mint":"B","systemProgram":"11111111111111111111111111111111","tokenProgram":"` + solana.TokenProgram.String() + `"}}`},
		"memo": {decodetest.Memo("hello"), `"hello"`},
	} {
		t.Run(name, func(t *testing.T) {
			tx := opaqueTx(t, decodetest.W(a), decodetest.W(b), decodetest.R(c))
			spelled := strings.NewReplacer(`"A"`, `"`+a.String()+`"`, `"B"`, `"`+b.String()+`"`, `"C"`, `"`+c.String()+`"`, `"W"`, `"`+wallet.String()+`"`, ":U}", ":"+units+"}").Replace(test.spelled)
			want, err := simulated(t, tx, `[`+one(raw(test.call))+`]`)
			if err != nil || len(want) != 1 {
				t.Fatalf("as bytes: %+v, %v", want, err)
			}
			got, err := simulated(t, tx, `[`+one(`{"program":"x","programId":"`+test.call.Program.String()+`","parsed":`+spelled+`,"stackHeight":2}`)+`]`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("bytes and words differ (-bytes +words):\n%s", diff)
			}
		})
	}
}

// TestUnknownSpellingsNameTheirAccounts: an instruction that has no form here
// is one that is never signed, with every address that the node names.
func TestUnknownSpellingsNameTheirAccounts(t *testing.T) {
	parsed := `{"type":"thaw<b>","info":{"account":"` + key.String() + `","signers":["` + wallet.String() + `"],"deep":{"x":"` + mint.String() + `"},"n":7,"t":"text"}}`
	calls, err := simulated(t, opaqueTx(t), `[`+one(`{"programId":"`+solana.Token2022Program.String()+`","parsed":`+parsed+`}`)+`]`)
	if err != nil || len(calls) != 1 || calls[0].Kind != decode.Forbidden || calls[0].Refusal == "" || strings.Contains(calls[0].Name, "<") {
		t.Fatalf("%+v, %v", calls, err)
	}
	for _, want := range []solana.PublicKey{key, wallet, mint} {
		if !calls[0].Touches(want) {
			t.Errorf("%s is not among its accounts", want)
		}
	}
}
