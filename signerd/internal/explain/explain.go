// Package explain says, for a person, what signerd would decide about a
// transaction, by which rules, and what the transaction does. It asks the same
// decoder, judge and policy that decide when something is signed, and adds what
// they do not say: a reading of the bytes that also works where they refuse.
//
// Only app imports it. It promises that it signs nothing and holds no key, that
// it weakens no check, that what it assumed and what it could not check is said,
// and that text which others wrote is cleaned before it is shown.
//
// It has a file for each part of the report.
package explain

import (
	"context"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/stated"
)

// Request is what to explain, and what the transaction is supposed to be.
type Request struct {
	Input  Input
	Wallet solana.PublicKey
	Policy *policy.Policy
	// Flow is zero where it is to be derived from the programs called.
	Flow effects.Flow
	// Out and In are what may leave and must arrive; empty where the
	// transaction itself is to tell.
	Out, In []Wanted
	To      []solana.PublicKey
	// Book is the owner's address book, or nil where it could not be asked for.
	Book []effects.Recipient
	// Now is when it is decided; rules may ask for the time of day.
	Now time.Time
	// MaxFee is nil where the fee in the bytes is to be taken.
	MaxFee *amount.Units
}

// study is one transaction while it is looked into.
type study struct {
	Request
	chain *chain.Client

	wire    solana.Transaction
	parsed  decode.Parsed
	reading decode.Reading
	tables  decode.Tables
	unread  map[solana.PublicKey]error

	// tx is what is judged: the transaction, or a copy that was freed of what
	// would end the reading early. It is zero where decoding refuses both.
	tx decode.Tx
	// refused is why the bytes as they are would be refused, whatever a copy is
	// worth. offline is why the chain could not be asked.
	refused, offline error
	valid, replaced  bool
	checkedHash      bool

	accounts map[solana.PublicKey]chain.Account
	mints    map[solana.PublicKey]chain.MintInfo
	own      map[solana.PublicKey]ownAccount
	rent     map[solana.PublicKey]amount.Units

	simulation  chain.Simulation
	simulated   bool
	unsimulated error

	bounds  effects.Bounds
	assumed []string
	// ownBounds says that a bound was taken from the transaction itself.
	ownBounds bool
	judged    judge.Judged
	decision  policy.Decision
	failed    error
	// also is what else the bytes would be refused for, where the judge was not
	// asked.
	also error
}

// Explain looks into one transaction. The error is a fault that says why the
// bytes are no transaction at all; everything else is in the report.
func Explain(ctx context.Context, client *chain.Client, r Request) (Report, error) {
	parsed, err := decode.Parse(r.Input.Raw)
	if err != nil {
		return Report{}, err
	}
	s := &study{Request: r, chain: client, parsed: parsed}
	if s.wire, err = solana.ParseTransaction(r.Input.Raw); err != nil {
		return Report{}, fault.New(fault.TransactionMalformed, "the transaction is malformed: %v", err)
	}
	_, genesis := r.Policy.Network()
	s.offline = client.CheckGenesis(ctx, genesis)
	s.readTables(ctx)
	s.reading = decode.Read(parsed, r.Wallet, s.tables)
	s.decode()
	s.checkBlockhash(ctx)
	s.readState(ctx)
	s.simulate(ctx)
	s.deriveFlow()
	s.deriveBounds()
	s.decide(ctx)
	return s.report(), nil
}

// readTables resolves each lookup table for itself, so that one that cannot be
// read does not hide the others.
func (s *study) readTables(ctx context.Context) {
	s.tables, s.unread = make(decode.Tables), make(map[solana.PublicKey]error)
	for _, lookup := range s.parsed.Lookups() {
		if s.offline != nil {
			s.unread[lookup.Table] = s.offline
			continue
		}
		resolved, err := s.chain.Tables(ctx, []solana.Lookup{lookup})
		if err != nil {
			s.unread[lookup.Table] = err
			continue
		}
		s.tables[lookup.Table] = resolved[lookup.Table]
	}
}

// decode has the bytes decoded as they are. Where the wallet has signed
// already, a copy without its signature is read on.
func (s *study) decode() {
	for _, lookup := range s.parsed.Lookups() {
		if err := s.unread[lookup.Table]; err != nil {
			s.refused = err
			return
		}
	}
	var err error
	if s.tx, err = decode.Decode(s.parsed, s.Wallet, s.tables); err == nil {
		return
	}
	s.refused = err
	if slot, signed := s.walletSignature(); signed {
		s.tx = s.copyOf(func(tx *solana.Transaction) { tx.Signatures[slot] = solana.Signature{} })
	}
}

