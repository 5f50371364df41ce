package guard

import (
	"slices"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// maxInstructions is how many instructions the runtime takes at top level
// (SIMD-0160); v1 has the same limit. Inner ones count into another limit,
// which only simulation can tell.
const maxInstructions = 64

// maxAccounts is how many accounts an index of one byte can tell apart, and
// maxAccountsV1 how many a v1 message may name.
const (
	maxAccounts   = 256
	maxAccountsV1 = 64
)

// Append returns the transaction's wire bytes with the guard behind its
// instructions. The wallet must be the only signer: another signature would
// already cover the message. Where the transaction limits its compute units,
// the limit is raised by what the guard takes, and with it the fee may rise.
func Append(tx decode.Tx, plan Plan) ([]byte, error) {
	if !tx.Stamped() || !tx.SoleSigner() {
		return nil, fault.New(fault.GuardImpossible, "other signatures cover the transaction already, so no guard can be added")
	}
	if plan.Floor == 0 {
		return nil, fault.New(fault.GuardImpossible, "the bounds would let the wallet be emptied, so the chain cannot protect it")
	}
	guards := plan.instructions(tx.Wallet())
	wire := tx.Transaction()
	if len(wire.Message.Instructions)+len(guards) > maxInstructions {
		return nil, fault.New(fault.GuardImpossible, "the guard does not fit: the transaction would have %d instructions, and the network takes %d",
			len(wire.Message.Instructions)+len(guards), maxInstructions)
	}
	b := newBuilder(tx, guards)
	most := maxAccounts
	if tx.Version() == solana.V1 {
		most = maxAccountsV1
	}
	if len(b.old)+len(b.added) > most {
		return nil, fault.New(fault.GuardImpossible, "with its guard the transaction could use more than %d accounts", most)
	}
	for _, account := range b.old {
		if account.Writable && b.moved(account.Key) {
			// As a static key it would be read-only: not what was signed up for.
			return nil, fault.New(fault.GuardImpossible, "program %s is loaded as writable, so no guard can call it", account.Key)
		}
	}
	raiseLimit(&wire.Message, plan.Units())
	wire.Message = b.message(wire.Message, guards)
	raw := wire.Marshal()
	if limit := tx.Version().MaxSize(); len(raw) > limit {
		return nil, fault.New(fault.TransactionTooLarge, "with its guard the transaction has %d bytes, and the network accepts %d", len(raw), limit)
	}
	return raw, nil
}

// builder maps the accounts of a message to their places in the extended one.
type builder struct {
	old []decode.Account
	// added are keys that become static: read-only, not signing, and so at the
	// very end of the static keys.
	added []solana.PublicKey
	index map[solana.PublicKey]uint8
}

// newBuilder finds out which keys the guards need as static keys: programs
// must be, and other keys must at least be somewhere.
func newBuilder(tx decode.Tx, guards []instruction) *builder {
	b := &builder{old: tx.Accounts()}
	present, static := make(map[solana.PublicKey]bool), make(map[solana.PublicKey]bool)
	for _, account := range b.old {
		present[account.Key] = true
		static[account.Key] = !account.Looked
	}
	need := func(key solana.PublicKey, asProgram bool) {
		if !present[key] || (asProgram && !static[key]) {
			b.added = append(b.added, key)
			present[key], static[key] = true, true
		}
	}
	for _, guard := range guards {
		need(guard.program, true)
		for _, key := range guard.accounts {
			need(key, false)
		}
	}
	return b
}

func (b *builder) moved(key solana.PublicKey) bool {
	return slices.Contains(b.added, key)
}

// message extends m. A key that becomes static is taken out of the lookup that
// loaded it: the runtime refuses an account that is loaded twice.
func (b *builder) message(m solana.Message, guards []instruction) solana.Message {
	oldStatic := len(m.Keys)
	m.Keys = append(m.Keys, b.added...)
	m.ReadonlyUnsigned += uint8(len(b.added)) //nolint:gosec // G115: Append has bounded it by maxAccounts.
	m.Lookups = b.keptLookups(m.Lookups, oldStatic)
	b.number(m, oldStatic)
	for i, compiled := range m.Instructions {
		accounts := make([]uint8, len(compiled.Accounts))
		for j, old := range compiled.Accounts {
			accounts[j] = b.index[b.old[old].Key]
		}
		m.Instructions[i].Accounts = accounts
	}
	for _, guard := range guards {
		compiled := solana.Instruction{Program: b.index[guard.program], Data: guard.data}
		for _, key := range guard.accounts {
			compiled.Accounts = append(compiled.Accounts, b.index[key])
		}
		m.Instructions = append(m.Instructions, compiled)
	}
	return m
}

// keptLookups drops what has become static. Looked-up accounts stand in the
// order of the runtime: all writable ones, then all read-only ones.
func (b *builder) keptLookups(lookups []solana.Lookup, next int) []solana.Lookup {
	keep := func(indexes []uint8) []uint8 {
		var kept []uint8
		for _, index := range indexes {
			if !b.moved(b.old[next].Key) {
				kept = append(kept, index)
			}
			next++
		}
		return kept
	}
	kept := make([]solana.Lookup, len(lookups))
	for i, lookup := range lookups {
		kept[i] = solana.Lookup{Table: lookup.Table, Writable: keep(lookup.Writable)}
	}
	for i, lookup := range lookups {
		kept[i].Readonly = keep(lookup.Readonly)
	}
	var used []solana.Lookup
	for _, lookup := range kept {
		if len(lookup.Writable)+len(lookup.Readonly) > 0 {
			used = append(used, lookup)
		}
	}
	return used
}

// number gives every account its index in the extended message: old static
// keys keep theirs, added ones follow, looked-up ones come last in their order.
func (b *builder) number(m solana.Message, oldStatic int) {
	b.index = make(map[solana.PublicKey]uint8, len(b.old)+len(b.added))
	for i, key := range m.Keys {
		b.index[key] = uint8(i)
	}
	next := len(m.Keys)
	for _, account := range b.old[oldStatic:] {
		if b.moved(account.Key) {
			continue
		}
		b.index[account.Key] = uint8(next) //nolint:gosec // G115: Append has bounded it by maxAccounts.
		next++
	}
}
