package guard

import (
	"encoding/binary"

	"countersign/shared/solana"
)

// What the four steps of a suite take in compute units, and a System transfer,
// measured on the VM (litesvm 1.5.0, which runs p-token and Token-2022 version
// 11), with a third on top: 529 on p-token; 4,691 on a plain Token-2022
// account and 6,112 on one whose mint has a fee and a hook, since each further
// extension must be read over. TestUnitsCoverTheGuard measures again.
const (
	unitsOfToken     = 700
	unitsOfToken2022 = 8_000
	unitsOfFloor     = 150
)

// maxUnits is the most that a transaction may ask for.
const maxUnits = 1_400_000

// Units is how many compute units the guard takes at most.
func (p Plan) Units() uint32 {
	units := uint32(unitsOfFloor)
	for _, line := range p.Lines {
		if line.Program == solana.Token2022Program {
			units += unitsOfToken2022
		} else {
			units += unitsOfToken
		}
	}
	return units
}

// opUnitLimit is ComputeBudget's SetComputeUnitLimit: the opcode and a u32.
const opUnitLimit = 2

// raiseLimit adds the guard's units to the limit that the transaction sets for
// itself: a tight limit must not make an honest transaction die in its guard.
// Without a limit the runtime grants each instruction its default, the guard's
// too; a v1 message without one may run nothing, guarded or not.
func raiseLimit(m *solana.Message, units uint32) {
	raised := func(limit uint32) uint32 {
		if limit >= maxUnits {
			return limit
		}
		return min(limit+units, maxUnits)
	}
	if m.Version == solana.V1 {
		if limit := m.Config.UnitLimit; limit != nil {
			m.Config.UnitLimit = new(raised(*limit))
		}
		return
	}
	for _, instruction := range m.Instructions {
		if m.Keys[instruction.Program] == solana.ComputeBudgetProgram && len(instruction.Data) == 5 && instruction.Data[0] == opUnitLimit {
			arguments := instruction.Data[1:]
			binary.LittleEndian.PutUint32(arguments, raised(binary.LittleEndian.Uint32(arguments)))
		}
	}
}
