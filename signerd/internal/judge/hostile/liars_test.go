package hostile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"countersign/shared/solana"
)

// liar makes one consistent liar out of a number: what it says of one account
// it says in every answer, unless it is fickle.
type liar struct {
	random *rand.Rand
	// accounts is how it changes each account that it lies about.
	accounts map[string]func(json.RawMessage) json.RawMessage
	when     moment
	mu       sync.Mutex // guards coin
	// coin decides each time whether a fickle liar lies; nil for a steady one.
	coin *rand.Rand
	// told is what the lies are, for whoever must find out.
	told []string
}

// moment is when a liar lies: before the transaction, after it, or both.
type moment int

const (
	always moment = iota
	before
	after
)

func (l *liar) honestNow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.coin != nil && l.coin.IntN(2) == 0
}

func (l *liar) note(format string, args ...any) {
	l.told = append(l.told, fmt.Sprintf(format, args...))
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// lieNumber is near a number, or far from it.
func lieNumber(r *rand.Rand, n uint64) uint64 {
	return pick(r, 0, 1, n-1, n+1, n/2, n*2, n+5000, n-5000, 1<<63, ^uint64(0), r.Uint64N(n+10))
}

// account is a lie about one account.
func (l *liar) account(known map[string]json.RawMessage) func(json.RawMessage) json.RawMessage {
	r := l.random
	kind := r.IntN(9)
	at, b, bit := r.IntN(400), byte(r.UintN(256)), r.IntN(3)
	offset := pick(r, 0, 32, 44, 45, 46, 64, 65, 66, 68, 72, 76, 108, 109, 113, 121, 129, 133, 165, 166)
	seed := r.Uint64()
	owner := pick(r, solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.StakeProgram, scriptable, solana.LookupTableProgram, wallet)
	other := pick(r, slices.Collect(maps.Values(known))...)
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
				key := pick(again, wallet, thief, pool, plain.mint, solana.WrappedSOL)
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

// many changes the accounts that it lies about.
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
	l.when = pick(r, always, before, after)
	if r.IntN(4) == 0 {
		l.note("is fickle")
		l.coin = rand.New(rand.NewPCG(seed, 9))
	}
	s.node.tells("getMultipleAccounts", l.changeAccounts)
	s.lieInNumbers(l)
	how := r.IntN(8)
	l.note("when %d, simulation %d", l.when, how)
	s.node.tells("simulateTransaction", func(params, result json.RawMessage) json.RawMessage {
		return s.changeSimulation(l, how, params, result)
	})
	if r.IntN(5) == 0 {
		s.garble(r.Uint64(), l)
	}
	return l
}

// changeAccounts lies about the accounts that are asked for.
func (l *liar) changeAccounts(params, result json.RawMessage) json.RawMessage {
	var asked []json.RawMessage
	var keys []string
	var answer struct {
		Context json.RawMessage   `json:"context"`
		Value   []json.RawMessage `json:"value"`
	}
	if l.when == after || l.honestNow() || json.Unmarshal(params, &asked) != nil || json.Unmarshal(asked[0], &keys) != nil || json.Unmarshal(result, &answer) != nil {
		return result
	}
	l.many(keys, answer.Value)
	return encoded(answer)
}

// lieInNumbers lies, now and then, about the balance, about rent and about
// whether the blockhash is good.
func (s *scene) lieInNumbers(l *liar) {
	if l.random.IntN(3) == 0 {
		seed := l.random.Uint64()
		l.note("lies about the balance")
		s.node.tells("getBalance", func(_, result json.RawMessage) json.RawMessage {
			var answer map[string]json.RawMessage
			_ = json.Unmarshal(result, &answer) // What is no answer stays one.
			answer["value"] = lieAbout(seed, answer["value"])
			return encoded(answer)
		})
	}
	if l.random.IntN(4) == 0 {
		seed := l.random.Uint64()
		l.note("lies about rent")
		s.node.tells("getMinimumBalanceForRentExemption", func(_, result json.RawMessage) json.RawMessage { return lieAbout(seed, result) })
	}
	if l.random.IntN(12) == 0 {
		l.note("lies about the blockhash")
		s.node.tells("isBlockhashValid", func(_, result json.RawMessage) json.RawMessage {
			return json.RawMessage(strings.Replace(string(result), "true", "false", 1))
		})
	}
}

// lieAbout is another number, always the same for a seed.
func lieAbout(seed uint64, number json.RawMessage) json.RawMessage {
	n, _ := strconv.ParseUint(string(number), 10, 64) // What is no number is 0.
	return json.RawMessage(strconv.FormatUint(lieNumber(rand.New(rand.NewPCG(seed, 3)), n), 10))
}

func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // It was decoded a moment ago.
	}
	return raw
}

// changeSimulation lies about what the transaction would do.
func (s *scene) changeSimulation(l *liar, how int, params, result json.RawMessage) json.RawMessage {
	var asked struct {
		Accounts struct{ Addresses []string }
	}
	var answer struct {
		Context json.RawMessage            `json:"context"`
		Value   map[string]json.RawMessage `json:"value"`
	}
	var pair [2]json.RawMessage
	if l.honestNow() || json.Unmarshal(params, &pair) != nil || json.Unmarshal(pair[1], &asked) != nil || json.Unmarshal(result, &answer) != nil {
		return result
	}
	if l.when != before {
		var list []json.RawMessage
		_ = json.Unmarshal(answer.Value["accounts"], &list) // A failure shows none.
		l.many(asked.Accounts.Addresses, list)
		answer.Value["accounts"] = encoded(list)
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
	return encoded(answer)
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

// garbled is a value with one thing in it changed.
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
