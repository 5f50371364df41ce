package audit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"countersign/shared/fault"
)

// notary signs as custody does, with a key that lies in memory.
type notary struct {
	signer note.Signer
	key    string
}

func newNotary(t testing.TB, name string) notary {
	t.Helper()
	secret, key, err := note.GenerateKey(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return notary{signer, key}
}

func (n notary) Key() string { return n.key }

func (n notary) Sign(c Checkpoint) (string, error) {
	c.Origin = n.signer.Name()
	signed, err := note.Sign(&note.Note{Text: c.Text()}, n.signer)
	return string(signed), err
}

// attested opens a journal as signerd does.
func attested(t testing.TB, path string, by Notary) *Log {
	t.Helper()
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // A test may have closed it.
	if err := log.Check(Head{}); err != nil {
		t.Fatal(err)
	}
	if err := log.Attest(t.Context(), by); err != nil {
		t.Fatal(err)
	}
	return log
}

// checkpointed is a journal whose first record names the key, with checkpoints
// of 1, 3, 5 and 7 records, and a proof of the third.
func checkpointed(t testing.TB, by Notary) (path string, proof Proof) {
	t.Helper()
	path = write(t, 0)
	log := attested(t, path, by)
	for i := range 6 {
		seq, err := log.Append(t.Context(), record(i))
		if err != nil {
			t.Fatal(err)
		}
		if seq%2 == 0 {
			continue
		}
		got, err := log.Proof(seq)
		if err != nil {
			t.Fatal(err)
		}
		if seq == 3 {
			proof = got
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path, proof
}

func TestEdgeIsTheTreeOfTlog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 3), 0, 70).Draw(t, "leaves")
		var mine edge
		var want []tlog.Hash
		reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			found := make([]tlog.Hash, len(indexes))
			for i, index := range indexes {
				found[i] = want[index]
			}
			return found, nil
		})
		for i, leaf := range leaves {
			stored, err := tlog.StoredHashes(int64(i), leaf, reader)
			if err != nil {
				t.Fatal(err)
			}
			if got := mine.add(tlog.RecordHash(leaf), nil); !slices.Equal(got, stored) {
				t.Fatalf("leaf %d stores %v, want %v", i, got, stored)
			}
			want = append(want, stored...)
		}
		root, err := tlog.TreeHash(int64(len(leaves)), reader)
		if len(leaves) == 0 {
			return // RFC 6962 has a root of nothing, tlog has none.
		}
		if err != nil || mine.root() != root {
			t.Fatalf("root %s, want %s, %v", mine.root(), root, err)
		}
	})
}

