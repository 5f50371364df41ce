package mutation_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/sandbox/world"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/judge"
)

const (
	stubKey       = "stub_bags_key_no_network"
	startLamports = 2_000_000_000
	startTokens   = 5_000_000_000
	wrapped       = 300_000_000
	accrued       = 20_000_000 // in each of two vaults
)

// key derives a key pair from one byte. They guard nothing.
func key(seed byte) (ed25519.PrivateKey, solana.PublicKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return private, solana.PublicKey(private.Public().(ed25519.PublicKey))
}

// The wallet signs here only to see what the chain then does. The accomplice
// signs whatever names them: a hostile API has keys too.
var (
	walletKey, wallet         = key(1)
	accompliceKey, accomplice = key(9)
)

// stage is a real chain, the API beside it, and a judge of the wallet.
type stage struct {
	t     *testing.T
	net   *localnet.Chain
	eye   *observer.Observer
	rpc   *jsonrpc.Client
	api   *bagsandbox.Sandbox
	judge *judge.Judge
	world world.World
	table []solana.PublicKey

	token, token2022, thief, friend, sponsor, second solana.PublicKey
	// cosigners sign what names them, whatever it is.
	cosigners map[solana.PublicKey]ed25519.PrivateKey
	// watched is every account whose change would mean something.
	watched []string
}

func startStage(t *testing.T) *stage {
	t.Helper()
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20, ConfirmedLag: localnet.NoLag})
	check(t, err)
	t.Cleanup(net.Stop)
	api, err := bagsandbox.Start(t.Context(), bagsandbox.Config{RPC: net.RPCURL, Wallet: wallet.String(), APIKey: stubKey})
	check(t, err)
	t.Cleanup(func() { _ = api.Close() })
	rpc, err := jsonrpc.New(net.RPCURL, jsonrpc.Options{})
	check(t, err)
	client, err := chain.New([]string{net.RPCURL}, chain.Options{Timeout: 10 * time.Second})
	check(t, err)
	s := &stage{t: t, net: net, eye: observer.New(net.RPCURL), rpc: rpc, api: api, judge: judge.New(client, wallet), world: api.World()}
	s.people()
	s.furnish()
	return s
}

// people fixes who and what the mutants may name.
func (s *stage) people() {
	layout := world.New("", [32]byte(wallet))
	for _, entry := range layout.TableEntries() {
		s.table = append(s.table, solana.PublicKey(entry))
	}
	s.token, s.token2022 = solana.PublicKey(layout.Token.Address), solana.PublicKey(layout.Token2022.Address)
	s.thief, s.sponsor = solana.PublicKey(layout.Thief), solana.PublicKey(layout.Sponsor.PublicKey())
	_, s.friend = key(7)
	_, s.second = key(8)
	s.cosigners = map[solana.PublicKey]ed25519.PrivateKey{s.sponsor: ed25519.PrivateKey(layout.Sponsor), accomplice: accompliceKey}
	for _, each := range s.pool() {
		s.watched = append(s.watched, each.String())
	}
	for _, each := range s.table {
		s.watched = append(s.watched, each.String())
	}
}

// pool is the accounts that a mutant may put in the place of others.
func (s *stage) pool() []solana.PublicKey {
	list := []solana.PublicKey{wallet, s.thief, s.friend, s.sponsor, accomplice, s.second, s.parse(s.world.Nonce), s.parse(s.world.Trigger)}
	for _, mint := range []struct{ key, program solana.PublicKey }{
		{solana.WrappedSOL, solana.TokenProgram}, {s.token, solana.TokenProgram}, {s.token2022, solana.Token2022Program},
	} {
		for _, owner := range []solana.PublicKey{wallet, s.thief, s.friend} {
			list = append(list, solana.AssociatedTokenAddress(owner, mint.key, mint.program))
		}
		list = append(list, mint.key)
	}
	return append(list, solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.DFlowProgram, solana.FeeShareV2Program, s.parse(s.world.UnknownProgram))
}

