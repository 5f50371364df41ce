package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"countersign/shared/fault"
)

// A line is {"hash":"<64 hex>","record":<canonical JSON>} and a newline. The
// hash is of the record's bytes exactly as they stand, and the record names
// the hash before it, so that nothing needs to be encoded again to verify.
const (
	lineStart  = `{"hash":"`
	lineMiddle = `","record":`
	lineEnd    = "}\n"
	hashText   = 2 * sha256.Size
	// longestLine bounds what a reader holds in memory.
	longestLine = 256 << 10
)

// stored is a record as written. Numbers are text: RFC 8785 would round them.
type stored struct {
	Seq         string            `json:"seq"`
	Prev        string            `json:"prev"`
	Time        string            `json:"time"`
	Kind        string            `json:"kind"`
	Session     string            `json:"session,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	Proposal    string            `json:"proposal,omitempty"`
	Digest      string            `json:"digest,omitempty"`
	Data        map[string]string `json:"data,omitempty"`
}

// encode makes the line of a record; at holds its own number and the hash of
// the record before it.
func encode(record Record, at Head) ([]byte, [32]byte, error) {
	plain, err := json.Marshal(stored{
		Seq: strconv.FormatUint(at.Seq, 10), Prev: hex.EncodeToString(at.Hash[:]),
		Time: record.Time.UTC().Format(time.RFC3339Nano), Kind: printable(record.Kind),
		Session: printable(record.Session), Correlation: printable(record.Correlation),
		Proposal: printable(record.Proposal), Digest: printable(record.Digest), Data: printableData(record.Data),
	})
	if err != nil {
		return nil, [32]byte{}, fmt.Errorf("encode audit record: %w", err)
	}
	body, err := jcs.Transform(plain)
	if err != nil {
		return nil, [32]byte{}, fmt.Errorf("encode audit record: %w", err)
	}
	if len(body) > longestLine-len(lineStart)-hashText-len(lineMiddle)-len(lineEnd) {
		return nil, [32]byte{}, fault.New(fault.InvalidArguments, "the request is too large to be recorded")
	}
	hash := sha256.Sum256(body)
	line := make([]byte, 0, len(body)+len(lineStart)+hashText+len(lineMiddle)+len(lineEnd))
	line = append(line, lineStart...)
	line = hex.AppendEncode(line, hash[:])
	line = append(line, lineMiddle...)
	line = append(line, body...)
	return append(line, lineEnd...), hash, nil
}

// The ways in which a line is wrong by itself.
var (
	errShape   = errors.New("it is not an audit record")
	errChanged = errors.New("it was changed: its hash does not match")
)

// unwrap checks a line's own hash, newline included, and gives the record's bytes.
func unwrap(line []byte) (body []byte, hash [32]byte, err error) {
	rest, ok := bytes.CutPrefix(line, []byte(lineStart))
	if !ok || len(rest) < hashText {
		return nil, [32]byte{}, errShape
	}
	if _, err := hex.Decode(hash[:], rest[:hashText]); err != nil || !lowerHex(rest[:hashText]) {
		return nil, [32]byte{}, errShape
	}
	body, ok = bytes.CutPrefix(rest[hashText:], []byte(lineMiddle))
	if !ok {
		return nil, [32]byte{}, errShape
	}
	if body, ok = bytes.CutSuffix(body, []byte(lineEnd)); !ok {
		return nil, [32]byte{}, errShape
	}
	if sha256.Sum256(body) != hash {
		return nil, [32]byte{}, errChanged
	}
	return body, hash, nil
}

// decode reads a line, newline included, and checks its own hash.
func decode(line []byte) (stored, [32]byte, error) {
	body, hash, err := unwrap(line)
	if err != nil {
		return stored{}, [32]byte{}, err
	}
	var record stored
	if err := json.Unmarshal(body, &record); err != nil {
		return stored{}, [32]byte{}, errShape
	}
	return record, hash, nil
}

// glance is decode for what following the chain needs: number, predecessor, kind
// and the key that a record may name.
func glance(line []byte) (stored, [32]byte, error) {
	body, hash, err := unwrap(line)
	if err != nil {
		return stored{}, [32]byte{}, err
	}
	seen, ok := scan(body)
	if !ok {
		return decode(line)
	}
	record := stored{Seq: string(seen.seq), Prev: string(seen.prev), Kind: string(seen.kind)}
	if seen.key != nil {
		record.Data = map[string]string{keyField: string(seen.key)}
	}
	return record, hash, nil
}

// lowerHex keeps the hash's text unique, so that no byte of a line is free.
func lowerHex(text []byte) bool { return !bytes.ContainsAny(text, "ABCDEF") }

// printable escapes what a terminal would obey or hide: controls, direction
// marks, invisible and tag characters, and bytes that are no text.
func printable(text string) string {
	clean := true
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x{%02X}`, text[0])
		case r == utf8.RuneError || !unicode.IsPrint(r):
			fmt.Fprintf(&out, `\u{%04X}`, r)
		default:
			out.WriteRune(r)
		}
		text = text[size:]
	}
	return out.String()
}

func printableData(data map[string]string) map[string]string {
	if len(data) == 0 {
		return nil
	}
	out := make(map[string]string, len(data))
	for key, value := range data {
		out[printable(key)] = printable(value)
	}
	return out
}

// tornData says what was cut off, without repeating it: half a record may be
// anything.
func tornData(torn []byte) map[string]string {
	hash := sha256.Sum256(torn)
	return map[string]string{
		"removed_bytes":  strconv.Itoa(len(torn)),
		"removed_sha256": hex.EncodeToString(hash[:]),
	}
}
