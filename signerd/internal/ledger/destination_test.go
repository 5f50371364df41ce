package ledger_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
)

var (
	bob   = solana.PublicKey{0xb0}
	carol = solana.PublicKey{0xca}
)

// perDestination are caps that leave only the one per destination to be met.
func perDestination(sol, tok amount.Units) ledger.Limits {
	return ledger.Limits{Assets: []policy.AssetCap{
		{Mint: amount.SOL, Name: "SOL", Decimals: 9, PerTransaction: 1000, PerSession: 1000, PerDay: 1000, PerDestination: &sol},
		{Mint: token, Name: "TOK", Decimals: 0, PerTransaction: 1000, PerSession: 1000, PerDay: 1000, PerDestination: &tok},
	}}
}

// payer reserves payments one after the other, each in a session of its own.
type payer struct {
	t      *testing.T
	ledger *ledger.Ledger
	count  int
}

func (p *payer) pay(to, mint solana.PublicKey, units amount.Units, now time.Time) (string, error) {
	p.t.Helper()
	p.count++
	return p.ledger.ReservePaying(p.t.Context(), fmt.Sprint("p", p.count), fmt.Sprint("s", p.count), 0,
		charge{mint: units}, map[policy.Destination]amount.Units{{Recipient: to, Mint: mint}: units}, perDestination(100, 10), now)
}

func (p *payer) must(to, mint solana.PublicKey, units amount.Units, now time.Time) string {
	p.t.Helper()
	id, err := p.pay(to, mint, units, now)
	if err != nil {
		p.t.Fatalf("pay %d: %v", units, err)
	}
	return id
}

func (p *payer) refused(to, mint solana.PublicKey, units amount.Units, now time.Time, part string) {
	p.t.Helper()
	_, err := p.pay(to, mint, units, now)
	expectFault(p.t, err, fault.CapExceeded)
	if err == nil || !strings.Contains(err.Error(), part) {
		p.t.Errorf("%v does not say %q", err, part)
	}
}

func TestLimitWhatOneRecipientGets(t *testing.T) {
	p := &payer{t: t, ledger: newLedger(t)}
	p.refused(bob, amount.SOL, 101, noon, "over the cap of 0.0000001 SOL per destination")
	p.must(bob, amount.SOL, 60, noon)
	p.refused(bob, amount.SOL, 41, noon, "cap per destination leaves: cap 0.0000001, used 0, reserved 0.00000006, left 0.00000004")
	p.must(carol, amount.SOL, 100, noon)
	p.must(bob, token, 10, noon)
	p.refused(bob, token, 1, noon, "per destination")
	p.must(bob, amount.SOL, 40, noon)
	usage, err := p.ledger.Usage(t.Context(), "s1", noon)
	if err != nil || usage.Destination[policy.Destination{Recipient: bob, Mint: amount.SOL}] != (policy.Held{Reserved: 100}) {
		t.Errorf("usage %+v, %v", usage.Destination, err)
	}
}

// A refused payment holds nothing of any other cap.
func TestRefusedPaymentHoldsNothing(t *testing.T) {
	p := &payer{t: t, ledger: newLedger(t)}
	p.refused(bob, amount.SOL, 101, noon, "per destination")
	usage, err := p.ledger.Usage(t.Context(), "s1", noon)
	if err != nil || len(usage.Day) != 0 || len(usage.Destination) != 0 || usage.TransactionsLastHour != 0 {
		t.Errorf("usage %+v, %v", usage, err)
	}
}

func TestOutcomesDecideWhatWasPaid(t *testing.T) {
	to := policy.Destination{Recipient: bob, Mint: amount.SOL}
	for _, test := range []struct {
		name     string
		outcomes []ledger.Outcome
		want     policy.Held
	}{
		{"unknown", []ledger.Outcome{ledger.Unknown}, policy.Held{Reserved: 60}},
		{"landed", []ledger.Outcome{ledger.Landed}, policy.Held{Used: 60}},
		{"landed twice", []ledger.Outcome{ledger.Landed, ledger.Landed}, policy.Held{Used: 60}},
		{"failed on chain", []ledger.Outcome{ledger.LandedFailed}, policy.Held{}},
		{"expired", []ledger.Outcome{ledger.Expired}, policy.Held{}},
		{"found landed after all", []ledger.Outcome{ledger.Expired, ledger.Landed}, policy.Held{Used: 60}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &payer{t: t, ledger: newLedger(t)}
			id := p.must(bob, amount.SOL, 60, noon)
			for _, outcome := range test.outcomes {
				settle(t, p.ledger, id, ledger.Settlement{Outcome: outcome, Charged: charge{amount.SOL: 7}, At: noon})
			}
			usage, err := p.ledger.Usage(t.Context(), "s1", noon.Add(time.Hour))
			if err != nil || usage.Destination[to] != test.want {
				t.Errorf("usage %+v, %v; want %+v", usage.Destination, err, test.want)
			}
		})
	}
}

// What was paid counts for a day, and at most a quarter of an hour longer.
func TestPaymentsLeaveTheDay(t *testing.T) {
	p := &payer{t: t, ledger: newLedger(t)}
	id := p.must(bob, amount.SOL, 100, noon)
	settle(t, p.ledger, id, ledger.Settlement{Outcome: ledger.Landed, At: noon.Add(time.Minute)})
	p.refused(bob, amount.SOL, 1, noon.Add(24*time.Hour+time.Minute), "per destination")
	p.must(bob, amount.SOL, 100, noon.Add(24*time.Hour+time.Minute+bucket))
}

// What was paid, and what may have been, survives a restart.
func TestPaymentsSurviveRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	p := &payer{t: t, ledger: ledger.New(store, token, solana.Hash{1})}
	id := p.must(bob, amount.SOL, 60, noon)
	settle(t, p.ledger, id, ledger.Settlement{Outcome: ledger.Landed, At: noon})
	p.must(bob, amount.SOL, 30, noon)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p.ledger = ledger.New(store, token, solana.Hash{1})
	p.refused(bob, amount.SOL, 11, noon, "used 0.00000006, reserved 0.00000003, left 0.00000001")
	p.must(bob, amount.SOL, 10, noon)
}

// Many payments to one recipient at once: exactly as many pass as fit.
func TestLimitOneRecipientUnderConcurrency(t *testing.T) {
	l := newLedger(t)
	var admitted, refused sync.Map
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			_, err := l.ReservePaying(t.Context(), fmt.Sprint("p", i), fmt.Sprint("s", i), 0, charge{amount.SOL: 7},
				map[policy.Destination]amount.Units{{Recipient: bob, Mint: amount.SOL}: 7}, perDestination(100, 10), noon)
			switch {
			case err == nil:
				admitted.Store(i, true)
			case fault.Is(err, fault.CapExceeded):
				refused.Store(i, true)
			default:
				t.Errorf("caller %d: %v", i, errors.Unwrap(err))
			}
		})
	}
	group.Wait()
	if got, no := size(&admitted), size(&refused); got != 14 || no != 186 {
		t.Errorf("%d admitted and %d refused, want 14 and 186", got, no)
	}
}
