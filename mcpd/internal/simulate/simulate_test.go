package simulate

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"countersign/mcpd/internal/chain"
	"countersign/mcpd/internal/plan"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

func TestRunRefusesWhatWasNotPlanned(t *testing.T) {
	got, err := Run(context.Background(), nil, plan.Unsigned{}, plan.Snapshot{})
	if !fault.Is(err, fault.Internal) || got.Stamped() {
		t.Errorf("%v, stamped %v", err, got.Stamped())
	}
}

func TestExplainNamesTheInnermostProgram(t *testing.T) {
	run := chain.Run{
		Err: json.RawMessage(`{"InstructionError":[2,{"Custom":6002}]}`),
		Logs: []string{
			"Program " + solana.DFlowProgram.String() + " invoke [1]", "Program log: Program x failed: no",
			"Program " + solana.MeteoraDBCProgram.String() + " failed: custom program error: 0x1772",
			"Program " + solana.DFlowProgram.String() + " failed: custom program error: 0x1772",
		},
	}
	if err := explain(run, plan.Read{}); !fault.Is(err, fault.PriceMoved) {
		t.Errorf("error = %v", err)
	}
	run.Logs = run.Logs[3:]
	if err := explain(run, plan.Read{}); !fault.Is(err, fault.SimulationFailed) || !strings.Contains(err.Error(), solana.DFlowProgram.String()) {
		t.Errorf("the same number of another program: %v", err)
	}
}

func FuzzExplain(f *testing.F) {
	f.Add(`{"InstructionError":[2,{"Custom":6002}]}`, "Program 11111111111111111111111111111111 failed: x")
	f.Add(`"AccountNotFound"`, "")
	f.Add(`{"InstructionError":[0,"ComputationalBudgetExceeded"]}`, "Program log: canary")
	f.Fuzz(func(t *testing.T, raw, log string) {
		err := explain(chain.Run{Err: json.RawMessage(raw), Logs: []string{log}}, plan.Read{})
		got := fault.From(err)
		if got == nil || got.Code == fault.Internal {
			t.Fatalf("no fault for %q", raw)
		}
		for _, r := range got.Message {
			if r < ' ' || r > '~' {
				t.Fatalf("the message holds %U of the node", r)
			}
		}
	})
}
