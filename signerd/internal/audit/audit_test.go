package audit

import (
	"bytes"
	"context"
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

// TestWrittenRecordIsDurableAtClose: a record that nobody waits for is in the
// journal, in its place, and in the last checkpoint's count.
func TestWrittenRecordIsDurableAtClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write(t.Context(), Record{Time: time.Now(), Kind: "noted"}); err != nil {
		t.Fatal(err)
	}
	if head := log.Head(); head.Seq != 0 {
		t.Errorf("record %d is told as durable, and nothing has flushed it", head.Seq)
	}
	if _, err := log.Append(t.Context(), Record{Time: time.Now(), Kind: "recorded"}); err != nil {
		t.Fatal(err)
	}
	if head := log.Head(); head.Seq != 2 {
		t.Errorf("the durable head is %d, want 2", head.Seq)
	}
	if _, err := log.Write(t.Context(), Record{Time: time.Now(), Kind: "noted"}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if head := log.Head(); head.Seq != 3 {
		t.Errorf("after Close the durable head is %d, want 3", head.Seq)
	}
	if summary, err := Verify(path); err != nil || summary.Records != 3 {
		t.Errorf("%+v, %v, want 3 records", summary, err)
	}
}
