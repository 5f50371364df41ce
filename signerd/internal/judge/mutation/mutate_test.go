package mutation_test

import (
	"crypto/ed25519"
	"encoding/binary"
	"slices"

	"pgregory.net/rapid"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
)

// mutant is an honest transaction with one thing changed.
type mutant struct {
	honest  honest
	message solana.Message
	// edit changes the wire bytes, signatures of the cosigners included.
	edit func(raw []byte) []byte
}

// mutation changes one thing, and is named after it.
type mutation struct {
	name  string
	apply func(s *stage, rt *rapid.T, m *mutant)
}

var mutations = []mutation{
	{"account", changeAccount}, {"static key", changeKey}, {"account index", changeIndex}, {"amount", changeAmount},
	{"data byte", changeByte}, {"data length", changeLength}, {"program", changeProgram}, {"flag", changeFlag},
	{"order", changeOrder}, {"extra instruction", addInstruction}, {"removed instruction", removeInstruction},
	{"duplicated instruction", repeatInstruction}, {"table", changeTable}, {"header count", changeHeader},
	{"blockhash", changeBlockhash}, {"fee payer", changePayer}, {"version", changeVersion},
	{"signature slot", changeSignature}, {"wire byte", changeWire},
	// Once more, since these are what a thief would change.
	{"amount", changeAmount}, {"extra instruction", addInstruction}, {"removed instruction", removeInstruction},
}

// wire is what a hostile API would return: signed by everybody but the wallet.
func (s *stage) wire(m mutant) []byte {
	tx := solana.Transaction{Signatures: make([]solana.Signature, m.message.RequiredSignatures), Message: m.message}
	signed := m.message.Marshal()
	for i := range tx.Signatures {
		if i >= len(m.message.Keys) {
			break
		}
		if private, willing := s.cosigners[m.message.Keys[i]]; willing {
			tx.Signatures[i] = solana.Signature(ed25519.Sign(private, signed))
		}
	}
	raw := tx.Marshal()
	if m.edit != nil {
		raw = m.edit(raw)
	}
	return raw
}

func below(rt *rapid.T, label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) }

func (s *stage) anyone(rt *rapid.T) solana.PublicKey {
	pool := s.pool()
	return pool[below(rt, "who", len(pool))]
}

// calls is a deep copy of the honest instructions.
func (m *mutant) calls() []decodetest.Call {
	var list []decodetest.Call
	for _, call := range m.honest.calls {
		list = append(list, decodetest.Call{Program: call.Program, Accounts: slices.Clone(call.Accounts), Data: slices.Clone(call.Data)})
	}
	return list
}

func (s *stage) recompile(m *mutant, calls []decodetest.Call) {
	hash := m.message.Blockhash
	m.message = s.compiled(m.honest, calls)
	m.message.Blockhash = hash
}

// withAccounts picks an instruction that has accounts.
func withAccounts(rt *rapid.T, calls []decodetest.Call) *decodetest.Call {
	var list []*decodetest.Call
	for i := range calls {
		if len(calls[i].Accounts) > 0 {
			list = append(list, &calls[i])
		}
	}
	return list[below(rt, "instruction", len(list))]
}

// changeAccount names somebody else, drops an account or adds one.
func changeAccount(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	call := withAccounts(rt, calls)
	at := below(rt, "account", len(call.Accounts))
	switch below(rt, "how", 6) {
	case 0:
		call.Accounts = slices.Delete(call.Accounts, at, at+1)
	case 1:
		call.Accounts = slices.Insert(call.Accounts, at, decodetest.Meta{Key: s.anyone(rt), Writable: rapid.Bool().Draw(rt, "writable")})
	default:
		call.Accounts[at].Key = s.anyone(rt)
	}
	s.recompile(m, calls)
}

// changeKey puts another key where one stands in the message itself.
func changeKey(s *stage, rt *rapid.T, m *mutant) {
	m.message.Keys[below(rt, "key", len(m.message.Keys))] = s.anyone(rt)
}

func changeIndex(_ *stage, rt *rapid.T, m *mutant) {
	instruction := &m.message.Instructions[below(rt, "instruction", len(m.message.Instructions))]
	index := uint8(below(rt, "to", m.message.AccountCount()+1))
	if len(instruction.Accounts) == 0 {
		instruction.Accounts = append(instruction.Accounts, index)
		return
	}
	instruction.Accounts[below(rt, "account", len(instruction.Accounts))] = index
}

