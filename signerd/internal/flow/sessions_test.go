package flow_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/flow"
)

// records are all of the log.
func (w *world) records() []audit.Record {
	w.t.Helper()
	var all []audit.Record
	for record, err := range audit.Records(filepath.Join(w.dir, "audit.jsonl")) {
		check(w.t, err)
		all = append(all, record)
	}
	return all
}

// TestSessionAndActionsAreLinked fails without openSession in Propose, without the
// record in EndSession, and where a record lacks the session or the call it belongs to.
func TestSessionAndActionsAreLinked(t *testing.T) {
	w := newWorld(t)
	p := w.proposed()
	p.Client, p.Correlation = "client\x1b[2J", "c_first"
	p.Peer = flow.Peer{UID: 1000, PID: 42, Executable: "/usr/bin/mcpd"}
	verdict, err := w.flow.Propose(t.Context(), p)
	check(t, err)
	receipt, err := w.flow.Execute(t.Context(), flow.Confirmed{
		Session: session, Correlation: "c_second", Code: verdict.Code, Fingerprint: p.Fingerprint,
		Transactions: [][]byte{w.transfer(lamports)},
	}, ignore)
	check(t, err)
	for range 2 { // A connection is closed once, and a session ends once.
		w.flow.EndSession(session)
	}
	w.flow.EndSession("s_never_asked")

	var kinds []string
	for _, r := range w.records() {
		kinds = append(kinds, r.Kind)
		call := map[string]string{"session_opened": "", "session_closed": "", "proposed": "c_first", "decided": "c_first"}
		want, own := call[r.Kind]
		if !own {
			want = "c_second"
		}
		if r.Session != session || r.Correlation != want {
			t.Errorf("%s belongs to session %q and call %q, want %q and %q", r.Kind, r.Session, r.Correlation, session, want)
		}
	}
	want := []string{"session_opened", "proposed", "decided", "confirmed", "reserved", "signed", "settled", "finished", "session_closed"}
	if !slices.Equal(kinds, want) {
		t.Fatalf("recorded %v, want %v", kinds, want)
	}
	opened := w.recorded("session_opened")[0]
	if opened["uid"] != "1000" || opened["pid"] != "42" || opened["executable"] != "/usr/bin/mcpd" || opened["client_claimed"] != `client\u{001B}[2J` {
		t.Errorf("the session is recorded as %v", opened)
	}
	if receipt.Correlation != "c_second" {
		t.Errorf("the receipt names call %q", receipt.Correlation)
	}
	raw, err := receipt.Encode()
	check(t, err)
	output := sha256.Sum256(raw)
	finished, decided := w.recorded("finished")[0], w.recorded("decided")[0]
	if finished["output_sha256"] != hex.EncodeToString(output[:]) || finished["fingerprint"] != hex.EncodeToString(p.Fingerprint[:]) ||
		finished["tier"] != "confirm" || finished["tool"] != p.Tool || finished["outcome"] != "landed" || finished["duration_ms"] == "" {
		t.Errorf("the execution is recorded as %v", finished)
	}
	if len(decided["output_sha256"]) != 64 || decided["outcome"] != "proposed" || decided["duration_ms"] == "" {
		t.Errorf("the decision is recorded as %v", decided)
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "audit.jsonl"))
	check(t, err)
	if strings.Contains(string(text), verdict.Code) {
		t.Error("the log holds a confirmation code")
	}
}
