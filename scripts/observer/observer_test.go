package observer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	wallet = "EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N"
	other  = "4Qkev8aNZcqFNSRhQzwyLMFSsi94jHqE8WNVTJzTP99F"
	wsol   = "So11111111111111111111111111111111111111112"
	system = "11111111111111111111111111111111"
)

// node answers every call of a method with a fixed result, and remembers the
// commitments it was asked at.
type node struct {
	results     map[string]string
	commitments []string
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Method string `json:"method"`
		Params []any  `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, param := range call.Params {
		if config, ok := param.(map[string]any); ok {
			n.commitments = append(n.commitments, fmt.Sprint(config["commitment"]))
		}
	}
	result, ok := n.results[call.Method]
	if !ok {
		_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, result)
}

func watch(t *testing.T, results map[string]string) (*Observer, *node) {
	t.Helper()
	n := &node{results: results}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return New(server.URL), n
}

func accountResult(lamports, owner string, data []byte) string {
	return fmt.Sprintf(`{"lamports":%s,"owner":%q,"data":[%q,"base64"],"executable":false,"rentEpoch":18446744073709551615,"space":%d}`,
		lamports, owner, base64.StdEncoding.EncodeToString(data), len(data))
}

func list(accounts ...string) string {
	return `{"context":{"slot":9},"value":[` + strings.Join(accounts, ",") + `]}`
}

// tokenData is a token account of the wSOL mint, owned by a key of sevens.
func tokenData(edit func(data []byte)) []byte {
	data := make([]byte, tokenSize)
	copy(data, wsolBytes())
	for i := 32; i < 64; i++ {
		data[i] = 7
	}
	binary.LittleEndian.PutUint64(data[amountAt:], 18446744073709551615)
	data[stateAt] = stateReady
	edit(data)
	return data
}

func wsolBytes() []byte {
	raw := make([]byte, 32)
	copy(raw, []byte{0x06, 0x9b, 0x88, 0x57, 0xfe, 0xab, 0x81, 0x84, 0xfb, 0x68, 0x7f, 0x63, 0x46, 0x18, 0xc0, 0x35,
		0xda, 0xc4, 0x39, 0xdc, 0x1a, 0xeb, 0x3b, 0x55, 0x98, 0xa0, 0xf0, 0x00, 0x00, 0x00, 0x00, 0x01})
	return raw
}

func TestBalanceIsExactBeyondFloats(t *testing.T) {
	eye, n := watch(t, map[string]string{"getBalance": `{"context":{"slot":9},"value":9007199254740993}`})
	got, err := eye.Balance(t.Context(), wallet)
	if err != nil || got != 9007199254740993 {
		t.Errorf("balance = %d, %v", got, err)
	}
	if _, err := eye.At(Processed).Balance(t.Context(), wallet); err != nil {
		t.Error(err)
	}
	if want := []string{"confirmed", "processed"}; !slices.Equal(n.commitments, want) {
		t.Errorf("asked at %v, want %v", n.commitments, want)
	}
}

func TestAccountTellsMissingFromEmpty(t *testing.T) {
	eye, _ := watch(t, map[string]string{"getMultipleAccounts": list(accountResult("5", system, nil))})
	got, ok, err := eye.Account(t.Context(), wallet)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(Account{Lamports: 5, Owner: system, Data: []byte{}}, got); diff != "" {
		t.Error(diff)
	}
	eye, _ = watch(t, map[string]string{"getMultipleAccounts": list("null")})
	if _, ok, err := eye.Account(t.Context(), wallet); err != nil || ok {
		t.Errorf("missing account: %t, %v", ok, err)
	}
}

func TestReadsFailOnWhatCannotBeRead(t *testing.T) {
	for name, result := range map[string]string{
		"no value":      `{"context":{"slot":9}}`,
		"one too many":  list("null", "null"),
		"no lamports":   list(`{"owner":"` + system + `","data":["","base64"]}`),
		"fraction":      list(accountResult("1.5", system, nil)),
		"text for data": list(`{"lamports":1,"owner":"` + system + `","data":""}`),
		"other coding":  list(`{"lamports":1,"owner":"` + system + `","data":["","base58"]}`),
		"bad base64":    list(`{"lamports":1,"owner":"` + system + `","data":["!","base64"]}`),
	} {
		eye, _ := watch(t, map[string]string{"getMultipleAccounts": result})
		if got, ok, err := eye.Account(t.Context(), wallet); err == nil {
			t.Errorf("%s: read %+v, %t", name, got, ok)
		}
	}
	eye, _ := watch(t, nil)
	if _, err := eye.Balance(t.Context(), wallet); err == nil || !strings.Contains(err.Error(), "getBalance: Method not found (-32601)") {
		t.Errorf("error of the node: %v", err)
	}
	eye, _ = watch(t, map[string]string{"getBalance": `{"context":{"slot":9}}`, "getTransaction": `{"slot":1,"meta":null}`})
	if got, err := eye.Balance(t.Context(), wallet); err == nil {
		t.Errorf("balance without a value: %d", got)
	}
	if _, _, err := eye.Transaction(t.Context(), "signature"); err == nil {
		t.Error("transaction without meta was read")
	}
}

func TestTokenAccountReadsEveryField(t *testing.T) {
	sevens := base58(tokenData(func([]byte) {})[32:64])
	full := tokenData(func(data []byte) {
		data[delegateAt], data[closeAt], data[stateAt] = 1, 1, stateFrozen
		data[delegatedAt] = 9
		copy(data[closeAt+4:], data[32:64])
	})
	for _, c := range []struct {
		owner string
		data  []byte
		want  TokenAccount
	}{
		{tokenProgram, tokenData(func([]byte) {}), TokenAccount{Program: tokenProgram, Mint: wsol, Owner: sevens, Amount: 18446744073709551615}},
		{tokenProgram, full, TokenAccount{
			Program: tokenProgram, Mint: wsol, Owner: sevens, Amount: 18446744073709551615,
			Delegate: system, Delegated: 9, CloseAuthority: sevens, Frozen: true,
		}},
		{token2022Program, append(tokenData(func([]byte) {}), kindAccount, 7, 0, 0, 0), TokenAccount{
			Program: token2022Program, Mint: wsol, Owner: sevens, Amount: 18446744073709551615,
		}},
	} {
		eye, _ := watch(t, map[string]string{"getMultipleAccounts": list(accountResult("2039280", c.owner, c.data))})
		got, ok, err := eye.TokenAccount(t.Context(), other)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
		amount, ok, err := eye.TokenAmount(t.Context(), other)
		if err != nil || !ok || amount != c.want.Amount {
			t.Errorf("amount = %d, %t, %v", amount, ok, err)
		}
	}
	eye, _ := watch(t, map[string]string{"getMultipleAccounts": list("null")})
	if amount, ok, err := eye.TokenAmount(t.Context(), other); amount != 0 || ok || err != nil {
		t.Errorf("missing token account: %d, %t, %v", amount, ok, err)
	}
}

func TestParseTokenAccountRefusesOtherAccounts(t *testing.T) {
	good := tokenData(func([]byte) {})
	for name, account := range map[string]Account{
		"wallet":          {Owner: system},
		"foreign owner":   {Owner: other, Data: good},
		"mint":            {Owner: tokenProgram, Data: make([]byte, 82)},
		"too long":        {Owner: tokenProgram, Data: append(slices.Clone(good), kindAccount)},
		"extended mint":   {Owner: token2022Program, Data: append(slices.Clone(good), 1)},
		"not initialized": {Owner: tokenProgram, Data: tokenData(func(d []byte) { d[stateAt] = 0 })},
		"odd delegate":    {Owner: tokenProgram, Data: tokenData(func(d []byte) { d[delegateAt] = 2 })},
		"odd closer":      {Owner: tokenProgram, Data: tokenData(func(d []byte) { d[closeAt+3] = 1 })},
	} {
		if got, err := ParseTokenAccount(account); err == nil {
			t.Errorf("%s was read as %+v", name, got)
		}
	}
}

func TestBase58AgreesWithKnownKeys(t *testing.T) {
	zeros := make([]byte, 32)
	if got := base58(zeros); got != system {
		t.Errorf("zeros are %s, want %s", got, system)
	}
	if got := base58(wsolBytes()); got != wsol {
		t.Errorf("wSOL is %s, want %s", got, wsol)
	}
}

const landed = `{"slot":12,"blockTime":1,"version":0,
 "transaction":{"signatures":["s"],"message":{"accountKeys":["` + wallet + `","` + system + `"],"header":{},"instructions":[]}},
 "meta":{"err":null,"fee":5000,"preBalances":[10000,1,3],"postBalances":[4000,1,4],"logMessages":["log"],
  "loadedAddresses":{"writable":["` + other + `"],"readonly":[]}}}`

func TestTransactionGivesFeeAndBalances(t *testing.T) {
	eye, n := watch(t, map[string]string{"getTransaction": landed})
	got, ok, err := eye.At(Processed).Transaction(t.Context(), "s")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want := Transaction{
		Slot: 12, Fee: 5000, Payer: wallet, Logs: []string{"log"},
		Balances: map[string]Balances{wallet: {10000, 4000}, system: {1, 1}, other: {3, 4}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(n.commitments, []string{"confirmed"}) {
		t.Errorf("history was asked at %v", n.commitments)
	}

	eye, _ = watch(t, map[string]string{"getTransaction": strings.Replace(landed, `"err":null`, `"err":{"InstructionError":[2,{"Custom":1}]}`, 1)})
	if got, _, err := eye.Transaction(t.Context(), "s"); err != nil || got.Err != `{"InstructionError":[2,{"Custom":1}]}` {
		t.Errorf("failed transaction: %q, %v", got.Err, err)
	}
	eye, _ = watch(t, map[string]string{"getTransaction": strings.Replace(landed, "[10000,1,3]", "[10000,1]", 1)})
	if _, _, err := eye.Transaction(t.Context(), "s"); err == nil {
		t.Error("balances that do not match the accounts were read")
	}
	eye, _ = watch(t, map[string]string{"getTransaction": "null"})
	if _, ok, err := eye.Transaction(t.Context(), "s"); ok || err != nil {
		t.Errorf("unknown transaction: %t, %v", ok, err)
	}
}

func TestSignaturesTellFailures(t *testing.T) {
	eye, _ := watch(t, map[string]string{"getSignaturesForAddress": `[{"signature":"b","slot":3,"err":{"InstructionError":[0,"X"]}},{"signature":"a","slot":2,"err":null}]`})
	got, err := eye.Signatures(t.Context(), wallet)
	if err != nil {
		t.Fatal(err)
	}
	want := []SigInfo{{Signature: "b", Slot: 3, Err: `{"InstructionError":[0,"X"]}`}, {Signature: "a", Slot: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	eye, _ = watch(t, map[string]string{"getSignaturesForAddress": "[" + strings.Repeat(`{"signature":"a"},`, maxSignatures-1) + `{"signature":"z"}]`})
	if got, err := eye.Signatures(t.Context(), wallet); err == nil {
		t.Errorf("a history that may be cut off was read: %d transactions", len(got))
	}
}

func TestDiffNamesEveryKindOfChange(t *testing.T) {
	before := Snapshot{
		"a": {Lamports: 5, Owner: system}, "b": {Lamports: 5, Owner: system}, "c": {Lamports: 5, Owner: system, Data: []byte{1}},
		"d": {Lamports: 5, Owner: system}, "e": {Lamports: 9, Owner: system},
	}
	after := Snapshot{
		"a": {Lamports: 5, Owner: system}, "b": {Lamports: 5, Owner: other}, "c": {Lamports: 5, Owner: system, Data: []byte{2}},
		"e": {Lamports: 7, Owner: system}, "f": {Lamports: 3, Owner: other},
	}
	var got []string
	for _, change := range Diff(before, after) {
		got = append(got, change.String())
	}
	want := []string{
		"b: owner " + other + ", was " + system,
		"c: data of 1 bytes changed to other 1",
		"d: closed, 5 lamports gone",
		"e: lamports -2 +0",
		"f: opened with 3 lamports, owner " + other,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, change := range Diff(before, after) {
		out, in := change.Lamports()
		if want := map[string][2]uint64{"d": {5, 0}, "e": {2, 0}, "f": {0, 3}}[change.Address]; [2]uint64{out, in} != want {
			t.Errorf("%s: lamports -%d +%d, want %v", change.Address, out, in, want)
		}
	}
	if changes := Diff(before, before); len(changes) != 0 {
		t.Errorf("no change gives %v", changes)
	}
}

func TestSnapshotRefusesMoreThanOneCallCanHold(t *testing.T) {
	eye, n := watch(t, map[string]string{"getMultipleAccounts": list()})
	if _, err := eye.Snapshot(t.Context(), make([]string, maxKeys+1)...); err == nil {
		t.Error("101 addresses were accepted")
	}
	if seen, err := eye.Snapshot(t.Context()); err != nil || len(seen) != 0 || len(n.commitments) != 0 {
		t.Errorf("nothing to see: %v, %v, %d calls", seen, err, len(n.commitments))
	}
}

func FuzzParseTokenAccount(f *testing.F) {
	f.Add(tokenData(func([]byte) {}), false)
	f.Add(append(tokenData(func(d []byte) { d[delegateAt] = 1 }), kindAccount), true)
	f.Add(make([]byte, 82), false)
	f.Fuzz(func(t *testing.T, data []byte, newer bool) {
		owner := tokenProgram
		if newer {
			owner = token2022Program
		}
		got, err := ParseTokenAccount(Account{Owner: owner, Data: data})
		if err != nil {
			return
		}
		if len(data) < tokenSize || got.Amount != binary.LittleEndian.Uint64(data[64:72]) || got.Frozen != (data[108] == 2) {
			t.Errorf("%d bytes read as %+v", len(data), got)
		}
	})
}

func FuzzReadTransaction(f *testing.F) {
	f.Add(landed)
	f.Add(`{"meta":{"fee":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var found transactionJSON
		if json.Unmarshal([]byte(text), &found) != nil {
			return
		}
		got, err := found.read()
		if err != nil {
			return
		}
		if _, ok := got.Balances[got.Payer]; !ok {
			t.Errorf("the payer has no balance: %+v", got)
		}
	})
}
