package audit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"countersign/shared/fault"
)

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
		"endless line":    {func(l [][]byte) [][]byte { l[2] = append(bytes.Repeat([]byte("x"), longestLine+1), '\n'); return l }, 3},
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

// rewritten is the journal that somebody makes who can hash: each record
// chained to the one before, with another text in the fourth.
func rewritten(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	var head Head
	for line := range bytes.Lines(content) {
		old, _, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		head.Seq++
		again := Record{Time: noon, Kind: old.Kind, Data: old.Data}
		if head.Seq == 4 {
			again.Kind = "forged"
		}
		// Records before the forged one stay as they are.
		if head.Seq >= 4 {
			if line, head.Hash, err = encode(again, head); err != nil {
				t.Fatal(err)
			}
		} else if _, head.Hash, err = decode(line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line...)
	}
	return out
}

// TestNameBadCheckpoint damages what lies beside the journal, and the journal
// together with its chain. It fails without the comparison of roots or of signatures in
// pass.compare, and without that of sizes in checkpointReader.next.
func TestNameBadCheckpoint(t *testing.T) {
	by, stranger := newNotary(t, "test.log"), newNotary(t, "test.log")
	for name, test := range map[string]struct {
		damage func(t *testing.T, path string, notes []string) []string
		number int
		reason string
	}{
		"changed root": {func(_ *testing.T, _ string, n []string) []string {
			lines := strings.Split(n[1], "\n")
			root, _ := base64.StdEncoding.DecodeString(lines[2])
			root[0] ^= 1
			lines[2] = base64.StdEncoding.EncodeToString(root)
			n[1] = strings.Join(lines, "\n")
			return n
		}, 2, "signature is wrong"},
		"changed signature": {func(_ *testing.T, _ string, n []string) []string {
			at := len(n[1]) - 10
			n[1] = n[1][:at] + string(n[1][at]^1) + n[1][at+1:]
			return n
		}, 2, ""},
		"removed first":  {func(_ *testing.T, _ string, n []string) []string { return n[1:] }, 1, "removed or moved"},
		"removed middle": {func(_ *testing.T, _ string, n []string) []string { return slices.Delete(n, 1, 2) }, 2, "removed or moved"},
		"swapped":        {func(_ *testing.T, _ string, n []string) []string { n[1], n[2] = n[2], n[1]; return n }, 2, "removed or moved"},
		"repeated":       {func(_ *testing.T, _ string, n []string) []string { return slices.Insert(n, 1, n[0]) }, 2, "removed or moved"},
		"no checkpoint":  {func(_ *testing.T, _ string, n []string) []string { n[2] = "one\ntwo\nthree\nfour\n\nsix\n"; return n }, 3, "not a checkpoint"},
		"signed by another": {func(t *testing.T, _ string, n []string) []string {
			c, err := openCheckpoint(n[3])
			if err != nil {
				t.Fatal(err)
			}
			if n[3], err = stranger.Sign(c.Checkpoint); err != nil {
				t.Fatal(err)
			}
			return n
		}, 4, "another key"},
		"journal cut short": {func(t *testing.T, path string, n []string) []string {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(content, []byte("\n"))
			if err := os.WriteFile(path, bytes.Join(lines[:4], nil), 0o600); err != nil {
				t.Fatal(err)
			}
			return n
		}, 3, "the rest is missing"},
		"journal written anew": {func(t *testing.T, path string, n []string) []string {
			if err := os.WriteFile(path, rewritten(t, path), 0o600); err != nil {
				t.Fatal(err)
			}
			return n
		}, 3, "records 4 to 5"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := checkpointed(t, by)
			points := beside(path, checkpointsExtension)
			content, err := os.ReadFile(points)
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.SplitAfter(string(content), "\n\n")
			// The empty line within a note cuts it too.
			var whole []string
			for i := 0; i+1 < len(notes); i += 2 {
				whole = append(whole, notes[i]+strings.TrimSuffix(notes[i+1], "\n"))
			}
			if len(whole) != 4 {
				t.Fatalf("%d checkpoints, want 4", len(whole))
			}
			damaged := strings.Join(test.damage(t, path, whole), "\n") + "\n"
			if err := os.WriteFile(points, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, keys := range [][]string{nil, {by.key}} {
				_, err := VerifyAgainst(path, Against{Keys: keys, Checkpointed: true})
				bad, ok := errors.AsType[*BadCheckpoint](err)
				if !ok || bad.Number != test.number || !strings.Contains(bad.Reason, test.reason) {
					t.Fatalf("%v, want checkpoint %d: %s", err, test.number, test.reason)
				}
			}
		})
	}
}

// Who changes the journal and makes checkpoints of his own with a key that he
// names in it is found by the key that was kept elsewhere, and by each receipt.
func TestForgedLogIsFoundByKeyAndByProof(t *testing.T) {
	by, forger := newNotary(t, "test.log"), newNotary(t, "test.log")
	_, proof := checkpointed(t, by)
	forged, _ := checkpointed(t, forger)
	if _, err := VerifyAgainst(forged, Against{Checkpointed: true}); err != nil {
		t.Fatalf("by its own word it is good: %v", err)
	}
	if _, err := VerifyAgainst(forged, Against{Keys: []string{by.key}}); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("by the key: %v", err)
	}
	if _, err := VerifyAgainst(forged, Against{Proof: &proof}); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("by the proof: %v", err)
	}
}

