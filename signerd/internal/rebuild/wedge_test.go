package rebuild_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/rebuild"
)

// TestMakeAnewOfWhatCrashesLeave: logs that crashes and clocks leave behind, none
// of which may be in the way of a repair, and what is spent by them.
func TestMakeAnewOfWhatCrashesLeave(t *testing.T) {
	settled := func(outcome string) audit.Record {
		return record("settled", "p1", noon, data{"reservation": "r1", "outcome": outcome})
	}
	clock := func(seconds string) audit.Record {
		return record("clock_accepted", "", noon, data{"step_seconds": seconds})
	}
	signed := whole()[:6]
	for name, c := range map[string]struct {
		records []audit.Record
		spent   amount.Units
	}{
		// The ledger was not told before the crash, and the next start proved more.
		"nothing sent, then expired":             {append(slices.Clone(signed), settled("nothing_sent"), settled("expired")), 0},
		"expired, then landed":                   {append(slices.Clone(signed), settled("expired"), settled("landed")), 7},
		"nothing sent of nothing":                {append(whole(), record("settled", "p1", noon, data{"reservation": "r2", "outcome": "nothing_sent"})), 7},
		"cancelled before it was told":           {append(whole(), record("cancelled", "p2", noon, data{"state": "cancelled"})), 7},
		"a clock that was set by 80 years":       {append(whole(), clock("2524608000")), 7},
		"a clock that was set back by 80 years":  {append(whole(), clock("-2524608000")), 7},
		"a clock that was set as far as it goes": {append(whole(), clock("9223372036")), 7},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := rebuild.Read(all(c.records), wallet, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := store(t, t.TempDir(), "ledger.db")
			defer s.Close()
			if err := s.Together(t.Context(), func(s *sqlite.Store) error { return plan.Write(context.Background(), s) }); err != nil {
				t.Fatal(err)
			}
			usage, err := ledger.New(s, wallet.Address, wallet.Genesis).Usage(t.Context(), "s", noon.Add(23*time.Hour))
			if err != nil || usage.Day[amount.SOL].Used != c.spent || usage.Day[amount.SOL].Reserved != 0 {
				t.Errorf("usage %+v, %v; want %d used", usage.Day[amount.SOL], err, c.spent)
			}
		})
	}
}

// TestMissingNamesWhatWasGivenBack: a ledger that gave back what the log calls landed
// counts less than was spent: the comparison of outcomes in hold.is keeps it.
func TestMissingNamesWhatWasGivenBack(t *testing.T) {
	plan, err := rebuild.Read(all(whole()), wallet, nil)
	if err != nil {
		t.Fatal(err)
	}
	for outcome, want := range map[ledger.Outcome]int{
		ledger.Expired: 1, ledger.NothingSent: 1, ledger.Unknown: 0, ledger.Landed: 0, ledger.LandedFailed: 0,
	} {
		older, err := rebuild.Read(all(append(whole()[:6], record("finished", "p1", noon, nil))), wallet, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := store(t, t.TempDir(), "ledger.db")
		if err := older.Write(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		of := ledger.New(s, wallet.Address, wallet.Genesis)
		if err := of.Settle(t.Context(), "r1", ledger.Settlement{Outcome: outcome, At: noon}); err != nil {
			t.Fatal(err)
		}
		if names, count, err := plan.Missing(t.Context(), approval.NewBook(s), of, 9); err != nil || count != want {
			t.Errorf("%s: lacks %v, %v", outcome, names, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
