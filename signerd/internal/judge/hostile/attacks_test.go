package hostile

import (
	"encoding/binary"
	"slices"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
)

// attack is one way to rob the wallet, within a trade that was agreed.
type attack struct {
	name  string
	token token
	// units are what the pool pays before anything hostile, all by default.
	units uint64
	// further are accounts that the program is given beside those of a trade.
	further []decodetest.Meta
	// harm is what it does with them while the flag is raised.
	harm func(p *script)
	// afterwards is what the thief does with what was handed to him.
	afterwards []decodetest.Call
	// loss is what the wallet has lost then, beyond the trade.
	loss estate
	// stuck says that the wallet cannot move its lamports or tokens any more.
	stuck thing
	// on and off make the program hostile and honest; the flag, by default.
	on, off func(s *scene)
	unseen  unseen
	// warned is a finding that a person must be shown beforehand.
	warned string
}

// unseen is what becomes of an attack that simulation does not show.
type unseen uint8

const (
	// undone: the guard reverts the whole transaction.
	undone unseen = iota
	// refused: it is refused whatever simulation shows.
	refused
	// wiped: the guard takes away what was handed over, and the trade lands.
	wiped
	// later: the trade lands, for what is done can be done a block later as well.
	later
)

type thing uint8

const (
	nothing thing = iota
	itsLamports
	itsTokens
)

// everything is what is left of the start after an honest trade.
const everything = startLamports - price - fee

// Authority kinds of the token programs.
const (
	accountOwner = 2
	closer       = 3
)

func attacks() []attack {
	return append(append(walletAttacks(), tokenAttacks(plain)...), makerAttacks()...)
}

// System program calls that only attackers make.
func assign(account, to solana.PublicKey) decodetest.Call {
	return decodetest.Call{Program: solana.SystemProgram, Accounts: []decodetest.Meta{decodetest.SW(account)}, Data: append([]byte{1, 0, 0, 0}, to[:]...)}
}

func allocate(account solana.PublicKey, size uint64) decodetest.Call {
	return decodetest.Call{
		Program: solana.SystemProgram, Accounts: []decodetest.Meta{decodetest.SW(account)},
		Data: binary.LittleEndian.AppendUint64([]byte{8, 0, 0, 0}, size),
	}
}

func initializeNonce(account, authority solana.PublicKey) decodetest.Call {
	return decodetest.Call{
		Program:  solana.SystemProgram,
		Accounts: []decodetest.Meta{decodetest.W(account), decodetest.R(nonceSysvar), decodetest.R(rentSysvar)},
		Data:     append([]byte{6, 0, 0, 0}, authority[:]...),
	}
}

func withdrawNonce(account, to, authority solana.PublicKey, lamports uint64) decodetest.Call {
	return decodetest.Call{
		Program: solana.SystemProgram,
		Accounts: []decodetest.Meta{
			decodetest.W(account), decodetest.W(to), decodetest.R(nonceSysvar), decodetest.R(rentSysvar), decodetest.S(authority),
		},
		Data: binary.LittleEndian.AppendUint64([]byte{5, 0, 0, 0}, lamports),
	}
}

const nonceSize, nonceRent = 80, (128 + 80) * 6_960

// walletAttacks are on the wallet itself.
func walletAttacks() []attack {
	robber := decodetest.W(thief)
	return []attack{
		{
			name: "drain", further: []decodetest.Meta{robber}, loss: estate{lamports: everything},
			harm: func(p *script) { p.does(decodetest.Transfer(wallet, thief, everything)) },
		},
		{
			name: "skim by one lamport", further: []decodetest.Meta{robber}, loss: estate{lamports: 1},
			harm: func(p *script) { p.does(decodetest.Transfer(wallet, thief, 1)) },
		},
		{
			name: "assign", loss: estate{lamports: everything},
			harm: func(p *script) { p.does(assign(wallet, scriptable)) },
			afterwards: []decodetest.Call{
				given(decodetest.W(wallet), decodetest.W(thief)).takes(wallet, thief, everything).call(),
			},
		},
		{
			name: "allocate", loss: estate{lamports: everything}, stuck: itsLamports,
			harm: func(p *script) { p.does(allocate(wallet, nonceSize)) },
		},
		{
			name:       "turn the wallet into a nonce account",
			further:    []decodetest.Meta{decodetest.R(nonceSysvar), decodetest.R(rentSysvar)},
			loss:       estate{lamports: everything},
			harm:       func(p *script) { p.does(allocate(wallet, nonceSize), initializeNonce(wallet, thief)) },
			afterwards: []decodetest.Call{withdrawNonce(wallet, thief, thief, everything-nonceRent)},
		},
		{
			name: "take the wrapped SOL", further: []decodetest.Meta{robber, decodetest.W(wrapped)}, loss: estate{wrapped: startWrapped},
			harm: func(p *script) { p.does(decodetest.Close(solana.TokenProgram, wrapped, thief, wallet)) },
		},
		{
			name: "close authority", further: []decodetest.Meta{robber, decodetest.W(wrapped)}, loss: estate{wrapped: startWrapped},
			harm: func(p *script) {
				p.does(decodetest.SetAuthority(solana.TokenProgram, wrapped, wallet, closer, &thief))
			},
			afterwards: []decodetest.Call{decodetest.Close(solana.TokenProgram, wrapped, thief, thief)},
		},
	}
}

