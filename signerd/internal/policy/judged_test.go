package policy

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// fundedNode answers as a node on which every blockhash is valid, the wallet
// is funded and no other account exists.
func fundedNode(t *testing.T, wallet solana.PublicKey) *chain.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage   `json:"id"`
			Method string            `json:"method"`
			Params []json.RawMessage `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var value any
		switch call.Method {
		case "isBlockhashValid":
			value = true
		case "getMultipleAccounts":
			value = accountsOf(t, wallet, call.Params[0])
		default:
			http.Error(w, "no such method: "+call.Method, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": map[string]any{
			"context": map[string]any{"slot": 1}, "value": value,
		}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := chain.New([]string{server.URL}, chain.Options{Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func accountsOf(t *testing.T, wallet solana.PublicKey, param json.RawMessage) []any {
	var keys []solana.PublicKey
	if err := json.Unmarshal(param, &keys); err != nil {
		t.Error(err)
	}
	accounts := make([]any, len(keys))
	for i, key := range keys {
		if key == wallet {
			accounts[i] = map[string]any{
				"lamports": 10 * sol, "owner": solana.SystemProgram, "executable": false, "data": []string{"", "base64"},
			}
		}
	}
	return accounts
}

func privateKey(fill byte) (solana.PublicKey, ed25519.PrivateKey) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = fill
	}
	private := ed25519.NewKeyFromSeed(seed)
	return solana.PublicKey(private.Public().(ed25519.PublicKey)), private
}

func transferOf(lamports uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports)
}

// judged has the real judge look at a message. Simulation is left out, as for
// a later transaction of a batch.
func judged(t *testing.T, wallet solana.PublicKey, flow effects.Flow, bounds effects.Bounds, tx solana.Transaction, known effects.Known) judge.Judged {
	t.Helper()
	j, err := judge.New(fundedNode(t, wallet), wallet).Judge(t.Context(), tx.Marshal(), judge.Request{Flow: flow, Bounds: bounds, Later: true, Known: known})
	if err != nil {
		t.Fatalf("judge %s: %v", base64.StdEncoding.EncodeToString(tx.Marshal()), err)
	}
	return j
}

// The rules read what the judge found: payees, fees, tip and charge of a
// transfer of 0.01 SOL with a tip of 1,000 and a priority fee of 200 lamports.
func TestEvaluateReadsAJudgedTransfer(t *testing.T) {
	wallet, _ := privateKey(1)
	payee, _ := privateKey(9)
	tipped := solana.MustPublicKey("96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5")
	tx := solana.Transaction{Signatures: make([]solana.Signature, 1), Message: solana.Message{
		RequiredSignatures: 1, ReadonlyUnsigned: 2, Blockhash: solana.Hash{7},
		Keys: []solana.PublicKey{wallet, payee, tipped, solana.SystemProgram, solana.ComputeBudgetProgram},
		Instructions: []solana.Instruction{
			{Program: 4, Data: binary.LittleEndian.AppendUint32([]byte{2}, 20_000)},
			{Program: 4, Data: binary.LittleEndian.AppendUint64([]byte{3}, 10_000)},
			{Program: 3, Accounts: []uint8{0, 1}, Data: transferOf(sol / 100)},
			{Program: 3, Accounts: []uint8{0, 2}, Data: transferOf(1000)},
		},
	}}
	look := func(known effects.Known) judge.Judged {
		return judged(t, wallet, effects.Transfer, effects.Bounds{
			MaxOut: charge(amount.SOL, sol/100), MaxFee: sol / 100, Recipients: []solana.PublicKey{payee},
		}, tx, known)
	}
	const all = "0.010006200 SOL" // amount, base fee of 5,000, priority fee, tip
	tests := []struct {
		name  string
		edits []string
		want  verdict
	}{
		{"a stranger", nil, verdict{Human, []string{"recipients.new"}, fault.PersonRequired}},
		{"a friend", []string{"allow = [", `allow = ["` + payee.String() + `",`}, verdict{Confirm, []string{"tiers.default"}, ""}},
		{"an enemy", []string{"deny = [", `deny = ["` + payee.String() + `",`}, verdict{Deny, []string{"recipients.deny"}, fault.PolicyDenied}},
		{"priority fee at the ceiling", []string{`"0.005 SOL"`, `"0.0000002 SOL"`}, verdict{Human, []string{"recipients.new"}, fault.PersonRequired}},
		{"priority fee over it", []string{`"0.005 SOL"`, `"0.000000199 SOL"`}, verdict{Deny, []string{"fees.max_priority_fee"}, fault.CapExceeded}},
		{"tip over the ceiling", []string{`"0.001 SOL"`, `"0.000000999 SOL"`}, verdict{Deny, []string{"fees.max_tip"}, fault.CapExceeded}},
		{"all of it at the cap", []string{`"0.1 SOL"`, `"` + all + `"`}, verdict{Human, []string{"recipients.new"}, fault.PersonRequired}},
		{"all of it over the cap", []string{`"0.1 SOL"`, `"0.010006199 SOL"`}, verdict{Deny, []string{"caps.per_transaction"}, fault.CapExceeded}},
		{"a payment over the cap of its recipient", []string{"[fees]", "per_destination = \"0.009999999 SOL\"\n[fees]"},
			verdict{Deny, []string{"caps.per_destination"}, fault.CapExceeded}},
		{"a thousandth of the wallet", []string{"#tiers", `human_above_share = "0.1%"`},
			verdict{Human, []string{"recipients.new", "tiers.human_above_share"}, fault.PersonRequired}},
		{"less than the share", []string{"#tiers", `human_above_share = "0.11%"`}, verdict{Human, []string{"recipients.new"}, fault.PersonRequired}},
		{"all of it over the day", []string{`"2 SOL"`, `"0.010006199 SOL"`}, verdict{Deny, []string{"caps.per_day"}, fault.CapExceeded}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules := ownerWith(t, test.edits...)
			d := rules.Evaluate(effects.Transfer, []judge.Judged{look(rules.Known())}, Circumstances{})
			if diff := cmp.Diff(test.want, verdictOf(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
	whole := ownerWith(t, `"1 SOL"`, `"0.02 SOL"`, "allow = [", `allow = ["`+payee.String()+`",`)
	j := look(whole.Known())
	if d := whole.Evaluate(effects.Transfer, []judge.Judged{j, j}, Circumstances{}); d.Tier() != Deny || d.Rules()[0] != "caps.per_session" {
		t.Errorf("two of them under a session cap for one: %s (%v)", d.Tier(), d.Rules())
	}
	// Somebody in the address book is no stranger, although no list has them.
	book := look(effects.Known{Recipients: []effects.Recipient{{Name: "bob", Address: payee}}})
	if d := ownerWith(t).Evaluate(effects.Transfer, []judge.Judged{book}, Circumstances{}); d.Tier() != Confirm {
		t.Errorf("a payment to somebody in the address book: %s (%v)", d.Tier(), d.Rules())
	}
}

// A claim that a sponsor pays and has signed cannot be guarded. The rules see
// its class and its program.
func TestEvaluateReadsAJudgedUnguardedClaim(t *testing.T) {
	wallet, _ := privateKey(1)
	sponsor, private := privateKey(2)
	tx := solana.Transaction{Signatures: make([]solana.Signature, 2), Message: solana.Message{
		RequiredSignatures: 2, ReadonlyUnsigned: 1, Blockhash: solana.Hash{7},
		Keys: []solana.PublicKey{sponsor, wallet, solana.FeeShareV2Program},
		Instructions: []solana.Instruction{
			{Program: 2, Accounts: []uint8{0, 1}, Data: []byte{0xa4, 0x40, 0x37, 0xc7, 0x5a, 0x4e, 0x93, 0xbc, 0, 0, 0, 0}},
		},
	}}
	tx.Signatures[0] = solana.Signature(ed25519.Sign(private, tx.Message.Marshal()))
	j := judged(t, wallet, effects.Claim, effects.Bounds{Programs: []solana.PublicKey{solana.FeeShareV2Program}}, tx, effects.Known{})
	for _, test := range []struct {
		name  string
		edits []string
		want  verdict
	}{
		{"a person", nil, verdict{Human, []string{"tiers.unguarded"}, fault.PersonRequired}},
		{"allowed", []string{"#tiers", `unguarded = "confirm"`}, verdict{Confirm, []string{"tiers.unguarded", "tiers.default"}, ""}},
		{"another program only", []string{solana.FeeShareV2Program.String(), solana.FeeShareV1Program.String()},
			verdict{Deny, []string{"programs"}, fault.PolicyDenied}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := ownerWith(t, test.edits...).Evaluate(effects.Claim, []judge.Judged{j}, Circumstances{})
			if diff := cmp.Diff(test.want, verdictOf(d)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}
