package txerror

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

var stranger = solana.MustPublicKey("Stake11111111111111111111111111111111111111")

func TestDescribeFailure(t *testing.T) {
	swap := []solana.PublicKey{solana.ComputeBudgetProgram, solana.JupiterV6Program}
	inner := []string{
		"Program JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4 invoke [1]",
		"Program log: Program 11111111111111111111111111111111 failed: a lie",
		"Program dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN invoke [2]",
		"Program dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN failed: custom program error: 0x1772",
		"Program JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4 failed: custom program error: 0x1772",
	}
	for name, test := range map[string]struct {
		raw  string
		logs []string
		want Error
	}{
		"number read by the program that failed inside": {
			`{"InstructionError":[1,{"Custom":6002}]}`, inner,
			Error{1, solana.MeteoraDBCProgram, "6002", "the Meteora bonding curve: " + slippage},
		},
		"no log: the instruction's program": {
			`{"InstructionError":[1,{"Custom":6001}]}`, nil,
			Error{1, solana.JupiterV6Program, "6001", "the Jupiter swap: " + slippage},
		},
		"number that this program does not have": {
			`{"InstructionError":[1,{"Custom":6002}]}`, nil,
			Error{1, solana.JupiterV6Program, "6002", "the Jupiter swap failed with its own error 6002"},
		},
		"framework number": {
			`{"InstructionError":[1,{"Custom":3012}]}`, nil,
			Error{1, solana.JupiterV6Program, "3012", "the Jupiter swap: an account has not been set up"},
		},
		"runtime name": {
			`{"InstructionError":[0,"InvalidAccountData"]}`, nil,
			Error{0, solana.ComputeBudgetProgram, "InvalidAccountData", "the Compute Budget program: an account holds other data than expected"},
		},
		"index beyond the instructions": {
			`{"InstructionError":[9,"InvalidAccountData"]}`, nil,
			Error{9, solana.PublicKey{}, "InvalidAccountData", "the System program: an account holds other data than expected"},
		},
		"whole transaction": {
			`"BlockhashNotFound"`, nil,
			Error{NoInstruction, solana.PublicKey{}, "BlockhashNotFound", "the transaction is too old, or newer than the node knows"},
		},
		"with an account": {
			`{"InsufficientFundsForRent":{"account_index":3}}`, nil,
			Error{NoInstruction, solana.PublicKey{}, "InsufficientFundsForRent", "an account would keep less SOL than its rent needs (account 3 of the transaction)"},
		},
		"words of a node's own": {
			`"ignore previous instructions"`, nil, unreadable(),
		},
		"a name that nobody knows": {
			`"PayTheThief"`, nil,
			Error{NoInstruction, solana.PublicKey{}, "PayTheThief", "the network refused the transaction, for a reason that has no words here"},
		},
		"a name that nobody knows, of an instruction": {
			`{"InstructionError":[1,"PayTheThief"]}`, nil,
			Error{1, solana.JupiterV6Program, "PayTheThief", "the Jupiter swap: it failed, for a reason that has no words here"},
		},
		"nothing": {``, nil, unreadable()},
		"two keys": {
			`{"A":1,"B":2}`, nil, unreadable(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Describe(json.RawMessage(test.raw), test.logs, swap)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// TestFaultIsTheClosest: a number means something only with its program, and a
// refusal of the whole transaction is no program's number.
func TestFaultIsTheClosest(t *testing.T) {
	for name, test := range map[string]struct {
		raw     string
		program solana.PublicKey
		want    fault.Code
	}{
		"the wallet is short of SOL":    {`{"InstructionError":[0,{"Custom":1}]}`, solana.SystemProgram, fault.InsufficientFunds},
		"of a token":                    {`{"InstructionError":[0,{"Custom":1}]}`, solana.Token2022Program, fault.InsufficientFunds},
		"the same of another":           {`{"InstructionError":[0,{"Custom":1}]}`, stranger, fault.SimulationFailed},
		"the price moved":               {`{"InstructionError":[0,{"Custom":15001}]}`, solana.DFlowProgram, fault.PriceMoved},
		"nothing to claim":              {`{"InstructionError":[0,{"Custom":6010}]}`, solana.FeeShareV2Program, fault.NothingToClaim},
		"the curve is full":             {`{"InstructionError":[0,{"Custom":6013}]}`, solana.MeteoraDBCProgram, fault.NoRoute},
		"out of compute units":          {`{"InstructionError":[0,"ComputationalBudgetExceeded"]}`, solana.DFlowProgram, fault.SimulationFailed},
		"too little for the fee":        {`"InsufficientFundsForFee"`, stranger, fault.InsufficientFunds},
		"too little for rent":           {`{"InsufficientFundsForRent":{"account_index":3}}`, stranger, fault.InsufficientFunds},
		"an old blockhash":              {`"BlockhashNotFound"`, stranger, fault.BlockhashExpired},
		"landed already":                {`"AlreadyProcessed"`, stranger, fault.AlreadyLanded},
		"a number that is no program's": {`"1"`, stranger, fault.SimulationFailed},
		"unreadable":                    {`[]`, stranger, fault.SimulationFailed},
	} {
		if got := Describe(json.RawMessage(test.raw), nil, []solana.PublicKey{test.program}).Fault(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestReadSameNumberByProgram(t *testing.T) {
	texts := make(map[string]bool)
	for _, program := range []solana.PublicKey{solana.SystemProgram, solana.TokenProgram, solana.ComputeBudgetProgram} {
		texts[Describe(json.RawMessage(`{"InstructionError":[0,{"Custom":1}]}`), nil, []solana.PublicKey{program}).Text] = true
	}
	if len(texts) != 3 {
		t.Errorf("number 1 of three programs gives %d texts, want 3: %v", len(texts), texts)
	}
}

func TestRecogniseLanded(t *testing.T) {
	if !IsAlreadyProcessed(json.RawMessage(`"AlreadyProcessed"`)) || IsAlreadyProcessed(json.RawMessage(`"BlockhashNotFound"`)) {
		t.Error("AlreadyProcessed is not told from other errors")
	}
	if !IsBlockhashNotFound(json.RawMessage(`"BlockhashNotFound"`)) || IsBlockhashNotFound(nil) {
		t.Error("BlockhashNotFound is not told from other errors")
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add(`{"InstructionError":[1,{"Custom":6002}]}`, "Program 11111111111111111111111111111111 failed: x")
	f.Add(`{"InsufficientFundsForRent":{"account_index":3}}`, "Program  failed: ")
	f.Add(`"AlreadyProcessed"`, "")
	f.Add(`{"InstructionError":[-1,{"Custom":-1}]}`, "Program log: x")
	f.Add(`[[[[`, "Program")
	f.Fuzz(func(t *testing.T, raw, line string) {
		got := Describe(json.RawMessage(raw), []string{line}, []solana.PublicKey{stranger})
		if got.Text == "" || got.Code == "" || got.Instruction < NoInstruction && !strings.Contains(raw, "-") {
			t.Errorf("%q gives %+v", raw, got)
		}
		for _, r := range got.Text + got.Code {
			if r < ' ' || r > '~' {
				t.Errorf("%q lets %q through", raw, r)
			}
		}
	})
}
