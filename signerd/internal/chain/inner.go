package chain

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mr-tron/base58"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// InnerCall is what one program called from within another.
type InnerCall struct {
	// Top is the index of the top-level instruction that led to it.
	Top int
	decode.Instruction
}

// innerSet holds the calls that one top-level instruction led to.
type innerSet struct {
	Index        *int        `json:"index"`
	Instructions []wireInner `json:"instructions"`
}

// wireInner is a call in one of the three forms that nodes write: spelled out
// for programs that the node knows, with addresses, or with indexes.
type wireInner struct {
	Program *solana.PublicKey `json:"programId"`
	Parsed  json.RawMessage   `json:"parsed"`

	Index *int `json:"programIdIndex"`
	// Accounts are addresses, or indexes where Index is set.
	Accounts []json.RawMessage `json:"accounts"`
	Data     *string           `json:"data"`
}

// The runtime's limits: instructions in a transaction with inner ones, and
// bytes of data that a program may pass to another.
const (
	maxInner     = 64
	maxInnerData = 10 << 10
)

var (
	errNoInner     = errors.New("the node does not show what programs call from within")
	errInnerShape  = errors.New("an inner instruction in no form that is known")
	errTooMany     = errors.New("more inner instructions than a transaction can have")
	errInnerParsed = errors.New("an inner instruction that cannot be rebuilt from how the node spells it out")
)

// resolver rebuilds inner instructions of one transaction.
type resolver struct {
	accounts []decode.Account
	byKey    map[solana.PublicKey]decode.Account
	top      int
}

// readInner rebuilds what programs called from within, exactly. What cannot be
// rebuilt is an error: an instruction that nobody looked at would be one that
// no rule ran on. An error that is a fault is a refusal of what the programs
// did; any other is about the answer's shape.
func readInner(tx decode.Tx, sets []innerSet) ([]InnerCall, error) {
	r := resolver{accounts: tx.Accounts(), byKey: make(map[solana.PublicKey]decode.Account)}
	for _, account := range r.accounts {
		r.byKey[account.Key] = account
	}
	var calls []InnerCall
	count := 0
	for _, set := range sets {
		if set.Index == nil || *set.Index < 0 || *set.Index >= len(tx.Instructions()) {
			return nil, errInnerShape
		}
		if count += len(set.Instructions); count > maxInner {
			return nil, errTooMany
		}
		r.top = *set.Index
		for _, wire := range set.Instructions {
			list, err := r.read(wire)
			if err != nil {
				return nil, err
			}
			for _, instruction := range list {
				calls = append(calls, InnerCall{Top: r.top, Instruction: instruction})
			}
		}
	}
	return calls, nil
}

func (r resolver) read(wire wireInner) ([]decode.Instruction, error) {
	if len(wire.Parsed) > 0 {
		if wire.Program == nil {
			return nil, errInnerShape
		}
		return r.rebuild(*wire.Program, wire.Parsed)
	}
	call, err := r.resolve(wire)
	if err != nil {
		return nil, err
	}
	return decode.Inner(r.top, call)
}

// resolve reads the two forms that hold the data itself.
func (r resolver) resolve(wire wireInner) (decode.Call, error) {
	var call decode.Call
	if wire.Data == nil || (wire.Program == nil) == (wire.Index == nil) {
		return call, errInnerShape
	}
	if len(*wire.Data) > 2*maxInnerData {
		return call, fmt.Errorf("%w: too much data", errInnerShape)
	}
	var err error
	if *wire.Data != "" {
		if call.Data, err = base58.Decode(*wire.Data); err != nil {
			return call, fmt.Errorf("%w: data is not base58", errInnerShape)
		}
	}
	if wire.Program != nil {
		call.Program = *wire.Program
	} else if call.Program, err = r.at(*wire.Index); err != nil {
		return call, err
	}
	for _, raw := range wire.Accounts {
		key, err := r.account(raw, wire.Index != nil)
		if err != nil {
			return call, err
		}
		call.Accounts = append(call.Accounts, r.role(key))
	}
	return call, nil
}

func (r resolver) at(index int) (solana.PublicKey, error) {
	if index < 0 || index >= len(r.accounts) {
		return solana.PublicKey{}, fmt.Errorf("%w: no account %d", errInnerShape, index)
	}
	return r.accounts[index].Key, nil
}

func (r resolver) account(raw json.RawMessage, byIndex bool) (key solana.PublicKey, err error) {
	if byIndex {
		var index *int
		if json.Unmarshal(raw, &index) != nil || index == nil {
			return key, errInnerShape
		}
		return r.at(*index)
	}
	key, ok := readKey(raw)
	if !ok {
		return key, fmt.Errorf("%w: an account is no address", errInnerShape)
	}
	return key, nil
}

// readKey reads an address. Go's decoder would take null for the zero key,
// which is the System program.
func readKey(raw json.RawMessage) (solana.PublicKey, bool) {
	var written string
	if json.Unmarshal(raw, &written) != nil {
		return solana.PublicKey{}, false
	}
	key, err := solana.ParsePublicKey(written)
	return key, err == nil
}

// role is an account as the message has it. A program can pass on no account
// that is not in the message.
func (r resolver) role(key solana.PublicKey) decode.Account {
	if account, ok := r.byKey[key]; ok {
		return account
	}
	return decode.Account{Key: key}
}
