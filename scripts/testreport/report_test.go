package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA/sub"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`

const failing = `{"Action":"output","Package":"q","Test":"TestC","Output":"    c_test.go:1: wrong\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"output","Package":"q","Output":"FAIL\tq\t0.1s\n"}
{"Action":"fail","Package":"q"}
`

const unbuilt = `{"ImportPath":"r","Action":"build-output","Output":"r.go:1: syntax error\n"}
{"ImportPath":"r","Action":"build-fail"}
{"Action":"output","Package":"r","Output":"FAIL\tr [build failed]\n"}
{"Action":"fail","Package":"r","FailedBuild":"r"}
`

const broken = `{"Action":"output","Package":"s","Test":"TestD","Output":"panic: oh\n"}
{"Action":"output","Package":"s","Output":"FAIL\ts\t0.1s\n"}
{"Action":"fail","Package":"s"}
`

func TestReportCountsAndPrints(t *testing.T) {
	tap := filepath.Join(t.TempDir(), "node.tap")
	if err := os.WriteFile(tap, []byte("TAP version 13\n# tests 5\n# pass 3\n# fail 0\n# cancelled 0\n# skipped 2\n# todo 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, events string
		last         string
		code         int
		shows        []string
		hides        []string
	}{
		{"passing", passing, "5 passed, 0 failed", 0, []string{"ok  \tp\t0.1s", "3 skipped"}, []string{"chatter", "=== RUN", "PASS"}},
		{"failing", passing + failing, "5 passed, 1 failed", 1, []string{"c_test.go:1: wrong", "FAIL\tq"}, []string{"chatter"}},
		{"unbuilt", passing + unbuilt, "5 passed, 1 failed", 1, []string{"syntax error", "[build failed]"}, nil},
		{"broken outside a test", passing + broken, "5 passed, 1 failed", 1, []string{"panic: oh"}, nil},
		{"plain complaint", "go: no such module\n" + passing, "5 passed, 0 failed", 0, []string{"go: no such module"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if code := run([]string{tap}, strings.NewReader(c.events), &out, &out); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != c.last {
				t.Errorf("last line %q, want %q", got, c.last)
			}
			for _, want := range c.shows {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not show %q:\n%s", want, &out)
				}
			}
			for _, unwanted := range c.hides {
				if strings.Contains(out.String(), unwanted) {
					t.Errorf("shows %q:\n%s", unwanted, &out)
				}
			}
		})
	}
}

func TestNothingToCountIsAFailure(t *testing.T) {
	short := filepath.Join(t.TempDir(), "cut.tap")
	if err := os.WriteFile(short, []byte("TAP version 13\nok 1 - one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tap    []string
		events string
	}{
		"no events":         {nil, ""},
		"no TAP file":       {[]string{short + ".absent"}, passing},
		"a TAP cut short":   {[]string{short}, passing},
		"packages untested": {nil, `{"Action":"skip","Package":"p"}` + "\n"},
	} {
		var out strings.Builder
		if code := run(c.tap, strings.NewReader(c.events), &out, &out); code != 1 {
			t.Errorf("%s: exit code %d, want 1:\n%s", name, code, &out)
		}
	}
}
