package localnet

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/fixtures"
	"countersign/scripts/observer"
)

const system = "11111111111111111111111111111111"

// startReal starts the true chain, its clock stopped.
func startReal(t *testing.T) (*Chain, *observer.Observer) {
	t.Helper()
	chain, err := Start(t.Context(), Options{NoClock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chain.Stop)
	return chain, observer.New(chain.RPCURL)
}

// settle lets enough slots pass for everything to be confirmed.
func settle(t *testing.T, chain *Chain) {
	t.Helper()
	if err := chain.Advance(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
}

func newKey(t *testing.T) solana.PrivateKey {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAirdropIsExactBeyondFloats(t *testing.T) {
	chain, eye := startReal(t)
	wallet := newKey(t).PublicKey().String()
	const lamports = 1<<53 + 1
	if err := chain.Airdrop(t.Context(), wallet, lamports); err != nil {
		t.Fatal(err)
	}
	settle(t, chain)
	if got, err := eye.Balance(t.Context(), wallet); err != nil || got != lamports {
		t.Errorf("balance = %d, %v", got, err)
	}
	history, err := eye.Signatures(t.Context(), wallet)
	if err != nil || len(history) != 1 || history[0].Err != "" {
		t.Errorf("history = %+v, %v", history, err)
	}
}

func TestSetAccountPutsAndRemoves(t *testing.T) {
	chain, eye := startReal(t)
	address := newKey(t).PublicKey().String()
	want := Account{Lamports: 1<<63 + 1, Owner: fixtures.FeeShareProgramID, Data: []byte{255, 0, 1}}
	if err := chain.SetAccount(t.Context(), address, want); err != nil {
		t.Fatal(err)
	}
	settle(t, chain)
	got, ok, err := eye.Account(t.Context(), address)
	if err != nil || !ok || got.Lamports != want.Lamports || got.Owner != want.Owner || string(got.Data) != string(want.Data) {
		t.Errorf("account = %+v, %t, %v", got, ok, err)
	}
	if err := chain.SetAccount(t.Context(), address, Account{Owner: system}); err != nil {
		t.Fatal(err)
	}
	settle(t, chain)
	if got, ok, err := eye.Account(t.Context(), address); err != nil || ok {
		t.Errorf("removed account: %+v, %t, %v", got, ok, err)
	}
}

// TestFixtureRobsAWallet runs the hostile program through the RPC, and has the
// observer say what it did.
func TestFixtureRobsAWallet(t *testing.T) {
	chain, eye := startReal(t)
	if err := AddFixtures(t.Context(), chain); err != nil {
		t.Fatal(err)
	}
	wallet, thief := newKey(t), newKey(t).PublicKey()
	if err := chain.Airdrop(t.Context(), wallet.PublicKey().String(), 10_000_000_000); err != nil {
		t.Fatal(err)
	}
	settle(t, chain)
	before, err := eye.Snapshot(t.Context(), wallet.PublicKey().String(), thief.String())
	if err != nil {
		t.Fatal(err)
	}
	// No bump, then: call account 2 with accounts 0 (signs, written) and 1
	// (written) and the data of a System transfer.
	script := []byte{1, 2, 3, 4, 5, 6, 7, 8, 0, 2, 2, 0, 3, 1, 2, 12, 2, 0, 0, 0}
	script = binary.LittleEndian.AppendUint64(script, 7_000_000_000)
	signature := send(t, chain, wallet, solana.NewInstruction(
		solana.MustPublicKeyFromBase58(fixtures.ScriptableProgramID),
		solana.AccountMetaSlice{solana.Meta(wallet.PublicKey()).SIGNER().WRITE(), solana.Meta(thief).WRITE(), solana.Meta(solana.SystemProgramID)},
		script))
	settle(t, chain)

	after, err := eye.Snapshot(t.Context(), wallet.PublicKey().String(), thief.String())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]uint64{wallet.PublicKey().String(): {7_000_005_000, 0}, thief.String(): {0, 7_000_000_000}}
	changes := observer.Diff(before, after)
	if len(changes) != len(want) {
		t.Errorf("changes = %v", changes)
	}
	for _, change := range changes {
		if out, in := change.Lamports(); [2]uint64{out, in} != want[change.Address] {
			t.Errorf("%s, want %v", change, want[change.Address])
		}
	}
	transaction, ok, err := eye.Transaction(t.Context(), signature)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	told := transaction.Balances[wallet.PublicKey().String()]
	if transaction.Fee != 5000 || transaction.Payer != wallet.PublicKey().String() || told.Pre-told.Post != 7_000_005_000 || transaction.Err != "" {
		t.Errorf("transaction = %+v", transaction)
	}
}

type blockhash struct {
	Value struct {
		Hash string `json:"blockhash"`
	} `json:"value"`
}

func latest(t *testing.T, chain *Chain) string {
	t.Helper()
	var answer blockhash
	if err := chain.rpc.call(t.Context(), &answer, "getLatestBlockhash"); err != nil {
		t.Fatal(err)
	}
	return answer.Value.Hash
}

func send(t *testing.T, chain *Chain, wallet solana.PrivateKey, instruction solana.Instruction) string {
	t.Helper()
	transaction, err := solana.NewTransaction([]solana.Instruction{instruction}, solana.MustHashFromBase58(latest(t, chain)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transaction.Sign(func(solana.PublicKey) *solana.PrivateKey { return &wallet }); err != nil {
		t.Fatal(err)
	}
	raw, err := transaction.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var signature string
	if err := chain.rpc.call(t.Context(), &signature, "sendTransaction", base64.StdEncoding.EncodeToString(raw), map[string]string{"encoding": "base64"}); err != nil {
		t.Fatal(err)
	}
	return signature
}

func TestExpireBlockhashEndsTheLatest(t *testing.T) {
	chain, _ := startReal(t)
	hash := latest(t, chain)
	valid := func() bool {
		var answer struct {
			Value bool `json:"value"`
		}
		if err := chain.rpc.call(t.Context(), &answer, "isBlockhashValid", hash, map[string]string{"commitment": "processed"}); err != nil {
			t.Fatal(err)
		}
		return answer.Value
	}
	if !valid() {
		t.Error("the latest blockhash is not valid")
	}
	if err := chain.ExpireBlockhash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if valid() {
		t.Error("the blockhash is still valid")
	}
}

func TestAdvanceIsTheOnlyClockWithoutOne(t *testing.T) {
	chain, _ := startReal(t)
	slot := func() (slot uint64) {
		if err := chain.rpc.call(t.Context(), &slot, "getSlot", map[string]string{"commitment": "processed"}); err != nil {
			t.Fatal(err)
		}
		return slot
	}
	begun := slot()
	time.Sleep(500 * time.Millisecond)
	if now := slot(); now != begun {
		t.Errorf("slot %d became %d by itself", begun, now)
	}
	if err := chain.Advance(t.Context(), 41); err != nil {
		t.Fatal(err)
	}
	if now := slot(); now != begun+41 {
		t.Errorf("slot %d became %d, want %d", begun, now, begun+41)
	}
}

func TestGenesisIsTheOneAskedFor(t *testing.T) {
	genesis := newKey(t).PublicKey().String()
	chain, err := Start(t.Context(), Options{Genesis: genesis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chain.Stop)
	var told string
	if err := chain.rpc.call(t.Context(), &told, "getGenesisHash"); err != nil || told != genesis || chain.GenesisHash != genesis {
		t.Errorf("genesis %s, at the start %s, want %s (%v)", told, chain.GenesisHash, genesis, err)
	}
}

func TestFaultsComeAndGo(t *testing.T) {
	chain, eye := startReal(t)
	wallet := newKey(t).PublicKey().String()
	fails := func() bool {
		_, err := eye.Balance(t.Context(), wallet)
		return err != nil
	}
	if err := chain.Fault(t.Context(), Fault{Method: "getBalance", Kind: HTTP429, Count: 2, RetryAfterS: 1}); err != nil {
		t.Fatal(err)
	}
	for call, want := range []bool{true, true, false} {
		if fails() != want {
			t.Errorf("call %d: fails = %t, want %t", call, !want, want)
		}
	}
	if err := chain.Fault(t.Context(), Fault{Method: "getBalance", Kind: HTTP429, Count: 2}); err != nil {
		t.Fatal(err)
	}
	if err := chain.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fails() {
		t.Error("a fault outlived ClearFaults")
	}
	if got, err := chain.Requests(t.Context(), "getBalance"); err != nil || got != 4 {
		t.Errorf("requests = %d, %v, want 4", got, err)
	}
	if got, err := chain.Requests(t.Context(), "getSlot"); err != nil || got != 0 {
		t.Errorf("requests of what was never called = %d, %v", got, err)
	}
	if err := chain.Fault(t.Context(), Fault{Method: "getBalance", Kind: "no such kind", Count: 1}); err == nil {
		t.Error("a fault of no known kind was accepted")
	}
}

func TestFaultsLieAboutABalance(t *testing.T) {
	chain, eye := startReal(t)
	wallet := newKey(t).PublicKey().String()
	const lamports = 1<<63 + 1
	if err := chain.Fault(t.Context(), Fault{Kind: LieBalance, Pubkey: wallet, Lamports: lamports}); err != nil {
		t.Fatal(err)
	}
	if got, err := eye.Balance(t.Context(), wallet); err != nil || got != lamports {
		t.Errorf("balance = %d, %v", got, err)
	}
}

// TestFaultsHideAndDelayASend holds a transaction back, then says it never was.
func TestFaultsHideAndDelayASend(t *testing.T) {
	chain, eye := startReal(t)
	wallet := newKey(t)
	if err := chain.Airdrop(t.Context(), wallet.PublicKey().String(), 1_000_000_000); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []Fault{{Kind: DelayLand, Slots: 5, Count: 1}, {Kind: HideStatus, Method: "getTransaction", Count: 1}} {
		if err := chain.Fault(t.Context(), fault); err != nil {
			t.Fatal(err)
		}
	}
	signature := send(t, chain, wallet, solana.NewInstruction(solana.SystemProgramID, solana.AccountMetaSlice{
		solana.Meta(wallet.PublicKey()).SIGNER().WRITE(), solana.Meta(wallet.PublicKey()).WRITE(),
	}, []byte{2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}))
	balance := func() uint64 {
		got, err := eye.At(observer.Processed).Balance(t.Context(), wallet.PublicKey().String())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	settle(t, chain)
	if got := balance(); got != 1_000_000_000 {
		t.Errorf("balance after 3 of 5 slots = %d", got)
	}
	settle(t, chain)
	settle(t, chain)
	if got := balance(); got != 1_000_000_000-5000 {
		t.Errorf("balance after landing = %d", got)
	}
	for _, want := range []bool{false, true} {
		if _, ok, err := eye.Transaction(t.Context(), signature); err != nil || ok != want {
			t.Errorf("transaction is there: %t, %v; want %t", ok, err, want)
		}
	}
}

func TestConnectSharesAChainAndLeavesItRunning(t *testing.T) {
	chain, eye := startReal(t)
	wallet := newKey(t).PublicKey().String()
	second := Connect(chain.RPCURL)
	if err := second.Airdrop(t.Context(), wallet, 1_000_000_000); err != nil {
		t.Fatal(err)
	}
	second.Stop()
	settle(t, chain)
	if got, err := eye.Balance(t.Context(), wallet); err != nil || got != 1_000_000_000 {
		t.Errorf("balance = %d, %v", got, err)
	}
	err := second.AddProgram(t.Context(), "not an address", nil)
	if err == nil || !strings.Contains(err.Error(), "devchain_addProgram") {
		t.Errorf("a bad address: %v", err)
	}
	chain.Kill()
	if err := chain.Advance(t.Context(), 1); err == nil {
		t.Error("a killed chain answers")
	}
}