// Names that are used twice.
const (
	approves  = "approve"
	handsOver = "owner to the program, which approves the wallet"
)

// tokenAttacks are on the account that the bought tokens arrive in.
func tokenAttacks(t token) []attack {
	const all = startTokens + bought
	robber := decodetest.R(thief)
	thiefTakes := []decodetest.Call{t.moves(t.ofWallet, t.loot, thief, all)}
	return []attack{
		{
			name: "half the tokens", units: bought / 2, loss: estate{tokens: bought / 2},
			harm: func(p *script) { p.does(t.moves(t.vault, t.ofWallet, pool, bought/2)) },
			on:   (*scene).lower, off: (*scene).raise,
		},
		{
			name: "take the tokens back", further: []decodetest.Meta{decodetest.W(t.loot)}, loss: estate{tokens: all},
			harm: func(p *script) { p.does(t.moves(t.ofWallet, t.loot, wallet, all)) },
		},
		{
			name: approves, further: []decodetest.Meta{robber}, loss: estate{tokens: all}, afterwards: thiefTakes, unseen: wiped,
			harm: func(p *script) { p.does(decodetest.Approve(t.program, t.ofWallet, thief, wallet, all)) },
		},
		{
			name: "owner to the thief", further: []decodetest.Meta{robber}, loss: estate{tokens: all}, afterwards: thiefTakes,
			harm: func(p *script) {
				p.does(decodetest.SetAuthority(t.program, t.ofWallet, wallet, accountOwner, &thief))
			},
		},
		{
			// The new owner lets the wallet spend and close, so that a guard that
			// only moves and closes in the wallet's name passes.
			name: handsOver, loss: estate{tokens: all},
			harm: func(p *script) {
				p.does(
					decodetest.SetAuthority(t.program, t.ofWallet, wallet, accountOwner, &pool),
					decodetest.SetAuthority(t.program, t.ofWallet, pool, closer, &wallet),
					decodetest.Approve(t.program, t.ofWallet, wallet, pool, 1<<62),
				)
			},
			afterwards: []decodetest.Call{given(
				decodetest.R(pool), decodetest.W(t.ofWallet), decodetest.W(t.loot), decodetest.R(t.mint), decodetest.R(t.program),
			).does(t.moves(t.ofWallet, t.loot, pool, all)).call()},
		},
		{
			name: "burn", loss: estate{tokens: all},
			harm: func(p *script) {
				p.does(decodetest.Call{
					Program: t.program, Accounts: []decodetest.Meta{decodetest.W(t.ofWallet), decodetest.W(t.mint), decodetest.S(wallet)},
					Data: binary.LittleEndian.AppendUint64([]byte{8}, all),
				})
			},
			further: []decodetest.Meta{decodetest.W(t.mint)},
		},
		{
			// Neither account's least amount is determined, so there is no guard.
			name: "second token account", further: []decodetest.Meta{decodetest.W(t.second), decodetest.W(t.loot)},
			loss: estate{tokens: startTokens}, unseen: refused,
			harm: func(p *script) { p.does(t.moves(t.second, t.loot, wallet, startTokens)) },
		},
	}
}

// Token-2022 extensions of mints.
const (
	extTransferFee       = 1
	extTransferFeeAmount = 2
	extPermanentDelegate = 12
	extTransferHook      = 14
	extTransferHookOn    = 15
	extPausable          = 26
	extPausableOn        = 27
)