func TestProofsHoldForEachRecordFromThenOn(t *testing.T) {
	by := newNotary(t, "test.log")
	path := write(t, 3)
	log := attested(t, path, by)
	var proofs []Proof
	for i := range 30 {
		seq, err := log.Append(t.Context(), record(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []uint64{1, seq} {
			proof, err := log.Proof(of)
			if err != nil {
				t.Fatal(err)
			}
			proofs = append(proofs, proof)
		}
	}
	if _, err := log.Proof(99); err == nil {
		t.Error("what is not recorded yet was proven")
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	// The tree is made anew from the journal, whatever its file held.
	if err := os.WriteFile(beside(path, treeExtension), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if proof, err := attested(t, path, by).Proof(2); err != nil {
		t.Error(err)
	} else {
		proofs = append(proofs, proof)
	}
	for _, proof := range proofs {
		read, err := ParseProof(proof.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyAgainst(path, Against{Keys: []string{by.key}, Checkpointed: true, Proof: &read}); err != nil {
			t.Fatalf("proof of record %d: %v", proof.Index+1, err)
		}
		read.Index ^= 1
		if _, err := VerifyAgainst(path, Against{Proof: &read}); err == nil {
			t.Fatalf("the proof of record %d proves another one", proof.Index+1)
		}
	}
}

// Its file may be written by anybody: no proof comes from a tree that was changed.
func TestChangedTreeProvesNothing(t *testing.T) {
	path := write(t, 8)
	log := attested(t, path, newNotary(t, "test.log"))
	size := tlog.StoredHashCount(9) * tlog.HashSize
	if _, err := log.Proof(1); err != nil { // flushes the file
		t.Fatal(err)
	}
	if err := os.WriteFile(beside(path, treeExtension), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Proof(2); err == nil || !strings.Contains(err.Error(), "tree was changed") {
		t.Errorf("got %v", err)
	}
	if _, err := log.Append(t.Context(), record(1)); err != nil {
		t.Errorf("the journal itself is sound: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(path); err != nil {
		t.Errorf("a checkpoint was signed over a changed tree: %v", err)
	}
}

func TestCheckpointsComeByThemselves(t *testing.T) {
	by := newNotary(t, "test.log")
	path := write(t, 0)
	log := attested(t, path, by)
	for i := range 2*attestEvery + 10 {
		if _, err := log.Append(t.Context(), record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if summary, err := Verify(path); err != nil || summary.Checkpoints != 3 || summary.Covered != 2*attestEvery+1 {
		t.Errorf("while it is open: %+v, %v", summary, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || summary.Checkpoints != 4 || summary.Covered != summary.Records {
		t.Errorf("closed: %+v, %v", summary, err)
	}
	// Nothing new, nothing signed; and the key is named once.
	if err := attested(t, path, by).Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || summary.Checkpoints != 4 || len(summary.Keys) != 1 {
		t.Errorf("opened again: %+v, %v", summary, err)
	}
}

func TestProveTogether(t *testing.T) {
	by := newNotary(t, "test.log")
	path := write(t, 0)
	log := attested(t, path, by)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			seq, err := log.Append(t.Context(), record(i))
			if err == nil {
				_, err = log.Proof(seq)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := VerifyAgainst(path, Against{Keys: []string{by.key}}); err != nil || summary.Records != 101 || summary.Covered != 101 {
		t.Errorf("%+v, %v", summary, err)
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
	if err := attested(t, path, by).Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || len(summary.Keys) != 2 {
		t.Errorf("begun anew: %+v, %v", summary, err)
	}
}

func TestAnotherKeyIsNamed(t *testing.T) {
	first, second := newNotary(t, "first.log"), newNotary(t, "second.log")
	path, _ := checkpointed(t, first)
	if err := attested(t, path, second).Close(); err != nil {
		t.Fatal(err)
	}
	summary, err := Verify(path)
	if err != nil || !slices.Equal(summary.Keys, []string{first.key, second.key}) {
		t.Errorf("%+v, %v", summary, err)
	}
	if _, err := VerifyAgainst(path, Against{Keys: []string{first.key, second.key}}); err != nil {
		t.Error(err)
	}
	if _, err := VerifyAgainst(path, Against{Keys: []string{second.key}}); err == nil {
		t.Error("checkpoints of a key that was not given count")
	}
}

// A journal of before there were checkpoints goes on, and is attested whole.
func TestAttestOlderJournal(t *testing.T) {
	by := newNotary(t, "test.log")
	path := write(t, 5)
	if err := attested(t, path, by).Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := VerifyAgainst(path, Against{Keys: []string{by.key}, Checkpointed: true}); err != nil || summary.Covered != 6 {
		t.Errorf("%+v, %v", summary, err)
	}
}

func TestFailedCheckpointStopsTheLog(t *testing.T) {
	path := write(t, 0)
	log := attested(t, path, newNotary(t, "test.log"))
	if err := log.attester.file.Close(); err != nil {
		t.Fatal(err)
	}
	seq, err := log.Append(t.Context(), record(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Proof(seq); !fault.Is(err, fault.StateLocked) {
		t.Errorf("a proof without a checkpoint: %v", err)
	}
	if _, err := log.Append(t.Context(), record(2)); !fault.Is(err, fault.StateLocked) {
		t.Errorf("after it the log takes more: %v", err)
	}
}

func FuzzParseProof(f *testing.F) {
	_, proof := checkpointed(f, newNotary(f, "test.log"))
	f.Add(proof.String())
	f.Add(proofStart + "0\n\n" + proof.checkpoint.note)
	f.Add(proofStart)
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
			fmt.Fprintln(&back, p.next.note)
		}
		if got := back.String(); got != string(content[:len(got)]) || int64(len(got)) != p.points.offset {
			t.Fatalf("%q is read as %q", content, got)
		}
	})
}
