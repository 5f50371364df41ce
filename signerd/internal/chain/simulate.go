package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/shared/txerror"
	"countersign/signerd/internal/decode"
)

// Simulation is the state after a transaction that would succeed now.
type Simulation struct {
	// After holds the watched accounts that exist afterwards.
	After map[solana.PublicKey]Account
	// Inner is what programs called from within, in order; Called are the
	// programs that were called so, each once.
	Inner  []InnerCall
	Called []solana.PublicKey
	Units  uint64
	Slot   uint64
}

type simulationValue struct {
	Err      json.RawMessage `json:"err"`
	Logs     []string        `json:"logs"`
	Accounts []*wireAccount  `json:"accounts"`
	Units    *uint64         `json:"unitsConsumed"`
	// Inner is nil where the node does not show it.
	Inner []innerSet `json:"innerInstructions"`
}

const methodSimulate = "simulateTransaction"

// Simulate runs the very bytes of tx, with their own blockhash, and returns
// the watched accounts as they would be. Only accounts that are writable in tx
// may be watched: a node returns no others. A transaction that would fail is a
// fault that says why. Where a program is called that is not decoded, a node
// that does not show what it calls from within has not answered: a partial
// simulation blocks.
func (c *Client) Simulate(ctx context.Context, tx decode.Tx, watch []solana.PublicKey) (Simulation, error) {
	params := []any{base64.StdEncoding.EncodeToString(tx.Raw()), map[string]any{
		"encoding": "base64", "commitment": confirmed, "sigVerify": false,
		"replaceRecentBlockhash": false, "innerInstructions": true,
		"accounts": map[string]any{"encoding": "base64", "addresses": watch},
	}}
	answer, err := ask(ctx, c, methodSimulate, params, func(a contextual[*simulationValue]) error {
		return checkSimulation(a, tx, watch)
	})
	if err != nil {
		return Simulation{}, err
	}
	if !txerror.IsNone(answer.Value.Err) {
		return Simulation{}, failedSimulation(tx, answer.Value)
	}
	slot, _ := answer.slot() // checkSimulation has seen that it is there.
	simulation := Simulation{Slot: slot}
	if answer.Value.Units != nil {
		simulation.Units = *answer.Value.Units
	}
	if simulation.After, err = readAccounts(watch, answer.Value.Accounts); err != nil {
		return Simulation{}, jsonrpc.BadAnswer(methodSimulate, err)
	}
	// What it calls is judged only here, where no other node is asked instead.
	simulation.Inner, err = readInner(tx, answer.Value.Inner)
	for _, call := range simulation.Inner {
		if !slices.Contains(simulation.Called, call.Program) {
			simulation.Called = append(simulation.Called, call.Program)
		}
	}
	return simulation, err
}

// checkSimulation demands everything that was asked for, of a success.
func checkSimulation(answer contextual[*simulationValue], tx decode.Tx, watch []solana.PublicKey) error {
	if _, err := answer.slot(); err != nil {
		return err
	}
	if answer.Value == nil {
		return errors.New("no simulation in the answer")
	}
	if !txerror.IsNone(answer.Value.Err) {
		return nil
	}
	if _, err := readAccounts(watch, answer.Value.Accounts); err != nil {
		return err
	}
	if answer.Value.Inner == nil && callsOpaque(tx) {
		return errNoInner
	}
	_, err := readInner(tx, answer.Value.Inner)
	if refusal := new(fault.Fault); errors.As(err, &refusal) {
		return nil
	}
	return err
}

func callsOpaque(tx decode.Tx) bool {
	return slices.ContainsFunc(tx.Instructions(), func(i decode.Instruction) bool { return i.Kind == decode.Opaque })
}

// failedSimulation words the failure by the program that failed.
func failedSimulation(tx decode.Tx, value *simulationValue) *fault.Fault {
	switch {
	case txerror.IsAlreadyProcessed(value.Err):
		return fault.New(fault.AlreadyLanded, "this very transaction is on chain already")
	case txerror.IsBlockhashNotFound(value.Err):
		return fault.New(fault.BlockhashExpired, "the network no longer takes the transaction's blockhash")
	}
	var programs []solana.PublicKey
	for _, instruction := range tx.Instructions() {
		programs = append(programs, instruction.Program)
	}
	failed := txerror.Describe(value.Err, value.Logs, programs)
	return fault.New(failed.Fault(), "the transaction would fail: %s", failed.Text).Because(failed)
}