// changeAmount writes another number where eight bytes could be one.
func changeAmount(_ *stage, rt *rapid.T, m *mutant) {
	var list []*solana.Instruction
	for i := range m.message.Instructions {
		if len(m.message.Instructions[i].Data) >= 9 {
			list = append(list, &m.message.Instructions[i])
		}
	}
	data := list[below(rt, "instruction", len(list))].Data
	at := 1 // As the token programs and ComputeBudget have it,
	switch {
	case len(data) == 12:
		at = 4 // the System program,
	case len(data) == 34:
		at = 10 + 8*below(rt, "field", 3) // and the market.
	}
	units := binary.LittleEndian.Uint64(data[at:])
	binary.LittleEndian.PutUint64(data[at:], rapid.OneOf(
		rapid.SampledFrom([]uint64{units - 1, units + 1, units + 5_000, 2 * units, units / 2, 0, 1, 1<<64 - 1, 1 << 63, units << 32}), rapid.Uint64(),
	).Draw(rt, "amount"))
}

func changeByte(_ *stage, rt *rapid.T, m *mutant) {
	data := m.message.Instructions[below(rt, "instruction", len(m.message.Instructions))].Data
	if len(data) > 0 {
		data[below(rt, "byte", len(data))] = rapid.OneOf(rapid.ByteRange(0, 50), rapid.Byte()).Draw(rt, "value")
	}
}

func changeLength(_ *stage, rt *rapid.T, m *mutant) {
	instruction := &m.message.Instructions[below(rt, "instruction", len(m.message.Instructions))]
	if rapid.Bool().Draw(rt, "longer") || len(instruction.Data) == 0 {
		instruction.Data = append(instruction.Data, rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(rt, "tail")...)
		return
	}
	instruction.Data = instruction.Data[:below(rt, "length", len(instruction.Data))]
}

func changeProgram(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	calls[below(rt, "instruction", len(calls))].Program = s.anyone(rt)
	s.recompile(m, calls)
}

// changeFlag makes an account that is only read writable, one that is written
// read-only, or one that does not sign a signer.
func changeFlag(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	call := withAccounts(rt, calls)
	meta := call.Accounts[below(rt, "account", len(call.Accounts))]
	signs := rapid.Bool().Draw(rt, "signer")
	for i := range calls {
		for j := range calls[i].Accounts {
			if each := &calls[i].Accounts[j]; each.Key == meta.Key {
				if signs {
					each.Signer = !meta.Signer
				} else {
					each.Writable = !meta.Writable
				}
			}
		}
	}
	s.recompile(m, calls)
}

func changeOrder(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	from, to := below(rt, "from", len(calls)), below(rt, "to", len(calls))
	moved := calls[from]
	calls = slices.Insert(slices.Delete(calls, from, from+1), to, moved)
	s.recompile(m, calls)
}

func addInstruction(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	s.recompile(m, slices.Insert(calls, below(rt, "at", len(calls)+1), s.extra(rt, m.honest)))
}

func removeInstruction(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	at := below(rt, "instruction", len(calls))
	s.recompile(m, slices.Delete(calls, at, at+1))
}

func repeatInstruction(s *stage, rt *rapid.T, m *mutant) {
	calls := m.calls()
	again := calls[below(rt, "instruction", len(calls))]
	s.recompile(m, slices.Insert(calls, below(rt, "at", len(calls)+1), again))
}

// changeTable loads another entry, loads one otherwise, or names another table.
func changeTable(s *stage, rt *rapid.T, m *mutant) {
	if len(m.message.Lookups) == 0 {
		m.message.Version, m.message.Config = solana.V0, solana.Config{}
		m.message.Lookups = []solana.Lookup{{
			Table: s.parse(s.world.LookupTable), Readonly: []uint8{uint8(below(rt, "entry", len(s.table)+2))},
		}}
		return
	}
	lookup := &m.message.Lookups[0]
	all := append(slices.Clone(lookup.Writable), lookup.Readonly...)
	at := below(rt, "at", len(all))
	switch below(rt, "how", 6) {
	case 0:
		lookup.Table = s.anyone(rt)
		return
	case 1: // The border between writable and read-only moves.
		border := below(rt, "border", len(all)+1)
		lookup.Writable, lookup.Readonly = all[:border:border], all[border:]
		return
	case 2:
		all = append(all[:at:at], all[at+1:]...)
	default:
		all[at] = uint8(below(rt, "entry", len(s.table)+2))
	}
	border := min(len(lookup.Writable), len(all))
	lookup.Writable, lookup.Readonly = all[:border:border], all[border:]
}