// TestGivenKeyMustHaveSigned: whoever gives a key asks for its signature. A journal
// that was written anew with no checkpoint at all is not good by that key: the count
// in pass.end keeps it.
func TestGivenKeyMustHaveSigned(t *testing.T) {
	by := newNotary(t, "test.log")
	path := write(t, 5) // It names no key.
	for name, prepare := range map[string]func() error{
		"no file of checkpoints": func() error { return nil },
		"an empty one":           func() error { return os.WriteFile(beside(path, checkpointsExtension), nil, 0o600) },
		"half of one":            func() error { return os.WriteFile(beside(path, checkpointsExtension), []byte("test.log\n3\n"), 0o600) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyAgainst(path, Against{Keys: []string{by.key}}); err == nil || !strings.Contains(err.Error(), "no checkpoint") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := VerifyAgainst(path, Against{}); err != nil {
			t.Errorf("%s, without a key: %v", name, err)
		}
	}
	// A good proof is such a checkpoint.
	sound, proof := checkpointed(t, by)
	if err := os.WriteFile(beside(sound, checkpointsExtension), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyAgainst(sound, Against{Keys: []string{by.key}, Proof: &proof}); err != nil {
		t.Errorf("with a proof: %v", err)
	}
}

// TestLockOnLostCheckpoints opens what Verify would refuse.
func TestLockOnLostCheckpoints(t *testing.T) {
	by := newNotary(t, "test.log")
	path, _ := checkpointed(t, by)
	points := beside(path, checkpointsExtension)
	good, err := os.ReadFile(points)
	if err != nil {
		t.Fatal(err)
	}
	check := func() error {
		log, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		return log.Check(Head{})
	}
	if err := os.Remove(points); err != nil {
		t.Fatal(err)
	}
	if err := check(); !fault.Is(err, fault.StateLocked) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("without them: %v", err)
	}
	if _, err := VerifyAgainst(path, Against{Checkpointed: true}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("verified without them: %v", err)
	}
	if err := os.WriteFile(points, bytes.Replace(good, []byte("\n3\n"), []byte("\n4\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(); !fault.Is(err, fault.StateLocked) {
		t.Errorf("changed: %v", err)
	}
	// The same checkpoint, signed by a stranger. It opens without the check of the
	// newest signature in pass.end: at start, that is the only one that is looked at.
	at := bytes.LastIndex(good, []byte("test.log\n"))
	newest, err := openCheckpoint(strings.TrimSuffix(string(good[at:]), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := newNotary(t, "test.log").Sign(newest.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(points, append(slices.Clone(good[:at]), forged+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(); !fault.Is(err, fault.StateLocked) || !strings.Contains(err.Error(), "another key") {
		t.Errorf("signed by a stranger: %v", err)
	}
	// One that a crash has cut short is cut off.
	if err := os.WriteFile(points, good[:len(good)-40], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := attested(t, path, by).Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || summary.Checkpoints != 4 || summary.Covered != summary.Records {
		t.Errorf("after a crash: %+v, %v", summary, err)
	}
	// Begun anew, they say so.
	if err := os.WriteFile(points, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyAgainst(path, Against{Checkpointed: true}); err == nil || !strings.Contains(err.Error(), "missing or empty") {
		t.Errorf("verified with an empty file: %v", err)
	}
	if err := attested(t, path, by).Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || len(summary.Keys) != 2 {
		t.Errorf("begun anew: %+v, %v", summary, err)
	}
}

// TestCheckpointOfNoMoreRecords has the key itself sign a checkpoint of as many records
// as the one before. It passes without the comparison of sizes in checkpointReader.next.
func TestCheckpointOfNoMoreRecords(t *testing.T) {
	by := newNotary(t, "test.log")
	path, proof := checkpointed(t, by)
	again := proof.checkpoint.Checkpoint
	again.Previous = again.Size
	signed, err := by.Sign(again)
	if err != nil {
		t.Fatal(err)
	}
	points := beside(path, checkpointsExtension)
	content, err := os.ReadFile(points)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(content), proof.checkpoint.note+"\n")
	if !found {
		t.Fatal("the proof's checkpoint is not in the file")
	}
	if err := os.WriteFile(points, []byte(before+proof.checkpoint.note+"\n"+signed+"\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Verify(path)
	if bad, ok := errors.AsType[*BadCheckpoint](err); !ok || bad.Number != 3 || !strings.Contains(bad.Reason, "no more records") {
		t.Errorf("%v, want checkpoint 3 named", err)
	}
}

// TestCheckpointInAnothersName has a key that counts sign in the name of another log. It
// passes without the comparison of names in signedCheckpoint.check.
func TestCheckpointInAnothersName(t *testing.T) {
	by, other := newNotary(t, "test.log"), newNotary(t, "other.log")
	_, proof := checkpointed(t, by)
	signed, err := note.Sign(&note.Note{Text: proof.checkpoint.Text()}, other.signer)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := openCheckpoint(string(signed))
	if err != nil {
		t.Fatal(err)
	}
	var keys []note.Verifier
	for _, text := range []string{by.key, other.key} {
		key, err := note.NewVerifier(text)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := forged.check(note.VerifierList(keys...)); err == nil {
		t.Error("a key may sign for the log of another")
	}
	if err := proof.checkpoint.check(note.VerifierList(keys...)); err != nil {
		t.Errorf("the log's own: %v", err)
	}
	// Nor may a second signature stand beside the log's own: each note has one text.
	twice, err := note.Sign(&note.Note{Text: proof.checkpoint.Text()}, by.signer, other.signer)
	if err != nil {
		t.Fatal(err)
	}
	forged.note = string(twice)
	if err := forged.check(note.VerifierList(keys[0])); err == nil {
		t.Error("a second signature is accepted")
	}
}