func (s *study) walletSignature() (slot int, signed bool) {
	for i, signature := range s.wire.Signatures {
		if s.wire.Message.Keys[i] == s.Wallet {
			return i, !signature.IsZero()
		}
	}
	return 0, false
}

// copyOf decodes the transaction after an edit, or returns a zero Tx.
func (s *study) copyOf(edit func(*solana.Transaction)) decode.Tx {
	tx, err := solana.ParseTransaction(s.Input.Raw)
	if err != nil {
		return decode.Tx{}
	}
	if slot, signed := s.walletSignature(); signed {
		tx.Signatures[slot] = solana.Signature{}
	}
	edit(&tx)
	parsed, err := decode.Parse(tx.Marshal())
	if err != nil {
		return decode.Tx{}
	}
	decoded, err := decode.Decode(parsed, s.Wallet, s.tables)
	if err != nil {
		return decode.Tx{}
	}
	return decoded
}

// checkBlockhash looks whether the network still takes the blockhash. Where no
// signature but the wallet's covers it, a copy with a fresh one is judged, as
// whoever builds the transaction would make one.
func (s *study) checkBlockhash(ctx context.Context) {
	if s.offline != nil {
		return
	}
	valid, err := s.chain.BlockhashValid(ctx, s.parsed.Blockhash())
	if err != nil {
		s.offline = err
		return
	}
	s.valid, s.checkedHash = valid, true
	if valid || !s.tx.Stamped() {
		return
	}
	if !s.tx.SoleSigner() {
		s.refuse(fault.New(fault.BlockhashExpired,
			"the transaction's blockhash is not, or no longer, valid on the pinned network, and another signature covers it"))
		return
	}
	fresh, err := s.chain.LatestBlockhash(ctx)
	if err != nil {
		s.offline = err
		return
	}
	s.tx, s.replaced = s.copyOf(func(tx *solana.Transaction) { tx.Message.Blockhash = fresh }), true
}

// state is what the bytes can be held against without a simulation.
func (s *study) state() effects.State {
	state := effects.State{Before: s.accounts, Mints: s.mints, Rent: map[int]amount.Units{}}
	for _, i := range s.opens() {
		state.Rent[s.mints[i.Mint].AccountSize] = s.rent[i.To]
	}
	return state
}

// refuse keeps the first reason.
func (s *study) refuse(err error) {
	if s.refused == nil {
		s.refused = err
	}
}

// simulate runs the transaction as it came, without a guard.
func (s *study) simulate(ctx context.Context) {
	switch {
	case s.offline != nil:
		s.unsimulated = s.offline
	case !s.tx.Stamped():
		s.unsimulated = fault.New(fault.TransactionMalformed, "only what could be signed is simulated")
	case !s.valid && !s.replaced:
		s.unsimulated = fault.New(fault.BlockhashExpired, "its blockhash has expired, and a signature of somebody else covers it")
	default:
		s.simulation, s.unsimulated = s.chain.Simulate(ctx, s.tx, s.tx.Writable())
		// What a program called from within may be refused; the state is there.
		s.simulated = s.simulation.After != nil
	}
}

// decide asks judge and policy, as signerd does before it signs.
func (s *study) decide(ctx context.Context) {
	switch {
	case s.offline != nil || !s.tx.Stamped():
		return
	case !s.valid && !s.replaced:
		_, s.also = effects.Read(s.tx, s.Flow, s.bounds, s.state(), s.known())
		return
	}
	s.judged, s.failed = judge.New(s.chain, s.Wallet).Judge(ctx, s.tx.Raw(), judge.Request{
		Flow: s.Flow, Bounds: s.bounds, Known: s.known(), Pins: s.Policy.Pins(),
	})
	if s.failed == nil {
		// flow asks this first; but what is wrong with the bytes tells more.
		s.failed = s.checkStatable(ctx)
	}
	if s.failed == nil {
		s.decision = s.Policy.Evaluate(s.Flow, []judge.Judged{s.judged}, policy.Circumstances{Now: s.Now})
	}
}

// checkStatable refuses what flow would: what no tool call could ask for, and a
// policy that counts a token in other units than the nodes tell of it.
func (s *study) checkStatable(ctx context.Context) error {
	if err := stated.Shape(s.Flow, s.bounds); err != nil {
		return err
	}
	mints, err := s.chain.Mints(ctx, s.bounds.TokensOut())
	if err != nil {
		return err
	}
	for mint, info := range mints {
		if err := s.Policy.CheckDecimals(mint, info.Decimals); err != nil {
			return err
		}
	}
	return nil
}
