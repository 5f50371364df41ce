package audit_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/signerd/internal/audit"
)

var morning = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

// journal makes a journal of the given records and leaves it open.
func journal(t testing.TB, records ...audit.Record) (string, *audit.Log) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // A test may have closed it.
	for _, record := range records {
		if _, err := log.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	return path, log
}

// rest reads what there is, and keeps what outlives a line.
func rest(t testing.TB, reader *audit.Reader) []audit.Entry {
	t.Helper()
	var all []audit.Entry
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		entry.Line = slices.Clone(entry.Line)
		all = append(all, entry)
	}
}

func open(t testing.TB, path string) *audit.Reader {
	t.Helper()
	reader, err := audit.NewReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return reader
}

func TestReadBackWhatWasWritten(t *testing.T) {
	want := audit.Record{
		Time: morning, Kind: "signed", Session: "s_1", Correlation: "c_1", Proposal: "p_1", Digest: strings.Repeat("ab", 32),
		Data: map[string]string{audit.SignatureField: "sig"},
	}
	path, log := journal(t, want, audit.Record{Time: morning, Kind: "other"})
	all := rest(t, open(t, path))
	if len(all) != 2 {
		t.Fatalf("%d records, want 2", len(all))
	}
	if diff := cmp.Diff(want, all[0].Record); diff != "" || all[0].Seq != 1 {
		t.Errorf("record %d (-want +got)\n%s", all[0].Seq, diff)
	}
	if last := (audit.Head{Seq: all[1].Seq, Hash: all[1].Hash}); last != log.Head() {
		t.Errorf("the last record is %s, the head %s", last, log.Head())
	}
	whole, err := os.ReadFile(path)
	if lines := string(all[0].Line) + string(all[1].Line); err != nil || lines != string(whole) {
		t.Errorf("lines %q, %v, want the file", lines, err)
	}
}

// The reader goes on where it was, and an incomplete line is not there yet.
func TestReadOnWhileItIsWritten(t *testing.T) {
	path, log := journal(t, audit.Record{Time: morning, Kind: "first"})
	reader := open(t, path)
	rest(t, reader)
	if _, err := log.Append(t.Context(), audit.Record{Time: morning, Kind: "second"}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(whole)-20)); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, reader); len(got) != 0 {
		t.Fatalf("half a line was read: %+v", got)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, reader); len(got) != 1 || got[0].Kind != "second" || got[0].Seq != 2 {
		t.Fatalf("%+v, want the second record", got)
	}
	if err := reader.Same(); err != nil {
		t.Errorf("the same file: %v", err)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	if err := reader.Same(); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a shortened file: %v", err)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reader.Same(); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("another file: %v", err)
	}
}

