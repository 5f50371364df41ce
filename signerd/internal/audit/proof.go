package audit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Proof shows that one record is in the tree of a signed checkpoint. Its text is
// a C2SP tlog-proof.
type Proof struct {
	// Index is the leaf's: a record's number less one.
	Index      uint64
	path       tlog.RecordProof
	checkpoint signedCheckpoint
}

const proofStart = "c2sp.org/tlog-proof@v1\nindex "

// longestProof bounds what is read: a path has at most 63 hashes.
const longestProof = 64*45 + longestCheckpoint + 128

// String is the proof as text.
func (p Proof) String() string {
	var text strings.Builder
	text.WriteString(proofStart + strconv.FormatUint(p.Index, 10) + "\n")
	for _, hash := range p.path {
		text.WriteString(hash.String() + "\n")
	}
	return text.String() + "\n" + p.checkpoint.note
}

var errProof = errors.New("it is not a proof of this log: c2sp.org/tlog-proof@v1")

// ParseProof reads a proof. It believes nothing of it.
func ParseProof(text string) (Proof, error) {
	rest, ok := strings.CutPrefix(text, proofStart)
	head, signed, parts := strings.Cut(rest, "\n\n")
	if !ok || !parts || len(text) > longestProof {
		return Proof{}, errProof
	}
	lines := strings.Split(head, "\n")
	index, err := strconv.ParseUint(lines[0], 10, 62)
	if err != nil {
		return Proof{}, errProof
	}
	proof := Proof{Index: index}
	for _, line := range lines[1:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return Proof{}, errProof
		}
		proof.path = append(proof.path, hash)
	}
	if proof.checkpoint, err = openCheckpoint(signed); err != nil || proof.String() != text {
		return Proof{}, errProof
	}
	return proof, nil
}

// Size is how many records the proof's checkpoint is of.
func (p Proof) Size() uint64 { return p.checkpoint.Size }

// check checks that the leaf is where the proof says, and who signed that.
func (p Proof) check(leaf tlog.Hash, keys note.Verifiers) error {
	if err := p.checkpoint.check(keys); err != nil {
		return fmt.Errorf("the proof's checkpoint does not hold: %w", err)
	}
	return p.checkPath(leaf)
}

func (p Proof) checkPath(leaf tlog.Hash) error {
	size, index := int64(p.checkpoint.Size), int64(p.Index) //nolint:gosec // Both were read as 63 bits at most.
	if p.Index >= p.checkpoint.Size || tlog.CheckRecord(p.path, size, p.checkpoint.Root, index, leaf) != nil {
		return fmt.Errorf("record %d of this log is not the one that the proof is of", p.Index+1)
	}
	return nil
}
