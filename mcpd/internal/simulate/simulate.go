// Package simulate runs what plan made against the chain as it stands, so that
// a transaction which cannot succeed dies here with a reason in words, before
// the signer or a person looks at it. chain comes before it, propose takes what
// it returns. It promises that no Simulated exists for a failed or partial run.
package simulate

import (
	"context"

	"countersign/mcpd/internal/chain"
	"countersign/mcpd/internal/plan"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/txerror"
)

// Chain runs one transaction.
type Chain interface {
	Simulate(ctx context.Context, raw []byte, watch []solana.PublicKey) (chain.Run, error)
}

// Simulated is a batch whose first transaction would succeed now. The later
// ones of a batch need the earlier ones to land first and cannot be run.
type Simulated struct {
	unsigned plan.Unsigned
	stamped  bool
}

// Unsigned is the batch, its bounds widened by the rent that only the run
// could show.
func (s Simulated) Unsigned() plan.Unsigned { return s.unsigned }

// Stamped reports that Run made s.
func (s Simulated) Stamped() bool { return s.stamped }

// Run simulates the batch. snapshot is what the chain held before.
func Run(ctx context.Context, node Chain, unsigned plan.Unsigned, snapshot plan.Snapshot) (Simulated, error) {
	if !unsigned.Stamped() {
		return Simulated{}, fault.New(fault.Internal, "a batch was not planned")
	}
	first, read := unsigned.Batch()[0], unsigned.Reads()[0]
	watch := fresh(unsigned, read, snapshot)
	run, err := node.Simulate(ctx, first, watch)
	if err != nil {
		return Simulated{}, err
	}
	if run.Err != nil {
		failed := txerror.Describe(run.Err, run.Logs, read.Programs)
		return Simulated{}, fault.New(failed.Fault(), "the transaction would fail: %s", failed.Text)
	}
	rent := make([]amount.Units, 0, len(watch))
	for _, key := range watch {
		rent = append(rent, run.After[key].Lamports)
	}
	sum, err := amount.Sum(rent...)
	if err != nil {
		return Simulated{}, fault.New(fault.RPCBadAnswer, "the simulated balances are too large").Because(err)
	}
	widened, err := unsigned.WithRent(sum)
	if err != nil {
		return Simulated{}, err
	}
	return Simulated{unsigned: widened, stamped: true}, nil
}

// fresh lists writable accounts that do not exist yet and whose rent plan has
// not counted: what an opaque program would open. A recipient of a transfer is
// no rent.
func fresh(unsigned plan.Unsigned, read plan.Read, snapshot plan.Snapshot) []solana.PublicKey {
	counted := map[solana.PublicKey]bool{unsigned.Admitted().Signer().Wallet: true}
	for _, opening := range read.Opens {
		counted[opening.Account] = true
	}
	if len(read.Opaque) == 0 {
		return []solana.PublicKey{}
	}
	keys := []solana.PublicKey{}
	for _, key := range read.Writable {
		if _, exists := snapshot.Accounts[key]; !exists && !counted[key] {
			keys = append(keys, key)
		}
	}
	return keys
}
