// Package flow is the order of things in signerd: judge, decide, confirm,
// reserve, record, sign, store, send, settle. It is the only package that
// calls custody.Sign, and it writes an audit record at every arrow; a record
// that cannot be written stops the request.
//
// server and operator import it. It promises invariants I1 to I3 and I7 of the
// design as far as order is concerned; the stages promise the rest.
//
// It has a file for each step of that order: apart, they would have to show each
// other what only the order may touch.
package flow

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

const (
	// codeLifetime is how long a confirmation code lives (DESIGN.md section 3).
	codeLifetime = 5 * time.Minute
	// batchLimit bounds one confirmation: ten claims of a few transactions.
	batchLimit = 40
	// executionTime bounds one transaction from submission to a proven end:
	// a blockhash lives 60 to 90 s and finality trails by about 15 s.
	executionTime = 4 * time.Minute
	// settleInterval is how often unresolved transactions are looked up.
	settleInterval = 5 * time.Second
)

// Stages are the parts that a Flow puts in order.
type Stages struct {
	Chain  *chain.Client
	Judge  *judge.Judge
	Policy *policy.Live
	// Recipients is the owner's address book.
	Recipients Recipients
	Book       *approval.Book
	Ledger     *ledger.Ledger
	Signer     *custody.Signer
	Sender     *submit.Sender
	Audit      *audit.Log
	// Anchor remembers, outside the audit log, how far it has come. It may write
	// that down with the next change.
	Anchor func(ctx context.Context, seq uint64, hash [32]byte) error
	Logger *slog.Logger
}

// Recipients lists whom the owner has named.
type Recipients interface {
	List(ctx context.Context) ([]effects.Recipient, error)
}

// Flow runs proposals and executions for one wallet.
type Flow struct {
	// stages are for this package alone: no caller has a way to the key.
	stages Stages
	turns  *turns
	// work is cancelled by Close; executions outlive their callers, not it.
	work     context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
	started  time.Time
	sessions sessionSet
	untold   backlog
	// resolving is held while the outcome of an earlier transaction is looked for.
	resolving sync.Mutex
	// lowered is the last height at which an unresolved transaction can land, by
	// reservation, as far as it is known better than in the ledger. resolving
	// guards it.
	lowered map[string]uint64
	// unresolved is what the last settling pass left open.
	unresolved atomic.Uint32
	// reload is held while a new policy is put in force.
	reload sync.Mutex
}

// New makes a Flow and starts settling what earlier runs left unresolved. ctx
// bounds the whole life of the Flow; Close waits for what is under way.
func New(ctx context.Context, stages Stages) (*Flow, error) {
	now := time.Now()
	if err := checkState(ctx, stages); err != nil {
		return nil, err
	}
	if stages.Policy == nil || stages.Recipients == nil {
		return nil, errors.New("flow: a policy and an address book are needed")
	}
	if err := stages.Book.VoidOpen(ctx, now); err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(ctx)
	f := &Flow{stages: stages, turns: newTurns(), work: work, stop: stop, started: now, lowered: make(map[string]uint64)}
	if err := f.recover(work); err != nil {
		stop()
		return nil, err
	}
	f.running.Go(f.settleUntilClosed)
	return f, nil
}

// Close stops new work and waits for running executions to reach a durable
// point: signed transactions stay in the ledger and are settled at next start.
func (f *Flow) Close() {
	f.stop()
	f.running.Wait()
}

// Wallet is the address that this signer signs for.
func (f *Flow) Wallet() solana.PublicKey { return f.stages.Signer.PublicKey() }

// Policy is what decides now. Whoever reads it reads it once for one matter.
func (f *Flow) Policy() *policy.Policy { return f.stages.Policy.Current() }

// Started is when this process began to serve.
func (f *Flow) Started() time.Time { return f.started }

// Sessions is how many agent runs have asked for something since start.
func (f *Flow) Sessions() uint32 { return count32(f.sessions.count()) }

// Unresolved is how many signed transactions have no proven outcome yet.
func (f *Flow) Unresolved() uint32 { return f.unresolved.Load() }

// pinned checks, before every write, that each RPC node still serves the
// network that the policy names.
func (f *Flow) pinned(ctx context.Context) error {
	_, genesis := f.Policy().Network()
	return f.stages.Chain.CheckGenesis(ctx, genesis)
}
