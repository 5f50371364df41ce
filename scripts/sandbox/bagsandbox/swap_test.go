package bagsandbox

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/google/go-cmp/cmp"
)

// step is one instruction with its accounts resolved.
type step struct {
	program  string
	data     []byte
	accounts []solana.PublicKey
}

// steps resolves a transaction against the world's lookup table.
func (c client) steps(tx *solana.Transaction) []step {
	c.t.Helper()
	if tx.Message.IsVersioned() && tx.Message.GetAddressTables() == nil {
		tables := map[solana.PublicKey]solana.PublicKeySlice{c.s.layout.Table: c.s.layout.TableEntries()}
		if err := tx.Message.SetAddressTables(tables); err != nil {
			c.t.Fatal(err)
		}
	}
	keys, err := tx.Message.GetAllKeys()
	if err != nil {
		c.t.Fatal(err)
	}
	list := make([]step, 0, len(tx.Message.Instructions))
	for _, instruction := range tx.Message.Instructions {
		s := step{program: keys[instruction.ProgramIDIndex].String(), data: instruction.Data}
		for _, index := range instruction.Accounts {
			s.accounts = append(s.accounts, keys[index])
		}
		list = append(list, s)
	}
	return list
}

// outline names the instructions of a transaction.
func (c client) outline(tx *solana.Transaction) []string {
	names := map[string]string{
		"ComputeBudget111111111111111111111111111111":  "budget",
		"11111111111111111111111111111111":             "system",
		"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA":  "token",
		"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL": "associated",
		"DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH": "pool",
		"FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK": "ledger",
		"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr":  "memo",
	}
	var lines []string
	for _, s := range c.steps(tx) {
		name, known := names[s.program]
		if !known {
			name = s.program
		}
		lines = append(lines, name+" "+hex.EncodeToString(s.data[:1]))
	}
	return lines
}

func TestSwapHasTheAgreedShape(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	start := []string{"budget 02", "budget 03"}
	wrap := []string{"associated 01", "system 02", "token 11"}
	for _, test := range []struct {
		name, in, out string
		want          []string
	}{
		{"buy", w.WSOL, w.TokenMint, slices.Concat(start, wrap, []string{"associated 01", "pool f8", "token 09"})},
		{"buy token-2022", w.WSOL, w.Token2022Mint, slices.Concat(start, wrap, []string{"associated 01", "pool f8", "token 09"})},
		{"sell", w.TokenMint, w.WSOL, slices.Concat(start, []string{"associated 01", "pool f8", "token 09"})},
		{"sell token-2022", w.Token2022Mint, w.WSOL, slices.Concat(start, []string{"associated 01", "pool f8", "token 09"})},
		{"token for token", w.TokenMint, w.Token2022Mint, slices.Concat(start, []string{"associated 01", "pool f8"})},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := client{t: t, s: c.s, key: testKey}
			for _, usual := range []Behaviour{{V0, LegacyClaims, 2}, {Legacy, LegacyClaims, 2}} {
				if err := c.s.SetBehaviour(usual); err != nil {
					t.Fatal(err)
				}
				answer, tx := c.swapped(test.in, test.out, "5000000")
				if diff := cmp.Diff(test.want, c.outline(tx)); diff != "" {
					t.Errorf("%s: %s", usual.SwapVersion, diff)
				}
				if tx.Message.IsVersioned() != (usual.SwapVersion == V0) {
					t.Errorf("%s: versioned is %t", usual.SwapVersion, tx.Message.IsVersioned())
				}
				if used := tx.Message.NumLookups() > 0; used != (usual.SwapVersion == V0) {
					t.Errorf("%s: %d addresses from the lookup table", usual.SwapVersion, tx.Message.NumLookups())
				}
				checkSwapAnswer(t, answer, tx)
			}
		})
	}
}

// checkSwapAnswer holds what the answer says against the bytes.
func checkSwapAnswer(t *testing.T, answer swapReply, tx *solana.Transaction) {
	t.Helper()
	if tx.Message.Header.NumRequiredSignatures != 1 || tx.Message.AccountKeys[0] != testWallet.PublicKey() {
		t.Errorf("signers: %d, payer %s", tx.Message.Header.NumRequiredSignatures, tx.Message.AccountKeys[0])
	}
	if len(tx.Signatures) != 1 || !tx.Signatures[0].IsZero() {
		t.Errorf("signatures: %v", tx.Signatures)
	}
	if tx.Message.RecentBlockhash != memoryBlockhash || answer.LastValidBlockHeight != memoryHeight {
		t.Errorf("blockhash %s until %d", tx.Message.RecentBlockhash, answer.LastValidBlockHeight)
	}
	limit := binary.LittleEndian.Uint32(tx.Message.Instructions[0].Data[1:])
	price := binary.LittleEndian.Uint64(tx.Message.Instructions[1].Data[1:])
	if limit != answer.ComputeUnitLimit || price*uint64(limit) != answer.PrioritizationFeeLamports*1_000_000 {
		t.Errorf("limit %d, price %d, answered %d and %d", limit, price, answer.ComputeUnitLimit, answer.PrioritizationFeeLamports)
	}
}

