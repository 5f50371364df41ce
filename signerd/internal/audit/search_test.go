package audit_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/signerd/internal/audit"
)

func TestNewestIsTheLastNamed(t *testing.T) {
	log, err := audit.Create(filepath.Join(t.TempDir(), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	want := audit.Newest{Fields: map[string]audit.Named{}}
	demand := func(when string) {
		t.Helper()
		got, err := log.Newest("reservation", "signature")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s: %v (-want +got)\n%s", when, err, diff)
		}
	}
	filler := strings.Repeat("x", 8_191)
	for i := range 200 {
		demand(fmt.Sprintf("after %d records", i))
		want.Proposal = fmt.Sprintf("p_%d", i)
		record := audit.Record{Kind: "decided", Proposal: want.Proposal, Data: map[string]string{"filler": filler}}
		for field, every := range map[string]int{"reservation": 2, "signature": 3} {
			if i%every == 1 {
				record.Data[field] = fmt.Sprintf("%s_%d", field, i)
				want.Fields[field] = audit.Named{Value: record.Data[field], Proposal: want.Proposal}
			}
		}
		if _, err := log.Append(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	// However much comes after it, and whatever that says in its text.
	for range 300 {
		if _, err := log.Append(t.Context(), audit.Record{Kind: "proposed", Data: map[string]string{"text": `"proposal":"p_forged"`, "filler": filler}}); err != nil {
			t.Fatal(err)
		}
	}
	demand("after a flood")
}
