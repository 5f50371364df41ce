package hostile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
	"countersign/signerd/internal/judge"
)

// judgedCase is a transaction, and what it is supposed to be.
type judgedCase struct {
	name    string
	prepare func(*scene)
	build   func(*scene) []byte
	request judge.Request
}

// of2022 is a token with a fee, a hook authority and a permanent delegate.
var of2022 = newToken("peculiar", solana.Token2022Program, []chaintest.Extension{
	{Kind: 1, Value: feeConfig()}, {Kind: 12, Value: append([]byte{}, thief[:]...)},
}, []chaintest.Extension{{Kind: 2, Value: make([]byte, 8)}})

func feeConfig() []byte {
	value := make([]byte, 108)
	for _, at := range []int{72, 90} {
		value[at+8+7-7] = 0
		copy(value[at+8:], []byte{0, 0, 0, 0, 1, 0, 0, 0}) // the most
		value[at+16] = 100                                 // 1 %
	}
	return value
}

func swapOf(a attack) judge.Request {
	return judge.Request{Flow: effects.Swap, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: price},
		MinIn:  map[solana.PublicKey]amount.Units{a.token.mint: bought},
		MaxFee: 2 * fee, MaxRent: 3_000_000, Programs: []solana.PublicKey{scriptable},
	}}
}

func cases() []judgedCase {
	named := effects.Known{Mints: []effects.NamedMint{{Name: "USDC", Mint: place("the real one")}}}
	var list []judgedCase
	add := func(name string, r judge.Request, prepare func(*scene), build func(*scene) []byte) {
		r.Known = named
		list = append(list, judgedCase{name, prepare, build, r})
	}
	lowered := func(s *scene) { s.lower() }
	list = append(list, judgedCase{"honest trade", lowered, func(s *scene) []byte { return s.build(honestTrade) }, swapOf(honestTrade)})
	second := fill([]attack{{name: "with wSOL and second", further: []decodetest.Meta{decodetest.W(wrapped)}, harm: func(*script) {}}})[0]
	add("trade beside open wSOL", swapOf(second), func(s *scene) {
		account := chaintest.Token(wrapped, solana.TokenProgram, solana.WrappedSOL, wallet, startWrapped, chaintest.Delegate(thief, 5))
		account.Lamports += 777
		s.put(account)
		s.lower()
	}, func(s *scene) []byte { return s.build(second) })
	add("trade that closes", swapOf(honestTrade), func(s *scene) {
		empty := chaintest.Token(plain.second, plain.program, plain.mint, wallet, 0)
		empty.Lamports += 5000
		s.put(empty)
		s.lower()
	}, func(s *scene) []byte {
		return decodetest.Legacy(wallet, s.blockhash(), honestTrade.script().call(),
			decodetest.Close(plain.program, plain.second, wallet, wallet), decodetest.Close(solana.TokenProgram, wrapped, wallet, wallet)).Marshal()
	})
	opens := fill([]attack{{name: "opens", harm: func(*script) {}}})[0]
	add("trade that opens", swapOf(opens), func(s *scene) {
		s.put(chain.Account{Key: plain.ofWallet, Owner: solana.SystemProgram})
		s.lower()
	}, func(s *scene) []byte {
		return decodetest.Legacy(wallet, s.blockhash(), decodetest.CreateIdempotent(wallet, wallet, plain.mint, plain.program), opens.script().call()).Marshal()
	})
	add("pays SOL", judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: 900}, MaxFee: fee, Recipients: []solana.PublicKey{thief},
	}}, lowered, func(s *scene) []byte {
		return decodetest.Legacy(wallet, s.blockhash(), decodetest.Transfer(wallet, thief, 900)).Marshal()
	})
	for _, token := range []token{plain, of2022} {
		stranger := place("stranger of " + token.name)
		add("pays "+token.name, judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{token.mint: 5000}, MaxFee: fee, MaxRent: 4_000_000, Recipients: []solana.PublicKey{stranger},
		}}, func(s *scene) {
			for _, account := range token.accounts() {
				s.put(account)
			}
		}, func(s *scene) []byte {
			return decodetest.Legacy(wallet, s.blockhash(), decodetest.CreateIdempotent(wallet, stranger, token.mint, token.program),
				token.moves(token.ofWallet, solana.AssociatedTokenAddress(stranger, token.mint, token.program), wallet, 5000)).Marshal()
		})
	}
	table := place("table")
	order := []solana.PublicKey{table}
	keys := []solana.PublicKey{pool, plain.vault, plain.mint, flag, place("nobody"), plain.ofWallet}
	add("through a table", swapOf(honestTrade), func(s *scene) {
		s.put(chaintest.Table(table, 0, 0, keys...))
		s.lower()
	}, func(s *scene) []byte {
		return decodetest.V0(wallet, s.blockhash(), decode.Tables{table: keys}, order, honestTrade.script().call()).Marshal()
	})
	for _, thing := range hiddenThings() {
		theft := fill([]attack{{name: thing.name, harm: func(p *script) { p.does(thing.harm) },
			further: slices.DeleteFunc(slices.Clone(thing.harm.Accounts), func(m decodetest.Meta) bool { return m.Key == wallet })}})[0]
		add(thing.name, swapOf(theft), func(s *scene) { s.put(thing.account); s.lower() }, func(s *scene) []byte { return s.build(theft) })
	}
	for _, a := range fill(attacks()) {
		if a.token.name != "plain" {
			continue
		}
		add("hostile: "+a.name, swapOf(a), func(s *scene) { a.on(s) }, func(s *scene) []byte { return s.build(a) })
	}
	return list
}

