package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
)

var (
	noon  = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	token = solana.MustPublicKey("FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK")
	limit = ledger.Limits{Assets: []policy.AssetCap{
		{Mint: amount.SOL, Name: "SOL", Decimals: 9, PerTransaction: 100, PerSession: 250, PerDay: 400},
		{Mint: token, Name: "TOK", Decimals: 0, PerTransaction: 10, PerSession: 20, PerDay: 30},
	}}
)

type charge = map[solana.PublicKey]amount.Units

func newLedger(t testing.TB) *ledger.Ledger {
	t.Helper()
	store, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return ledger.New(store, token, solana.Hash{1})
}

// reserve holds a charge for session "s".
func reserve(t testing.TB, l *ledger.Ledger, proposal string, c charge, now time.Time) string {
	t.Helper()
	id, err := l.ReserveAs(t.Context(), proposal, "s", 0, c, limit, now)
	if err != nil {
		t.Fatalf("reserve %v: %v", c, err)
	}
	return id
}

func expectFault(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestRefuseUnstampedStages(t *testing.T) {
	l := newLedger(t)
	if _, err := l.Reserve(t.Context(), approval.Grant{}, judge.Judged{}, nil, 0, 0, noon); err == nil {
		t.Error("a zero grant and a zero judgement were reserved")
	}
	if (ledger.Reservation{}).Stamped() {
		t.Error("the zero reservation is stamped")
	}
}

func TestRefuseOverEachCap(t *testing.T) {
	l := newLedger(t)
	try := func(proposal, session string, c charge) error {
		_, err := l.ReserveAs(t.Context(), proposal, session, 0, c, limit, noon)
		return err
	}
	expectFault(t, try("a", "s1", charge{amount.SOL: 101}), fault.CapExceeded)
	for i := range 2 {
		if err := try(fmt.Sprint("b", i), "s1", charge{amount.SOL: 100}); err != nil {
			t.Fatal(err)
		}
	}
	err := try("c", "s1", charge{amount.SOL: 51})
	expectFault(t, err, fault.CapExceeded)
	for _, part := range []string{"cap per session leaves: cap 0.00000025", "reserved 0.0000002,", "left 0.00000005"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if err := try("d", "s2", charge{amount.SOL: 100}); err != nil {
		t.Fatal(err)
	}
	if err := try("e", "s3", charge{amount.SOL: 100}); err != nil {
		t.Fatal(err)
	}
	expectFault(t, try("f", "s5", charge{amount.SOL: 1}), fault.CapExceeded) // the day's 400
	// All or nothing: the token over its cap keeps the SOL from being held.
	expectFault(t, try("g", "s4", charge{solana.PublicKey{0xff}: 0, token: 11}), fault.CapExceeded)
	usage, err := l.Usage(t.Context(), "s4", noon)
	if err != nil {
		t.Fatal(err)
	}
	if got := usage.Day[token]; got != (policy.Held{}) {
		t.Errorf("a refused reservation holds %+v", got)
	}
}

func TestRefuseAssetWithoutCap(t *testing.T) {
	l := newLedger(t)
	other := solana.PublicKey{9}
	_, err := l.ReserveAs(t.Context(), "p", "s", 0, charge{other: 1}, limit, noon)
	expectFault(t, err, fault.AssetUncapped)
	open := ledger.Limits{AllowUncapped: true}
	if _, err := l.ReserveAs(t.Context(), "p", "s", 0, charge{other: 1 << 63}, open, noon); err != nil {
		t.Errorf("an uncapped token that the owner allows: %v", err)
	}
	_, err = l.ReserveAs(t.Context(), "q", "s", 0, charge{amount.SOL: 1}, open, noon)
	expectFault(t, err, fault.AssetUncapped)
}

func TestLimitTransactionsPerHour(t *testing.T) {
	l := newLedger(t)
	hourly := ledger.Limits{Assets: limit.Assets, PerHour: 2}
	try := func(proposal string, now time.Time) error {
		_, err := l.ReserveAs(t.Context(), proposal, "s", 0, charge{amount.SOL: 1}, hourly, now)
		return err
	}
	if err := errors.Join(try("a", noon), try("b", noon.Add(30*time.Minute))); err != nil {
		t.Fatal(err)
	}
	expectFault(t, try("c", noon.Add(time.Hour)), fault.CapExceeded)
	if err := try("c", noon.Add(time.Hour+5*time.Minute)); err != nil {
		t.Errorf("after the first has left the hour: %v", err)
	}
}

func TestReserveOncePerPlace(t *testing.T) {
	l := newLedger(t)
	id := reserve(t, l, "p", charge{amount.SOL: 1}, noon)
	_, err := l.ReserveAs(t.Context(), "p", "s", 0, charge{amount.SOL: 1}, limit, noon)
	expectFault(t, err, fault.CodeVoid)
	settle(t, l, id, ledger.Settlement{Outcome: ledger.Expired, At: noon})
	again := reserve(t, l, "p", charge{amount.SOL: 1}, noon)
	settle(t, l, again, ledger.Settlement{Outcome: ledger.Landed, Charged: charge{amount.SOL: 1}, At: noon})
	_, err = l.ReserveAs(t.Context(), "p", "s", 0, charge{amount.SOL: 1}, limit, noon)
	expectFault(t, err, fault.CodeVoid)
}

func settle(t testing.TB, l *ledger.Ledger, id string, s ledger.Settlement) {
	t.Helper()
	if err := l.Settle(t.Context(), id, s); err != nil {
		t.Fatalf("settle as %s: %v", s.Outcome, err)
	}
}

func TestSettleOnce(t *testing.T) {
	outcomes := []ledger.Outcome{ledger.NothingSent, ledger.Expired, ledger.Landed, ledger.LandedFailed}
	spent := map[ledger.Outcome]bool{ledger.Landed: true, ledger.LandedFailed: true}
	for _, first := range outcomes {
		for _, second := range outcomes {
			t.Run(first.String()+" then "+second.String(), func(t *testing.T) {
				l := newLedger(t)
				id := reserve(t, l, "p", charge{amount.SOL: 50}, noon)
				settle(t, l, id, ledger.Settlement{Outcome: first, Charged: charge{amount.SOL: 7}, At: noon})
				err := l.Settle(t.Context(), id, ledger.Settlement{Outcome: second, Charged: charge{amount.SOL: 7}, At: noon})
				allowed := first == second || spent[second] && !spent[first]
				if allowed != (err == nil) || !allowed && !errors.Is(err, ledger.ErrSettled) {
					t.Errorf("second settlement: %v", err)
				}
				want := policy.Held{}
				if spent[first] || spent[second] {
					want.Used = 7
				}
				usage, err := l.Usage(t.Context(), "s", noon)
				if err != nil || usage.Session[amount.SOL] != want || usage.Day[amount.SOL] != want {
					t.Errorf("usage %+v, %v; want %+v", usage, err, want)
				}
			})
		}
	}
}

func TestKeepUnknownReserved(t *testing.T) {
	l := newLedger(t)
	id := reserve(t, l, "p", charge{amount.SOL: 50}, noon)
	settle(t, l, id, ledger.Settlement{Outcome: ledger.Unknown, At: noon})
	usage, err := l.Usage(t.Context(), "s", noon.Add(90*24*time.Hour))
	if err != nil || usage.Day[amount.SOL] != (policy.Held{Reserved: 50}) {
		t.Errorf("three months later: %+v, %v", usage.Day, err)
	}
	held, count, err := l.InFlight(t.Context())
	if err != nil || held != 50 || count != 1 {
		t.Errorf("in flight: %d in %d, %v", held, count, err)
	}
}

func TestChargeHoldWhereChainIsSilent(t *testing.T) {
	l := newLedger(t)
	id := reserve(t, l, "p", charge{amount.SOL: 50, token: 3}, noon)
	settle(t, l, id, ledger.Settlement{Outcome: ledger.Landed, Charged: charge{}, At: noon})
	usage, err := l.Usage(t.Context(), "s", noon)
	if err != nil || usage.Day[amount.SOL].Used != 50 || usage.Day[token].Used != 3 {
		t.Errorf("usage %+v, %v", usage.Day, err)
	}
}

func TestStopWhenClockSteps(t *testing.T) {
	l := newLedger(t)
	reserve(t, l, "p", charge{amount.SOL: 1}, noon)
	reserve(t, l, "q", charge{amount.SOL: 1}, noon.Add(-2*time.Second))
	_, err := l.ReserveAs(t.Context(), "r", "s", 0, charge{amount.SOL: 1}, limit, noon.Add(-2*time.Second-1))
	expectFault(t, err, fault.StateLocked)
	if err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("%v does not name the clock", err)
	}
	_, err = l.Usage(t.Context(), "s", noon.Add(-time.Hour))
	expectFault(t, err, fault.StateLocked)
}

func TestStoreSignedBytesOnce(t *testing.T) {
	l := newLedger(t)
	id := reserve(t, l, "p", charge{amount.SOL: 1}, noon)
	first, second := solana.Signature{1}, solana.Signature{2}
	if err := errors.Join(l.RecordSigned(t.Context(), id, []byte("raw"), first), l.RecordSigned(t.Context(), id, []byte("raw"), first)); err != nil {
		t.Fatal(err)
	}
	if l.RecordSigned(t.Context(), id, []byte("raw"), second) == nil || l.RecordSigned(t.Context(), id, []byte("other"), first) == nil {
		t.Error("other bytes were stored under the same reservation")
	}
	pending, err := l.Unresolved(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Pending{{
		ReservationID: id, ProposalID: "p", Session: "s", Raw: []byte("raw"), Signature: first,
		LastValidHeight: 1 << 63, Charge: charge{amount.SOL: 1}, Signed: true,
	}}
	if diff := cmp.Diff(want, pending); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if proposal, err := l.BySignature(t.Context(), first); err != nil || proposal != "p" {
		t.Errorf("by signature: %q, %v", proposal, err)
	}
	_, err = l.BySignature(t.Context(), second)
	expectFault(t, err, fault.NotFound)
	settle(t, l, id, ledger.Settlement{Outcome: ledger.Expired, At: noon})
	if l.RecordSigned(t.Context(), id, []byte("raw"), first) == nil {
		t.Error("signed bytes were stored under a settled reservation")
	}
	if l.RecordSigned(t.Context(), "r_none", []byte("raw"), first) == nil {
		t.Error("signed bytes were stored under no reservation")
	}
}

func TestKeepWalletsApart(t *testing.T) {
	store, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	one := ledger.New(store, token, solana.Hash{1})
	id := reserve(t, one, "p", charge{amount.SOL: 100}, noon)
	for name, other := range map[string]*ledger.Ledger{
		"wallet":  ledger.New(store, solana.PublicKey{7}, solana.Hash{1}),
		"network": ledger.New(store, token, solana.Hash{2}),
	} {
		usage, err := other.Usage(t.Context(), "s", noon)
		if err != nil || len(usage.Day) != 0 || usage.TransactionsLastHour != 0 {
			t.Errorf("another %s sees %+v, %v", name, usage, err)
		}
		if err := other.Settle(t.Context(), id, ledger.Settlement{Outcome: ledger.Expired, At: noon}); err == nil {
			t.Errorf("another %s settles a reservation that is not its own", name)
		}
	}
}

// TestReserveUnderConcurrency asks a thousand times at once for a tenth of
// what ten may have.
func TestReserveUnderConcurrency(t *testing.T) {
	l := newLedger(t)
	const callers = 1000
	one := ledger.Limits{Assets: []policy.AssetCap{{Mint: amount.SOL, Name: "SOL", Decimals: 9, PerTransaction: 10, PerSession: 1000, PerDay: 100}}}
	var admitted, refused sync.Map
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			id, err := l.ReserveAs(context.Background(), fmt.Sprint("p", i), fmt.Sprint("s", i%7), 0, charge{amount.SOL: 10}, one, noon)
			switch {
			case err == nil:
				admitted.Store(id, true)
			case fault.Is(err, fault.CapExceeded):
				refused.Store(i, true)
			default:
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if got, no := size(&admitted), size(&refused); got != 10 || no != callers-10 {
		t.Errorf("%d admitted and %d refused, want 10 and %d", got, no, callers-10)
	}
	held, count, err := l.InFlight(t.Context())
	if err != nil || held != 100 || count != 10 {
		t.Errorf("in flight %d in %d, %v", held, count, err)
	}
}

func size(m *sync.Map) int {
	n := 0
	m.Range(func(any, any) bool { n++; return true })
	return n
}
