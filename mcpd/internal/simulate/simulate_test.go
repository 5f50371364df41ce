package simulate

import (
	"context"
	"testing"

	"countersign/mcpd/internal/plan"
	"countersign/shared/fault"
)

func TestRunRefusesWhatWasNotPlanned(t *testing.T) {
	got, err := Run(context.Background(), nil, plan.Unsigned{}, plan.Snapshot{})
	if !fault.Is(err, fault.Internal) || got.Stamped() {
		t.Errorf("%v, stamped %v", err, got.Stamped())
	}
}
