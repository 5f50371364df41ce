package flow_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

// payee is who the tests pay.
var payee = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")

// world is a flow over a real chain, with real stages and real files.
type world struct {
	t      *testing.T
	net    *localnet.Chain
	eye    *observer.Observer
	chain  *chain.Client
	store  *sqlite.Store
	audit  *audit.Log
	ledger *ledger.Ledger
	book   *approval.Book
	signer *custody.Signer
	dir    string
	text   string
	rules  *policy.Policy
	people people
	flow   *flow.Flow
}

// people is an address book that a test writes itself.
type people []effects.Recipient

func (p people) List(context.Context) ([]effects.Recipient, error) { return slices.Clone(p), nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, localnet.Options{SlotMS: 50})
}

// newWorldOn is a world whose chain runs by these options.
func newWorldOn(t *testing.T, options localnet.Options) *world {
	t.Helper()
	options.FinalizedLag, options.Stderr = 8, io.Discard
	net, err := localnet.Start(t.Context(), options)
	check(t, err)
	t.Cleanup(net.Stop)
	w := &world{t: t, net: net, eye: observer.New(net.RPCURL)}
	genesis, err := solana.ParseHash(net.GenesisHash)
	check(t, err)
	w.text = strings.Replace(string(policy.Default("local", genesis)), `new = "human"`, `new = "confirm"`, 1)
	w.rules = w.policy()
	w.chain, err = chain.New([]string{net.RPCURL}, chain.Options{Timeout: 10 * time.Second})
	check(t, err)
	w.openState(filepath.Join(t.TempDir(), "state"), genesis)
	check(t, net.Airdrop(t.Context(), w.signer.PublicKey().String(), 5_000_000_000))
	w.start()
	return w
}

// policy is that of the tests, with some of its text replaced.
func (w *world) policy(edits ...string) *policy.Policy {
	w.t.Helper()
	text := strings.NewReplacer(edits...).Replace(w.text)
	if len(edits) > 0 && text == w.text {
		w.t.Fatalf("the policy has none of %q", edits)
	}
	rules, err := policy.Load([]byte(text))
	check(w.t, err)
	return rules
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) openState(dir string, genesis solana.Hash) {
	w.t.Helper()
	w.dir = dir
	check(w.t, os.MkdirAll(dir, 0o700))
	options := custody.Options{Backend: "file", StateDir: dir, PassphraseFile: filepath.Join(dir, "passphrase"), Timeout: 10 * time.Second}
	check(w.t, custody.Prepare(options, false))
	vault, err := custody.Open(options)
	check(w.t, err)
	_, err = vault.Create(w.t.Context(), "main")
	check(w.t, err)
	w.signer, err = vault.Unlock(w.t.Context(), "main")
	check(w.t, err)
	w.store, err = sqlite.Create(w.t.Context(), filepath.Join(dir, "ledger.db"))
	check(w.t, err)
	w.audit, err = audit.Create(filepath.Join(dir, "audit.jsonl"))
	check(w.t, err)
	w.ledger = ledger.New(w.store, w.signer.PublicKey(), genesis)
	w.book = approval.NewBook(w.store)
	w.t.Cleanup(func() {
		_ = w.audit.Close() // A test may have closed it.
		check(w.t, w.store.Close())
		w.signer.Close()
	})
}

// start runs a flow, as a new process would.
func (w *world) start() {
	w.t.Helper()
	sender, err := submit.New([]string{w.net.RPCURL}, submit.Options{Wallet: w.signer.PublicKey(), Interval: 100 * time.Millisecond})
	check(w.t, err)
	w.flow, err = flow.New(context.WithoutCancel(w.t.Context()), flow.Stages{
		Chain: w.chain, Judge: judge.New(w.chain, w.signer.PublicKey()), Policy: policy.NewLive(w.rules), Recipients: w.people, Book: w.book,
		Ledger: w.ledger, Signer: w.signer, Sender: sender, Audit: w.audit, Anchor: w.store.NoteAnchor, Logger: slog.New(slog.DiscardHandler),
	})
	check(w.t, err)
	w.t.Cleanup(w.flow.Close)
}

// transfer is the wire form of a System transfer with a fresh blockhash. A block
// is let pass first: two equal transfers of one block are one transaction.
func (w *world) transfer(units uint64) []byte {
	w.t.Helper()
	check(w.t, w.net.Advance(w.t.Context(), 1))
	return w.transferNow(units)
}

// transferNow is one for whose blockhash nothing is waited.
func (w *world) transferNow(units uint64) []byte {
	w.t.Helper()
	data := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, 2), units)
	message := solana.Message{
		RequiredSignatures: 1, ReadonlyUnsigned: 1, Blockhash: w.blockhash(),
		Keys:         []solana.PublicKey{w.signer.PublicKey(), payee, solana.SystemProgram},
		Instructions: []solana.Instruction{{Program: 2, Accounts: []uint8{0, 1}, Data: data}},
	}
	return solana.Transaction{Signatures: make([]solana.Signature, 1), Message: message}.Marshal()
}

func (w *world) blockhash() solana.Hash {
	w.t.Helper()
	text, err := w.net.LatestBlockhash(w.t.Context())
	check(w.t, err)
	hash, err := solana.ParseHash(text)
	check(w.t, err)
	return hash
}

const session = "s_test"

// lamports is what the tests pay.
const lamports = 10_000_000

func (w *world) proposed() flow.Proposed {
	arguments, err := json.Marshal(map[string]string{"amount": "0.01", "mint": solana.WrappedSOL.String(), "to": payee.String()})
	check(w.t, err)
	p := flow.Proposed{
		Session: session, Tool: "solana_transfer", Arguments: string(arguments), Flow: effects.Transfer,
		Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: lamports},
			MaxFee: 10_000, Recipients: []solana.PublicKey{payee},
		},
		Transactions: [][]byte{w.transfer(lamports)},
	}
	p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
	return p
}

// propose proposes a transfer and returns what confirms it.
func (w *world) propose() flow.Confirmed {
	w.t.Helper()
	p := w.proposed()
	verdict, err := w.flow.Propose(w.t.Context(), p)
	check(w.t, err)
	if verdict.Refused != nil || verdict.Code == "" {
		w.t.Fatalf("refused: %v", verdict.Refused)
	}
	return flow.Confirmed{Session: session, Code: verdict.Code, Fingerprint: p.Fingerprint, Transactions: [][]byte{w.transfer(lamports)}}
}

// sent is how many transactions of the wallet the observer sees beside the one
// that funded it. History begins at confirmed, so blocks are let pass first:
// counted too early, what was sent would be missed.
func (w *world) sent() int {
	w.t.Helper()
	check(w.t, w.net.Advance(w.t.Context(), 2))
	list, err := w.eye.Signatures(w.t.Context(), w.signer.PublicKey().String())
	check(w.t, err)
	return len(list) - 1
}

func ignore(flow.Progress) {}
