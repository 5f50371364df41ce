package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"countersign/shared/fault"
	"countersign/shared/lockfile"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func record(i int) Record {
	return Record{
		Time: noon.Add(time.Duration(i) * time.Second), Kind: "decided", Session: "s_1", Correlation: "c", Proposal: "p_1",
		Digest: strings.Repeat("ab", 32), Data: map[string]string{"n": fmt.Sprint(i), "rules": "a b"},
	}
}

func write(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, n)
	return path
}

func appendTo(t testing.TB, path string, n int) Head {
	t.Helper()
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := log.Append(t.Context(), record(i)); err != nil {
			t.Fatal(err)
		}
	}
	head := log.Head()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return head
}

func TestContinueChain(t *testing.T) {
	path := write(t, 3)
	head := appendTo(t, path, 2)
	summary, err := VerifyAgainst(path, Against{Anchors: []Head{head}})
	if err != nil || summary.Records != 5 || summary.Head != head || summary.Torn != 0 {
		t.Errorf("%+v, %v; want 5 records up to %s", summary, err, head)
	}
	var back Head
	if err := back.UnmarshalText([]byte(head.String())); err != nil || back != head {
		t.Errorf("head reads back as %s, %v", back, err)
	}
}

func TestWriteCanonicalLines(t *testing.T) {
	content, err := os.ReadFile(write(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(content) {
		canonical, err := jcs.Transform(line)
		if err != nil || string(canonical)+"\n" != string(line) {
			t.Errorf("line is not canonical JSON (%v): %s", err, line)
		}
	}
}

// TestNameBadRecord damages a journal in every way that a person might and
// expects the first damaged record to be named.
// numbered puts in the third place a record that follows the second and has the number.
func numbered(lines [][]byte, seq uint64) [][]byte {
	_, hash, err := decode(lines[1])
	if err != nil {
		panic(err)
	}
	line, _, err := encode(record(99), Head{Seq: seq, Hash: hash})
	if err != nil {
		panic(err)
	}
	return append(lines[:2:2], line)
}

// TestNameBadRecord fails without any one of the comparisons in checker.follow (the
// number above and below what it must be, the hash before) and in unwrap (the record's
// own hash, lower case).
func TestNameBadRecord(t *testing.T) {
	lines := func(content []byte) [][]byte {
		return bytes.SplitAfter(bytes.TrimSuffix(content, nil), []byte("\n"))[:6]
	}
	for name, test := range map[string]struct {
		damage func([][]byte) [][]byte
		seq    uint64
	}{
		"changed text": {func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte("decided"), []byte("denied!"), 1)
			return l
		}, 3},
		"changed hash": {func(l [][]byte) [][]byte { l[2][10] ^= 1; return l }, 3},
		"hash in capitals": {func(l [][]byte) [][]byte {
			l[2] = append(append([]byte(lineStart), bytes.ToUpper(l[2][len(lineStart):len(lineStart)+hashText])...), l[2][len(lineStart)+hashText:]...)
			return l
		}, 3},
		"removed first":  {func(l [][]byte) [][]byte { return l[1:] }, 1},
		"removed middle": {func(l [][]byte) [][]byte { return append(l[:2], l[3:]...) }, 3},
		"swapped":        {func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, 3},
		"repeated":       {func(l [][]byte) [][]byte { return append(l[:3], l[2:]...) }, 4},
		"blank line":     {func(l [][]byte) [][]byte { return append(l[:2:2], append([][]byte{[]byte("\n")}, l[2:]...)...) }, 3},
		"rewritten alone": {func(l [][]byte) [][]byte {
			// A record with a good hash and number, but not the old one's.
			line, _, err := encode(record(99), Head{Seq: 3, Hash: [32]byte{1}})
			if err != nil {
				panic(err)
			}
			l[2] = line
			return l
		}, 3},
		"rewritten with its past": {func(l [][]byte) [][]byte {
			before, hash, err := decode(l[1])
			if err != nil || before.Seq != "2" {
				panic("fixture")
			}
			line, _, err := encode(record(99), Head{Seq: 3, Hash: hash})
			if err != nil {
				panic(err)
			}
			l[2] = line
			return l
		}, 4},
		// The chain of these is good: only the number is wrong.
		"number left out": {func(l [][]byte) [][]byte { return numbered(l, 4) }, 3},
		"number repeated": {func(l [][]byte) [][]byte { return numbered(l, 2) }, 3},
		"endless line": {func(l [][]byte) [][]byte { l[2] = append(bytes.Repeat([]byte("x"), longestLine+1), '\n'); return l }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, 6)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes.Join(test.damage(lines(content)), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Verify(path)
			bad := new(BadRecord)
			if !errors.As(err, &bad) || bad.Seq != test.seq {
				t.Fatalf("got %v, want record %d named", err, test.seq)
			}
			if _, err := Open(path); !fault.Is(err, fault.StateLocked) {
				t.Errorf("Open of a bad journal: %v", err)
			}
		})
	}
}