// liar makes one consistent liar out of a number: what it says of one account
// it says in every answer, unless it is fickle.
type liar struct {
	random *rand.Rand
	// accounts is how it changes each account that it lies about.
	accounts map[string]func(json.RawMessage) json.RawMessage
	told     []string
}

func (l *liar) note(format string, args ...any) {
	l.told = append(l.told, fmt.Sprintf(format, args...))
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func lieNumber(r *rand.Rand, n uint64) uint64 {
	return pick(r, 0, 1, n-1, n+1, n/2, n*2, n+5000, n-5000, 1<<63, ^uint64(0), r.Uint64N(n+10))
}

// account is a lie about one account.
func (l *liar) account(pool map[string]json.RawMessage) func(json.RawMessage) json.RawMessage {
	r := l.random
	kind := r.IntN(9)
	at, b, bit := r.IntN(400), byte(r.UintN(256)), r.IntN(3)
	offset := pick(r, 0, 32, 44, 45, 46, 64, 65, 66, 68, 72, 76, 108, 109, 113, 121, 129, 133, 165, 166)
	seed := r.Uint64()
	owner := pick(r, solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.StakeProgram, scriptable, solana.LookupTableProgram, wallet)
	other := pick(r, slices.Collect(maps.Values(pool))...)
	l.note("kind %d at %d/%d bit %d byte %d owner %s", kind, at, offset, bit, b, owner)
	return func(account json.RawMessage) json.RawMessage {
		if kind == 0 {
			return json.RawMessage("null")
		}
		if kind == 1 {
			return other
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(account, &fields) != nil || fields == nil {
			if json.Unmarshal(other, &fields) != nil || fields == nil {
				return account
			}
		}
		var data []string
		_ = json.Unmarshal(fields["data"], &data)
		var raw []byte
		if len(data) == 2 {
			raw, _ = base64.StdEncoding.DecodeString(data[0])
		}
		again := rand.New(rand.NewPCG(seed, 1))
		switch kind {
		case 2:
			n, _ := strconv.ParseUint(string(fields["lamports"]), 10, 64)
			fields["lamports"] = json.RawMessage(strconv.FormatUint(lieNumber(again, n), 10))
		case 3:
			fields["owner"], _ = json.Marshal(owner.String())
		case 4:
			if len(raw) > 0 {
				raw[at%len(raw)] = b
			}
		case 5, 6:
			if offset < len(raw) {
				raw[offset] = pick(again, 0, 1, 2, b)
			}
		case 7:
			if offset+32 <= len(raw) {
				key := pick(again, wallet, thief, pool2, plain.mint, solana.WrappedSOL)
				copy(raw[offset:], key[:])
			}
		case 8:
			raw = append(raw, make([]byte, at)...)
			if bit == 0 {
				raw = raw[:min(len(raw), pick(again, 0, 82, 165, 355, 170))]
			}
		}
		fields["data"], _ = json.Marshal([]string{base64.StdEncoding.EncodeToString(raw), "base64"})
		changed, _ := json.Marshal(fields)
		return changed
	}
}

var pool2 = pool

func (l *liar) many(keys []string, list []json.RawMessage) {
	for i, key := range keys {
		if change := l.accounts[key]; change != nil && i < len(list) {
			list[i] = change(list[i])
		}
	}
}

// corrupt has the node tell lies that a number decides.
func (s *scene) corrupt(seed uint64, keys []string, known map[string]json.RawMessage) *liar {
	s.node.behave()
	r := rand.New(rand.NewPCG(seed, 7))
	l := &liar{random: r, accounts: make(map[string]func(json.RawMessage) json.RawMessage)}
	for range r.IntN(4) {
		key := pick(r, keys...)
		l.note("lies about %s", key)
		l.accounts[key] = l.account(known)
	}
	where := r.IntN(8) // consistent, or only before, or only after
	fickle := r.IntN(4) == 0
	coin := rand.New(rand.NewPCG(seed, 9))
	var mu sync.Mutex
	honestly := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return fickle && coin.IntN(2) == 0
	}
	s.node.tells("getMultipleAccounts", func(params, result json.RawMessage) json.RawMessage {
		var asked []json.RawMessage
		var keys []string
		var answer struct {
			Context json.RawMessage   `json:"context"`
			Value   []json.RawMessage `json:"value"`
		}
		if honestly() || where == 0 || json.Unmarshal(params, &asked) != nil || json.Unmarshal(asked[0], &keys) != nil || json.Unmarshal(result, &answer) != nil {
			return result
		}
		l.many(keys, answer.Value)
		changed, _ := json.Marshal(answer)
		return changed
	})
	if r.IntN(3) == 0 {
		change := r.Uint64()
		l.note("lies about the balance")
		s.node.tells("getBalance", func(_, result json.RawMessage) json.RawMessage {
			var answer map[string]json.RawMessage
			_ = json.Unmarshal(result, &answer)
			n, _ := strconv.ParseUint(string(answer["value"]), 10, 64)
			answer["value"] = json.RawMessage(strconv.FormatUint(lieNumber(rand.New(rand.NewPCG(change, 3)), n), 10))
			changed, _ := json.Marshal(answer)
			return changed
		})
	}
	if r.IntN(4) == 0 {
		change := r.Uint64()
		l.note("lies about rent")
		s.node.tells("getMinimumBalanceForRentExemption", func(_, result json.RawMessage) json.RawMessage {
			n, _ := strconv.ParseUint(string(result), 10, 64)
			return json.RawMessage(strconv.FormatUint(max(1, lieNumber(rand.New(rand.NewPCG(change, 3)), n)), 10))
		})
	}
	if r.IntN(12) == 0 {
		l.note("lies about the blockhash")
		s.node.tells("isBlockhashValid", func(_, result json.RawMessage) json.RawMessage {
			return json.RawMessage(strings.Replace(string(result), "true", "false", 1))
		})
	}
	how := r.IntN(8)
	l.note("where %d, simulation %d", where, how)
	s.node.tells("simulateTransaction", func(params, result json.RawMessage) json.RawMessage {
		var asked struct {
			Accounts struct{ Addresses []string }
		}
		var answer struct {
			Context json.RawMessage            `json:"context"`
			Value   map[string]json.RawMessage `json:"value"`
		}
		var pair [2]json.RawMessage
		if json.Unmarshal(params, &pair) != nil || json.Unmarshal(pair[1], &asked) != nil || json.Unmarshal(result, &answer) != nil {
			return result
		}
		if honestly() {
			return result
		}
		if where != 1 {
			var list []json.RawMessage
			_ = json.Unmarshal(answer.Value["accounts"], &list)
			l.many(asked.Accounts.Addresses, list)
			answer.Value["accounts"], _ = json.Marshal(list)
		}
		switch how {
		case 0, 1, 2:
			answer.Value["err"] = json.RawMessage("null")
			answer.Value["innerInstructions"] = json.RawMessage("[]")
			answer.Value["accounts"] = s.asTraded(asked.Accounts.Addresses)
		case 3:
			answer.Value["innerInstructions"] = json.RawMessage("[]")
		case 4:
			answer.Value["err"] = json.RawMessage(`"AlreadyProcessed"`)
		}
		changed, _ := json.Marshal(answer)
		return changed
	})
	if r.IntN(5) == 0 {
		s.garble(r.Uint64(), l)
	}
	return l
}

// garble changes a value anywhere in the answers of one method.
func (s *scene) garble(seed uint64, l *liar) {
	r := rand.New(rand.NewPCG(seed, 5))
	method := pick(r, "getMultipleAccounts", "simulateTransaction", "getBalance", "isBlockhashValid", "getMinimumBalanceForRentExemption")
	l.note("garbles %s", method)
	count := r.IntN(4) + 1
	s.node.tells(method, func(_, result json.RawMessage) json.RawMessage {
		var tree any
		if json.Unmarshal(result, &tree) != nil {
			return result
		}
		again := rand.New(rand.NewPCG(seed, 6))
		for range count {
			tree = garbled(again, tree)
		}
		changed, _ := json.Marshal(tree)
		return changed
	})
}

func garbled(r *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 || r.IntN(12) == 0 {
			return nil
		}
		keys := slices.Sorted(maps.Keys(value))
		key := pick(r, keys...)
		if r.IntN(12) == 0 {
			delete(value, key)
			return value
		}
		value[key] = garbled(r, value[key])
		return value
	case []any:
		if len(value) == 0 || r.IntN(12) == 0 {
			return pick[any](r, nil, []any{}, []any{map[string]any{"index": 0, "instructions": []any{}}})
		}
		i := r.IntN(len(value))
		switch r.IntN(12) {
		case 0:
			return append(value, value[i])
		case 1:
			return slices.Delete(value, i, i+1)
		}
		value[i] = garbled(r, value[i])
		return value
	case string:
		return pick[any](r, "", wallet.String(), thief.String(), pool.String(), strings.ToUpper(value), value+"1", nil, 7, "1", solana.TokenProgram.String(), solana.SystemProgram.String(), plain.ofWallet.String(), wrapped.String(), "AA==")
	case float64:
		return pick[any](r, 0, 1, -1, 255, json.Number("18446744073709551615"), json.Number("18446744073709551616"), value+1, "5", nil)
	case bool:
		return pick[any](r, !value, nil)
	}
	return pick[any](r, nil, 0, "", map[string]any{}, []any{}, "AlreadyProcessed", map[string]any{"InstructionError": []any{0, map[string]any{"Custom": 1}}})
}

