package decode

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"countersign/shared/solana"
)

// programs are the programs whose every instruction is understood.
var programs = map[solana.PublicKey]program{
	solana.SystemProgram:          {name: "System", tag: wordTag, specs: systemSpecs},
	solana.TokenProgram:           {name: "SPL Token", tag: byteTag, specs: tokenSpecs},
	solana.Token2022Program:       {name: "Token-2022", tag: byteTag, specs: token2022Specs(), unknown: unknown2022},
	solana.AssociatedTokenProgram: {name: "Associated Token", tag: associatedTag, specs: associatedSpecs},
	solana.ComputeBudgetProgram:   {name: "ComputeBudget", tag: byteTag, specs: budgetSpecs},
	solana.MemoProgram:            {name: "Memo", tag: noTag, specs: memoSpecs},
	solana.MemoV1Program:          {name: "Memo v1", tag: noTag, specs: memoSpecs},
	solana.LookupTableProgram:     {name: "Address Lookup Table", tag: wordTag, specs: lookupSpecs},
}

// Decodes reports the programs whose every instruction is understood.
func Decodes(id solana.PublicKey) bool {
	_, known := programs[id]
	return known
}

// associatedSpecs are all instructions of the Associated Token program.
var associatedSpecs = map[uint32]spec{
	0: {name: "Create", kind: CreateAssociated, accounts: 6, optional: 1, fill: fillAssociated},
	1: {name: "CreateIdempotent", kind: CreateAssociated, accounts: 6, optional: 1, fill: fillAssociated},
	2: {name: "RecoverNested", kind: Forbidden, accounts: 7, refusal: "it moves tokens out of a nested account"},
}

// associatedTag reads the opcode, which the oldest form of Create leaves out.
func associatedTag(data []byte) (uint32, []byte, bool) {
	if len(data) == 0 {
		return 0, nil, true
	}
	return byteTag(data)
}

var rentSysvar = solana.MustPublicKey("SysvarRent111111111111111111111111111111111")

func fillAssociated(i *Instruction, _ values) error {
	i.From, i.To, i.Owner, i.Mint, i.TokenProgram = i.key(0), i.key(1), i.key(2), i.key(3), i.key(5)
	i.Idempotent = len(i.Data) == 1 && i.Data[0] == 1
	switch {
	case i.key(4) != solana.SystemProgram:
		return errors.New("its fifth account is not the System program")
	case i.TokenProgram != solana.TokenProgram && i.TokenProgram != solana.Token2022Program:
		return errors.New("its sixth account is not a token program")
	case len(i.Accounts) == 7 && i.key(6) != rentSysvar:
		return errors.New("its seventh account is not the rent sysvar")
	case i.To != solana.AssociatedTokenAddress(i.Owner, i.Mint, i.TokenProgram):
		return fmt.Errorf("%s is not the associated account of that owner and mint", i.To)
	}
	return nil
}

const (
	nameUnitLimit = "ComputeBudget.SetComputeUnitLimit"
	nameUnitPrice = "ComputeBudget.SetComputeUnitPrice"
)

// budgetSpecs are the live instructions of ComputeBudget; opcode 0 is retired.
var budgetSpecs = map[uint32]spec{
	1: {name: "RequestHeapFrame", kind: Inert, data: []field{u32}, fill: fillHeap},
	2: {name: "SetComputeUnitLimit", kind: Inert, data: []field{u32}, fill: fillNumber},
	3: {name: "SetComputeUnitPrice", kind: Inert, data: []field{u64}, fill: fillNumber},
	4: {name: "SetLoadedAccountsDataSizeLimit", kind: Inert, data: []field{u32}, fill: fillLoaded},
}

func fillNumber(i *Instruction, v values) error {
	i.Number = v.numbers[0]
	return nil
}

func fillHeap(i *Instruction, v values) error {
	const step, least, most = 1 << 10, 32 << 10, 256 << 10
	if n := v.numbers[0]; n%step != 0 || n < least || n > most {
		return fmt.Errorf("a heap of %d bytes does not exist", n)
	}
	return fillNumber(i, v)
}

func fillLoaded(i *Instruction, v values) error {
	if v.numbers[0] == 0 {
		return errors.New("no account data could be loaded")
	}
	return fillNumber(i, v)
}

// checkBudget refuses a ComputeBudget setting that is made twice: the runtime
// fails such a transaction and still takes its fee. In v1 these instructions
// set nothing.
func checkBudget(instructions []Instruction) error {
	seen := make(map[string]bool)
	for _, instruction := range instructions {
		if instruction.Program != solana.ComputeBudgetProgram {
			continue
		}
		if seen[instruction.Name] {
			return fmt.Errorf("%s is given twice", instruction.Name)
		}
		seen[instruction.Name] = true
	}
	return nil
}

// memoSpecs: the data of a memo is its text.
var memoSpecs = map[uint32]spec{
	0: {name: "Memo", kind: Inert, data: []field{rest}, extra: true, fill: fillMemo},
}

func noTag(data []byte) (uint32, []byte, bool) { return 0, data, true }

func fillMemo(i *Instruction, _ values) error {
	if !utf8.Valid(i.Data) {
		return errors.New("its text is not UTF-8")
	}
	for _, account := range i.Accounts {
		if !account.Signer {
			return fmt.Errorf("%s does not sign", account.Key)
		}
	}
	return nil
}

const refuseTable = "it changes an address lookup table"

// lookupSpecs are all instructions of the Address Lookup Table program.
var lookupSpecs = map[uint32]spec{
	0: {name: "CreateLookupTable", kind: Forbidden, data: []field{u64, u8}, accounts: 4, refusal: refuseTable},
	1: {name: "FreezeLookupTable", kind: Forbidden, accounts: 2, refusal: refuseTable},
	2: {name: "ExtendLookupTable", kind: Forbidden, data: []field{keys}, accounts: 2, optional: 2, refusal: refuseTable},
	3: {name: "DeactivateLookupTable", kind: Forbidden, accounts: 2, refusal: refuseTable},
	4: {name: "CloseLookupTable", kind: Forbidden, accounts: 3, refusal: refuseTable},
}
