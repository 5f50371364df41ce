package flow_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
)

// How many want to pay, how many of them the cap admits, and how many come at a
// time.
const (
	rush     = 1000
	admitted = 12
	atATime  = 64
)

// TestExactlyWhatTheCapAdmitsLands: a thousand payments are proposed at once,
// and then all of them are confirmed at once, twice each. The day's cap admits
// some of them, whichever come first, and the observer sees exactly as many. Each
// amount differs, so that no two are the same transaction.
func TestExactlyWhatTheCapAdmitsLands(t *testing.T) {
	w := newWorldOn(t, localnet.Options{SlotMS: 20})
	w.flow.Close()
	const most = lamports + solana.LamportsPerSignature
	w.rules = w.policy(`per_session = "1 SOL"`, `per_session = "1000 SOL"`,
		`per_day = "2 SOL"`, `per_day = "`+amount.Units(admitted*most).Decimal(amount.SOLDecimals)+` SOL"`,
		`transactions_per_hour = 30`, `transactions_per_hour = 0`)
	w.start()
	before, err := w.eye.Balance(t.Context(), payee.String())
	check(t, err)

	codes := make([]flow.Confirmed, rush)
	w.atOnce(func(i int) {
		p := w.payment(i)
		verdict, err := w.flow.Propose(t.Context(), p)
		if err != nil || verdict.Refused != nil {
			t.Errorf("payment %d: %v %v", i, err, verdict.Refused)
			return
		}
		codes[i] = flow.Confirmed{Session: session, Code: verdict.Code, Fingerprint: p.Fingerprint}
	})
	if t.Failed() {
		return
	}
	var landed, told atomic.Int64
	w.atOnce(func(i int) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				receipt := w.confirmUntilAnswered(codes[i], i)
				if receipt.Outcome != flow.Landed {
					return
				}
				told.Add(1)
				if !receipt.Replayed {
					landed.Add(1)
				}
			})
		}
		both.Wait()
	})
	if landed.Load() != admitted {
		t.Errorf("%d are told to have landed, of which the cap admits %d", landed.Load(), admitted)
	}
	if sent := w.sent(); sent != admitted {
		t.Errorf("the observer sees %d transactions, and the cap admits %d", sent, admitted)
	}
	after, err := w.eye.Balance(t.Context(), payee.String())
	check(t, err)
	if paid := after - before; paid > admitted*lamports || paid < admitted*(lamports-rush) {
		t.Errorf("%d lamports arrived, of %d payments of about %d", paid, admitted, lamports)
	}
	usage, err := w.ledger.Usage(t.Context(), session, time.Now())
	check(t, err)
	if held := usage.Day[amount.SOL]; held.Reserved != 0 || held.Used != amount.Units(after-before+admitted*solana.LamportsPerSignature) {
		t.Errorf("the ledger says %+v, and %d lamports arrived", held, after-before)
	}
}

// atOnce does something for each payment, many at a time.
func (w *world) atOnce(do func(i int)) {
	w.t.Helper()
	var group sync.WaitGroup
	turns := make(chan struct{}, atATime)
	for i := range rush {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			do(i)
		})
	}
	group.Wait()
}

// payment is a transfer of an amount of its own.
func (w *world) payment(i int) flow.Proposed {
	units := amount.Units(lamports - i)
	arguments, err := json.Marshal(map[string]string{"amount": units.Decimal(amount.SOLDecimals), "mint": solana.WrappedSOL.String(), "to": payee.String()})
	check(w.t, err)
	p := flow.Proposed{
		Session: session, Tool: "solana_transfer", Arguments: string(arguments), Flow: effects.Transfer,
		Bounds:       effects.Bounds{MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: units}, MaxFee: 10_000, Recipients: []solana.PublicKey{payee}},
		Transactions: [][]byte{w.transferNow(uint64(units))},
	}
	p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
	return p
}

// confirmUntilAnswered asks again while the wallet is busy with others.
func (w *world) confirmUntilAnswered(c flow.Confirmed, i int) flow.Receipt {
	for {
		c.Transactions = [][]byte{w.transferNow(uint64(lamports - i))}
		receipt, err := w.flow.Execute(w.t.Context(), c, ignore)
		switch {
		case err == nil && receipt.Outcome != flow.InProgress:
			return receipt
		case err != nil && !fault.Is(err, fault.WalletBusy):
			w.t.Error(fmt.Errorf("payment %d: %w", i, err))
			return receipt
		}
		time.Sleep(10 * time.Millisecond)
	}
}