// furnish gives the wallet what there is to steal.
func (s *stage) furnish() {
	ctx := s.t.Context()
	for person, lamports := range map[solana.PublicKey]uint64{wallet: startLamports, s.friend: 1_000_000_000, accomplice: 1_000_000_000} {
		s.set(person.String(), localnet.Account{Lamports: lamports, Owner: solana.SystemProgram.String()})
	}
	check(s.t, s.api.Endow(ctx, s.world.TokenMint, startTokens))
	check(s.t, s.api.Endow(ctx, s.world.Token2022Mint, startTokens))
	check(s.t, s.api.Accrue(ctx, accrued))
	s.place(chaintest.Token(s.second, solana.TokenProgram, s.token, wallet, 1_000_000))
}

func (s *stage) place(account chain.Account) {
	s.t.Helper()
	s.set(account.Key.String(), localnet.Account{Lamports: uint64(account.Lamports), Owner: account.Owner.String(), Data: account.Data})
}

func (s *stage) set(address string, account localnet.Account) {
	s.t.Helper()
	check(s.t, again(func() error { return s.net.SetAccount(s.t.Context(), address, account) }))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stage) parse(text string) solana.PublicKey {
	s.t.Helper()
	parsed, err := solana.ParsePublicKey(text)
	check(s.t, err)
	return parsed
}

// ask calls the API.
func (s *stage) ask(method, path, body string, into any) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.api.URL()+path, strings.NewReader(body))
	check(s.t, err)
	request.Header.Set("x-api-key", stubKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	check(s.t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	check(s.t, err)
	var envelope struct {
		Success  bool
		Response json.RawMessage
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || !envelope.Success {
		s.t.Fatalf("%s %s: %s", method, path, raw)
	}
	check(s.t, json.Unmarshal(envelope.Response, into))
}

// blockhash is one that the chain takes.
func (s *stage) blockhash() solana.Hash {
	s.t.Helper()
	var text string
	check(s.t, again(func() (err error) {
		text, err = s.net.LatestBlockhash(s.t.Context())
		return err
	}))
	hash, err := solana.ParseHash(text)
	check(s.t, err)
	return hash
}

// again tries three times: on a busy machine the node may drop a connection.
func again(call func() error) error {
	err := call()
	for range 2 {
		if err == nil {
			break
		}
		err = call()
	}
	return err
}

// send sends without preflight and returns the transaction's error, empty if
// it landed.
func (s *stage) send(raw []byte) string {
	s.t.Helper()
	var signature string
	err := again(func() error {
		return s.rpc.Call(s.t.Context(), "sendTransaction", []any{
			base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true},
		}, &signature)
	})
	if err != nil {
		return "the node does not take it: " + err.Error()
	}
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		var answer struct {
			Value []*struct {
				Err    json.RawMessage `json:"err"`
				Status string          `json:"confirmationStatus"`
			} `json:"value"`
		}
		check(s.t, again(func() error {
			return s.rpc.Call(s.t.Context(), "getSignatureStatuses", []any{[]string{signature}}, &answer)
		}))
		if status := answer.Value[0]; status != nil && status.Status != "processed" {
			if string(status.Err) == "null" {
				return ""
			}
			return string(status.Err)
		}
	}
	return "never confirmed"
}

// look reads everything that a transaction could have changed: what it names,
// what its table lists, and everybody who might profit.
func (s *stage) look(tx solana.Transaction) observer.Snapshot {
	s.t.Helper()
	addresses := slices.Clone(s.watched)
	for _, named := range tx.Message.Keys {
		addresses = append(addresses, named.String())
	}
	slices.Sort(addresses)
	seen := observer.Snapshot{}
	for chunk := range slices.Chunk(slices.Compact(addresses), 100) {
		check(s.t, again(func() error {
			part, err := s.eye.Snapshot(s.t.Context(), chunk...)
			maps.Copy(seen, part)
			return err
		}))
	}
	return seen
}

// restore puts back what a transaction changed.
func (s *stage) restore(changes []observer.Change) {
	s.t.Helper()
	for _, change := range changes {
		account := localnet.Account{Owner: solana.SystemProgram.String()}
		if before := change.Before; before != nil {
			account = localnet.Account{Lamports: before.Lamports, Owner: before.Owner, Data: before.Data, Executable: before.Executable}
		}
		s.set(change.Address, account)
	}
}
