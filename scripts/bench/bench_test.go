package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test binary stands in for a daemon where this variable names a socket.
const listenOn = "BENCH_TEST_LISTEN_ON"

func TestMain(m *testing.M) {
	if socket := os.Getenv(listenOn); socket != "" {
		listen(socket)
	}
	os.Exit(m.Run())
}

// listen serves a socket until it is told to stop.
func listen(socket string) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		os.Exit(1)
	}
	for {
		if _, err := listener.Accept(); err != nil {
			os.Exit(0)
		}
	}
}

func TestIdleMemoryOfADaemon(t *testing.T) {
	folder, err := os.MkdirTemp("", "bench") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	socket := filepath.Join(folder, "s")
	got, err := idleMemory(t.Context(), []string{listenOn + "=" + socket}, socket, os.Args[0])
	if err != nil || got < 1 || got > 1024 {
		t.Errorf("idle memory = %v MiB, %v", got, err)
	}
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("the daemon still runs")
	}
	absent := filepath.Join(folder, "no", "such", "folder")
	if _, err := idleMemory(t.Context(), []string{listenOn + "=" + absent}, absent, os.Args[0]); err == nil || !strings.Contains(err.Error(), "stand-in:") {
		t.Errorf("error = %v, want what the daemon said", err)
	}
}

func TestRowsSayWhetherTheyHold(t *testing.T) {
	for _, c := range []struct {
		row   row
		holds bool
	}{
		{row{Value: 15}.over(10).judged(1.5), true},
		{row{Value: 15.1}.over(10).judged(1.5), false},
		{row{Value: 30}.judged(30), true},
		{row{Value: 30.1}.judged(30), false},
	} {
		if c.row.Holds == nil || *c.row.Holds != c.holds {
			t.Errorf("%+v: holds %v, want %t", c.row, c.row.Holds, c.holds)
		}
	}
}

func TestTableShowsWhatDoesNotHold(t *testing.T) {
	var out strings.Builder
	printTable(&out, []row{row{Name: "start", Value: 30, Unit: "ms"}.over(10).judged(1.5), {Name: "size", Value: 12345, Unit: "bytes"}})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if got := strings.Join(strings.Fields(lines[1]), " "); got != "start 30 ms 10 3 <= 1.5 x floor no" {
		t.Errorf("row is %q", got)
	}
	if got := strings.Join(strings.Fields(lines[2]), " "); got != "size 12345 bytes" {
		t.Errorf("row without target is %q", got)
	}
}

func TestTableIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "latest.json")
	if err := writeTable(name, []row{row{Name: "a", Value: 29.5}.judged(30)}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(raw, &got); err != nil || len(got) != 1 || got[0]["holds"] != true || got[0]["value"] != 29.5 {
		t.Errorf("wrote %s (%v)", raw, err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{7}, 7}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestResidentMemoryIsRead(t *testing.T) {
	if got, err := residentMiB(t.Context(), os.Getpid()); err != nil || got < 1 || got > 4096 {
		t.Errorf("this test holds %v MiB, %v", got, err)
	}
}

func TestBenchmarksAreRead(t *testing.T) {
	got, err := readBenchmarks("goos: linux\nBenchmarkA-2   \t  1545\t    363495 ns/op\t   94666 B/op\t     276 allocs/op\t 7.5 p50-ns\nBenchmarkB \t 10\t 46757.5 ns/op\nPASS\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]benchmark{
		"BenchmarkA": {nanoseconds: 363495, allocations: 276, metrics: map[string]float64{"B/op": 94666, "p50-ns": 7.5}},
		"BenchmarkB": {nanoseconds: 46757.5, metrics: map[string]float64{}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(benchmark{})); diff != "" {
		t.Error(diff)
	}
	for _, out := range []string{"PASS\n", "BenchmarkA-2 1545 fast ns/op\n"} {
		if got, err := readBenchmarks(out); err == nil {
			t.Errorf("%q read as %+v", out, got)
		}
	}
}