func changeHeader(_ *stage, rt *rapid.T, m *mutant) {
	if m.message.Version == solana.V1 && rapid.Bool().Draw(rt, "settings") {
		changeSettings(rt, &m.message.Config)
		return
	}
	count := []*uint8{&m.message.RequiredSignatures, &m.message.ReadonlySigned, &m.message.ReadonlyUnsigned}[below(rt, "count", 3)]
	*count = rapid.SampledFrom([]uint8{*count - 1, *count + 1, *count + 2, 0, 255}).Draw(rt, "value")
}

// changeSettings changes what a v1 header says of fee and limits.
func changeSettings(rt *rapid.T, c *solana.Config) {
	small := rapid.SampledFrom([]uint32{0, 1, 1_000, 32 << 10, 1 << 20, 1<<32 - 1}).Draw(rt, "value")
	switch below(rt, "setting", 5) {
	case 0:
		c.UnitLimit = &small
	case 1:
		c.LoadedDataLimit = &small
	case 2:
		c.HeapSize = &small
	case 3:
		c.PriorityFee = nil
	default:
		fee := *c.PriorityFee + rapid.SampledFrom([]uint64{1, slack, slack + 1, spend, 1<<64 - 1}).Draw(rt, "more")
		c.PriorityFee = &fee
	}
}

func changeBlockhash(s *stage, rt *rapid.T, m *mutant) {
	switch below(rt, "how", 3) {
	case 0:
		m.message.Blockhash = solana.Hash(s.parse(s.world.Nonce))
	case 1:
		m.message.Blockhash = solana.Hash{}
	default:
		m.message.Blockhash[below(rt, "byte", 32)] ^= 1 << below(rt, "bit", 8)
	}
}

// changePayer has somebody else pay the fee, who signs for it where they can.
func changePayer(s *stage, rt *rapid.T, m *mutant) {
	payer := rapid.SampledFrom([]solana.PublicKey{accomplice, s.sponsor, s.thief, wallet}).Draw(rt, "payer")
	hash := m.message.Blockhash
	other := m.honest
	other.message.Keys = []solana.PublicKey{payer}
	m.message = s.compiled(other, m.calls())
	m.message.Blockhash = hash
}

func changeVersion(_ *stage, rt *rapid.T, m *mutant) {
	m.message.Version = solana.Version(below(rt, "version", 4))
	if rapid.Bool().Draw(rt, "without tables") {
		m.message.Lookups = nil
	}
}

// changeSignature fills, empties, adds or removes a slot.
func changeSignature(_ *stage, rt *rapid.T, m *mutant) {
	how := below(rt, "how", 4)
	at, junk := below(rt, "slot", 2), rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(rt, "signature")
	last := m.message.Version == solana.V1
	m.edit = func(raw []byte) []byte {
		count := int(raw[0])
		slot := 1 + 64*min(at, count-1)
		if last { // A v1 transaction ends in its signatures, and does not count them.
			count, slot = 1, len(raw)-64
		}
		switch {
		case count == 0 || len(raw) < slot+64:
			return raw
		case how == 0:
			copy(raw[slot:], junk)
		case how == 1:
			clear(raw[slot : slot+64])
		case how == 2:
			raw = slices.Insert(raw, slot, junk...)
		default:
			raw = slices.Delete(raw, slot, slot+64)
		}
		if how == 2 && !last {
			raw[0]++
		} else if how == 3 && !last {
			raw[0]--
		}
		return raw
	}
}

// changeWire flips bits anywhere, cuts or appends.
func changeWire(_ *stage, rt *rapid.T, m *mutant) {
	how, at, value := below(rt, "how", 8), below(rt, "at", solana.MaxTransactionSize), rapid.ByteRange(1, 255).Draw(rt, "value")
	m.edit = func(raw []byte) []byte {
		at := at % len(raw)
		switch how {
		case 0:
			return raw[:at]
		case 1:
			return append(raw, value)
		}
		raw[at] ^= value
		return raw
	}
}

// clone is a deep copy, so that a mutant never changes what it came from.
func clone(m solana.Message) solana.Message {
	m.Keys = slices.Clone(m.Keys)
	m.Instructions = slices.Clone(m.Instructions)
	for i := range m.Instructions {
		m.Instructions[i].Accounts = slices.Clone(m.Instructions[i].Accounts)
		m.Instructions[i].Data = slices.Clone(m.Instructions[i].Data)
	}
	m.Lookups = slices.Clone(m.Lookups)
	return m
}

// signed is the wallet's signature.
func signed(m solana.Message) solana.Signature {
	return solana.Signature(ed25519.Sign(walletKey, m.Marshal()))
}
