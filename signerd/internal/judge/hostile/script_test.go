package hostile

import (
	"encoding/binary"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode/decodetest"
)

// wrapped is the wallet's wrapped SOL.
var wrapped = solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram)

// token is what is traded, and where.
type token struct {
	name          string
	program, mint solana.PublicKey
	decimals      uint8
	// ofWallet is where it arrives; second is another account of the wallet.
	ofWallet, second, vault, loot solana.PublicKey
	// extensions of the mint and of its accounts; none for SPL Token.
	onMint, onAccount []chaintest.Extension
	// freezable says that the pool can freeze accounts of it.
	freezable bool
}

func newToken(name string, program solana.PublicKey, onMint, onAccount []chaintest.Extension) token {
	t := token{name: name, program: program, mint: place(name), decimals: 6, onMint: onMint, onAccount: onAccount}
	t.ofWallet = solana.AssociatedTokenAddress(wallet, t.mint, program)
	t.second, t.vault = place(name+" second"), place(name+" vault")
	t.loot = solana.AssociatedTokenAddress(thief, t.mint, program)
	return t
}

// plain is a token without peculiarities.
var plain = newToken("plain", solana.TokenProgram, nil, nil)

// accounts are those of the token at the start. The pool rules the mint.
func (t token) accounts() []chain.Account {
	mint := chaintest.Mint(t.mint, t.program, t.decimals)
	mint.Data[0] = 1
	copy(mint.Data[4:], pool[:])
	binary.LittleEndian.PutUint64(mint.Data[36:], 10_000*bought) // the supply
	if t.freezable {
		mint.Data[46] = 1
		copy(mint.Data[50:], pool[:])
	}
	list := []chain.Account{t.extend(mint, 1, t.onMint)}
	for _, each := range []struct {
		key, owner solana.PublicKey
		units      amount.Units
	}{{t.ofWallet, wallet, startTokens}, {t.second, wallet, startTokens}, {t.vault, pool, 1_000 * bought}, {t.loot, thief, 0}} {
		held := chaintest.Token(each.key, t.program, t.mint, each.owner, each.units)
		list = append(list, t.extend(held, 2, t.onAccount))
	}
	return list
}

func (t token) extend(account chain.Account, kind byte, extensions []chaintest.Extension) chain.Account {
	if t.program != solana.Token2022Program {
		return account
	}
	account = chaintest.Extend(account, kind, extensions...)
	account.Lamports += 2_000_000
	return account
}

// moves is a transfer of the token.
func (t token) moves(from, to, by solana.PublicKey, units uint64) decodetest.Call {
	return decodetest.TransferChecked(t.program, from, t.mint, to, by, units, t.decimals)
}

// script is a call of the scriptable program under construction: the accounts
// it is given, and what it does with them.
type script struct {
	metas []decodetest.Meta
	steps []byte
}

// given begins a script with accounts.
func given(metas ...decodetest.Meta) *script { return &script{metas: metas} }

// trade is a script that begins as an honest trade does: the wallet pays the
// price, the pool pays units of the token.
func (t token) trade(units uint64, further ...decodetest.Meta) *script {
	p := given(append([]decodetest.Meta{
		decodetest.SW(wallet), decodetest.W(pool), decodetest.W(t.ofWallet), decodetest.W(t.vault), decodetest.R(t.mint),
		decodetest.R(t.program), decodetest.R(solana.SystemProgram), decodetest.R(flag),
	}, further...)...)
	return p.does(decodetest.Transfer(wallet, pool, price)).does(t.moves(t.vault, t.ofWallet, pool, units))
}

func (p *script) at(key solana.PublicKey) byte {
	i := slices.IndexFunc(p.metas, func(m decodetest.Meta) bool { return m.Key == key })
	if i < 0 {
		panic("the script was not given account " + key.String())
	}
	return byte(i)
}

// does makes the program call another.
func (p *script) does(calls ...decodetest.Call) *script {
	for _, call := range calls {
		p.steps = append(p.steps, p.at(call.Program), byte(len(call.Accounts)))
		for _, meta := range call.Accounts {
			var rights byte
			if meta.Signer {
				rights |= 1
			}
			if meta.Writable {
				rights |= 2
			}
			p.steps = append(p.steps, p.at(meta.Key), rights)
		}
		p.steps = append(append(p.steps, byte(len(call.Data))), call.Data...)
	}
	return p
}

// takes moves lamports out of an account that the program owns.
func (p *script) takes(from, to solana.PublicKey, lamports uint64) *script {
	p.steps = append(p.steps, 0xfe, p.at(from), p.at(to))
	for range 8 {
		p.steps = append(p.steps, byte(lamports))
		lamports >>= 8
	}
	return p
}

// stopsUnlessRaised ends the program here, until the flag is raised.
func (p *script) stopsUnlessRaised() *script {
	p.steps = append(p.steps, 0xff, p.at(flag))
	return p
}

func (p *script) call() decodetest.Call {
	return decodetest.Call{Program: scriptable, Accounts: p.metas, Data: append(append(make([]byte, 8), poolBump), p.steps...)}
}
