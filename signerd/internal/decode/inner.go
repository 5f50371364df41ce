package decode

import (
	"encoding/binary"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Call is one resolved instruction, as a program makes it from within: with
// accounts instead of indexes.
type Call struct {
	Program  solana.PublicKey
	Accounts []Account
	Data     []byte
}

// Inner decodes a call that the top-level instruction at index led to, as
// strictly as one at top level, with two differences. A batch becomes the
// instructions inside it, since honest programs use it too. A program that is
// not decoded is Opaque whatever it is, with a Refusal where it is one that is
// never signed for: whether that matters depends on whose accounts it got.
func Inner(index int, call Call) ([]Instruction, error) {
	one, err := innerOne(index, call)
	switch {
	case err != nil:
		return nil, err
	case one.Inner != nil:
		return one.Inner, nil
	}
	return []Instruction{one}, nil
}

func innerOne(index int, call Call) (Instruction, error) {
	instruction := Instruction{Index: index, Program: call.Program, Accounts: call.Accounts, Data: call.Data}
	known, ok := programs[call.Program]
	if !ok {
		instruction.Kind, instruction.Name = Opaque, ProgramName(call.Program)
		instruction.Refusal = opaquePrograms[call.Program].never
		return instruction, nil
	}
	if err := known.decode(&instruction); err != nil {
		return Instruction{}, fault.New(fault.OutsideBounds,
			"instruction %d calls %s in a way that cannot be explained: %v", index+1, known.name, err).Because(err)
	}
	return instruction, nil
}

// Knows reports a program that signerd knows by name.
func Knows(program solana.PublicKey) bool {
	_, decoded := programs[program]
	_, named := opaquePrograms[program]
	return decoded || named
}

// Opcodes of instructions that put an account in place.
const (
	opCreateAccount, opAssign, opAllocate, opCreatePrefunded = 0, 1, 8, 13

	opInitializeAccount, opInitializeAccount2, opInitializeAccount3, opImmutableOwner = 1, 16, 18, 22
	opMintTo, opMintToChecked                                                         = 7, 14
)

// SetsUp returns the account that an instruction creates, gives space or
// owner, or initialises: what the Associated Token program does for an account
// that it opens.
func (i Instruction) SetsUp() (account solana.PublicKey, ok bool) {
	at := -1
	switch {
	case i.Program == solana.SystemProgram && len(i.Data) >= 4:
		switch binary.LittleEndian.Uint32(i.Data) {
		case opCreateAccount:
			at = 1
		case opAssign, opAllocate, opCreatePrefunded:
			at = 0
		}
	case solana.IsTokenProgram(i.Program) && len(i.Data) > 0:
		switch i.Data[0] {
		case opInitializeAccount, opInitializeAccount2, opInitializeAccount3, opImmutableOwner:
			at = 0
		}
	}
	if at < 0 || at >= len(i.Accounts) {
		return solana.PublicKey{}, false
	}
	return i.Accounts[at].Key, true
}

// Minted returns what an instruction creates anew: to which account, by whose
// authority, of which mint.
func (i Instruction) Minted() (mint, to, authority solana.PublicKey, units amount.Units, ok bool) {
	const accounts, length = 3, 1 + 8
	if !solana.IsTokenProgram(i.Program) || len(i.Data) < length || len(i.Accounts) < accounts ||
		(i.Data[0] != opMintTo && i.Data[0] != opMintToChecked) {
		return mint, to, authority, 0, false
	}
	return i.key(0), i.key(1), i.key(2), amount.Units(binary.LittleEndian.Uint64(i.Data[1:])), true
}
