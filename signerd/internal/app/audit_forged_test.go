package app

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"countersign/shared/fault"
	"countersign/signerd/internal/audit"
)

// obeyed is a control character and a direction mark that signed notes may hold.
const obeyed = "\u009b\u202e"

// forgedLog is a log of one record, with a checkpoint of it, as whoever can write
// both files makes it: it names a key whose name a terminal obeys.
func forgedLog(t *testing.T) string {
	t.Helper()
	secret, key, err := note.GenerateKey(rand.Reader, "x"+obeyed+"2Kgood")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"data":{"key":` + string(quoted) + `},"kind":"audit_key","prev":"` + strings.Repeat("0", 64) +
		`","proposal":"p_1","seq":"1","time":"2026-12-01T00:00:00Z"}`
	hash := sha256.Sum256([]byte(body))
	point := audit.Checkpoint{Origin: signer.Name(), Size: 1, Root: tlog.RecordHash(hash[:])}
	signed, err := note.Sign(&note.Note{Text: point.Text()}, signer)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for name, content := range map[string]string{
		path: `{"hash":"` + hex.EncodeToString(hash[:]) + `","record":` + body + "}\n",
		strings.TrimSuffix(path, ".jsonl") + ".checkpoints": string(signed) + "\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestForgedLogSaysNothingToTheTerminal: nothing that is shown of a log that somebody
// else wrote is obeyed: shown keeps it.
func TestForgedLogSaysNothingToTheTerminal(t *testing.T) {
	path := forgedLog(t)
	for _, args := range [][]string{{"verify", path}, {"trace", "p_1", path}, {"tail", path}} {
		code, out, errs := auditRun(args...)
		if code != exitDone || !strings.Contains(out, "good") || strings.ContainsAny(out+errs, obeyed) {
			t.Errorf("%v: %d %q %q", args, code, out, errs)
		}
	}
}

// TestErrorsSayNothingToTheTerminal: an error may quote what somebody else wrote, such
// as a record's kind or a proposal's name: unobeyed keeps it.
func TestErrorsSayNothingToTheTerminal(t *testing.T) {
	hostile := "\x1b]0;x\x07" + obeyed + "\x7f\xff"
	for name, say := range map[string]func(*bytes.Buffer){
		"a fault":  func(out *bytes.Buffer) { report(out, fault.New(fault.StateLocked, "first\nrecord %s", hostile)) },
		"an error": func(out *bytes.Buffer) { report(out, errors.New("first\nrecord "+hostile)) },
		"a check": func(out *bytes.Buffer) {
			(&console{out: out}).printHealth("ledger.db", health{Reason: "first\n" + hostile, Names: []string{"record " + hostile}})
		},
	} {
		var out bytes.Buffer
		say(&out)
		said := out.String()
		if strings.ContainsAny(said, "\x1b\x07\x7f"+obeyed) || !utf8.ValidString(said) || !strings.Contains(said, "first\n") || !strings.Contains(said, `record \u{001B}]0;x`) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestVerifyTellsWhatIsUnderNoSignature: records after the newest checkpoint, which
// whoever can write the file may have made up, are told of.
func TestVerifyTellsWhatIsUnderNoSignature(t *testing.T) {
	path := forgedLog(t)
	log, err := audit.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), audit.Record{Time: time.Now(), Kind: "made_up"}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := auditRun("verify", path); code != exitDone || !strings.Contains(out, "the last 1 records are under no signature") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if code, out, _ := auditRun("verify", path, "--json"); code != exitDone || !strings.Contains(out, `"unsigned_records":1`) {
		t.Errorf("%d %q", code, out)
	}
}
