package decode

import (
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Fee is the network fee as far as the bytes tell: all of it.
type Fee struct {
	Payer solana.PublicKey
	// ByWallet is true where the wallet is the fee payer.
	ByWallet   bool
	Signatures int
	Base       amount.Units
	Priority   amount.Units
	// UnitLimit is how many compute units the priority fee is charged for,
	// used or not; UnitPrice is in millionths of a lamport. A v1 message has no
	// price: its header names the whole priority fee.
	UnitLimit uint32
	UnitPrice uint64
}

// OfWallet is what the wallet pays of it.
func (f Fee) OfWallet() (base, priority amount.Units) {
	if !f.ByWallet {
		return 0, 0
	}
	return f.Base, f.Priority
}

// The compute-unit schedule of the runtime.
const (
	maxUnits            = 1_400_000
	unitsPerInstruction = 200_000
	unitsPerBuiltin     = 3_000
	priceScale          = 1_000_000
)

// feeOf computes the fee from the bytes alone.
func feeOf(tx Tx) (Fee, error) {
	fee := Fee{Payer: tx.accounts[0].Key, Signatures: len(tx.parsed.tx.Signatures)}
	fee.ByWallet = fee.Payer == tx.wallet
	fee.Base = amount.Units(tx.parsed.tx.Message.RequiredSignatures) * solana.LamportsPerSignature
	if tx.Version() == solana.V1 {
		return feeOfV1(fee, tx.parsed.tx.Message.Config), nil
	}
	limited := false
	for _, instruction := range tx.instructions {
		switch instruction.Name {
		case nameUnitLimit:
			fee.UnitLimit, limited = uint32(min(instruction.Number, maxUnits)), true
		case nameUnitPrice:
			fee.UnitPrice = instruction.Number
		}
	}
	if !limited {
		fee.UnitLimit = defaultUnits(tx.instructions)
	}
	fee.UnitLimit = min(fee.UnitLimit, maxUnits)
	priority, err := amount.Units(fee.UnitLimit).MulDiv(fee.UnitPrice, priceScale, true)
	if err != nil {
		return Fee{}, fault.New(fault.OutsideBounds, "the priority fee is larger than any amount of SOL").Because(err)
	}
	fee.Priority = priority
	return fee, nil
}

// feeOfV1 reads the header. ComputeBudget instructions do nothing in v1.
func feeOfV1(fee Fee, config solana.Config) Fee {
	if config.PriorityFee != nil {
		fee.Priority = amount.Units(*config.PriorityFee)
	}
	if config.UnitLimit != nil {
		fee.UnitLimit = min(*config.UnitLimit, maxUnits)
	}
	return fee
}

// defaultUnits is the limit of a message that sets none. Programs that the
// runtime may still run as built-ins are counted as the dearer kind, except
// the two that always are built in.
func defaultUnits(instructions []Instruction) uint32 {
	units := uint32(0)
	for _, instruction := range instructions {
		switch instruction.Program {
		case solana.SystemProgram, solana.ComputeBudgetProgram:
			units += unitsPerBuiltin
		default:
			units += unitsPerInstruction
		}
	}
	return units
}
