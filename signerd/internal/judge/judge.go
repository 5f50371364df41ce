// Package judge takes a transaction from bytes to a verdict: decode, resolve,
// explain, guard, decode again, explain again, simulate, compare. It is the
// one door: what policy, ledger and custody see has passed through it, and the
// bytes that are signed are the bytes that were judged last.
//
// policy, ledger, flow and app import it. Its errors are faults; one of class
// authorization_rejected is a refusal that no policy lifts.
package judge

import (
	"context"
	"errors"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
	"countersign/signerd/internal/txerror"
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
	state, err := j.state(ctx, tx, r.Bounds)
	if err != nil {
		return Judged{}, err
	}
	draft, err := effects.Read(tx, r.Flow, r.Bounds, state)
	if err != nil {
		return Judged{}, err
	}
	if !draft.NeedsGuard() && !draft.HasGuard() {
		return j.finish(ctx, tx, draft, r, false)
	}
	if draft.NeedsGuard() {
		// The bytes as they came are looked at too: a guard would quietly undo
		// some of what they try, and who tries it should not be signed for.
		if _, err := j.finish(ctx, tx, draft, r, false); err != nil {
			return Judged{}, err
		}
	}
	if tx, draft, err = j.guard(ctx, tx, draft, r, state); err != nil {
		return Judged{}, err
	}
	judged, err := j.finish(ctx, tx, draft, r, true)
	if err != nil {
		return Judged{}, guardInWords(err, draft)
	}
	return judged, nil
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

// state fetches everything that the transaction and its bounds name.
func (j *Judge) state(ctx context.Context, tx decode.Tx, bounds effects.Bounds) (effects.State, error) {
	keys := []solana.PublicKey{}
	add := func(key solana.PublicKey) {
		if key != amount.SOL && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	add(j.wallet)
	for _, account := range tx.Accounts() {
		add(account.Key)
	}
	before, err := j.chain.Accounts(ctx, keys)
	if err != nil {
		return effects.State{}, err
	}
	state := effects.State{Before: before}
	if state.Mints, err = j.mints(ctx, tx, bounds, before); err != nil {
		return effects.State{}, err
	}
	state.Rent, err = j.rents(ctx, tx, state.Mints)
	return state, err
}

// mints reads the mints of every account opened, every own account, and every
// asset of the bounds.
func (j *Judge) mints(ctx context.Context, tx decode.Tx, bounds effects.Bounds, before map[solana.PublicKey]chain.Account) (map[solana.PublicKey]chain.MintInfo, error) {
	var keys []solana.PublicKey
	add := func(key solana.PublicKey) {
		if key != amount.SOL && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, instruction := range tx.Instructions() {
		if instruction.Kind == decode.CreateAssociated {
			add(instruction.Mint)
		}
	}
	for _, account := range before {
		if token, ok := chain.ParseToken(account); ok && token.Owner == j.wallet {
			add(token.Mint)
		}
	}
	for mint := range bounds.MaxOut {
		add(mint)
	}
	for mint := range bounds.MinIn {
		add(mint)
	}
	if len(keys) == 0 {
		return map[solana.PublicKey]chain.MintInfo{}, nil
	}
	return j.chain.Mints(ctx, keys)
}

// rents asks the rent of every size of account that the transaction opens.
func (j *Judge) rents(ctx context.Context, tx decode.Tx, mints map[solana.PublicKey]chain.MintInfo) (map[int]amount.Units, error) {
	rents := make(map[int]amount.Units)
	for _, instruction := range tx.Instructions() {
		if instruction.Kind != decode.CreateAssociated {
			continue
		}
		size := mints[instruction.Mint].AccountSize
		if _, known := rents[size]; known {
			continue
		}
		rent, err := j.chain.RentExempt(ctx, size)
		if err != nil {
			return nil, err
		}
		rents[size] = rent
	}
	return rents, nil
}

// planRounds bounds how often the guard is computed: appending it can change
// the fee of a transaction that sets no limit, and with it the floor, once.
const planRounds = 3

// guard appends the guard that the bounds call for and reads the result again
// from its bytes, until the guard in the bytes is the one they call for.
func (j *Judge) guard(ctx context.Context, tx decode.Tx, draft effects.Draft, r Request, state effects.State) (decode.Tx, effects.Draft, error) {
	holdings, err := j.holdings(ctx, tx, r)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	plan, err := draft.Plan(holdings)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	if draft.HasGuard() {
		if !draft.Guarded(plan) {
			return decode.Tx{}, effects.Draft{}, fault.New(fault.OutsideBounds, "the guard in the transaction asserts less than the bounds call for")
		}
		return tx, draft, nil
	}
	for range planRounds {
		final, found, err := j.append(ctx, tx, plan, r, state)
		if err != nil {
			return decode.Tx{}, effects.Draft{}, err
		}
		next, err := found.Plan(holdings)
		if err != nil {
			return decode.Tx{}, effects.Draft{}, err
		}
		// A floor that is too high would revert what is honest.
		if next.Floor == plan.Floor && found.Guarded(next) {
			return final, found, nil
		}
		plan = next
	}
	return decode.Tx{}, effects.Draft{}, fault.New(fault.GuardImpossible, "no guard satisfies its own cost")
}

func (j *Judge) append(ctx context.Context, tx decode.Tx, plan guard.Plan, r Request, state effects.State) (decode.Tx, effects.Draft, error) {
	raw, err := guard.Append(tx, plan)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	final, err := j.decode(ctx, raw)
	if err != nil {
		return decode.Tx{}, effects.Draft{}, err
	}
	draft, err := effects.Read(final, r.Flow, r.Bounds, state)
	return final, draft, err
}

// holdings asks every node what the wallet and its token accounts hold.
func (j *Judge) holdings(ctx context.Context, tx decode.Tx, r Request) (effects.Holdings, error) {
	lamports, err := j.chain.HighestBalance(ctx, j.wallet)
	if err != nil {
		return effects.Holdings{}, err
	}
	tokens, err := j.chain.HighestTokens(ctx, j.wallet, tx.Writable())
	return effects.Holdings{Lamports: lamports, Tokens: tokens, InFlight: r.InFlight}, err
}

// finish simulates the final bytes, unless it is too early to, and compares.
func (j *Judge) finish(ctx context.Context, tx decode.Tx, draft effects.Draft, r Request, guarded bool) (Judged, error) {
	var after map[solana.PublicKey]chain.Account
	if !r.Later {
		simulation, err := j.chain.Simulate(ctx, tx, draft.Watch())
		if err != nil {
			return Judged{}, err
		}
		after = simulation.After
	}
	found, err := draft.Finish(after, guarded)
	if err != nil {
		return Judged{}, err
	}
	charge, err := found.Charge()
	if err != nil {
		return Judged{}, fault.New(fault.OutsideBounds, "the amounts of this transaction overflow").Because(err)
	}
	return Judged{tx: tx, effects: found, charge: charge, stamped: true}, nil
}