func ext(kind uint16, value []byte) []chaintest.Extension {
	return []chaintest.Extension{{Kind: kind, Value: value}}
}

// taxing is a transfer-fee configuration.
func taxing(basisPoints uint16) []byte {
	config := make([]byte, 108)
	for _, at := range []int{72, 90} { // the older and the newer fee
		binary.LittleEndian.PutUint64(config[at+8:], 1<<62)
		binary.LittleEndian.PutUint16(config[at+16:], basisPoints)
	}
	return config
}

// makerAttacks are by those who made the token that is bought.
func makerAttacks() []attack {
	maker := append(pool[:], 0)
	taxed := newToken("taxed", solana.Token2022Program, ext(extTransferFee, taxing(0)), ext(extTransferFeeAmount, make([]byte, 8)))
	seized := newToken("seized", solana.Token2022Program, ext(extPermanentDelegate, pool[:]), nil)
	paused := newToken("paused", solana.Token2022Program, ext(extPausable, maker), ext(extPausableOn, nil))
	hooked := newToken("hooked", solana.Token2022Program, ext(extTransferHook, append(pool[:], make([]byte, 32)...)), ext(extTransferHookOn, []byte{0}))
	withTax := func(basisPoints uint16) func(*scene) {
		changed := taxed
		changed.onMint = ext(extTransferFee, taxing(basisPoints))
		return func(s *scene) { s.put(changed.accounts()[0]) }
	}
	frozen := newToken("freezable", solana.TokenProgram, nil, nil)
	frozen.freezable = true
	list := []attack{
		{
			name: "frozen after payment", token: frozen, stuck: itsTokens, warned: effects.Freezable,
			harm: func(p *script) {
				p.does(decodetest.Call{
					Program: frozen.program, Accounts: []decodetest.Meta{decodetest.W(frozen.ofWallet), decodetest.R(frozen.mint), decodetest.S(pool)}, Data: []byte{10},
				})
			},
		},
		{
			name: "Token-2022: fee of half of everything", token: taxed, loss: estate{tokens: bought / 2},
			harm: func(*script) {}, on: withTax(5_000), off: withTax(0),
		},
		{
			name: "Token-2022: permanent delegate takes all", token: seized, warned: effects.PermanentDelegate,
			further: []decodetest.Meta{decodetest.W(seized.loot)}, loss: estate{tokens: startTokens + bought},
			harm: func(p *script) { p.does(seized.moves(seized.ofWallet, seized.loot, pool, startTokens+bought)) },
		},
		{
			name: "Token-2022: paused after payment", token: paused, stuck: itsTokens, warned: effects.Pausable,
			further: []decodetest.Meta{decodetest.W(paused.mint)},
			harm: func(p *script) {
				p.does(decodetest.Call{
					Program: paused.program, Accounts: []decodetest.Meta{decodetest.W(paused.mint), decodetest.S(pool)}, Data: []byte{44, 1},
				})
			},
		},
		{
			// No guard undoes what the maker can do a block later as well. What is
			// told is that nobody vouches for the token.
			name: "Token-2022: hook that refuses, set after payment", token: hooked, stuck: itsTokens, unseen: later,
			warned: effects.UnverifiedMint, further: []decodetest.Meta{decodetest.W(hooked.mint)},
			harm: func(p *script) {
				p.does(decodetest.Call{
					Program: hooked.program, Accounts: []decodetest.Meta{decodetest.W(hooked.mint), decodetest.S(pool)},
					Data: append([]byte{36, 1}, solana.FeeShareV2Program[:]...),
				})
			},
		},
	}
	return append(list, authorityAttacks()...)
}

// authorityAttacks are those on a token account's authorities once more, with
// Token-2022.
func authorityAttacks() []attack {
	var list []attack
	for _, each := range []struct {
		token token
		names []string
	}{
		{newToken("extended", solana.Token2022Program, nil, nil), []string{approves, handsOver}},
		// Here the wallet may also spend as the mint's permanent delegate, whoever
		// owns the account. Only the first instruction of the guard sees this one.
		{newToken("rigged", solana.Token2022Program, ext(extPermanentDelegate, wallet[:]), nil), []string{handsOver}},
	} {
		for _, a := range tokenAttacks(each.token) {
			if slices.Contains(each.names, a.name) {
				a.name, a.token = "Token-2022, "+each.token.name+": "+a.name, each.token
				list = append(list, a)
			}
		}
	}
	return list
}
