package audit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzParseProof(f *testing.F) {
	_, proof := checkpointed(f, newNotary(f, "test.log"))
	f.Add(proof.String())
	f.Add(proofStart + "0\n\n" + proof.checkpoint.note)
	f.Add(proofStart)
	// One proof has one text: a number with a zero before it is refused.
	f.Add(strings.Replace(proof.String(), "index 2\n", "index 02\n", 1))
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ParseProof(text)
		if err == nil && read.String() != text {
			t.Fatalf("%q is read as %q", text, read.String())
		}
	})
}

// FuzzCheckpoints: what is believed of a file of checkpoints gives its bytes back.
func FuzzCheckpoints(f *testing.F) {
	path, _ := checkpointed(f, newNotary(f, "test.log"))
	points, err := os.ReadFile(beside(path, checkpointsExtension))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(points)
	f.Add(points[:len(points)-20])
	f.Add([]byte("\n\n\n\n\n\n\n"))
	f.Add(bytes.Replace(points, []byte("\n1\n"), []byte("\n01\n"), 1))
	file := filepath.Join(f.TempDir(), "a.checkpoints")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := newPass(Against{})
		if err != nil {
			t.Fatal(err)
		}
		closePoints, err := p.openCheckpoints(file)
		if err != nil {
			t.Fatal(err)
		}
		defer closePoints()
		var back strings.Builder
		for ; p.pointErr == nil; p.advance() {
			if !strings.HasPrefix(p.next.note, p.next.Text()+"\n") {
				t.Fatalf("%q is read as %q", p.next.note, p.next.Text())
			}
			fmt.Fprintln(&back, p.next.note)
		}
		if got := back.String(); got != string(content[:len(got)]) || int64(len(got)) != p.points.offset {
			t.Fatalf("%q is read as %q", content, got)
		}
	})
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
