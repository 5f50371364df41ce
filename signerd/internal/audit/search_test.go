package audit_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"countersign/signerd/internal/audit"
)

func TestLastProposalIsTheNewestNamed(t *testing.T) {
	log, err := audit.Create(filepath.Join(t.TempDir(), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	want := ""
	for i := range 200 {
		if last, err := log.LastProposal(); err != nil || last != want {
			t.Fatalf("after %d records the last proposal is %q, %v, want %q", i, last, err, want)
		}
		want = fmt.Sprintf("p_%d", i)
		record := audit.Record{Kind: "decided", Proposal: want, Data: map[string]string{"filler": strings.Repeat("x", 8_191)}}
		if _, err := log.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), audit.Record{Kind: "proposed", Data: map[string]string{"text": `"proposal":"p_forged"`}}); err != nil {
		t.Fatal(err)
	}
	if last, err := log.LastProposal(); err != nil || last != want {
		t.Errorf("the last proposal is %q, %v, want %q", last, err, want)
	}
}
