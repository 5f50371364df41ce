package mutation_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/mr-tron/base58"

	"countersign/scripts/sandbox/bagsandbox"
	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// honest is a transaction as an honest API or mcpd builds it, with the bounds
// that an honest caller states for it.
type honest struct {
	name    string
	message solana.Message
	calls   []decodetest.Call
	request judge.Request
	// wrapped is what the wallet's wrapped-SOL account holds before, or nothing
	// where there is no such account.
	wrapped amount.Units
}

const spend = 50_000_000

// slack lets a mutant pay a little more in fees than the honest transaction,
// so that not every change of a fee is over the ceiling.
const slack = 10_000

// rents is room for the rent of two token accounts.
const rents = 2 * 2_100_000

// How the API answers.
var (
	v0     = bagsandbox.Behaviour{SwapVersion: bagsandbox.V0, ClaimStyle: bagsandbox.LegacyClaims, ClaimTransactions: 1}
	legacy = bagsandbox.Behaviour{SwapVersion: bagsandbox.Legacy, ClaimStyle: bagsandbox.LegacyClaims, ClaimTransactions: 1}
)

func (s *stage) honestOnes() []honest {
	sol, token, token2022 := s.world.WSOL, s.world.TokenMint, s.world.Token2022Mint
	list := []honest{
		s.swap("buy", v0, sol, token, spend),
		s.swap("buy, legacy", legacy, sol, token, spend),
		s.swap("sell", v0, token, sol, 1_000_000_000),
		s.swap("buy Token-2022", v0, sol, token2022, spend),
		s.swap("sell Token-2022, legacy", legacy, token2022, sol, 1_000_000_000),
		s.swap("exchange", v0, token, token2022, 1_000_000),
		s.claim("claim", bagsandbox.LegacyClaims, 1, 0),
		s.claim("pull", bagsandbox.LegacyClaims, 2, 0),
		s.claim("sponsored claim", bagsandbox.SponsoredClaims, 1, 0),
	}
	rich := s.swap("buy with wrapped SOL", v0, sol, token, spend)
	rich.wrapped = wrapped
	rich.request.Bounds.MaxOut[amount.SOL] = spend
	list = append(list, rich, s.openWrapped(rich, "buy from wrapped SOL that stays"), s.openWrapped(list[2], "sell into wrapped SOL that stays"))
	list = append(list, s.transfers()...)
	for _, h := range list {
		if h.name == "buy, legacy" || h.name == "sell Token-2022, legacy" || h.name == "transfer of SOL" {
			list = append(list, s.asVersionOne(h))
		}
	}
	return list
}

// openWrapped is the same trade with a wrapped-SOL account that is there before
// and after it: nothing is wrapped, nothing is closed.
func (s *stage) openWrapped(h honest, name string) honest {
	h.name, h.wrapped = name, wrapped
	h.calls = slices.DeleteFunc(slices.Clone(h.calls), func(c decodetest.Call) bool {
		return c.Program == solana.SystemProgram || c.Program == solana.TokenProgram
	})
	h.message = s.compiled(h, h.calls)
	return h
}

// asVersionOne is the same in the v1 format: what ComputeBudget says stands in
// the header, and the priority fee as a total.
func (s *stage) asVersionOne(h honest) honest {
	h.name = "v1: " + h.name
	h.calls = slices.DeleteFunc(slices.Clone(h.calls), func(c decodetest.Call) bool { return c.Program == solana.ComputeBudgetProgram })
	fee, units, loaded := uint64(h.request.Bounds.MaxFee-5_000-slack), uint32(200_000), uint32(1<<20)
	h.message.Version, h.message.Config = solana.V1, solana.Config{PriorityFee: &fee, UnitLimit: &units, LoadedDataLimit: &loaded}
	h.message = s.compiled(h, h.calls)
	return h
}

func (s *stage) swap(name string, behaviour bagsandbox.Behaviour, in, out string, units uint64) honest {
	s.t.Helper()
	check(s.t, s.api.SetBehaviour(behaviour))
	var quoted json.RawMessage
	s.ask(http.MethodGet, "/trade/quote?"+url.Values{
		"inputMint": {in}, "outputMint": {out}, "amount": {strconv.FormatUint(units, 10)},
		"slippageMode": {"manual"}, "slippageBps": {"100"},
	}.Encode(), "", &quoted)
	var quote struct{ MinOutAmount string }
	check(s.t, json.Unmarshal(quoted, &quote))
	minimum, err := strconv.ParseUint(quote.MinOutAmount, 10, 64)
	check(s.t, err)
	var answer struct {
		SwapTransaction           string
		PrioritizationFeeLamports uint64
	}
	s.ask(http.MethodPost, "/trade/swap", `{"quoteResponse":`+string(quoted)+`,"userPublicKey":"`+wallet.String()+`"}`, &answer)
	return s.read(name, answer.SwapTransaction, judge.Request{Flow: effects.Swap, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{s.asset(in): amount.Units(units)},
		MinIn:  map[solana.PublicKey]amount.Units{s.asset(out): amount.Units(minimum)},
		MaxFee: amount.Units(5_000 + answer.PrioritizationFeeLamports + slack), MaxRent: rents,
		Programs: []solana.PublicKey{solana.DFlowProgram},
	}})
}

