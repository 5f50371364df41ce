package judge_test

import (
	"bytes"
	"slices"
	"testing"

	"countersign/scripts/fixtures"
	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// The tests in *_attack_test.go each hold one way to rob the wallet that was
// found by attacking the judge. They show that the theft is real, by sending
// bytes that nobody judged, and that the judge does not pass it. Where a test
// names the line that keeps it, it fails without that line.

// scriptable is a program that does what its instruction data says, with
// whatever signatures the transaction lends it.
var scriptable = solana.MustPublicKey(fixtures.ScriptableProgramID)

// batch is a unit of tokens to rob.
const batch = 1_000_000_000

// startAttack is a scene with a friend who exists and a thief.
func startAttack(t *testing.T) (s scene, friend, thief solana.PublicKey) {
	t.Helper()
	s = startScene(t)
	s.reset()
	friend = stranger(1)
	s.must(s.net.SetAccount(t.Context(), friend.String(), localnetFriend))
	return s, friend, s.key(s.world.Thief)
}

// stranger is an address that nothing else uses, one for each number.
func stranger(number byte) solana.PublicKey {
	return solana.PublicKey(bytes.Repeat([]byte{0x20 + number}, len(solana.PublicKey{})))
}

// place puts an account on the chain, over what is there.
func (s scene) place(account chain.Account) {
	s.t.Helper()
	s.must(s.net.SetAccount(s.t.Context(), account.Key.String(), localnet.Account{
		Lamports: uint64(account.Lamports), Owner: account.Owner.String(), Data: account.Data,
	}))
}

// held is a token account of the SPL token program.
func held(key, mint, owner solana.PublicKey, units amount.Units, edits ...func([]byte)) chain.Account {
	return chaintest.Token(key, solana.TokenProgram, mint, owner, units, edits...)
}

// multisig is an account of the token program for which any of the keys signs.
func multisig(at solana.PublicKey, keys ...solana.PublicKey) chain.Account {
	data := make([]byte, 355)
	data[0], data[1], data[2] = 1, byte(len(keys)), 1
	for i, key := range keys {
		copy(data[3+i*len(key):], key[:])
	}
	return chain.Account{Key: at, Lamports: 10_000_000, Owner: solana.TokenProgram, Data: data}
}

// empty leaves nothing but a system account without lamports.
func (s scene) empty(key solana.PublicKey) {
	s.t.Helper()
	s.place(chain.Account{Key: key, Owner: solana.SystemProgram})
}

// raise funds the flag that a script waits for: from now on it steals.
func (s scene) raise(flag solana.PublicKey) {
	s.t.Helper()
	s.must(s.net.SetAccount(s.t.Context(), flag.String(), localnetFriend))
}

func (s scene) unsigned(calls ...decodetest.Call) []byte {
	s.t.Helper()
	tx := decodetest.Legacy(wallet, s.latest(), calls...)
	return tx.Marshal()
}

// account is a token account as the observer sees it.
func (s scene) account(key solana.PublicKey) observer.TokenAccount {
	s.t.Helper()
	token, _, err := s.eye.TokenAccount(s.t.Context(), key.String())
	s.must(err)
	return token
}

// move is a transfer of the scene's token by the wallet.
func (s scene) move(from, to solana.PublicKey, units uint64) decodetest.Call {
	return decodetest.TransferChecked(solana.TokenProgram, from, s.key(s.world.TokenMint), to, wallet, units, s.world.TokenDecimals)
}

// refuses demands that the judge refuses the bytes for this reason.
func (s scene) refuses(raw []byte, r judge.Request, want fault.Code) {
	s.t.Helper()
	judged, err := s.judge.Judge(s.t.Context(), raw, r)
	if err == nil {
		s.t.Errorf("judged fit to sign, class %s, charge %v; want %s", judged.Effects().Class(), judged.Charge(), want)
	} else if !fault.Is(err, want) {
		s.t.Errorf("%v, want %s", err, want)
	}
}

// robs sends bytes that nobody judged: were they refused by the chain anyway,
// the judge's refusal would prove nothing.
func (s scene) robs(raw []byte) {
	s.t.Helper()
	if failure := s.send(signed(raw, 0)); failure != "" {
		s.t.Fatalf("the attack fails on chain by itself: %s", failure)
	}
}

// paying are the bounds of a transfer to these recipients.
func paying(mint solana.PublicKey, units amount.Units, recipients ...solana.PublicKey) judge.Request {
	return judge.Request{Flow: effects.Transfer, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{mint: units}, MaxFee: 50_000, MaxRent: 10_000_000, Recipients: recipients,
	}}
}

// swapping are the bounds of a swap by the scriptable program.
func swapping(out solana.PublicKey, most amount.Units) judge.Request {
	return judge.Request{Flow: effects.Swap, Bounds: effects.Bounds{
		MaxOut: map[solana.PublicKey]amount.Units{out: most}, MaxFee: 50_000, Programs: []solana.PublicKey{scriptable},
	}}
}

// script is a call of the scriptable program under construction: the accounts
// it is given, and what it does with them.
type script struct {
	metas []decodetest.Meta
	steps []byte
}

// scripted starts a script. The program has the wallet's signature.
func scripted(metas ...decodetest.Meta) *script {
	return &script{metas: append([]decodetest.Meta{decodetest.SW(wallet)}, metas...)}
}

func (p *script) at(key solana.PublicKey) byte {
	i := slices.IndexFunc(p.metas, func(m decodetest.Meta) bool { return m.Key == key })
	if i < 0 {
		panic("the script was not given account " + key.String())
	}
	return byte(i)
}

// does makes the program call another.
func (p *script) does(call decodetest.Call) *script {
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
	return p
}

// stopsUnless ends the program here, until the flag is raised.
func (p *script) stopsUnless(flag solana.PublicKey) *script {
	p.steps = append(p.steps, 0xff, p.at(flag))
	return p
}

func (p *script) call() decodetest.Call {
	const noSeeds = 9 // What a program-derived signature would take.
	return decodetest.Call{Program: scriptable, Accounts: p.metas, Data: append(make([]byte, noSeeds), p.steps...)}
}