// TestMissRecordsCutOffTheEnd fails without the comparison of anchors in pass.add and in
// pass.end.
func TestMissRecordsCutOffTheEnd(t *testing.T) {
	path := write(t, 5)
	anchor, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
	if err := os.Truncate(path, int64(cut)); err != nil {
		t.Fatal(err)
	}
	bad := new(BadRecord)
	if _, err := VerifyAgainst(path, Against{Anchors: []Head{anchor.Head}}); !errors.As(err, &bad) || bad.Seq != 5 {
		t.Errorf("cut off: %v, want record 5 named", err)
	}
	// Another journal that goes as far is not the same one.
	appendTo(t, path, 1)
	if _, err := VerifyAgainst(path, Against{Anchors: []Head{{Seq: 5, Hash: [32]byte{1}}}}); !errors.As(err, &bad) || bad.Seq != 5 {
		t.Errorf("rewritten: %v, want record 5 named", err)
	}
}

// TestRepairTornLine cuts a journal at every byte of its last line.
func TestRepairTornLine(t *testing.T) {
	whole, err := os.ReadFile(write(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for cut := last + 1; cut < len(whole); cut += 43 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if summary, err := Verify(path); err != nil || summary.Records != 2 || summary.Torn != cut-last {
			t.Fatalf("cut at %d: %+v, %v; want 2 records and %d torn bytes", cut, summary, err, cut-last)
		}
		appendTo(t, path, 0)
		summary, err := Verify(path)
		if err != nil || summary.Records != 3 || summary.Torn != 0 {
			t.Fatalf("repaired at %d: %+v, %v", cut, summary, err)
		}
		content, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(content, []byte(kindRepaired)) || !bytes.Contains(content, fmt.Appendf(nil, `"removed_bytes":"%d"`, cut-last)) {
			t.Fatalf("the repair is not recorded: %s, %v", content, err)
		}
	}
}

func TestEscapeHostileText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	hostile := "\x1b[2J\u202egnp\u200b\n\x00\xff\U000e0041 ok \"quoted\" é"
	if _, err := log.Append(t.Context(), Record{Time: noon, Kind: hostile, Data: map[string]string{hostile: hostile}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var line struct{ Record stored }
	if err := json.Unmarshal(content, &line); err != nil {
		t.Fatal(err)
	}
	want := `\u{001B}[2J\u{202E}gnp\u{200B}\u{000A}\u{0000}\x{FF}\u{E0041} ok "quoted" é`
	if diff := cmp.Diff(want, line.Record.Data[want]); diff != "" || line.Record.Kind != want {
		t.Errorf("kind %q\n%s", line.Record.Kind, diff)
	}
	if _, err := Verify(path); err != nil {
		t.Error(err)
	}
}

func TestRefuseHugeRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(t.Context(), Record{Time: noon, Data: map[string]string{"x": strings.Repeat("x", longestLine)}}); !fault.Is(err, fault.InvalidArguments) {
		t.Errorf("got %v", err)
	}
	if seq, err := log.Append(t.Context(), record(1)); err != nil || seq != 1 {
		t.Errorf("the next record: %d, %v", seq, err)
	}
}

func TestStopAfterFailedWrite(t *testing.T) {
	path := write(t, 1)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	// A descriptor that cannot be written stands for a disk that fails.
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	good := log.file
	log.file = readOnly
	if _, err := log.Append(t.Context(), record(1)); !fault.Is(err, fault.StateLocked) {
		t.Fatalf("a failed write gives %v", err)
	}
	log.file = good
	if _, err := log.Append(t.Context(), record(2)); !fault.Is(err, fault.StateLocked) {
		t.Errorf("after a failed write the log takes more: %v", err)
	}
	if err := errors.Join(log.Close(), readOnly.Close()); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || summary.Records != 1 {
		t.Errorf("%+v, %v", summary, err)
	}
}

// TestStopAfterFailedFlush fails without the Sync in waitFlushed, and where poison keeps
// nothing.
func TestStopAfterFailedFlush(t *testing.T) {
	log, err := Open(write(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	// A pipe can be written and not flushed.
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	good := log.file
	log.file = writer
	if _, err := log.Append(t.Context(), record(1)); !fault.Is(err, fault.StateLocked) {
		t.Fatalf("a failed flush gives %v", err)
	}
	log.file = good
	if _, err := log.Append(t.Context(), record(2)); !fault.Is(err, fault.StateLocked) {
		t.Errorf("after a failed flush the log takes more: %v", err)
	}
	if err := errors.Join(log.Close(), reader.Close(), writer.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestRefuseMissingOrExistingJournal(t *testing.T) {
	path := write(t, 1)
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create over a journal: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !fault.Is(err, fault.StateLocked) {
		t.Errorf("Open without a journal: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open left a file behind: %v", err)
	}
}

func TestRefuseSecondWriter(t *testing.T) {
	path := write(t, 1)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := Open(path); !errors.Is(err, lockfile.ErrHeld) {
		t.Errorf("a second writer got %v", err)
	}
}

func TestAppendTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var seen sync.Map
	for i := range 200 {
		group.Go(func() {
			seq, err := log.Append(context.Background(), record(i))
			if _, twice := seen.LoadOrStore(seq, true); err != nil || twice {
				t.Errorf("record %d got number %d (twice: %v), %v", i, seq, twice, err)
			}
		})
	}
	group.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || summary.Records != 200 {
		t.Errorf("%+v, %v", summary, err)
	}
	if _, err := log.Append(t.Context(), record(1)); err == nil {
		t.Error("a closed log took a record")
	}
}

func TestAppendNothingForCancelledCaller(t *testing.T) {
	log, err := Open(write(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, record(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestReadTailOfLongJournal makes resume start in the middle of the file.
func TestReadTailOfLongJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := log.Append(t.Context(), Record{Time: noon, Data: map[string]string{"x": strings.Repeat("x", longestLine-1000)}}); err != nil {
			t.Fatal(err)
		}
	}
	head := log.Head()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if again := appendTo(t, path, 1); again.Seq != head.Seq+1 {
		t.Errorf("continued at %d after %d", again.Seq, head.Seq)
	}
	if summary, err := Verify(path); err != nil || summary.Records != 9 {
		t.Errorf("%+v, %v", summary, err)
	}
}

// FuzzVerify checks that the reader neither panics nor believes a journal of
// which any byte differs from what was written.
func FuzzVerify(f *testing.F) {
	content, err := os.ReadFile(write(f, 3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte("{}\n"))
	f.Add([]byte(lineStart))
	f.Add(content[:len(content)-10])
	f.Add(append([]byte(lineStart+hex.EncodeToString(make([]byte, 32))+lineMiddle+"{}"), lineEnd...))
	f.Fuzz(func(t *testing.T, journal []byte) {
		reading, err := newPass(Against{})
		if err != nil {
			t.Fatal(err)
		}
		summary, err := reading.run(bytes.NewReader(journal), int64(len(journal)))
		if err != nil {
			return
		}
		// Whatever is believed is a chain from the first record on, complete but
		// for a torn end; each line must give its own bytes back.
		rest, prev := journal[:len(journal)-summary.Torn], Head{}
		for line := range bytes.Lines(rest) {
			read, hash, err := decode(line)
			if err != nil || read.Prev != hex.EncodeToString(prev.Hash[:]) {
				t.Fatalf("believed %q", line)
			}
			prev = Head{Seq: prev.Seq + 1, Hash: hash}
		}
		if prev != summary.Head {
			t.Fatalf("head %s, want %s", summary.Head, prev)
		}
	})
}

// FuzzGlance checks that verifying sees in a record what reading it does, and
// that records as they are written take the fast way.
func FuzzGlance(f *testing.F) {
	for _, text := range []string{"plain", `a "quoted" \\ text`, "Zoë", "\x1b", ""} {
		f.Add(text, text, text, text)
	}
	f.Add(`{"a":1}`, "audit_key", "key", "x+y")
	f.Fuzz(func(t *testing.T, session, kind, name, value string) {
		line, _, err := encode(Record{Time: noon, Kind: kind, Session: session, Data: map[string]string{name: value, "b": session}}, Head{Seq: 7})
		if err != nil {
			t.Skip("too long")
		}
		full, hash, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		seen, again, err := glance(line)
		if err != nil || again != hash || seen.Seq != full.Seq || seen.Prev != full.Prev || seen.Kind != full.Kind || seen.Data[keyField] != full.Data[keyField] {
			t.Fatalf("%s\nis read as %+v, %v", line, seen, err)
		}
	})
}

// FuzzScan: what the fast reader accepts of any bytes, the decoder reads alike.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"data":{"key":"k"},"kind":"audit_key","prev":"0","seq":"1"}`))
	f.Add([]byte(`{"seq":"1","Seq":"2"}`))
	f.Add([]byte(`{"kind":"a\\"}`))
	f.Add([]byte(`{"data":{"key":"a","key":"b"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		seen, ok := scan(body)
		if !ok {
			return
		}
		var full stored
		if err := json.Unmarshal(body, &full); err != nil {
			t.Fatalf("%q is no JSON: %v", body, err)
		}
		got := stored{Seq: string(seen.seq), Prev: string(seen.prev), Kind: string(seen.kind)}
		if got.Seq != full.Seq || got.Prev != full.Prev || got.Kind != full.Kind || string(seen.key) != full.Data[keyField] {
			t.Fatalf("%q is read as %+v, key %q, want %+v", body, got, seen.key, full)
		}
	})
}

func TestWrittenRecordsAreScanned(t *testing.T) {
	content, err := os.ReadFile(write(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(content) {
		body, _, err := unwrap(line)
		if _, ok := scan(body); err != nil || !ok {
			t.Errorf("%s goes the slow way, %v", line, err)
		}
	}
}

// TestHeadIsThereWhileOthersWrite has a record written and not yet flushed. It fails
// where Head waits for the log to be idle: under load, no anchor would be kept.
func TestHeadIsThereWhileOthersWrite(t *testing.T) {
	path := write(t, 3)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	durable := log.Head()
	if _, err := log.write(record(3)); err != nil {
		t.Fatal(err)
	}
	if got := log.Head(); durable.Seq != 3 || got != durable {
		t.Errorf("with a record under way the head is %s, want %s", got, durable)
	}
}
