package chain_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

// node answers each method with the text of a result, and counts.
type node struct {
	*httptest.Server
	calls atomic.Int64
}

func startNode(t *testing.T, results map[string]string) *node {
	t.Helper()
	n := &node{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.calls.Add(1)
		var request struct {
			ID     uint64
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Errorf("request: %v", err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":%s}`, request.ID, results[request.Method])
	}))
	t.Cleanup(n.Close)
	return n
}

func broken(t *testing.T, status int) *node {
	t.Helper()
	n := &node{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.calls.Add(1)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	}))
	t.Cleanup(n.Close)
	return n
}

func clientOf(t *testing.T, nodes ...*node) *chain.Client {
	t.Helper()
	return clientNeeding(t, 0, nodes...)
}

func clientNeeding(t *testing.T, mustAnswer int, nodes ...*node) *chain.Client {
	t.Helper()
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.URL)
	}
	client, err := chain.New(addresses, chain.Options{Timeout: time.Second, MustAnswer: mustAnswer})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func accountJSON(account chain.Account) string {
	return fmt.Sprintf(`{"lamports":%d,"owner":%q,"executable":false,"rentEpoch":18446744073709551615,"data":[%q,"base64"]}`,
		account.Lamports, account.Owner, base64.StdEncoding.EncodeToString(account.Data))
}

func atSlot(slot int, value string) string {
	return fmt.Sprintf(`{"context":{"slot":%d},"value":%s}`, slot, value)
}