// poolCall is the trade in a transaction.
func (c client) poolCall(tx *solana.Transaction) step {
	c.t.Helper()
	for _, s := range c.steps(tx) {
		if s.program == c.s.World().PoolProgram {
			return s
		}
	}
	c.t.Fatal("no trade in the transaction")
	return step{}
}

func TestSwapTellsThePoolWhatWasQuoted(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	quote, q := c.quoted(w.WSOL, w.TokenMint, "50000000")
	var answer swapReply
	c.decode(c.post("/trade/swap", c.swapBody(quote, w.Wallet)), &answer)
	call := c.poolCall(decodeTransaction(t, answer.SwapTransaction))
	in, least := binary.LittleEndian.Uint64(call.data[10:]), binary.LittleEndian.Uint64(call.data[18:])
	if call.data[8] != 0 || text(in) != q.InAmount || text(least) != q.MinOutAmount {
		t.Errorf("mode %d, in %d, at least %d, quoted %+v", call.data[8], in, least, q)
	}
	if len(call.accounts) != 11 || call.accounts[0] != testWallet.PublicKey() {
		t.Errorf("accounts: %v", call.accounts)
	}
}

// hostileSwap asks for a swap of 0.05 SOL for the token in a mode.
func (c client) hostileSwap(m Misbehaviour) (swapReply, *solana.Transaction) {
	c.t.Helper()
	c.misbehave(m)
	w := c.s.World()
	return c.swapped(w.WSOL, w.TokenMint, "50000000")
}

func TestHostileSwapsDifferByWhatTheModeSays(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	honest := []string{"budget 02", "budget 03", "associated 01", "system 02", "token 11", "associated 01", "pool f8", "token 09"}
	insert := func(at int, line string) []string { return slices.Insert(slices.Clone(honest), at, line) }
	thief := solana.MustPublicKeyFromBase58(w.Thief)
	for _, test := range []struct {
		mode  Mode
		want  []string
		check func(client, swapReply, *solana.Transaction) bool
	}{
		{ExtraTransfer, insert(6, "system 02"), func(c client, _ swapReply, tx *solana.Transaction) bool {
			s := c.steps(tx)[6]
			return s.accounts[1] == thief && binary.LittleEndian.Uint64(s.data[4:]) == stolenLamports
		}},
		{OtherRecipient, honest, func(c client, _ swapReply, tx *solana.Transaction) bool {
			return c.poolCall(tx).accounts[3].String() == w.ThiefAccounts[w.TokenMint] && c.steps(tx)[5].accounts[2] == thief
		}},
		{CloseToThief, honest, func(c client, _ swapReply, tx *solana.Transaction) bool { return c.steps(tx)[7].accounts[1] == thief }},
		{WrongMint, honest, func(c client, _ swapReply, tx *solana.Transaction) bool {
			return c.poolCall(tx).accounts[7].String() == w.Token2022Mint
		}},
		{MoreIn, honest, func(c client, _ swapReply, tx *solana.Transaction) bool {
			return binary.LittleEndian.Uint64(c.poolCall(tx).data[10:]) == 100_000_000 && binary.LittleEndian.Uint64(c.steps(tx)[3].data[4:]) == 100_000_000
		}},
		{LowMinimum, honest, func(c client, _ swapReply, tx *solana.Transaction) bool {
			return binary.LittleEndian.Uint64(c.poolCall(tx).data[18:]) == 1
		}},
		{UnknownProgram, insert(6, w.UnknownProgram+" 00"), func(c client, _ swapReply, tx *solana.Transaction) bool {
			return c.steps(tx)[6].accounts[0] == testWallet.PublicKey()
		}},
		{NonceFirst, insert(0, "system 04"), func(c client, _ swapReply, tx *solana.Transaction) bool {
			return tx.Message.RecentBlockhash == c.s.layout.NonceValue && c.steps(tx)[0].accounts[0].String() == w.Nonce
		}},
		{BigPriorityFee, honest, func(_ client, answer swapReply, tx *solana.Transaction) bool {
			price := binary.LittleEndian.Uint64(tx.Message.Instructions[1].Data[1:])
			return price*swapUnits == greedyPriorityFee*1_000_000 && answer.PrioritizationFeeLamports == swapPriorityFee
		}},
		{OtherWallet, honest, func(_ client, _ swapReply, tx *solana.Transaction) bool { return tx.Message.AccountKeys[0] == thief }},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			c := client{t: t, s: c.s, key: testKey}
			answer, tx := c.hostileSwap(Misbehaviour{Mode: test.mode})
			if diff := cmp.Diff(test.want, c.outline(tx)); diff != "" {
				t.Error(diff)
			}
			if !test.check(c, answer, tx) {
				t.Errorf("the transaction is not what the mode says: %v", c.steps(tx))
			}
		})
	}
}

