package permissions

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"countersign/scripts/fixtures"
	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/judge"
)

// The people. The friend is who the wallet pays; the other is everybody else.
var (
	walletKey, wallet = person(1)
	otherKey, other   = person(2)
	freshKey, fresh   = person(3) // has no account yet
	friend            = solana.PublicKey(bytes.Repeat([]byte{0x21}, 32))
	shared            = solana.PublicKey(bytes.Repeat([]byte{0x22}, 32)) // a multisig that the wallet is one of
)

func person(number byte) (ed25519.PrivateKey, solana.PublicKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	return key, solana.PublicKey(key.Public().(ed25519.PublicKey))
}

// place is an address that nothing else uses.
func place(name string) solana.PublicKey { return solana.PublicKey(sha256.Sum256([]byte(name))) }

// The things.
var (
	scriptable                = solana.MustPublicKey(fixtures.ScriptableProgramID)
	recentBlockhashes         = solana.MustPublicKey("SysvarRecentB1ockHashes11111111111111111111")
	rentSysvar                = solana.MustPublicKey("SysvarRent111111111111111111111111111111111")
	walletNonce, otherNonce   = place("nonce of the wallet"), place("nonce of the other")
	walletTable, otherTable   = place("table of the wallet"), place("table of the other")
	walletDerived             = derived(wallet)
	otherDerived              = derived(other)
	unheldMint                = place("mint that nobody holds")
	nestedTokens              = place("nested token account")
	spl                       = newPurse("plain", solana.TokenProgram, solana.WrappedSOL)
	t22                       = newPurse("extended", solana.Token2022Program, place("the other wrapped SOL"))
	taxed                     = newPurse("taxed", solana.Token2022Program, place("the other wrapped SOL"))
	everything                = place("lookup table of everything")
	rich, poor, tokensAtStart = uint64(2_000_000_000), uint64(10_000_000), uint64(1_000_000)
)

// derived is the address that a key derives for the other with the seed.
func derived(base solana.PublicKey) solana.PublicKey {
	return solana.PublicKey(sha256.Sum256(append(append(base[:], "seed"...), other[:]...)))
}

// purse is one token and who holds it.
type purse struct {
	program, mint solana.PublicKey
	decimals      uint8
	// ruled is a mint that the wallet has the authority of.
	ruled                       solana.PublicKey
	ofWallet, ofOther, ofFriend solana.PublicKey
	// second is the wallet's too; lent is the other's, and the wallet may spend from it.
	second, lent, ofShared solana.PublicKey
	// emptyMint is another token of which these hold nothing.
	emptyMint, walletEmpty, otherEmpty solana.PublicKey
	native, wrapped, otherWrapped      solana.PublicKey
}

func newPurse(name string, program, native solana.PublicKey) purse {
	p := purse{
		program: program, decimals: 6, native: native,
		mint: place(name + " mint"), ruled: place(name + " mint of the wallet"), emptyMint: place(name + " empty mint"),
		second: place(name + " second account"), lent: place(name + " lent account"), ofShared: place(name + " shared account"),
	}
	held := func(owner, mint solana.PublicKey) solana.PublicKey {
		return solana.AssociatedTokenAddress(owner, mint, program)
	}
	p.ofWallet, p.ofOther, p.ofFriend = held(wallet, p.mint), held(other, p.mint), held(friend, p.mint)
	p.walletEmpty, p.otherEmpty = held(wallet, p.emptyMint), held(other, p.emptyMint)
	p.wrapped, p.otherWrapped = held(wallet, native), held(other, native)
	return p
}

func purseOf(program solana.PublicKey) purse {
	if program == solana.TokenProgram {
		return spl
	}
	return t22
}

// ruledBy gives a mint its authorities.
func ruledBy(account chain.Account, key solana.PublicKey) chain.Account {
	data := account.Data
	data[0], data[46] = 1, 1
	copy(data[4:], key[:])
	copy(data[50:], key[:])
	return account
}

// accounts are those of one token.
func (p purse) accounts() []chain.Account {
	mint := func(key, ruler solana.PublicKey) chain.Account {
		return p.extended(ruledBy(chaintest.Mint(key, p.program, p.decimals), ruler), 1)
	}
	tokens := func(key, mint, owner solana.PublicKey, units uint64, edits ...func([]byte)) chain.Account {
		return p.extended(chaintest.Token(key, p.program, mint, owner, amount.Units(units), edits...), 2)
	}
	return []chain.Account{
		mint(p.mint, other), mint(p.ruled, wallet), mint(p.emptyMint, other),
		tokens(p.ofWallet, p.mint, wallet, tokensAtStart), tokens(p.ofOther, p.mint, other, tokensAtStart),
		tokens(p.ofFriend, p.mint, friend, 0), tokens(p.second, p.mint, wallet, tokensAtStart),
		tokens(p.lent, p.mint, other, tokensAtStart, chaintest.Delegate(wallet, tokensAtStart)),
		tokens(p.ofShared, p.mint, shared, tokensAtStart),
		tokens(p.walletEmpty, p.emptyMint, wallet, 0), tokens(p.otherEmpty, p.emptyMint, other, 0),
		wrapped(p, p.wrapped, wallet), wrapped(p, p.otherWrapped, other),
	}
}

// wrapped is a wrapped-SOL account with lamports that it has not counted yet.
func wrapped(p purse, key, owner solana.PublicKey) chain.Account {
	account := p.extended(chaintest.Token(key, p.program, p.native, owner, 1_000), 2)
	rent := uint64(128+len(account.Data)) * 6_960
	account.Data[109] = 1
	binary.LittleEndian.PutUint64(account.Data[113:], rent)
	account.Lamports = amount.Units(rent + 1_000 + units)
	return account
}