// looser lists in what a verdict is looser than another.
func looser(got, honest judge.Judged) []string {
	var list []string
	find := func(bad bool, format string, args ...any) {
		if bad {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	g, h := guard.Recognise(got.Tx()), guard.Recognise(honest.Tx())
	find(g.Floor < h.Floor, "floor %d, honest %d", g.Floor, h.Floor)
	for _, line := range h.Lines {
		other, ok := g.Line(line.Account)
		find(!ok || other.Least < line.Least, "line %s %d, honest %d", line.Account, other.Least, line.Least)
	}
	charge := got.Charge()
	for mint, units := range honest.Charge() {
		find(charge[mint] < units, "charge of %s %d, honest %d", mint, charge[mint], units)
	}
	ge, he := got.Effects(), honest.Effects()
	find(ge.Class() < he.Class(), "class %s, honest %s", ge.Class(), he.Class())
	for _, finding := range he.Findings() {
		find(!slices.Contains(ge.Findings(), finding), "finding %v is missing", finding)
	}
	find(ge.Rent() < he.Rent() || ge.RentReturned() > he.RentReturned() || ge.Tip() < he.Tip() || ge.Loose() < he.Loose(), "rent, tip or loose")
	find(ge.BaseFee() != he.BaseFee() || ge.PriorityFee() != he.PriorityFee(), "fees")
	for mint, units := range ge.Held() {
		find(units > he.Held()[mint], "held %s %d, honest %d", mint, units, he.Held()[mint])
	}
	for _, mint := range he.Assets() {
		find(!slices.Contains(ge.Assets(), mint), "asset %s is missing", mint)
	}
	for _, change := range he.Changes() {
		i := slices.IndexFunc(ge.Changes(), func(c effects.Change) bool { return c.Mint == change.Mint })
		if i < 0 {
			find(change.Out > 0, "change of %s is missing", change.Mint)
			continue
		}
		other := ge.Changes()[i]
		find(other.Out < change.Out || other.In > change.In, "change %+v, honest %+v", other, change)
		find(other.Decimals != change.Decimals, "decimals of %s: %d, honest %d", change.Mint, other.Decimals, change.Decimals)
	}
	find(len(ge.Payments()) != len(he.Payments()), "payments")
	for i, payment := range he.Payments() {
		other := ge.Payments()[i]
		find(other.Amount != payment.Amount || other.Recipient != payment.Recipient || other.Mint != payment.Mint || other.Received > payment.Received, "payment %+v, honest %+v", other, payment)
	}
	find(ge.Simulated() && !he.Simulated(), "simulated")
	return list
}

// TestOneLiarOnlyMakesItStricter: whatever one node says, beside an honest one
// the verdict is never looser than the honest one's own.
func TestOneLiarOnlyMakesItStricter(t *testing.T) {
	s := startScene(t)
	rounds := 6
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		rounds = n
	}
	from := uint64(0)
	if n, err := strconv.ParseUint(os.Getenv("FROM"), 10, 64); err == nil {
		from = n
	}
	clients := map[string]*judge.Judge{}
	hung := startNode(t, s.net.RPCURL)
	for name, nodes := range map[string][]string{
		"honest": {s.net.RPCURL}, "alone": {s.node.url}, "liar first": {s.node.url, s.net.RPCURL}, "liar last": {s.net.RPCURL, s.node.url},
		"of three": {"http://127.0.0.1:1", s.node.url, s.net.RPCURL}, "of three honest": {s.node.url, s.net.RPCURL, hung.url},
	} {
		client, err := chain.New(nodes, chain.Options{Timeout: 10 * time.Second, MustAnswer: min(2, len(nodes))})
		check(t, err)
		clients[name] = judge.New(client, wallet)
	}
	teeth, accepted, total, words := 0, 0, 0, map[string]int{}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			s := s.with(t, plain)
			s.reset()
			c.prepare(s)
			honestOK := false
			for seed := from; seed < from+uint64(rounds); seed++ {
				raw := c.build(s)
				s.node.behave()
				honest, honestErr := clients["honest"].Judge(t.Context(), raw, c.request)
				honestOK = honestOK || honestErr == nil
				if seed == from && honestErr != nil {
					t.Log("honest:", honestErr)
				}
				if seed == from && honestErr == nil {
					t.Logf("honest: changes %+v findings %v", honest.Effects().Changes(), honest.Effects().Findings())
				}
				if fault.Is(honestErr, fault.BlockhashExpired) {
					continue
				}
				keys, known := s.known(raw)
				l := s.corrupt(seed*1000+uint64(len(c.name)), keys, known)
				total++
				alone, err := clients["alone"].Judge(t.Context(), raw, c.request)
				if err == nil && (honestErr != nil || len(looser(alone, honest)) > 0) {
					teeth++
				}
				for _, name := range []string{"liar first", "liar last", "of three", "of three honest"} {
					got, err := clients[name].Judge(t.Context(), raw, c.request)
					if err != nil {
						if honestErr == nil {
							words[string(fault.From(err).Code)+": "+fault.From(err).Message]++
						}
						continue
					}
					accepted++
					if honestErr != nil {
						t.Errorf("seed %d, %s: accepted; the honest node alone: %v\n%s", seed, name, honestErr, strings.Join(l.told, "\n"))
						continue
					}
					if list := looser(got, honest); len(list) > 0 {
						t.Errorf("seed %d, %s: looser in %v\n%s", seed, name, list, strings.Join(l.told, "\n"))
					}
				}
			}
			_ = honestOK
		})
	}
	t.Logf("%d liars, %d of them get through alone with something looser; beside the honest node %d verdicts were yes", total, teeth, accepted)
	if os.Getenv("WORDS") != "" {
		for w, n := range words {
			t.Logf("%5d %s", n, w)
		}
	}
}

// known is what stands at the addresses of a transaction.
func (s *scene) known(raw []byte) ([]string, map[string]json.RawMessage) {
	tx, err := solana.ParseTransaction(raw)
	check(s.t, err)
	var keys []string
	for _, key := range tx.Message.Keys {
		keys = append(keys, key.String())
	}
	for _, key := range []solana.PublicKey{wallet, plain.ofWallet, plain.second, plain.mint, wrapped, of2022.ofWallet, of2022.mint, place("table")} {
		keys = append(keys, key.String(), key.String())
	}
	var answer struct{ Value []json.RawMessage }
	check(s.t, s.rpc.Call(s.t.Context(), "getMultipleAccounts", []any{keys, map[string]any{"encoding": "base64"}}, &answer))
	known := make(map[string]json.RawMessage)
	for i, key := range keys {
		known[key] = answer.Value[i]
	}
	return keys, known
}
