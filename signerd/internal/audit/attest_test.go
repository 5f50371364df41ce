package audit

import (
	"os"
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

// TestCloseCoversWhatWasOnlyWritten fails where Close signs without flushing first what
// Write has written.
func TestCloseCoversWhatWasOnlyWritten(t *testing.T) {
	path := write(t, 0)
	log := attested(t, path, newNotary(t, "test.log"))
	if _, err := log.Write(t.Context(), record(1)); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if summary, err := Verify(path); err != nil || summary.Records != 2 || summary.Covered != 2 {
		t.Errorf("%+v, %v", summary, err)
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

// TestCoverIsTheFirstThatReachesSoFar fails without the comparison in pass.compare.
func TestCoverIsTheFirstThatReachesSoFar(t *testing.T) {
	path, _ := checkpointed(t, newNotary(t, "test.log"))
	for record, want := range map[uint64]uint64{1: 1, 3: 3, 4: 5, 7: 7} {
		summary, err := VerifyAgainst(path, Against{Cover: record})
		if err != nil || summary.Cover == nil || summary.Cover.Size != want {
			t.Errorf("record %d is covered by %+v, %v; want the checkpoint of %d", record, summary.Cover, err, want)
		}
	}
	if summary, err := VerifyAgainst(path, Against{Cover: 8}); err != nil || summary.Cover != nil {
		t.Errorf("of what there is not: %+v, %v", summary.Cover, err)
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

// TestCheckpointIsOfWhatIsOnTheDisk has a record written and not yet flushed, as while
// others write. A checkpoint of it could be of a record that a power cut takes: attest
// signs the tree of what is durable, and not that of what is written.
func TestCheckpointIsOfWhatIsOnTheDisk(t *testing.T) {
	log := attested(t, write(t, 0), newNotary(t, "test.log"))
	seq, err := log.Append(t.Context(), record(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.write(record(2)); err != nil {
		t.Fatal(err)
	}
	proof, err := log.Proof(seq)
	if err != nil || proof.Size() != seq {
		t.Errorf("the checkpoint is of %d records, %v; %d are on the disk", proof.Size(), err, seq)
	}
	if _, err := log.Proof(seq + 1); err == nil {
		t.Error("a record that is not on the disk is proven")
	}
}
