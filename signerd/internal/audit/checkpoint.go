package audit

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint says what the journal's tree is at some size. Signed, it is a C2SP
// checkpoint: whoever has one can tell whether a journal still begins so.
type Checkpoint struct {
	// Origin names the journal: the name of the key that signs.
	Origin string
	Size   uint64
	Root   [32]byte
	// Previous is the size of the checkpoint before it, or 0: so that one that is
	// removed is missed.
	Previous uint64
}

// previousLine begins the one extension line.
const previousLine = "previous "

// Text is what is signed.
func (c Checkpoint) Text() string {
	return fmt.Sprintf("%s\n%d\n%s\n%s%d\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), previousLine, c.Previous)
}

// Notary signs checkpoints. custody holds its key.
type Notary interface {
	// Key is the verifier key, as golang.org/x/mod/sumdb/note writes them.
	Key() string
	// Sign makes the signed note of a checkpoint. It sets the origin.
	Sign(c Checkpoint) (string, error)
}

// originOf is the name in a verifier key.
func originOf(key string) string {
	name, _, _ := strings.Cut(key, "+")
	return name
}

// errCheckpoint is all that is said of text that is none.
var errCheckpoint = errors.New("it is not a checkpoint")

// parseCheckpoint reads the text of a checkpoint. There is one way to write each.
func parseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 5 {
		return Checkpoint{}, errCheckpoint
	}
	size, sizeErr := strconv.ParseUint(lines[1], 10, 63)
	root, rootErr := tlog.ParseHash(lines[2])
	previous, previousErr := strconv.ParseUint(strings.TrimPrefix(lines[3], previousLine), 10, 63)
	c := Checkpoint{Origin: lines[0], Size: size, Root: root, Previous: previous}
	if errors.Join(sizeErr, rootErr, previousErr) != nil || c.Text() != text {
		return Checkpoint{}, errCheckpoint
	}
	return c, nil
}

// signedCheckpoint is a checkpoint with its signature.
type signedCheckpoint struct {
	Checkpoint
	note string
}

// openCheckpoint reads a signed note without believing it yet.
func openCheckpoint(signed string) (signedCheckpoint, error) {
	text, _, found := strings.Cut(signed, "\n\n")
	if !found {
		return signedCheckpoint{}, errCheckpoint
	}
	c, err := parseCheckpoint(text + "\n")
	return signedCheckpoint{c, signed}, err
}

// check checks the signature, which must be of a key named as the origin.
func (c signedCheckpoint) check(keys note.Verifiers) error {
	opened, err := note.Open([]byte(c.note), keys)
	switch {
	case err != nil && errors.As(err, new(*note.UnverifiedNoteError)):
		return errors.New("it is signed by another key than the one that was given, or than the log names")
	case err != nil:
		return errors.New("its signature is wrong: it was changed, or forged")
	case opened.Sigs[0].Name != c.Origin || len(opened.Sigs)+len(opened.UnverifiedSigs) != 1:
		return errors.New("it is signed by another key than that of its log")
	}
	return nil
}

// longestCheckpoint bounds one signed note: five short lines and a signature.
const longestCheckpoint = 1 << 10

// checkpointReader reads a file of checkpoints: signed notes, each followed by
// an empty line.
type checkpointReader struct {
	lines  *bufio.Reader
	number int
	offset int64
	// torn is how much of an incomplete last one there is.
	torn int
	last signedCheckpoint
}

// notes have so many lines, the empty one after them included.
const noteLines = 7

// next gives the next checkpoint, or io.EOF; what is left of a write that was
// cut short is no checkpoint.
func (r *checkpointReader) next() (signedCheckpoint, error) {
	var text strings.Builder
	for i := range noteLines {
		line, err := r.lines.ReadSlice('\n')
		text.Write(line)
		switch {
		case errors.Is(err, io.EOF):
			r.torn = text.Len()
			return signedCheckpoint{}, io.EOF
		case errors.Is(err, bufio.ErrBufferFull) || text.Len() > longestCheckpoint:
			return signedCheckpoint{}, r.bad(errCheckpoint)
		case err != nil:
			return signedCheckpoint{}, fmt.Errorf("read checkpoints: %w", err)
		case i == noteLines-1 && len(line) != 1:
			return signedCheckpoint{}, r.bad(errCheckpoint)
		}
	}
	c, err := openCheckpoint(strings.TrimSuffix(text.String(), "\n"))
	switch {
	case err != nil:
		return c, r.bad(err)
	case c.Previous != r.last.Size:
		return c, r.bad(fmt.Errorf("it follows the one of %d records, which is not the one before it: checkpoints were removed or moved", c.Previous))
	case c.Size <= c.Previous:
		return c, r.bad(errors.New("it is of no more records than the one before it"))
	}
	r.last = c
	r.number++
	r.offset += int64(text.Len())
	return c, nil
}

func (r *checkpointReader) bad(err error) error {
	return &BadCheckpoint{Number: r.number + 1, Offset: r.offset, Reason: err.Error()}
}

// BadCheckpoint names the first checkpoint that does not verify.
type BadCheckpoint struct {
	// Number counts from 1. Offset is where it begins in its file, or is -1.
	Number int
	Offset int64
	Reason string
}

func (b *BadCheckpoint) Error() string {
	if b.Offset < 0 {
		return fmt.Sprintf("audit checkpoint %d is bad: %s", b.Number, b.Reason)
	}
	return fmt.Sprintf("audit checkpoint %d (byte %d) is bad: %s", b.Number, b.Offset, b.Reason)
}
