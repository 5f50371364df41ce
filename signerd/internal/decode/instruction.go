package decode

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Kind says what a later stage must do about an instruction.
type Kind uint8

// The kinds. Each fills the fields of Instruction that its comment names.
const (
	// Inert instructions move nothing and give nothing away.
	Inert Kind = iota + 1
	// SystemTransfer: From, To, Amount in lamports.
	SystemTransfer
	// CreateAssociated: From pays the rent, To is the account, Owner, Mint,
	// TokenProgram.
	CreateAssociated
	// TokenTransfer: From, To, Amount, Authority; Mint and Decimals where Checked.
	TokenTransfer
	// TokenClose: From is closed, its lamports go To, Authority.
	TokenClose
	// TokenSync: From is the wrapped-SOL account.
	TokenSync
	// TokenApprove: From, To is the delegate, Amount, Authority.
	TokenApprove
	// TokenRevoke: From, Authority.
	TokenRevoke
	// TokenSetAuthority: From, Authority, AuthorityType, Owner is the new
	// authority unless NoOwner.
	TokenSetAuthority
	// Forbidden instructions are understood and never signed.
	Forbidden
	// Opaque instructions belong to a program whose effects the bytes do not show.
	Opaque
)

// Uses is the set of flows that an opaque instruction may serve.
type Uses uint8

// The flows that opaque programs exist for.
const (
	ForSwap Uses = 1 << iota
	ForClaim
)

// Instruction is one decoded instruction.
type Instruction struct {
	Index   int
	Program solana.PublicKey
	// Name is program and instruction, such as "System.Transfer".
	Name string
	Kind Kind
	// Refusal says why this may not be signed outside a guard, if it may not.
	Refusal string
	// Accounts are in the instruction's own order.
	Accounts []Account
	Data     []byte

	From, To, Owner, Mint, Authority, TokenProgram solana.PublicKey
	Amount                                         amount.Units
	Decimals                                       uint8
	Checked, NoOwner, Idempotent                   bool
	AuthorityType                                  uint8
	// Number is the one argument of a ComputeBudget instruction.
	Number uint64
	// Extra are accounts behind those that the instruction names: the signers
	// of a multisig or what a transfer hook wants.
	Extra []Account
	// Uses says for which flows an opaque instruction is known.
	Uses Uses
	// Inner are the instructions inside a container, decoded by the same rules.
	Inner []Instruction
}

// Touches reports whether key is among the accounts of the instruction.
func (i Instruction) Touches(key solana.PublicKey) bool {
	for _, account := range i.Accounts {
		if account.Key == key {
			return true
		}
	}
	return false
}

// spec describes one instruction of a known program.
type spec struct {
	name    string
	kind    Kind
	data    []field
	refusal string
	// accounts is the exact number, optional how many may follow, extra
	// whether any number may.
	accounts, optional int
	extra              bool
	// container is true where the data holds instructions of the same program.
	container bool
	fill      func(*Instruction, values) error
}

// program decodes the instructions of one known program.
type program struct {
	name string
	// tag reads the opcode and returns what follows it.
	tag   func(data []byte) (tag uint32, rest []byte, ok bool)
	specs map[uint32]spec
	// unknown, where it is set, may word the refusal of an opcode without spec.
	unknown func(data []byte) error
}

func decodeInstruction(index int, compiled solana.Instruction, accounts []Account) (Instruction, error) {
	instruction := Instruction{
		Index: index, Program: accounts[compiled.Program].Key, Data: bytes.Clone(compiled.Data),
		Accounts: make([]Account, 0, len(compiled.Accounts)),
	}
	for _, account := range compiled.Accounts {
		instruction.Accounts = append(instruction.Accounts, accounts[account])
	}
	known, ok := programs[instruction.Program]
	if !ok {
		return opaque(instruction)
	}
	if err := known.decode(&instruction); err != nil {
		return Instruction{}, fault.New(fault.TransactionRefused,
			"instruction %d (%s) cannot be explained: %v", index+1, known.name, err).Because(err)
	}
	return instruction, nil
}

func (p program) decode(instruction *Instruction) error {
	tag, rest, ok := p.tag(instruction.Data)
	if !ok {
		return fmt.Errorf("it has no opcode")
	}
	found, ok := p.specs[tag]
	if !ok {
		if p.unknown != nil {
			if err := p.unknown(instruction.Data); err != nil {
				return err
			}
		}
		return fmt.Errorf("opcode %d is unknown", tag)
	}
	instruction.Name = p.name + "." + found.name
	instruction.Kind = found.kind
	instruction.Refusal = found.refusal
	count := len(instruction.Accounts)
	if count < found.accounts || (!found.extra && count > found.accounts+found.optional) {
		return fmt.Errorf("%s has %d accounts, want %d", found.name, count, found.accounts)
	}
	if found.extra {
		instruction.Extra = instruction.Accounts[found.accounts:]
	}
	arguments, err := readFields(found.data, rest)
	if err != nil {
		return fmt.Errorf("%s: %w", found.name, err)
	}
	switch {
	case found.container:
		return p.unpack(instruction, rest)
	case found.fill == nil:
		return nil
	}
	return found.fill(instruction, arguments)
}

// unpack decodes the instructions inside a container, each of which takes its
// accounts off the front of the container's: a number of accounts, a length,
// and the data. They are named in the refusal, for none of them is skipped.
// Accounts that none of them takes do nothing, as on chain.
func (p program) unpack(outer *Instruction, data []byte) error {
	accounts := outer.Accounts
	var names []string
	for len(data) > 0 {
		if len(data) < 2 || int(data[0]) > len(accounts) || int(data[1]) > len(data)-2 {
			return fmt.Errorf("instruction %d inside it ends too early", len(names)+1)
		}
		count, end := int(data[0]), 2+int(data[1])
		inner := Instruction{Index: outer.Index, Program: outer.Program, Accounts: accounts[:count:count], Data: data[2:end:end]}
		if tag, _, ok := p.tag(inner.Data); ok && p.specs[tag].container {
			return fmt.Errorf("instruction %d inside it is a container again", len(names)+1)
		}
		if err := p.decode(&inner); err != nil {
			return fmt.Errorf("instruction %d inside it: %w", len(names)+1, err)
		}
		outer.Inner, names = append(outer.Inner, inner), append(names, inner.Name)
		accounts, data = accounts[count:], data[end:]
	}
	if len(names) == 0 {
		return errors.New("it holds nothing")
	}
	outer.Refusal += ": " + strings.Join(names, ", ")
	return nil
}

func (i Instruction) key(n int) solana.PublicKey { return i.Accounts[n].Key }
