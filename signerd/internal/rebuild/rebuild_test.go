package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/rebuild"
)

var (
	noon   = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	wallet = rebuild.Wallet{Address: solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"), Genesis: solana.Hash{1}}
	payee  = solana.MustPublicKey("FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK")
)

type data = map[string]string

func record(kind, proposal string, at time.Time, d data) audit.Record {
	return audit.Record{Time: at, Kind: kind, Session: "s", Proposal: proposal, Data: d}
}

func all(records []audit.Record) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func store(t rapid.TB, folder, name string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Create(context.Background(), filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// whole is the log of one payment that landed, from the first version, which
// named neither wallet nor recipient.
func whole() []audit.Record {
	return []audit.Record{
		record("initialised", "", noon, nil),
		record("proposed", "", noon, data{"tool": "solana_transfer", "arguments": `{"amount":"1","to":"` + payee.String() + `"}`}),
		record("decided", "p1", noon, data{"tier": "confirm", "rules": "tiers.default"}),
		record("confirmed", "p1", noon, data{"transactions": "1"}),
		record("reserved", "p1", noon, data{"reservation": "r1", "position": "0", "last_valid_block_height": "9", "charge SOL": "7"}),
		record("signed", "p1", noon, data{"reservation": "r1", "signature": solana.Signature{1}.String()}),
		record("settled", "p1", noon, data{"reservation": "r1", "outcome": "landed", "slot": "5", "fee": "2"}),
		record("finished", "p1", noon, data{"outcome": "landed"}),
	}
}

func TestReadLogOfFirstVersion(t *testing.T) {
	plan, err := rebuild.Read(all(whole()), wallet, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := store(t, t.TempDir(), "ledger.db")
	defer s.Close()
	if err := plan.Write(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	of := ledger.New(s, wallet.Address, wallet.Genesis)
	usage, err := of.Usage(t.Context(), "s", noon)
	to := policy.Destination{Recipient: payee, Mint: amount.SOL}
	if err != nil || usage.Day[amount.SOL].Used != 7 || usage.Destination[to].Used != 7 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	made, err := approval.NewBook(s).Get(t.Context(), "p1")
	if err != nil || made.State != approval.Done || len(made.Receipt) == 0 || made.Tool != "solana_transfer" {
		t.Errorf("proposal %+v, %v", made, err)
	}
	if got, want := plan.Summary(), (rebuild.Summary{Proposals: 1, Reservations: 1, Landed: 1}); got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	if _, err := rebuild.Read(all(whole()), rebuild.Wallet{}, errors.New("no key")); err == nil {
		t.Error("a log that names no wallet was read without one")
	}
}

// TestReadRefusesWhatItDoesNotUnderstand changes one thing at a time: less would
// be counted if it were passed over.
func TestReadRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for name, change := range map[string]func([]audit.Record) []audit.Record{
		"no decision":         func(r []audit.Record) []audit.Record { return append(r[:2:2], r[3:]...) },
		"decided twice":       func(r []audit.Record) []audit.Record { return append(r, r[2]) },
		"reserved twice":      func(r []audit.Record) []audit.Record { return append(r, r[4]) },
		"no reservation":      func(r []audit.Record) []audit.Record { return append(r[:4:4], r[5:]...) },
		"no charge":           set(4, "charge SOL", ""),
		"no number":           set(4, "charge SOL", "-7"),
		"too large":           set(4, "charge SOL", "18446744073709551616"),
		"no mint":             set(4, "charge x", "1"),
		"no recipient":        set(4, "pays x SOL", "1"),
		"no position":         set(4, "position", "first"),
		"no height":           set(4, "last_valid_block_height", ""),
		"no wallet":           set(4, "wallet", "x"),
		"no network":          set(4, "wallet", wallet.Address.String()),
		"no signature":        set(5, "signature", "x"),
		"an unknown outcome":  set(6, "outcome", "perhaps"),
		"no outcome":          set(6, "outcome", ""),
		"a settlement astray": set(6, "reservation", "r2"),
		"no fingerprint":      set(2, "fingerprint", "ab"),
		"no address": func(r []audit.Record) []audit.Record {
			return append(r, record("recipient_added", "", noon, data{"name": "a", "address": "x"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := rebuild.Read(all(change(whole())), wallet, nil); err == nil {
				t.Error("it was read")
			}
		})
	}
	broken := func(yield func(audit.Record, error) bool) { yield(audit.Record{}, errors.New("bad record")) }
	if _, err := rebuild.Read(broken, wallet, nil); err == nil {
		t.Error("a log that does not verify was read")
	}
}

func set(i int, field, value string) func([]audit.Record) []audit.Record {
	return func(records []audit.Record) []audit.Record {
		changed := maps.Clone(records[i].Data)
		if changed[field] = value; value == "" {
			delete(changed, field)
		}
		records[i].Data = changed
		return records
	}
}

// telling is a ledger beside the log that flow would write of it.
type telling struct {
	*ledger.Ledger
	records []audit.Record
	now     time.Time
	ids     []string
}

func (l *telling) tell(kind, proposal string, d data) {
	l.records = append(l.records, record(kind, proposal, l.now, d))
}

func (l *telling) reserve(t *rapid.T) {
	n := len(l.ids)
	units := amount.Units(rapid.Uint64Range(2, 100).Draw(t, "units"))
	paid := units - 1
	to := policy.Destination{Recipient: solana.PublicKey{byte(rapid.IntRange(1, 3).Draw(t, "to"))}, Mint: amount.SOL}
	id, proposal := fmt.Sprint("r", n), fmt.Sprint("p", n)
	if err := l.Restore(context.Background(), ledger.Entry{
		ID: id, ProposalID: proposal, Session: "s", ReservedAt: l.now, LastValidHeight: 9,
		Charge: map[solana.PublicKey]amount.Units{amount.SOL: units}, Payments: map[policy.Destination]amount.Units{to: paid},
	}); err != nil {
		t.Fatal(err)
	}
	l.ids = append(l.ids, id)
	l.tell("decided", proposal, data{"tier": "confirm"})
	l.tell("reserved", proposal, data{
		"reservation": id, "position": "0", "last_valid_block_height": "9", "charge SOL": units.String(),
		"pays " + to.Recipient.String() + " SOL": paid.String(),
		"wallet":                                 wallet.Address.String(), "genesis": wallet.Genesis.String(),
	})
}

func (l *telling) sign(t *rapid.T) {
	i := l.pick(t)
	signature := solana.Signature{byte(i), byte(i >> 8), 1}
	if l.RecordSigned(context.Background(), l.ids[i], []byte("raw"), signature) == nil {
		l.tell("signed", "p"+l.ids[i][1:], data{"reservation": l.ids[i], "signature": signature.String()})
	}
}

// settle writes the log first, as flow does, and at times not the ledger.
func (l *telling) settle(t *rapid.T) {
	id := l.ids[l.pick(t)]
	outcome := ledger.Outcome(rapid.IntRange(0, 4).Draw(t, "outcome"))
	if !l.may(id, outcome) {
		return
	}
	l.tell("settled", "p"+id[1:], data{"reservation": id, "outcome": outcome.String(), "slot": "1", "fee": "1"})
	if err := l.Settle(context.Background(), id, ledger.Settlement{
		Outcome: outcome, At: l.now, Charged: map[solana.PublicKey]amount.Units{amount.SOL: 1},
	}); err != nil {
		t.Fatal(err)
	}
}

// may says whether flow would settle so: only what is unresolved.
func (l *telling) may(id string, _ ledger.Outcome) bool {
	pending, _ := l.Unresolved(context.Background())
	for _, p := range pending {
		if p.ReservationID == id {
			return true
		}
	}
	return false
}

func (l *telling) pick(t *rapid.T) int {
	if len(l.ids) == 0 {
		t.Skip("nothing reserved yet")
	}
	return rapid.IntRange(0, len(l.ids)-1).Draw(t, "which")
}

// TestNeverCountLessThanBefore: whatever happened, a ledger made anew holds at
// least what the lost one held, now and later, and the same open reservations.
func TestNeverCountLessThanBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "rebuild")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		lost, fresh := store(t, folder, "lost.db"), store(t, folder, "fresh.db")
		defer lost.Close()
		defer fresh.Close()
		l := &telling{Ledger: ledger.New(lost, wallet.Address, wallet.Genesis), now: noon}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": l.reserve, "sign": l.sign, "settle": l.settle,
			"pass": func(t *rapid.T) {
				l.now = l.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 13 * time.Hour}).Draw(t, "time"))
			},
		})
		plan, err := rebuild.Read(all(l.records), rebuild.Wallet{}, errors.New("not needed"))
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Together(context.Background(), func(s *sqlite.Store) error { return plan.Write(context.Background(), s) }); err != nil {
			t.Fatal(err)
		}
		anew := ledger.New(fresh, wallet.Address, wallet.Genesis)
		for _, after := range []time.Duration{0, 5 * time.Hour, 23 * time.Hour} {
			before, err := l.Usage(context.Background(), "s", l.now.Add(after))
			now, errNow := anew.Usage(context.Background(), "s", l.now.Add(after))
			if err := errors.Join(err, errNow); err != nil {
				t.Fatal(err)
			}
			if !atLeast(now.Day, before.Day) || !atLeast(now.Session, before.Session) || !atLeast(now.Destination, before.Destination) ||
				now.TransactionsLastHour < before.TransactionsLastHour {
				t.Fatalf("after %s: %+v, before the loss %+v", after, now, before)
			}
		}
		if was, is := open(t, l.Ledger), open(t, anew); !maps.Equal(was, is) {
			t.Fatalf("open: %v, before the loss %v", is, was)
		}
	})
}

func atLeast[K comparable](now, before map[K]policy.Held) bool {
	for key, held := range before {
		if now[key].Used < held.Used || now[key].Reserved < held.Reserved {
			return false
		}
	}
	return true
}

func open(t *rapid.T, l *ledger.Ledger) map[string]string {
	pending, err := l.Unresolved(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for _, p := range pending {
		names[p.ReservationID] = p.Signature.String() + strconv.FormatBool(p.Signed) + strconv.FormatUint(p.LastValidHeight, 10)
	}
	return names
}
