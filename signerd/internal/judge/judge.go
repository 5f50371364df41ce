// Package judge takes a transaction from bytes to a verdict: decode, resolve,
// explain, guard, decode again, explain again, simulate, compare. It is the
// one door: what policy, ledger and custody see has passed through it, and the
// bytes that are signed are the bytes that were judged last. Where several RPC
// nodes are configured, what each of them shows is judged by itself, and the
// strictest verdict counts.
//
// policy, ledger, flow and app import it. Its errors are faults; one of class
// authorization_rejected is a refusal that no policy lifts.
package judge

import (
	"context"
	"errors"
	"maps"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/txerror"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
)

// Judge judges for one wallet.
type Judge struct {
	chain  *chain.Client
	wallet solana.PublicKey
}

// New makes a judge that reads through the client.
func New(client *chain.Client, wallet solana.PublicKey) *Judge {
	return &Judge{chain: client, wallet: wallet}
}

// Request says what a transaction is supposed to be.
type Request struct {
	Flow   effects.Flow
	Bounds effects.Bounds
	// Later says that an earlier transaction of the batch must land first, so
	// that simulating this one now would mean nothing.
	Later bool
	// InFlight is what other transactions under way may still take, in lamports.
	InFlight amount.Units
	// Known is whom and what the owner has named: findings compare with it.
	Known effects.Known
	// Pins are the programs that may only be called as they were deployed when
	// the owner pinned them.
	Pins map[solana.PublicKey]chain.Pin
}

// Judged is a judged transaction. Only Judge makes one.
type Judged struct {
	tx      decode.Tx
	effects effects.Effects
	charge  map[solana.PublicKey]amount.Units
	stamped bool
}

// Tx is the final transaction, its guard included.
func (j Judged) Tx() decode.Tx { return j.tx }

// Effects is what it does.
func (j Judged) Effects() effects.Effects { return j.effects }

// Charge is its worst case, as the caps count it.
func (j Judged) Charge() map[solana.PublicKey]amount.Units { return maps.Clone(j.charge) }

// Stamped reports whether Judge made this value.
func (j Judged) Stamped() bool { return j.stamped }

// Judge judges one unsigned transaction. Where an opaque program has the
// wallet's signature and nobody else signs, a guard is appended, and the
// result is judged from its bytes like any other.
func (j *Judge) Judge(ctx context.Context, raw []byte, r Request) (Judged, error) {
	tx, err := j.decode(ctx, raw)
	if err != nil {
		return Judged{}, err
	}
	valid, err := j.chain.BlockhashValid(ctx, tx.Blockhash())
	if err != nil {
		return Judged{}, err
	}
	if !valid {
		return Judged{}, fault.New(fault.BlockhashExpired, "the transaction's blockhash is not, or no longer, valid on the pinned network")
	}
	views, err := j.views(ctx, tx, r)
	if err != nil {
		return Judged{}, err
	}
	if err := j.checkPins(ctx, tx, r); err != nil {
		return Judged{}, err
	}
	if draft := views[0].draft; !draft.NeedsGuard() && !draft.HasGuard() {
		return j.unguarded(ctx, tx, views, r)
	}
	views, holdings, err := j.holdings(ctx, tx, views, r)
	if err != nil {
		return Judged{}, err
	}
	if tx, views, err = j.guard(ctx, tx, views, r, holdings); err != nil {
		return Judged{}, err
	}
	judged, err := j.finish(ctx, tx, views, r, true)
	if err != nil {
		return Judged{}, guardInWords(err, views[0].draft)
	}
	return judged, nil
}

// overtakings bounds how often a transaction is compared anew because the
// accounts that it is about have changed meanwhile.
const overtakings = 4

// unguarded finishes a transaction that has no guard. Between the reading of its
// accounts and the simulation another transfer of the wallet may land, and it
// looks as if this one took that too: where the accounts have changed, both are
// done once more.
func (j *Judge) unguarded(ctx context.Context, tx decode.Tx, views []view, r Request) (Judged, error) {
	for range overtakings {
		judged, err := j.finish(ctx, tx, views, r, false)
		if !fault.Is(err, fault.OutsideBounds) {
			return judged, err
		}
		again, readErr := j.views(ctx, tx, r)
		if readErr != nil || sameState(views, again) {
			return Judged{}, err
		}
		views = again
	}
	return j.finish(ctx, tx, views, r, false)
}

// checkPins holds every pinned program that the transaction could call against
// its pin: a program can be called from within only if the message names it.
func (j *Judge) checkPins(ctx context.Context, tx decode.Tx, r Request) error {
	if len(r.Pins) == 0 {
		return nil
	}
	var named []solana.PublicKey
	for _, account := range tx.Accounts() {
		named = append(named, account.Key)
	}
	return j.chain.CheckPins(ctx, named, r.Pins)
}

// guardInWords says what it means when simulation fails in the guard.
func guardInWords(err error, draft effects.Draft) error {
	var failed txerror.Error
	if !errors.As(err, &failed) {
		return err
	}
	meaning, isGuard := draft.GuardMeaning(failed.Instruction)
	if !isGuard {
		return err
	}
	return fault.New(fault.OutsideBounds, "%s; the guard on chain would undo the whole transaction", meaning).Because(err)
}

// decode parses and resolves a transaction.
func (j *Judge) decode(ctx context.Context, raw []byte) (decode.Tx, error) {
	parsed, err := decode.Parse(raw)
	if err != nil {
		return decode.Tx{}, err
	}
	var tables decode.Tables
	if lookups := parsed.Lookups(); len(lookups) > 0 {
		if tables, err = j.chain.Tables(ctx, lookups); err != nil {
			return decode.Tx{}, err
		}
	}
	return decode.Decode(parsed, j.wallet, tables)
}

// finish simulates the final bytes at every node, unless it is too early to,
// and compares.
func (j *Judge) finish(ctx context.Context, tx decode.Tx, views []view, r Request, guarded bool) (Judged, error) {
	found, err := everywhere(ctx, j.chain, views, func(ctx context.Context, v view) (effects.Effects, error) {
		simulation, err := v.simulate(ctx, tx, r)
		if err != nil {
			return effects.Effects{}, err
		}
		return v.draft.Finish(simulation, guarded)
	})
	if err != nil {
		return Judged{}, err
	}
	strictest, err := effects.Strictest(found)
	if err != nil {
		return Judged{}, err
	}
	charge, err := strictest.Charge()
	if err != nil {
		return Judged{}, fault.New(fault.OutsideBounds, "the amounts of this transaction overflow").Because(err)
	}
	return Judged{tx: tx, effects: strictest, charge: charge, stamped: true}, nil
}