func TestPoolModesReachThePool(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	for mode, pool := range poolModes {
		t.Run(string(mode), func(t *testing.T) {
			c := client{t: t, s: c.s, key: testKey}
			_, tx := c.hostileSwap(Misbehaviour{Mode: mode, Param: 777})
			call := c.poolCall(tx)
			if call.data[8] != pool.number || binary.LittleEndian.Uint64(call.data[26:]) != 777 {
				t.Errorf("data is %x", call.data)
			}
			lent := []string{w.Thief, w.ThiefAccounts[w.TokenMint], w.ThiefAccounts[w.WSOL]}
			if mode == BaitAndSwitch {
				lent[0] = w.Trigger
			}
			if diff := cmp.Diff(lent, texts(call.accounts[11:])); diff != "" {
				t.Error(diff)
			}
			if len(call.accounts) != 14 {
				t.Errorf("accounts: %v", call.accounts)
			}
		})
	}
}

func texts(keys []solana.PublicKey) []string {
	var list []string
	for _, k := range keys {
		list = append(list, k.String())
	}
	return list
}

func TestHostileQuotesDifferByWhatTheModeSays(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	_, honest := c.quoted(w.WSOL, w.TokenMint, "50000000")
	for _, test := range []struct {
		m      Misbehaviour
		change func(*quoteAnswer)
	}{
		{Misbehaviour{Mode: StaleQuote}, func(q *quoteAnswer) { q.OutAmount, q.MinOutAmount = "599700149", "593703147" }},
		{Misbehaviour{Mode: SlippageIgnored}, func(q *quoteAnswer) { q.SlippageBps, q.MinOutAmount = 5000, "249875062" }},
		{Misbehaviour{Mode: QuoteWrongMint}, func(q *quoteAnswer) { q.OutputMint = w.Token2022Mint }},
		{Misbehaviour{Mode: QuoteMoreIn}, func(q *quoteAnswer) { q.InAmount = "100000000" }},
		{Misbehaviour{Mode: QuoteIncomplete}, func(q *quoteAnswer) { q.MinOutAmount = "" }},
		{Misbehaviour{Mode: MinimumMismatch}, func(*quoteAnswer) {}},
	} {
		t.Run(string(test.m.Mode), func(t *testing.T) {
			c := client{t: t, s: c.s, key: testKey}
			c.misbehave(test.m)
			_, got := c.quoted(w.WSOL, w.TokenMint, "50000000")
			want := honest
			test.change(&want)
			want.RequestID, want.OtherAmountThreshold = got.RequestID, want.MinOutAmount
			switch test.m.Mode {
			case QuoteIncomplete:
				want.OtherAmountThreshold = honest.OtherAmountThreshold
			case MinimumMismatch:
				want.OtherAmountThreshold = "247376311"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuoteNumbersAreNumbers(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	c.misbehave(Misbehaviour{Mode: QuoteNumbers})
	r := c.get(quotePath(w.WSOL, w.TokenMint, "50000000"))
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.Response, &fields); err != nil {
		t.Fatal(err)
	}
	if string(fields["inAmount"]) != "50000000" || string(fields["outAmount"]) != "499750124" {
		t.Errorf("quote is %s", r.Response)
	}
}

func TestStaleQuoteIsBuiltFromThePool(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	c.misbehave(Misbehaviour{Mode: StaleQuote})
	_, tx := c.swapped(w.WSOL, w.TokenMint, "50000000")
	if least := binary.LittleEndian.Uint64(c.poolCall(tx).data[18:]); least != 494_752_622 {
		t.Errorf("the pool is asked for %d", least)
	}
}

func TestPriceMoveIsSeenByTheNextQuote(t *testing.T) {
	c := startOnMemory(t)
	w := c.s.World()
	c.misbehave(Misbehaviour{Mode: PriceMove, Param: 1_000})
	_, before := c.quoted(w.WSOL, w.TokenMint, "50000000")
	_, after := c.quoted(w.WSOL, w.TokenMint, "50000000")
	// 10 % of the tokens are gone and the SOL has grown by a ninth: 0.81 of the price.
	if before.OutAmount != "499750124" || after.OutAmount != "404817831" {
		t.Errorf("quoted %s, then %s", before.OutAmount, after.OutAmount)
	}
}

func TestModesWaitForAValidRequest(t *testing.T) {
	c := startOnMemory(t)
	c.misbehave(Misbehaviour{Mode: Skim})
	checkRefused(t, c.post("/trade/swap", `{}`), http.StatusBadRequest, "is required")
	checkRefused(t, c.post("/trade/swap", `{"quoteResponse":{"requestId":"x"},"userPublicKey":"x"}`), http.StatusBadRequest, "")
	w := c.s.World()
	_, tx := c.swapped(w.WSOL, w.TokenMint, "50000000")
	if call := c.poolCall(tx); call.data[8] != poolModes[Skim].number {
		t.Errorf("the mode was used up by a refused request: %s", strings.Join(c.outline(tx), ", "))
	}
}