func TestReadsRefuseOtherShapes(t *testing.T) {
	token := chaintest.Token(key, solana.TokenProgram, mint, wallet, 5)
	for name, result := range map[string]string{
		"null":            `null`,
		"no context":      `{"value":[` + accountJSON(token) + `]}`,
		"no value":        `{"context":{"slot":1}}`,
		"too few":         atSlot(1, `[]`),
		"too many":        atSlot(1, `[null,null]`),
		"bare text":       atSlot(1, `[{"lamports":1,"owner":"11111111111111111111111111111111","executable":false,"data":"AA=="}]`),
		"other encoding":  atSlot(1, `[{"lamports":1,"owner":"11111111111111111111111111111111","executable":false,"data":["","base58"]}]`),
		"negative":        atSlot(1, `[{"lamports":-1,"owner":"11111111111111111111111111111111","executable":false,"data":["","base64"]}]`),
		"fraction":        atSlot(1, `[{"lamports":1.5,"owner":"11111111111111111111111111111111","executable":false,"data":["","base64"]}]`),
		"over u64":        atSlot(1, `[{"lamports":18446744073709551616,"owner":"11111111111111111111111111111111","executable":false,"data":["","base64"]}]`),
		"no owner":        atSlot(1, `[{"lamports":1,"executable":false,"data":["","base64"]}]`),
		"odd owner":       atSlot(1, `[{"lamports":1,"owner":"1111","executable":false,"data":["","base64"]}]`),
		"broken base64":   atSlot(1, `[{"lamports":1,"owner":"11111111111111111111111111111111","executable":false,"data":["A","base64"]}]`),
		"no executable":   atSlot(1, `[{"lamports":1,"owner":"11111111111111111111111111111111","data":["","base64"]}]`),
		"list of objects": `[{}]`,
	} {
		client := clientOf(t, startNode(t, map[string]string{"getMultipleAccounts": result}))
		if got, err := client.Accounts(t.Context(), []solana.PublicKey{key}); !fault.Is(err, fault.RPCBadAnswer) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	client := clientOf(t, startNode(t, map[string]string{"getMultipleAccounts": atSlot(1, `[`+accountJSON(token)+`,null]`)}))
	got, err := client.Accounts(t.Context(), []solana.PublicKey{key, mint})
	if err != nil || len(got) != 1 || got[key].Lamports != chaintest.Rent {
		t.Errorf("a good answer: %+v, %v", got, err)
	}
}

func TestNumbersRefuseNothing(t *testing.T) {
	client := clientOf(t, startNode(t, map[string]string{
		"getBalance": atSlot(1, "null"), "getMinimumBalanceForRentExemption": "null", "isBlockhashValid": atSlot(1, "null"), "getBlockHeight": "null",
	}))
	ctx := t.Context()
	_, balance := client.HighestBalance(ctx, key)
	_, rent := client.RentExempt(ctx, 165)
	_, valid := client.BlockhashValid(ctx, solana.Hash{1})
	_, height := client.BlockHeight(ctx, "confirmed")
	for name, err := range map[string]error{"balance": balance, "rent": rent, "blockhash": valid, "height": height} {
		if !fault.Is(err, fault.RPCBadAnswer) {
			t.Errorf("%s of null: %v", name, err)
		}
	}
}

// TestReadsNeedEnoughNodes: what money rests on is not believed of fewer nodes
// than must answer, all by default.
func TestReadsNeedEnoughNodes(t *testing.T) {
	height := func() *node { return startNode(t, map[string]string{"getBlockHeight": "42"}) }
	odd := startNode(t, map[string]string{"getBlockHeight": `"42"`})
	for name, test := range map[string]struct {
		must  int
		nodes []*node
		reads bool
	}{
		"one":                      {0, []*node{height()}, true},
		"all of three":             {0, []*node{height(), height(), height()}, true},
		"all, and one is down":     {0, []*node{height(), broken(t, 503), height()}, false},
		"all, and one is odd":      {0, []*node{height(), odd}, false},
		"two, and one is down":     {2, []*node{broken(t, 503), height(), height()}, true},
		"two, and two are down":    {2, []*node{broken(t, 503), height(), odd}, false},
		"one, and both others odd": {1, []*node{odd, odd, height()}, true},
	} {
		got, err := clientNeeding(t, test.must, test.nodes...).BlockHeight(t.Context(), "confirmed")
		if reads := err == nil && got == 42; reads != test.reads || err != nil && !fault.Is(err, fault.RPCUnavailable) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	limited := clientOf(t, broken(t, http.StatusTooManyRequests))
	_, err := limited.BlockHeight(t.Context(), "confirmed")
	if !fault.Is(err, fault.RPCUnavailable) || fault.From(err).RetryAfter != 7*time.Second {
		t.Errorf("429: %v, retry after %s", err, fault.From(err).RetryAfter)
	}
	for _, must := range []int{-1, 2} {
		if _, err := chain.New([]string{"http://127.0.0.1:1"}, chain.Options{MustAnswer: must}); err == nil {
			t.Errorf("%d of one node must answer", must)
		}
	}
}

// TestFaultsHideAddresses: an address may carry an API key.
func TestFaultsHideAddresses(t *testing.T) {
	client, err := chain.New([]string{"http://127.0.0.1:1/?api-key=stub_canary"}, chain.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.BlockHeight(t.Context(), "confirmed")
	if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("fault: %v", err)
	}
}

func TestHighestBalanceAsksEveryNode(t *testing.T) {
	low := startNode(t, map[string]string{"getBalance": atSlot(1, "5")})
	high := startNode(t, map[string]string{"getBalance": atSlot(1, "9")})
	for _, client := range []*chain.Client{clientOf(t, low, high), clientOf(t, high, low), clientNeeding(t, 1, broken(t, 500), high)} {
		if got, err := client.HighestBalance(t.Context(), key); err != nil || got != 9 {
			t.Errorf("highest %d, %v, want 9", got, err)
		}
	}
}

// TestBlockHeightIsTheHighest: a node that lags would make transactions expire
// that can still land, and one that is far ahead would make them never expire.
func TestBlockHeightIsTheHighest(t *testing.T) {
	at := func(height string) *node {
		return startNode(t, map[string]string{"getBlockHeight": height, "isBlockhashValid": atSlot(1, "true")})
	}
	for _, nodes := range [][]*node{{at("100"), at("170")}, {at("170"), at("100")}, {at("170")}} {
		if got, err := clientOf(t, nodes...).BlockHeight(t.Context(), "confirmed"); err != nil || got != 170 {
			t.Errorf("height %d, %v, want 170", got, err)
		}
	}
	for _, height := range []string{"251", "18446744073709551615", "8796093022209"} {
		for _, nodes := range [][]*node{{at("100"), at(height)}, {at(height), at("100")}} {
			if got, err := clientOf(t, nodes...).LastValidHeight(t.Context(), solana.Hash{1}); err == nil {
				t.Errorf("one node says %s, another 100: %d is believed", height, got)
			}
		}
	}
	if got, err := clientOf(t, at("18446744073709551615")).LastValidHeight(t.Context(), solana.Hash{1}); !fault.Is(err, fault.RPCBadAnswer) {
		t.Errorf("no chain is that high: %d, %v", got, err)
	}
	if got, err := clientOf(t, at("100")).LastValidHeight(t.Context(), solana.Hash{1}); err != nil || got != 250 {
		t.Errorf("last valid height %d, %v, want 250", got, err)
	}
}

// TestLastValidHeightNeedsTheBlockhash: a node that is behind the blockhash would
// count from too low, so the height is believed of those alone that know it.
func TestLastValidHeightNeedsTheBlockhash(t *testing.T) {
	knows := startNode(t, map[string]string{"getBlockHeight": "175", "isBlockhashValid": atSlot(1, "true")})
	behind := startNode(t, map[string]string{"getBlockHeight": "100", "isBlockhashValid": atSlot(1, "false")})
	mute := startNode(t, map[string]string{"getBlockHeight": "100"})
	if got, err := clientNeeding(t, 1, mute, knows).LastValidHeight(t.Context(), solana.Hash{1}); err != nil || got != 325 {
		t.Errorf("%d, %v, want 325", got, err)
	}
	if got, err := clientNeeding(t, 2, mute, knows, mute).LastValidHeight(t.Context(), solana.Hash{1}); !fault.Is(err, fault.RPCUnavailable) {
		t.Errorf("one of three knows the blockhash: %d, %v", got, err)
	}
	if got, err := clientOf(t, knows, behind).LastValidHeight(t.Context(), solana.Hash{1}); !fault.Is(err, fault.BlockhashExpired) {
		t.Errorf("one of two does not know the blockhash: %d, %v", got, err)
	}
}

// TestBlockhashValidForAll: one node that does not know it is enough.
func TestBlockhashValidForAll(t *testing.T) {
	says := func(verdict string) *node {
		return startNode(t, map[string]string{"isBlockhashValid": atSlot(1, verdict)})
	}
	for _, test := range []struct {
		nodes []*node
		want  bool
	}{{[]*node{says("true"), says("true")}, true}, {[]*node{says("true"), says("false")}, false}, {[]*node{says("false"), says("true")}, false}} {
		if got, err := clientOf(t, test.nodes...).BlockhashValid(t.Context(), solana.Hash{1}); err != nil || got != test.want {
			t.Errorf("valid %v, %v, want %v", got, err, test.want)
		}
	}
}

func TestHighestTokensAsksEveryNode(t *testing.T) {
	show := func(units uint64, owner solana.PublicKey) *node {
		account := chaintest.Token(key, solana.TokenProgram, mint, owner, 0)
		account.Data[64] = byte(units)
		return startNode(t, map[string]string{"getMultipleAccounts": atSlot(1, `[`+accountJSON(account)+`]`)})
	}
	hides := startNode(t, map[string]string{"getMultipleAccounts": atSlot(1, `[null]`)})
	got, err := clientOf(t, show(3, wallet), hides, show(8, wallet), show(99, thief)).HighestTokens(t.Context(), wallet, []solana.PublicKey{key})
	if err != nil || got[key] != 8 {
		t.Errorf("highest %v, %v, want 8", got, err)
	}
}

func TestCheckGenesisPinsEveryNode(t *testing.T) {
	want := solana.Hash{5}
	ours := startNode(t, map[string]string{"getGenesisHash": fmt.Sprintf("%q", want), "getBlockHeight": "1"})
	theirs := startNode(t, map[string]string{"getGenesisHash": fmt.Sprintf("%q", solana.Hash{6}), "getBlockHeight": "2"})
	if err := clientOf(t, ours, theirs).CheckGenesis(t.Context(), want); !fault.Is(err, fault.NetworkMismatch) {
		t.Errorf("a node of another network: %v", err)
	}
	silent := broken(t, 500)
	if err := clientOf(t, silent, ours).CheckGenesis(t.Context(), want); !fault.Is(err, fault.RPCUnavailable) {
		t.Errorf("both must answer, and one does not: %v", err)
	}
	client := clientNeeding(t, 1, silent, ours)
	if err := client.CheckGenesis(t.Context(), want); err != nil {
		t.Fatalf("one must answer, and does: %v", err)
	}
	before := silent.calls.Load()
	if height, err := client.BlockHeight(t.Context(), "confirmed"); err != nil || height != 1 {
		t.Errorf("height %d, %v", height, err)
	}
	if silent.calls.Load() != before {
		t.Error("a node whose network is unknown was asked")
	}
	if err := clientOf(t, silent).CheckGenesis(t.Context(), want); !fault.Is(err, fault.RPCUnavailable) {
		t.Errorf("no node answers: %v", err)
	}
}

func TestTablesFailClosed(t *testing.T) {
	table, first, second := solana.PublicKey{50}, solana.PublicKey{51}, solana.PublicKey{52}
	lookups := []solana.Lookup{{Table: table, Readonly: []uint8{0}}}
	good := chaintest.Table(table, 5, 0, first, second)
	change := func(edit func(*chain.Account)) chain.Account {
		account := good
		account.Data = slices.Clone(good.Data)
		edit(&account)
		return account
	}
	serve := func(slot int, account chain.Account) *node {
		return startNode(t, map[string]string{"getMultipleAccounts": atSlot(slot, `[`+accountJSON(account)+`]`)})
	}
	for name, account := range map[string]chain.Account{
		"another program": change(func(a *chain.Account) { a.Owner = thief }),
		"not a table":     change(func(a *chain.Account) { a.Data[0] = 2 }),
		"being closed":    change(func(a *chain.Account) { a.Data[4] = 0 }),
		"odd length":      change(func(a *chain.Account) { a.Data = a.Data[:len(a.Data)-1] }),
		"only a header":   change(func(a *chain.Account) { a.Data = a.Data[:40] }),
	} {
		if got, err := clientOf(t, serve(10, account)).Tables(t.Context(), lookups); !fault.Is(err, fault.TransactionMalformed) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	missing := startNode(t, map[string]string{"getMultipleAccounts": atSlot(1, `[null]`)})
	if _, err := clientOf(t, missing).Tables(t.Context(), lookups); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("no table: %v", err)
	}
	if got, err := clientOf(t, serve(10, good)).Tables(t.Context(), lookups); err != nil || len(got[table]) != 2 {
		t.Errorf("a good table: %v, %v", got, err)
	}
	unsettled := chaintest.Table(table, 10, 1, first, second)
	if got, err := clientOf(t, serve(10, unsettled)).Tables(t.Context(), lookups); err != nil || len(got[table]) != 1 {
		t.Errorf("extended in this slot: %v, %v, want one settled address", got, err)
	}
	lie := chaintest.Table(table, 5, 0, thief, second)
	if _, err := clientOf(t, serve(10, good), serve(10, lie)).Tables(t.Context(), lookups); !fault.Is(err, fault.RPCBadAnswer) {
		t.Errorf("two nodes disagree: %v", err)
	}
	behind := chaintest.Table(table, 4, 0, first)
	if got, err := clientOf(t, serve(10, good), serve(9, behind)).Tables(t.Context(), lookups); err != nil || len(got[table]) != 1 {
		t.Errorf("one node is behind: %v, %v, want what both show", got, err)
	}
}

func transfer(t *testing.T) decode.Tx {
	t.Helper()
	payer := solana.PublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	return decodetest.MustDecode(t, decodetest.Legacy(payer, solana.Hash{1}, decodetest.Transfer(payer, thief, 1)).Marshal(), payer, nil)
}

func TestSimulateWordsFailures(t *testing.T) {
	tx := transfer(t)
	for name, test := range map[string]struct {
		value string
		want  fault.Code
		words string
	}{
		"landed":                     {`{"err":"AlreadyProcessed","logs":[],"accounts":null}`, fault.AlreadyLanded, "on chain already"},
		"too old":                    {`{"err":"BlockhashNotFound","logs":null,"accounts":null}`, fault.BlockhashExpired, "blockhash"},
		"empty wallet":               {`{"err":"AccountNotFound","logs":[]}`, fault.InsufficientFunds, "empty"},
		"not enough":                 {`{"err":{"InstructionError":[0,{"Custom":1}]},"logs":["Program 11111111111111111111111111111111 failed: custom program error: 0x1"]}`, fault.InsufficientFunds, "not enough SOL"},
		"slippage":                   {`{"err":{"InstructionError":[0,{"Custom":15001}]},"logs":["Program DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH failed: custom program error: 0x3a99"]}`, fault.PriceMoved, "slippage"},
		"nothing to claim":           {`{"err":{"InstructionError":[0,{"Custom":6010}]},"logs":["Program FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK failed: custom program error: 0x177a"]}`, fault.NothingToClaim, "nothing to claim"},
		"same number, other program": {`{"err":{"InstructionError":[0,{"Custom":15001}]},"logs":["Program JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4 failed: custom program error: 0x3a99"]}`, fault.SimulationFailed, "15001"},
		"no accounts":                {`{"err":null,"logs":[]}`, fault.RPCBadAnswer, ""},
		"too few accounts":           {`{"err":null,"accounts":[null]}`, fault.RPCBadAnswer, ""},
		"no simulation":              {`null`, fault.RPCBadAnswer, ""},
	} {
		client := clientOf(t, startNode(t, map[string]string{"simulateTransaction": atSlot(3, test.value)}))
		_, err := client.Simulate(t.Context(), tx, tx.Writable())
		if !fault.Is(err, test.want) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %s with %q", name, err, test.want, test.words)
		}
	}
	good := `{"err":null,"logs":[],"unitsConsumed":150,"accounts":[` + accountJSON(chain.Account{Lamports: 9}) + `,null],"innerInstructions":[{"index":0,"instructions":[` +
		`{"programId":"` + thief.String() + `","accounts":[],"data":""},{"programId":"` + thief.String() + `","accounts":[],"data":"2"}]}]}`
	client := clientOf(t, startNode(t, map[string]string{"simulateTransaction": atSlot(3, good)}))
	got, err := client.Simulate(t.Context(), tx, tx.Writable())
	if err != nil || len(got.After) != 1 || got.Units != 150 || got.Slot != 3 || len(got.Inner) != 2 || !slices.Equal(got.Called, []solana.PublicKey{thief}) {
		t.Errorf("a good simulation: %+v, %v", got, err)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add(atSlot(1, `[`+accountJSON(chaintest.Token(key, solana.TokenProgram, mint, wallet, 5))+`]`))
	f.Add(atSlot(1, `{"err":null,"accounts":[null,null],"innerInstructions":null}`))
	f.Add(`{"context":{"slot":1},"value":5}`)
	f.Fuzz(func(t *testing.T, result string) {
		if !json.Valid([]byte(result)) {
			return
		}
		client := clientOf(t, startNode(t, map[string]string{
			"getMultipleAccounts": result, "simulateTransaction": result, "getBalance": result, "getGenesisHash": result,
		}))
		ctx := t.Context()
		tx := transfer(t)
		_, accounts := client.Accounts(ctx, []solana.PublicKey{key})
		_, balance := client.HighestBalance(ctx, key)
		_, simulated := client.Simulate(ctx, tx, tx.Writable())
		for _, err := range []error{accounts, balance, simulated, client.CheckGenesis(ctx, solana.Hash{1})} {
			if err != nil && fault.From(err).Code == fault.Internal {
				t.Fatalf("not a fault for users: %v", err)
			}
		}
	})
}