func (s *stage) asset(mint string) solana.PublicKey {
	if mint == s.world.WSOL {
		return amount.SOL
	}
	return s.parse(mint)
}

// claim is one step of a claim of so many.
func (s *stage) claim(name string, style bagsandbox.ClaimStyle, count, step int) honest {
	s.t.Helper()
	check(s.t, s.api.SetBehaviour(bagsandbox.Behaviour{SwapVersion: bagsandbox.V0, ClaimStyle: style, ClaimTransactions: count}))
	var answers []struct{ Tx string }
	s.ask(http.MethodPost, "/token-launch/claim-txs/v3", `{"feeClaimer":"`+wallet.String()+`","tokenMint":"`+s.world.TokenMint+`"}`, &answers)
	r := judge.Request{Flow: effects.Claim, Bounds: effects.Bounds{
		MaxFee: 20_000 + slack, MaxRent: rents, Programs: []solana.PublicKey{solana.FeeShareV2Program},
	}}
	if step == count-1 {
		r.Bounds.MinIn = map[solana.PublicKey]amount.Units{amount.SOL: 2 * accrued}
	}
	return s.read(name, answers[step].Tx, r)
}

// read takes a transaction of the API apart.
func (s *stage) read(name, text string, r judge.Request) honest {
	s.t.Helper()
	raw, err := base58.Decode(text)
	check(s.t, err)
	tx, err := solana.ParseTransaction(raw)
	check(s.t, err)
	return honest{name: name, message: tx.Message, calls: s.takeApart(tx.Message), request: r}
}

// takeApart names the accounts of every instruction.
func (s *stage) takeApart(m solana.Message) []decodetest.Call {
	var metas []decodetest.Meta
	for i, named := range m.Keys {
		metas = append(metas, decodetest.Meta{Key: named, Signer: m.IsSigner(i), Writable: m.IsWritable(i)})
	}
	for _, writable := range []bool{true, false} {
		for _, lookup := range m.Lookups {
			indexes := lookup.Readonly
			if writable {
				indexes = lookup.Writable
			}
			for _, index := range indexes {
				metas = append(metas, decodetest.Meta{Key: s.table[index], Writable: writable})
			}
		}
	}
	var calls []decodetest.Call
	for _, instruction := range m.Instructions {
		call := decodetest.Call{Program: metas[instruction.Program].Key, Data: instruction.Data}
		for _, index := range instruction.Accounts {
			call.Accounts = append(call.Accounts, metas[index])
		}
		calls = append(calls, call)
	}
	return calls
}

func (s *stage) transfers() []honest {
	account := solana.AssociatedTokenAddress(wallet, s.token, solana.TokenProgram)
	friendly := solana.AssociatedTokenAddress(s.friend, s.token, solana.TokenProgram)
	account2022 := solana.AssociatedTokenAddress(wallet, s.token2022, solana.Token2022Program)
	friendly2022 := solana.AssociatedTokenAddress(s.friend, s.token2022, solana.Token2022Program)
	s.place(chaintest.Token(friendly2022, solana.Token2022Program, s.token2022, s.friend, 5))
	paying := func(name string, mint solana.PublicKey, units amount.Units, calls ...decodetest.Call) honest {
		calls = append([]decodetest.Call{decodetest.UnitLimit(100_000), decodetest.UnitPrice(10_000)}, calls...)
		return honest{
			name: name, message: decodetest.Legacy(wallet, solana.Hash{}, calls...).Message, calls: calls,
			request: judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
				MaxOut: map[solana.PublicKey]amount.Units{mint: units}, MaxFee: 6_000 + slack, MaxRent: rents, Recipients: []solana.PublicKey{s.friend},
			}},
		}
	}
	return []honest{
		paying("transfer of SOL", amount.SOL, 1_000_000, decodetest.Transfer(wallet, s.friend, 1_000_000), decodetest.Memo("thank you")),
		paying("transfer to a new account", s.token, 77_000,
			decodetest.CreateIdempotent(wallet, s.friend, s.token, solana.TokenProgram),
			decodetest.TransferChecked(solana.TokenProgram, account, s.token, friendly, wallet, 77_000, s.world.TokenDecimals)),
		paying("transfer of Token-2022", s.token2022, 5_000,
			decodetest.CreateIdempotent(wallet, s.friend, s.token2022, solana.Token2022Program),
			decodetest.TransferChecked(solana.Token2022Program, account2022, s.token2022, friendly2022, wallet, 5_000, s.world.Token2022Decimal)),
	}
}

// compiled is calls as a message of the honest one's kind: same payer, same
// version, same table.
func (s *stage) compiled(h honest, calls []decodetest.Call) solana.Message {
	payer := h.message.Keys[0]
	switch h.message.Version {
	case solana.Legacy:
		return decodetest.Legacy(payer, h.message.Blockhash, calls...).Message
	case solana.V1:
		return decodetest.V1(payer, h.message.Blockhash, h.message.Config, calls...).Message
	case solana.V0:
	}
	table := s.parse(s.world.LookupTable)
	return decodetest.V0(payer, h.message.Blockhash, decode.Tables{table: s.table}, []solana.PublicKey{table}, calls...).Message
}
