package hostile

import (
	"encoding/binary"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
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

// feeConfig is a transfer fee of one per cent.
func feeConfig() []byte {
	value := make([]byte, 108)
	for _, at := range []int{72, 90} { // The older and the newer fee: epoch, maximum, basis points.
		binary.LittleEndian.PutUint64(value[at+8:], 1<<32)
		binary.LittleEndian.PutUint16(value[at+16:], 100)
	}
	return value
}

// swapOf is what an attack pretends to be.
func swapOf(a attack) judge.Request {
	return judge.Request{Flow: effects.Swap, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: price},
		MinIn:  map[solana.PublicKey]amount.Units{a.token.mint: bought},
		MaxFee: 2 * fee, MaxRent: 3_000_000, Programs: []solana.PublicKey{scriptable},
	}}
}

// cases are honest transactions of every kind, and thefts.
func cases() []judgedCase {
	return slices.Concat(trades(), payments(), thefts())
}

func lowered(s *scene) { s.lower() }

// named has the owner know one token by name.
var named = effects.Known{Mints: []effects.NamedMint{{Name: "USDC", Mint: place("the real one")}}}

func judged(name string, r judge.Request, prepare func(*scene), build func(*scene) []byte) judgedCase {
	r.Known = named
	return judgedCase{name, prepare, build, r}
}

func trades() []judgedCase {
	second := fill([]attack{{name: "with wSOL and second", further: []decodetest.Meta{decodetest.W(wrapped)}, harm: func(*script) {}}})[0]
	opens := fill([]attack{{name: "opens", harm: func(*script) {}}})[0]
	table := place("table")
	keys := []solana.PublicKey{pool, plain.vault, plain.mint, flag, place("nobody"), plain.ofWallet}
	return []judgedCase{
		{"honest trade", lowered, func(s *scene) []byte { return s.build(honestTrade) }, swapOf(honestTrade)},
		judged("trade beside open wSOL", swapOf(second), func(s *scene) {
			account := chaintest.Token(wrapped, solana.TokenProgram, solana.WrappedSOL, wallet, startWrapped, chaintest.Delegate(thief, 5))
			account.Lamports += 777
			s.put(account)
			s.lower()
		}, func(s *scene) []byte { return s.build(second) }),
		judged("trade that closes", swapOf(honestTrade), func(s *scene) {
			empty := chaintest.Token(plain.second, plain.program, plain.mint, wallet, 0)
			empty.Lamports += 5000
			s.put(empty)
			s.lower()
		}, func(s *scene) []byte {
			return decodetest.Legacy(wallet, s.blockhash(), honestTrade.script().call(),
				decodetest.Close(plain.program, plain.second, wallet, wallet), decodetest.Close(solana.TokenProgram, wrapped, wallet, wallet)).Marshal()
		}),
		judged("trade that opens", swapOf(opens), func(s *scene) {
			s.put(chain.Account{Key: plain.ofWallet, Owner: solana.SystemProgram})
			s.lower()
		}, func(s *scene) []byte {
			return decodetest.Legacy(wallet, s.blockhash(), decodetest.CreateIdempotent(wallet, wallet, plain.mint, plain.program), opens.script().call()).Marshal()
		}),
		judged("through a table", swapOf(honestTrade), func(s *scene) {
			s.put(chaintest.Table(table, 0, 0, keys...))
			s.lower()
		}, func(s *scene) []byte {
			return decodetest.V0(wallet, s.blockhash(), decode.Tables{table: keys}, []solana.PublicKey{table}, honestTrade.script().call()).Marshal()
		}),
	}
}

func payments() []judgedCase {
	list := []judgedCase{judged("pays SOL", judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: 900}, MaxFee: fee, Recipients: []solana.PublicKey{thief},
	}}, lowered, func(s *scene) []byte {
		return decodetest.Legacy(wallet, s.blockhash(), decodetest.Transfer(wallet, thief, 900)).Marshal()
	})}
	for _, token := range []token{plain, of2022} {
		stranger := place("stranger of " + token.name)
		list = append(list, judged("pays "+token.name, judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{token.mint: 5000}, MaxFee: fee, MaxRent: 4_000_000, Recipients: []solana.PublicKey{stranger},
		}}, func(s *scene) {
			for _, account := range token.accounts() {
				s.put(account)
			}
		}, func(s *scene) []byte {
			return decodetest.Legacy(wallet, s.blockhash(), decodetest.CreateIdempotent(wallet, stranger, token.mint, token.program),
				token.moves(token.ofWallet, solana.AssociatedTokenAddress(stranger, token.mint, token.program), wallet, 5000)).Marshal()
		}))
	}
	return list
}

func thefts() []judgedCase {
	var list []judgedCase
	for _, thing := range hiddenThings() {
		theft := fill([]attack{{
			name: thing.name, harm: func(p *script) { p.does(thing.harm) },
			further: slices.DeleteFunc(slices.Clone(thing.harm.Accounts), func(m decodetest.Meta) bool { return m.Key == wallet }),
		}})[0]
		list = append(list, judged(thing.name, swapOf(theft), func(s *scene) { s.put(thing.account); s.lower() }, func(s *scene) []byte { return s.build(theft) }))
	}
	for _, a := range fill(attacks()) {
		if a.token.name == "plain" {
			list = append(list, judged("hostile: "+a.name, swapOf(a), func(s *scene) { a.on(s) }, func(s *scene) []byte { return s.build(a) }))
		}
	}
	return list
}