func TestReadOnlyTheLast(t *testing.T) {
	var records []audit.Record
	for i := range 40 {
		// Lines from short to far longer than one block of a backwards search.
		records = append(records, audit.Record{Time: morning, Kind: fmt.Sprint(i + 1), Data: map[string]string{"x": strings.Repeat("x", i*5_000)}})
	}
	path, _ := journal(t, records...)
	for n := range 45 {
		reader := open(t, path)
		if err := reader.SkipToLast(n); err != nil {
			t.Fatal(err)
		}
		got := rest(t, reader)
		if len(got) != min(n, 40) {
			t.Fatalf("the last %d are %d records", n, len(got))
		}
		for i, entry := range got {
			if want := uint64(40 - len(got) + i + 1); entry.Seq != want || entry.Kind != fmt.Sprint(want) {
				t.Fatalf("the last %d hold record %d at %d, want %d", n, entry.Seq, i, want)
			}
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A reader believes no more than Verify does, from wherever it starts.
func TestReadNamesBadRecord(t *testing.T) {
	path, _ := journal(t, audit.Record{Time: morning, Kind: "one"}, audit.Record{Time: morning, Kind: "two"}, audit.Record{Time: morning, Kind: "six"})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(whole), "six", "ten", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	at := int64(strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n") + 1)
	for last, want := range map[int]audit.BadRecord{9: {Line: 3, Offset: at, Seq: 3}, 2: {Line: 3, Offset: at, Seq: 3}, 1: {Offset: at}} {
		reader := open(t, path)
		if err := reader.SkipToLast(last); err != nil {
			t.Fatal(err)
		}
		var readErr error
		for readErr == nil {
			_, readErr = reader.Next()
		}
		bad, ok := errors.AsType[*audit.BadRecord](readErr)
		if !ok {
			t.Fatalf("from the last %d on: %v", last, readErr)
		}
		want.Reason = bad.Reason
		if *bad != want {
			t.Errorf("from the last %d on: %+v, want %+v", last, *bad, want)
		}
	}
}

func TestPickWhatIsAskedFor(t *testing.T) {
	entry := audit.Entry{Record: audit.Record{Time: morning, Kind: "signed", Session: "s_1"}}
	for name, c := range map[string]struct {
		filter audit.Filter
		picked bool
	}{
		"everything":       {audit.Filter{}, true},
		"since itself":     {audit.Filter{Since: morning}, true},
		"since later":      {audit.Filter{Since: morning.Add(1)}, false},
		"until itself":     {audit.Filter{Until: morning}, false},
		"until later":      {audit.Filter{Until: morning.Add(1)}, true},
		"one of two kinds": {audit.Filter{Kinds: []string{"settled", "signed"}}, true},
		"another kind":     {audit.Filter{Kinds: []string{"sign"}}, false},
		"its session":      {audit.Filter{Session: "s_1"}, true},
		"another session":  {audit.Filter{Session: "s_2"}, false},
	} {
		if got := c.filter.Picks(entry); got != c.picked {
			t.Errorf("%s: picked = %t, want %t", name, got, c.picked)
		}
	}
}

// TestTraceFindsTheWholeMatter follows each name of one payment among others of
// the same kind, whose callers use the same correlation ids.
func TestTraceFindsTheWholeMatter(t *testing.T) {
	matter := func(session, proposal string) []audit.Entry {
		step := func(kind, correlation, proposal string, data map[string]string) audit.Entry {
			return audit.Entry{Record: audit.Record{Kind: kind, Session: session, Correlation: correlation, Proposal: proposal, Data: data}}
		}
		id := func(what string) string { return what + " of " + proposal }
		signed := step("signed", "c2"+session, proposal, map[string]string{audit.ReservationField: id("r"), audit.SignatureField: id("sig")})
		signed.Digest = id("digest")
		return []audit.Entry{
			step("proposed", "c1"+session, "", map[string]string{"tool": "t"}),
			step("decided", "c1"+session, proposal, nil),
			step("confirmed", "c2"+session, proposal, nil),
			signed,
			// A settling pass after a restart knows neither call.
			step("settled", "", proposal, map[string]string{audit.ReservationField: id("r")}),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		queues := [][]audit.Entry{matter("a", "p1"), matter("b", "p2"), matter("c", "p3")}
		// Another session's caller uses the ids of this one's calls.
		stranger := audit.Entry{Record: audit.Record{Kind: "proposed", Session: "z", Correlation: "c1a"}}
		all := []audit.Entry{stranger}
		for len(queues) > 0 {
			i := rapid.IntRange(0, len(queues)-1).Draw(t, "next")
			all = append(all, queues[i][0])
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				queues = slices.Delete(queues, i, i+1)
			}
		}
		id := rapid.SampledFrom([]string{"p1", "a", "c2a", "r of p1", "sig of p1", "digest of p1"}).Draw(t, "id")
		trace := audit.NewTrace(id)
		for range 2 {
			for _, entry := range all {
				trace.Look(entry)
			}
		}
		var got []audit.Entry
		for _, entry := range all {
			if trace.Belongs(entry) {
				got = append(got, entry)
			}
		}
		if diff := cmp.Diff(matter("a", "p1"), got); diff != "" {
			t.Fatalf("trace of %s (-want +got)\n%s", id, diff)
		}
	})
}
