package flow_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/submit"
)

// A process that ends between the ledger and the receipt leaves a transaction
// that nobody looks for any more. The next one tells what the ledger has
// proven, fetches the chain's own account of it, and forgets the fault of the
// stop.
func TestRecoverTellsWhatTheLedgerHasProven(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	grant, err := w.book.Consume(t.Context(), confirmed.Code, confirmed.Fingerprint, session, time.Now())
	check(t, err)
	judged, err := judge.New(w.chain, w.signer.PublicKey()).Judge(t.Context(), confirmed.Transactions[0],
		judge.Request{Flow: effects.Transfer, Bounds: grant.Proposal().Bounds})
	check(t, err)
	lastValid, err := w.chain.LastValidHeight(t.Context(), w.blockhash())
	check(t, err)
	held, err := w.ledger.Reserve(t.Context(), grant, judged, w.rules, 0, lastValid, time.Now())
	check(t, err)
	signed, err := w.signer.Sign(held)
	check(t, err)
	check(t, w.ledger.RecordSigned(t.Context(), held.ID(), signed.Raw(), signed.ID()))
	sender, err := submit.New([]string{w.net.RPCURL}, submit.Options{Wallet: w.signer.PublicKey(), Interval: 100 * time.Millisecond})
	check(t, err)
	result := sender.Submit(t.Context(), signed, lastValid, func(string) {})
	if result.Outcome != submit.Landed {
		t.Fatalf("outcome %v, %v", result.Outcome, result.Fault)
	}
	check(t, w.ledger.Settle(t.Context(), held.ID(), ledger.Settlement{Outcome: submit.Landed, At: time.Now()}))

	w.flow.Close()
	w.start()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
		check(t, err)
		if receipt.Outcome != flow.Landed || len(receipt.Transactions) != 1 {
			t.Fatalf("outcome %s of %d transactions: the ledger had proven that it landed", receipt.Outcome, len(receipt.Transactions))
		}
		told := receipt.Transactions[0]
		if told.Slot == result.Slot && told.Fee == result.Fee && len(told.Changes) == 1 && receipt.Fault == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the receipt still says %+v, fault %v", told, receipt.Fault)
		}
	}
}

// A ledger that is older than the audit log, or has lost its -wal file, would
// start its caps anew: one that does not know the last proposal, one that knows
// it and not what was reserved for it, and one that knows that and not that it
// was signed.
func TestNewRefusesLedgerOlderThanAuditLog(t *testing.T) {
	t.Run("proposal", func(t *testing.T) {
		w := newWorld(t)
		older, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
		check(t, err)
		defer older.Close()
		w.propose()
		w.flow.Close()
		w.refusesLedger(older)
	})
	t.Run("reservation", func(t *testing.T) {
		w := newWorld(t)
		confirmed := w.propose()
		older := w.copyLedger()
		w.pay(confirmed)
		// However much comes after it in the log that names no proposal.
		check(t, w.net.Fault(t.Context(), localnet.Fault{Method: "getGenesisHash", Kind: localnet.HTTP500}))
		for range 30 {
			p := w.proposed()
			p.Arguments = `{"memo":"` + strings.Repeat("x", 32<<10) + `"}`
			p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
			if _, err := w.flow.Propose(t.Context(), p); err == nil {
				t.Fatal("it was proposed while no node answers")
			}
		}
		w.flow.Close()
		w.refusesLedger(w.openLedger(older))
	})
	t.Run("signature", func(t *testing.T) {
		w := newWorld(t)
		older := ""
		_, genesis := w.rules.Network()
		w.ledger = ledger.New(peeking{w.store, sync.OnceFunc(func() { older = w.copyLedger() })}, w.signer.PublicKey(), genesis)
		w.flow.Close()
		w.start()
		w.pay(w.propose())
		w.flow.Close()
		w.refusesLedger(w.openLedger(older))
	})
}

// peeking is a store that does something just before the signed bytes are kept.
type peeking struct {
	ledger.Store
	before func()
}

func (p peeking) Change(ctx context.Context, id string, change func(*ledger.Entry) error) error {
	p.before()
	return p.Store.Change(ctx, id, change)
}

// What was signed with another key, or for another network, is in the ledger all
// the same.
func TestNewTakesLedgerOfAnotherKey(t *testing.T) {
	w := newWorld(t)
	w.pay(w.propose())
	w.flow.Close()
	w.ledger = ledger.New(w.store, w.signer.PublicKey(), solana.Hash{7})
	w.start()
}

func (w *world) pay(confirmed flow.Confirmed) {
	w.t.Helper()
	receipt, err := w.flow.Execute(w.t.Context(), confirmed, ignore)
	check(w.t, err)
	if receipt.Outcome != flow.Landed {
		w.t.Fatalf("outcome %s", receipt.Outcome)
	}
}

// copyLedger copies the ledger as it is now, and says where to.
func (w *world) copyLedger() string {
	w.t.Helper()
	to := filepath.Join(w.t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "ledger.db")+"?mode=rw")
	check(w.t, err)
	_, err = db.ExecContext(w.t.Context(), "VACUUM INTO '"+to+"'")
	check(w.t, err)
	check(w.t, db.Close())
	return to
}

func (w *world) openLedger(path string) *sqlite.Store {
	w.t.Helper()
	store, err := sqlite.Open(w.t.Context(), path)
	check(w.t, err)
	w.t.Cleanup(func() { check(w.t, store.Close()) })
	return store
}

func (w *world) refusesLedger(older *sqlite.Store) {
	w.t.Helper()
	_, genesis := w.rules.Network()
	stages := flow.Stages{Book: approval.NewBook(older), Ledger: ledger.New(older, w.signer.PublicKey(), genesis), Audit: w.audit}
	if _, err := flow.New(w.t.Context(), stages); !fault.Is(err, fault.StateLocked) {
		w.t.Errorf("%v, want %s", err, fault.StateLocked)
	}
}

// What too few nodes tell of a transaction that landed is not told, all that was
// reserved is charged, and the receipt is completed once they do.
func TestReceiptIsCompletedOnceItIsTold(t *testing.T) {
	w := newWorld(t)
	check(t, w.net.Fault(t.Context(), localnet.Fault{Method: "getTransaction", Kind: localnet.HideStatus, Count: 1_000_000}))
	confirmed := w.propose()
	receipt, err := w.flow.Execute(t.Context(), confirmed, ignore)
	check(t, err)
	if receipt.Outcome != flow.Landed || len(receipt.Transactions[0].Changes) != 0 || receipt.Transactions[0].Fee != 0 {
		t.Fatalf("outcome %s, told %+v", receipt.Outcome, receipt.Transactions[0])
	}
	usage, err := w.ledger.Usage(t.Context(), session, time.Now())
	check(t, err)
	if held := usage.Day[amount.SOL]; held.Used < lamports || held.Reserved != 0 {
		t.Errorf("charged %+v, and %d may have left", held, lamports)
	}
	check(t, w.net.ClearFaults(t.Context()))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		receipt, err := w.flow.ReceiptByCode(t.Context(), confirmed.Code)
		check(t, err)
		if told := receipt.Transactions[0]; told.Fee > 0 && len(told.Changes) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the receipt still says %+v", receipt.Transactions[0])
		}
	}
}