const (
	extTransferFeeConfig = 1
	extTransferFeeAmount = 2
	extImmutableOwner    = 7
	taxBasisPoints       = 500
)

// taxOf is the fee of the taxed token, rounded up.
func taxOf(units uint64) uint64 { return (units*taxBasisPoints + 9_999) / 10_000 }

// extended adds what accounts and mints of Token-2022 carry.
func (p purse) extended(account chain.Account, kind byte) chain.Account {
	if p.program != solana.Token2022Program {
		return account
	}
	isTaxed := p.mint == place("taxed mint")
	extensions := []chaintest.Extension{{Kind: extImmutableOwner}}
	switch {
	case kind == 1 && !isTaxed:
		return account
	case kind == 1:
		config := make([]byte, 108)
		for _, at := range []int{72, 90} { // the older and the newer fee: epoch, most, rate
			binary.LittleEndian.PutUint64(config[at+8:], tokensAtStart)
			binary.LittleEndian.PutUint16(config[at+16:], taxBasisPoints)
		}
		extensions = []chaintest.Extension{{Kind: extTransferFeeConfig, Value: config}}
	case isTaxed:
		extensions = append(extensions, chaintest.Extension{Kind: extTransferFeeAmount, Value: make([]byte, 8)})
	}
	account = chaintest.Extend(account, kind, extensions...)
	account.Lamports += 1_000_000
	return account
}

// world is every account at the start.
func world() []chain.Account {
	plain := func(key solana.PublicKey, lamports uint64) chain.Account {
		return chain.Account{Key: key, Lamports: amount.Units(lamports), Owner: solana.SystemProgram}
	}
	multisig := make([]byte, 355)
	multisig[0], multisig[1], multisig[2] = 1, 2, 1
	copy(multisig[3:], other[:])
	copy(multisig[35:], wallet[:])
	list := []chain.Account{
		plain(wallet, rich), plain(other, rich), plain(friend, poor), plain(fresh, 0), plain(walletDerived, poor), plain(otherDerived, poor),
		nonce(walletNonce, wallet), nonce(otherNonce, other), table(walletTable, wallet), table(otherTable, other),
		chaintest.Mint(unheldMint, solana.TokenProgram, 6),
		plain(solana.AssociatedTokenAddress(wallet, unheldMint, solana.TokenProgram), 0),
		plain(solana.AssociatedTokenAddress(friend, unheldMint, solana.TokenProgram), 0),
		chaintest.Token(nestedTokens, solana.TokenProgram, spl.mint, spl.ofWallet, 5),
		{Key: shared, Lamports: 10_000_000, Owner: solana.TokenProgram, Data: multisig},
	}
	for _, p := range []purse{spl, t22, taxed} {
		list = append(list, p.accounts()...)
	}
	other22 := chaintest.Mint(t22.native, solana.Token2022Program, 9)
	return append(list, other22)
}

func nonce(key, authority solana.PublicKey) chain.Account {
	data := make([]byte, 80)
	data[0], data[4] = 1, 1
	copy(data[8:], authority[:])
	copy(data[40:], other[:])
	binary.LittleEndian.PutUint64(data[72:], solana.LamportsPerSignature)
	return chain.Account{Key: key, Lamports: 1_447_680, Owner: solana.SystemProgram, Data: data}
}

func table(key, authority solana.PublicKey, addresses ...solana.PublicKey) chain.Account {
	account := chaintest.Table(key, 1, 0, addresses...)
	account.Data[21] = 1
	copy(account.Data[22:], authority[:])
	account.Lamports = 100_000_000
	return account
}

// tableAddresses are what the table of everything holds: the world, and what
// instructions read beside it.
func tableAddresses() []solana.PublicKey {
	list := []solana.PublicKey{
		recentBlockhashes, rentSysvar, solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.WrappedSOL,
	}
	for _, account := range world() {
		list = append(list, account.Key)
	}
	return list
}

// scene is the world on a real chain, and a judge of the wallet.
type scene struct {
	t     *testing.T
	net   *localnet.Chain
	eye   *observer.Observer
	rpc   *jsonrpc.Client
	judge *judge.Judge
	// dirty are the accounts that the last transaction may have changed.
	dirty map[solana.PublicKey]bool
}

func startScene(t *testing.T) *scene {
	t.Helper()
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Stop)
	rpc, err := jsonrpc.New(net.RPCURL, jsonrpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := chain.New([]string{net.RPCURL}, chain.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, net: net, eye: observer.New(net.RPCURL), rpc: rpc, judge: judge.New(client, wallet)}
	s.must(localnet.AddFixtures(t.Context(), net))
	s.put(table(everything, other, tableAddresses()...))
	s.restore()
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) put(account chain.Account) {
	s.t.Helper()
	s.must(s.net.SetAccount(s.t.Context(), account.Key.String(), localnet.Account{
		Lamports: uint64(account.Lamports), Owner: account.Owner.String(), Data: account.Data,
	}))
}

// restore puts back what the last transaction may have changed.
func (s *scene) restore() {
	s.t.Helper()
	for _, account := range world() {
		if s.dirty == nil || s.dirty[account.Key] {
			s.put(account)
		}
	}
	s.dirty = make(map[solana.PublicKey]bool)
}

func (s *scene) blockhash() solana.Hash {
	s.t.Helper()
	text, err := s.net.LatestBlockhash(s.t.Context())
	s.must(err)
	hash, err := solana.ParseHash(text)
	s.must(err)
	return hash
}

func (s *scene) context() context.Context { return s.t.Context() }
