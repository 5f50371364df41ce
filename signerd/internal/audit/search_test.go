package audit_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"countersign/signerd/internal/audit"
)

func TestNewestIsTheLastNamed(t *testing.T) {
	log, err := audit.Create(filepath.Join(t.TempDir(), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	want, reserved, by := "", "", ""
	for i := range 200 {
		if last, err := log.Newest("reservation"); err != nil || last.Proposal != want || last.Value != reserved || last.ValueProposal != by {
			t.Fatalf("after %d records the last are %+v, %v; want %q, and %q of %q", i, last, err, want, reserved, by)
		}
		want = fmt.Sprintf("p_%d", i)
		record := audit.Record{Kind: "decided", Proposal: want, Data: map[string]string{"filler": strings.Repeat("x", 8_191)}}
		if i%2 == 1 {
			reserved, by = fmt.Sprintf("r_%d", i), want
			record.Data["reservation"] = reserved
		}
		if _, err := log.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), audit.Record{Kind: "proposed", Data: map[string]string{"text": `"proposal":"p_forged"`}}); err != nil {
		t.Fatal(err)
	}
	if last, err := log.Newest("reservation"); err != nil || last.Proposal != want || last.Value != reserved {
		t.Errorf("the last are %+v, %v, want %q and %q", last, err, want, reserved)
	}
}
