package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/signerd/internal/audit"
)

var auditDay = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// auditFile is the journal of one payment and of an address that was named.
func auditFile(t *testing.T) (string, *audit.Log) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // A test may have closed it.
	for i, record := range []audit.Record{
		{Kind: "recipient_added", Data: map[string]string{"name": "Alice B"}},
		{Kind: "proposed", Session: "s_1", Correlation: "=cmd|'/c calc'!A1", Data: map[string]string{"tool": "solana_transfer", "arguments": "a \"b\";=1+1\x1b[2J"}},
		{Kind: "decided", Session: "s_1", Correlation: "=cmd|'/c calc'!A1", Proposal: "p_1", Data: map[string]string{"tier": "confirm"}},
		{Kind: "signed", Session: "s_1", Correlation: "-2", Proposal: "p_1", Data: map[string]string{"signature": "sig", "reservation": "r_1"}},
		{Kind: "finished", Session: "s_1", Proposal: "p_1", Data: map[string]string{"outcome": "landed"}},
		{Kind: "policy_kept"},
	} {
		record.Time = auditDay.Add(time.Duration(i) * time.Hour)
		if _, err := log.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	return path, log
}

// auditRun runs one command of signerd audit, which needs no configuration.
func auditRun(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = Main(append([]string{"audit"}, args...), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestExportPicksRecords(t *testing.T) {
	path, _ := auditFile(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"all":         {nil, "recipient_added proposed decided signed finished policy_kept"},
		"a session":   {[]string{"--session", "s_1"}, "proposed decided signed finished"},
		"two kinds":   {[]string{"--kind", "signed", "--kind", "finished"}, "signed finished"},
		"hours":       {[]string{"--since", "2026-12-01T01:00:00Z", "--until", "2026-12-01T03:00:00Z"}, "proposed decided"},
		"days":        {[]string{"--since", "2026-12-01", "--until", "2026-12-02"}, "recipient_added proposed decided signed finished policy_kept"},
		"no such day": {[]string{"--since", "2026-12-02"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := auditRun(slices.Concat([]string{"export", path}, c.args)...)
			if code != exitDone {
				t.Fatalf("exit %d: %s", code, errs)
			}
			var kinds []string
			for line := range strings.Lines(out) {
				var entry struct{ Record struct{ Kind string } }
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, entry.Record.Kind)
			}
			if got := strings.Join(kinds, " "); got != c.want {
				t.Errorf("exported %q, want %q", got, c.want)
			}
		})
	}
}

// An export of everything is a journal that verifies.
func TestExportVerifies(t *testing.T) {
	path, log := auditFile(t)
	export := filepath.Join(t.TempDir(), "export.jsonl")
	code, out, errs := auditRun("export", path, "--out", export, "--json")
	if code != exitDone || !strings.Contains(out, `"of":6,"records":6`) {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if info, err := os.Stat(export); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the export can be read by others: %v, %v", info, err)
	}
	if code, out, errs := auditRun("verify", export); code != exitDone || !strings.Contains(out, log.Head().String()) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := auditRun("export", path, "--out", export); code != exitFailed || !strings.Contains(errs, "exists") {
		t.Errorf("over a file that exists: exit %d: %s", code, errs)
	}
}

func TestExportStopsAtBadRecord(t *testing.T) {
	path, log := auditFile(t)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(whole, []byte("landed"), []byte("killed"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	export := filepath.Join(t.TempDir(), "export.csv")
	code, _, errs := auditRun("export", path, "--format", "csv", "--out", export)
	if code != exitFailed || !strings.Contains(errs, "record 5") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(export); !os.IsNotExist(err) {
		t.Errorf("half an export was left: %v", err)
	}
	if code, _, errs := auditRun("trace", "p_1", path); code != exitFailed || !strings.Contains(errs, "record 5") {
		t.Errorf("trace: exit %d: %s", code, errs)
	}
}

func TestExportRefusesWrongFlags(t *testing.T) {
	path, _ := auditFile(t)
	for _, args := range [][]string{
		{"--format", "xml"}, {"--since", "yesterday"}, {"--until", "-1h"},
		{"--since", "2026-12-02", "--until", "2026-12-01"}, {"another", "file"},
	} {
		if code, _, errs := auditRun(slices.Concat([]string{"export", path}, args)...); code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, code, errs)
		}
	}
}

// Callers choose what stands in a record, and a spreadsheet calculates what
// begins like a formula.
func TestCSVHoldsNoFormula(t *testing.T) {
	path, _ := auditFile(t)
	code, out, errs := auditRun("export", path, "--format", "csv")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if diff := cmp.Diff(csvColumns, rows[0]); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"2", "2026-12-01T01:00:00Z", "proposed", "s_1", "'=cmd|'/c calc'!A1", "", "", "solana_transfer", "", "", "", "",
		`{"arguments":"a \"b\";=1+1\\u{001B}[2J","tool":"solana_transfer"}`,
	}
	if diff := cmp.Diff(want, rows[2][:13]); diff != "" {
		t.Error(diff)
	}
	if rows[4][4] != "'-2" {
		t.Errorf("correlation -2 is written as %q", rows[4][4])
	}
}

func TestCSVCellsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ =+@';,"|%-]{0,4}[a-z]?`)), 1, 5).Draw(t, "cells")
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		if err := csvRow(w, cells); err != nil || w.Flush() != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\r\n") && strings.Contains(strings.Join(cells, ""), "\r") {
			t.Skip("the standard library's reader turns CR LF within a cell into LF")
		}
		row, err := csv.NewReader(&out).Read()
		if err != nil || len(row) != len(cells) {
			t.Fatalf("%q reads back as %q, %v", cells, row, err)
		}
		for i, cell := range row {
			if first := strings.TrimLeft(cell, " "); first != "" && strings.ContainsRune("=+-@\t\r＝＋－＠", []rune(first)[0]) {
				t.Fatalf("cell %q is a formula", cell)
			}
			if strings.TrimPrefix(cell, "'") != cells[i] {
				t.Fatalf("%q reads back as %q", cells[i], cell)
			}
		}
	})
}

func TestTraceShowsOneMatter(t *testing.T) {
	path, _ := auditFile(t)
	for _, id := range []string{"p_1", "sig", "r_1", "s_1", "-2", "=cmd|'/c calc'!A1"} {
		code, out, errs := auditRun("trace", "--", id, path)
		if code != exitDone || strings.Count(out, "\n") != 5 || !strings.Contains(out, "\nno checkpoint covers record 5 yet") || strings.Contains(out, "Alice") || !strings.Contains(out, "outcome=landed") {
			t.Errorf("trace of %s: exit %d\n%s%s", id, code, out, errs)
		}
	}
	if code, out, _ := auditRun("trace", "p_1", path, "--json"); code != exitDone || strings.Count(out, `{"hash":`) != 4 {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _, errs := auditRun("trace", "p_2", path); code != exitFailed || !strings.Contains(errs, "no record names p_2") {
		t.Errorf("of what there is not: exit %d: %s", code, errs)
	}
}

func TestTailShowsTheLast(t *testing.T) {
	path, _ := auditFile(t)
	code, out, errs := auditRun("tail", "-n", "2", path)
	want := "2026-12-01T04:00:00Z  5  finished  session=s_1  proposal=p_1  outcome=landed\n2026-12-01T05:00:00Z  6  policy_kept\n"
	if code != exitDone || out != want {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, _ := auditRun("tail", path); code != exitDone || strings.Count(out, "\n") != 6 || !strings.Contains(out, `name="Alice B"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, _, _ := auditRun("tail", "-n", "-1", path); code != exitUsage {
		t.Errorf("a negative number: exit %d", code)
	}
}

func TestTailFollows(t *testing.T) {
	path, log := auditFile(t)
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := &console{out: &out}
		reader, err := audit.NewReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if err := reader.SkipToLast(0); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.showUntilEnd(ctx, reader, true) }()
		for i, kind := range []string{"new_one", "new_two"} {
			if _, err := log.Append(t.Context(), audit.Record{Time: auditDay, Kind: kind}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * followInterval)
			synctest.Wait()
			if got := strings.Count(out.String(), "\n"); got != i+1 || !strings.Contains(out.String(), kind) {
				t.Fatalf("after %d records: %s", i+1, out.String())
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// A record's text is shown so that no terminal obeys it and no reader takes one
// field for two.
func TestShownTextIsHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"plain-1.5": "plain-1.5", "": `""`, "a b": `"a b"`, "x=y": `"x=y"`, "\x1b[2J": `"\x1b[2J"`,
		"\u202egnp": `"\u202egnp"`, "a\xff": `"a\xff"`, `a"b`: `"a\"b"`, "Zoë": "Zoë", "a\u00a0b": `"a\u00a0b"`,
	} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
