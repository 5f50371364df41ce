// Package guard makes a transaction revert on chain if it took more than it
// may. It appends assertions, made of ordinary instructions that only the
// wallet can satisfy, and it recognises them again in finished bytes.
//
// effects and judge import it. It is pure. It promises that what Append adds,
// Recognise finds, and that Recognise finds nothing that Append would not have
// added. The instructions and their order were measured on the VM: each one
// stops an attack that passes without it.
package guard

import (
	"encoding/binary"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// Line asserts one token account of the wallet at the end of the transaction:
// still the wallet's, no delegate, no foreign close authority, not frozen, and
// at least this much in it.
type Line struct {
	Account  solana.PublicKey
	Mint     solana.PublicKey
	Program  solana.PublicKey
	Decimals uint8
	Least    amount.Units
}

// Plan is what a guard asserts.
type Plan struct {
	Lines []Line
	// Floor is the least the wallet itself must hold, in lamports. It is at
	// least 1: only then does the assertion also fail for a wallet that was
	// assigned to another program.
	Floor amount.Units
}

// And is the plan that asserts at least what each of the two does. It is none
// where they are about different accounts.
func (p Plan) And(other Plan) (Plan, bool) {
	if len(p.Lines) != len(other.Lines) {
		return Plan{}, false
	}
	both := Plan{Lines: slices.Clone(p.Lines), Floor: max(p.Floor, other.Floor)}
	for i := range both.Lines {
		line := other.Lines[i]
		line.Least = max(line.Least, both.Lines[i].Least)
		both.Lines[i].Least = line.Least
		if both.Lines[i] != line {
			return Plan{}, false
		}
	}
	return both, true
}

// Opcodes of the token programs and their arguments.
const (
	opApprove          = 4
	opRevoke           = 5
	opSetAuthority     = 6
	opTransferChecked  = 12
	closeAuthorityType = 3
	opSystemTransfer   = 2
)

// InstructionsPerLine is how many instructions assert one token account.
const InstructionsPerLine = 4

// instruction is one guard instruction before its accounts have indexes.
type instruction struct {
	program  solana.PublicKey
	accounts []solana.PublicKey
	data     []byte
}

// suite is the assertion of one token account, in the order that holds:
// Approve can only be signed by the owner, so it asserts the owner; Revoke
// clears that and any other delegate; SetAuthority fails for a foreign close
// authority; the transfer to itself asserts the amount.
func suite(wallet solana.PublicKey, line Line) []instruction {
	approve := binary.LittleEndian.AppendUint64([]byte{opApprove}, 0)
	transfer := append(binary.LittleEndian.AppendUint64([]byte{opTransferChecked}, uint64(line.Least)), line.Decimals)
	return []instruction{
		{line.Program, []solana.PublicKey{line.Account, wallet, wallet}, approve},
		{line.Program, []solana.PublicKey{line.Account, wallet}, []byte{opRevoke}},
		{line.Program, []solana.PublicKey{line.Account, wallet}, []byte{opSetAuthority, closeAuthorityType, 0}},
		{line.Program, []solana.PublicKey{line.Account, line.Mint, line.Account, wallet}, transfer},
	}
}

// floor is the assertion of the wallet's own balance, always last.
func floor(wallet solana.PublicKey, least amount.Units) instruction {
	data := binary.LittleEndian.AppendUint32(nil, opSystemTransfer)
	return instruction{
		solana.SystemProgram, []solana.PublicKey{wallet, wallet},
		binary.LittleEndian.AppendUint64(data, uint64(least)),
	}
}

func (p Plan) instructions(wallet solana.PublicKey) []instruction {
	var list []instruction
	for _, line := range p.Lines {
		list = append(list, suite(wallet, line)...)
	}
	return append(list, floor(wallet, p.Floor))
}

// Found is the guard at the end of a transaction.
type Found struct {
	Plan
	// Start is the index of its first instruction, or the number of
	// instructions where there is no guard.
	Start int
}

// Present reports whether there is a guard.
func (f Found) Present() bool { return f.Floor > 0 }

// Line finds the assertion of one account.
func (f Found) Line(account solana.PublicKey) (Line, bool) {
	for _, line := range f.Lines {
		if line.Account == account {
			return line, true
		}
	}
	return Line{}, false
}

// Recognise reads the guard at the end of a transaction, if there is one.
func Recognise(tx decode.Tx) Found {
	list := tx.Instructions()
	found := Found{Start: len(list)}
	if len(list) == 0 || !tx.SoleSigner() {
		return found
	}
	last := list[len(list)-1]
	if last.Kind != decode.SystemTransfer || !same(last, floor(tx.Wallet(), last.Amount)) || last.Amount == 0 {
		return found
	}
	found.Floor, found.Start = last.Amount, len(list)-1
	for found.Start >= InstructionsPerLine {
		line, ok := readLine(tx.Wallet(), list[found.Start-InstructionsPerLine:found.Start])
		if !ok {
			break
		}
		if _, twice := found.Line(line.Account); twice {
			break
		}
		found.Lines = append(found.Lines, line)
		found.Start -= InstructionsPerLine
	}
	slices.Reverse(found.Lines)
	return found
}

// readLine reads four instructions as one suite.
func readLine(wallet solana.PublicKey, list []decode.Instruction) (Line, bool) {
	transfer := list[InstructionsPerLine-1]
	if transfer.Kind != decode.TokenTransfer || !transfer.Checked {
		return Line{}, false
	}
	line := Line{
		Account: transfer.From, Mint: transfer.Mint, Program: transfer.Program,
		Decimals: transfer.Decimals, Least: transfer.Amount,
	}
	for i, want := range suite(wallet, line) {
		if !same(list[i], want) {
			return Line{}, false
		}
	}
	return line, true
}

func same(got decode.Instruction, want instruction) bool {
	if got.Program != want.program || string(got.Data) != string(want.data) || len(got.Accounts) != len(want.accounts) {
		return false
	}
	for i, account := range got.Accounts {
		if account.Key != want.accounts[i] {
			return false
		}
	}
	return true
}
