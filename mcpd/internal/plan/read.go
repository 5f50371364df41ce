package plan

import (
	"bytes"
	"encoding/binary"
	"slices"

	lib "github.com/gagliardetto/solana-go"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Read is what plan finds in the bytes of one transaction: enough to say what
// it costs and whom it calls. The signer finds out the rest for itself.
type Read struct {
	// Signers are the required signers, the fee payer first.
	Signers []solana.PublicKey
	// Programs are those of the top-level instructions, one for each.
	Programs []solana.PublicKey
	// Opaque are those of Programs whose instructions are not known here, each once.
	Opaque []solana.PublicKey
	// Opens are the token accounts that it creates unless they exist.
	Opens []Opening
	// Writable are the accounts that it may change.
	Writable []solana.PublicKey
	Base     amount.Units
	Priority amount.Units
	// Guard is what the priority fee grows by, at most, when the signer appends
	// its guard.
	Guard amount.Units
}

// Opening is a token account that a transaction opens.
type Opening struct {
	Account, Owner, Mint, Program solana.PublicKey
}

// Table is the content of a lookup table.
type Table []solana.PublicKey

// Tables names the lookup tables that a transaction uses.
func Tables(raw []byte) ([]solana.PublicKey, error) {
	tx, err := decode(raw)
	if err != nil {
		return nil, err
	}
	var keys []solana.PublicKey
	for _, lookup := range tx.Message.AddressTableLookups {
		keys = append(keys, solana.PublicKey(lookup.AccountKey))
	}
	return keys, nil
}

// ReadTransaction decodes raw with solana-go, on purpose another decoder than
// the signer's: where the two disagree, the signer refuses.
func ReadTransaction(raw []byte, tables map[solana.PublicKey]Table) (Read, error) {
	tx, err := decode(raw)
	if err != nil {
		return Read{}, err
	}
	keys, writable, err := accounts(&tx.Message, tables)
	if err != nil {
		return Read{}, err
	}
	read := Read{Writable: writable}
	read.Signers = slices.Clone(keys[:tx.Message.Header.NumRequiredSignatures])
	budget := budgetReader{}
	for _, instruction := range tx.Message.Instructions {
		program := keys[instruction.ProgramIDIndex]
		read.Programs = append(read.Programs, program)
		if !known(program) && !slices.Contains(read.Opaque, program) {
			read.Opaque = append(read.Opaque, program)
		}
		switch program {
		case solana.ComputeBudgetProgram:
			budget.take(instruction.Data)
		case solana.AssociatedTokenProgram:
			read.Opens = appendOpening(read.Opens, instruction, keys)
		}
		if program != solana.ComputeBudgetProgram {
			budget.count(program)
		}
	}
	read.Base = amount.Units(tx.Message.Header.NumRequiredSignatures) * solana.LamportsPerSignature
	if read.Priority, err = budget.fee(0); err != nil || len(read.Opaque) == 0 {
		return read, err
	}
	guarded, err := budget.fee(guardUnits)
	read.Guard = guarded.Less(read.Priority)
	return read, err
}

var malformed = fault.New(fault.TransactionMalformed, "the transaction that was built cannot be read")

// decode recovers because solana-go can panic on foreign bytes.
func decode(raw []byte) (tx *lib.Transaction, err error) {
	defer func() {
		if recover() != nil {
			tx, err = nil, malformed
		}
	}()
	if len(raw) > solana.MaxTransactionSize {
		return nil, fault.New(fault.TransactionTooLarge, "the transaction has %d bytes; %d is the limit", len(raw), solana.MaxTransactionSize)
	}
	tx, err = lib.TransactionFromBytes(raw)
	if err != nil {
		return nil, malformed
	}
	if version := tx.Message.GetVersion(); version != lib.MessageVersionLegacy && version != lib.MessageVersionV0 {
		return nil, fault.New(fault.VersionUnsupported, "the transaction has a version that is not supported")
	}
	if err := tx.Message.Sanitize(); err != nil {
		return nil, malformed
	}
	// The library takes trailing bytes and wrong signature counts; what it
	// would write is then not what it read.
	again, err := tx.MarshalBinary()
	if err != nil || !bytes.Equal(again, raw) {
		return nil, malformed
	}
	return tx, nil
}

// accounts lists all keys in the runtime's order, and which of them are
// writable.
func accounts(message *lib.Message, tables map[solana.PublicKey]Table) (keys, writable []solana.PublicKey, err error) {
	header := message.Header
	static := len(message.AccountKeys)
	for i, key := range message.AccountKeys {
		keys = append(keys, solana.PublicKey(key))
		signed := int(header.NumRequiredSignatures)
		if i < signed-int(header.NumReadonlySignedAccounts) || i >= signed && i < static-int(header.NumReadonlyUnsignedAccounts) {
			writable = append(writable, solana.PublicKey(key))
		}
	}
	take := func(table lib.PublicKey, indexes []uint8) error {
		content := tables[solana.PublicKey(table)]
		for _, index := range indexes {
			if int(index) >= len(content) {
				return fault.New(fault.TransactionMalformed, "a lookup table of the transaction cannot be resolved")
			}
			keys = append(keys, content[index])
		}
		return nil
	}
	for _, lookup := range message.AddressTableLookups {
		before := len(keys)
		if err := take(lookup.AccountKey, lookup.WritableIndexes); err != nil {
			return nil, nil, err
		}
		writable = append(writable, keys[before:]...)
	}
	for _, lookup := range message.AddressTableLookups {
		if err := take(lookup.AccountKey, lookup.ReadonlyIndexes); err != nil {
			return nil, nil, err
		}
	}
	for _, instruction := range message.Instructions {
		if int(instruction.ProgramIDIndex) >= len(keys) {
			return nil, nil, malformed
		}
		for _, index := range instruction.Accounts {
			if int(index) >= len(keys) {
				return nil, nil, malformed
			}
		}
	}
	return keys, writable, nil
}

func known(program solana.PublicKey) bool {
	switch program {
	case solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.AssociatedTokenProgram,
		solana.ComputeBudgetProgram, solana.MemoProgram, solana.MemoV1Program, solana.LookupTableProgram:
		return true
	}
	return false
}

// appendOpening reads Create (no data, or 0) and CreateIdempotent (1) of the
// Associated Token program: payer, account, owner, mint, System, token program.
func appendOpening(opens []Opening, instruction lib.CompiledInstruction, keys []solana.PublicKey) []Opening {
	if len(instruction.Data) > 0 && instruction.Data[0] > 1 || len(instruction.Accounts) < 6 {
		return opens
	}
	at := func(i int) solana.PublicKey { return keys[instruction.Accounts[i]] }
	return append(opens, Opening{Account: at(1), Owner: at(2), Mint: at(3), Program: at(5)})
}

// budgetReader works out the priority fee: price times limit, used or not.
type budgetReader struct {
	price    uint64
	limit    uint64
	hasLimit bool
	builtin  uint64
	others   uint64
}

// Defaults of the runtime where no limit is set.
const (
	maxComputeUnits     = 1_400_000
	defaultUnits        = 200_000
	defaultBuiltinUnits = 3_000
	microLamports       = 1_000_000
)

// guardUnits is more than the signer's guard takes: it has one suite for each
// token account that an opaque program could reach, measured at up to 8,000
// units for Token-2022 and 700 for SPL Token, and raises the limit by that.
const guardUnits = 20_000

func (b *budgetReader) take(data []byte) {
	switch {
	case len(data) == 5 && data[0] == 2:
		b.limit, b.hasLimit = uint64(binary.LittleEndian.Uint32(data[1:])), true
	case len(data) == 9 && data[0] == 3:
		b.price = binary.LittleEndian.Uint64(data[1:])
	}
}

func (b *budgetReader) count(program solana.PublicKey) {
	if program == solana.SystemProgram || program == solana.LookupTableProgram {
		b.builtin++
		return
	}
	b.others++
}

// fee is what the transaction pays with more units in its limit. Where it sets
// none, each instruction of the guard has the runtime's default, and only the
// highest limit is sure.
func (b *budgetReader) fee(more uint64) (amount.Units, error) {
	limit := b.limit + more
	if !b.hasLimit {
		limit = b.others*defaultUnits + b.builtin*defaultBuiltinUnits
		if more > 0 {
			limit = maxComputeUnits
		}
	}
	limit = min(limit, maxComputeUnits)
	fee, err := amount.Units(b.price).MulDiv(limit, microLamports, true)
	if err != nil {
		return 0, fault.New(fault.UpstreamBadAnswer, "the priority fee of the transaction is too large").Because(err)
	}
	return fee, nil
}
