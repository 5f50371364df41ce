package chain

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// part is how one argument of an instruction is encoded.
type part uint8

const (
	word     part = iota + 1 // a number, as a u64
	text                     // a number in a string, as a u64
	quantity                 // a token amount, as a u64 and its decimals
	feeUnits                 // a token amount, as a u64
	address                  // an address
)

// argument is one argument and what the node calls it.
type argument struct {
	name string
	part part
}

// form says how a node spells out an instruction that an honest swap makes
// with accounts of the wallet, so that it can be encoded again. accounts are in
// order; those of a multisig follow under a name of their own.
type form struct {
	opcode    []byte
	accounts  []string
	arguments []argument
	// multisig is what the last account is called where a multisig signs.
	multisig string
}

var systemForms = map[string]form{
	"transfer":      {opcode: []byte{2, 0, 0, 0}, accounts: []string{"source", "destination"}, arguments: []argument{{"lamports", word}}},
	"createAccount": {opcode: []byte{0, 0, 0, 0}, accounts: []string{"source", "newAccount"}, arguments: []argument{{"lamports", word}, {"space", word}, {"owner", address}}},
	"allocate":      {opcode: []byte{8, 0, 0, 0}, accounts: []string{"account"}, arguments: []argument{{"space", word}}},
	"assign":        {opcode: []byte{1, 0, 0, 0}, accounts: []string{"account"}, arguments: []argument{{"owner", address}}},
}

var tokenForms = map[string]form{
	"transfer":                 {opcode: []byte{3}, accounts: []string{"source", "destination", "authority"}, arguments: []argument{{"amount", text}}, multisig: "multisigAuthority"},
	"transferChecked":          {opcode: []byte{12}, accounts: []string{"source", "mint", "destination", "authority"}, arguments: []argument{{"tokenAmount", quantity}}, multisig: "multisigAuthority"},
	"transferCheckedWithFee":   {opcode: []byte{26, 1}, accounts: []string{"source", "mint", "destination", "authority"}, arguments: []argument{{"tokenAmount", quantity}, {"feeAmount", feeUnits}}, multisig: "multisigAuthority"},
	"mintTo":                   {opcode: []byte{7}, accounts: []string{"mint", "account", "mintAuthority"}, arguments: []argument{{"amount", text}}, multisig: "multisigMintAuthority"},
	"mintToChecked":            {opcode: []byte{14}, accounts: []string{"mint", "account", "mintAuthority"}, arguments: []argument{{"tokenAmount", quantity}}, multisig: "multisigMintAuthority"},
	"closeAccount":             {opcode: []byte{9}, accounts: []string{"account", "destination", "owner"}, multisig: "multisigOwner"},
	"syncNative":               {opcode: []byte{17}, accounts: []string{"account"}},
	"initializeAccount3":       {opcode: []byte{18}, accounts: []string{"account", "mint"}, arguments: []argument{{"owner", address}}},
	"initializeImmutableOwner": {opcode: []byte{22}, accounts: []string{"account"}},
}

var associatedForms = map[string]form{
	"create":           {opcode: []byte{0}, accounts: []string{"source", "account", "wallet", "mint", "systemProgram", "tokenProgram"}},
	"createIdempotent": {opcode: []byte{1}, accounts: []string{"source", "account", "wallet", "mint", "systemProgram", "tokenProgram"}},
}

func formsOf(program solana.PublicKey) map[string]form {
	switch program {
	case solana.SystemProgram:
		return systemForms
	case solana.TokenProgram, solana.Token2022Program:
		return tokenForms
	case solana.AssociatedTokenProgram:
		return associatedForms
	}
	return nil
}

// rebuild encodes again what the node has spelled out, and decodes that. What
// has no form is Forbidden and names every address that the node names, so that
// it is refused wherever the wallet or an account of the wallet takes part.
func (r resolver) rebuild(program solana.PublicKey, parsed json.RawMessage) ([]decode.Instruction, error) {
	var memo string
	if json.Unmarshal(parsed, &memo) == nil {
		if program != solana.MemoProgram && program != solana.MemoV1Program {
			return nil, errInnerParsed
		}
		return decode.Inner(r.top, decode.Call{Program: program, Data: []byte(memo)})
	}
	var spelled struct {
		Type string                     `json:"type"`
		Info map[string]json.RawMessage `json:"info"`
	}
	if json.Unmarshal(parsed, &spelled) != nil || spelled.Type == "" {
		return nil, errInnerParsed
	}
	known, ok := formsOf(program)[spelled.Type]
	if !ok {
		return []decode.Instruction{r.unknown(program, spelled.Type, parsed)}, nil
	}
	call, ok := r.encode(known, spelled.Info)
	if !ok {
		return nil, errInnerParsed
	}
	call.Program = program
	return decode.Inner(r.top, call)
}

func (r resolver) encode(f form, info map[string]json.RawMessage) (decode.Call, bool) {
	call := decode.Call{Data: slices.Clone(f.opcode)}
	for i, name := range f.accounts {
		raw, ok := info[name]
		var signers []json.RawMessage
		if !ok && i == len(f.accounts)-1 && f.multisig != "" {
			raw = info[f.multisig]
			if json.Unmarshal(info["signers"], &signers) != nil {
				return call, false
			}
		}
		for _, each := range append([]json.RawMessage{raw}, signers...) {
			key, ok := readKey(each)
			if !ok {
				return call, false
			}
			call.Accounts = append(call.Accounts, r.role(key))
		}
	}
	for _, argument := range f.arguments {
		encoded, ok := argument.part.encode(info[argument.name])
		if !ok {
			return call, false
		}
		call.Data = append(call.Data, encoded...)
	}
	return call, true
}

func (p part) encode(raw json.RawMessage) ([]byte, bool) {
	switch p {
	case word:
		return encodeUnits(string(raw))
	case text:
		var digits string
		if json.Unmarshal(raw, &digits) != nil {
			return nil, false
		}
		return encodeUnits(digits)
	case quantity, feeUnits:
		var given struct {
			Amount   string `json:"amount"`
			Decimals *uint8 `json:"decimals"`
		}
		if json.Unmarshal(raw, &given) != nil || given.Decimals == nil {
			return nil, false
		}
		encoded, ok := encodeUnits(given.Amount)
		if p == quantity {
			encoded = append(encoded, *given.Decimals)
		}
		return encoded, ok
	case address:
		key, ok := readKey(raw)
		return key[:], ok
	}
	return nil, false
}

func encodeUnits(digits string) ([]byte, bool) {
	units, err := strconv.ParseUint(digits, 10, 64)
	return binary.LittleEndian.AppendUint64(nil, units), err == nil
}

// unknown is an instruction that the node names and that has no form here.
func (r resolver) unknown(program solana.PublicKey, kind string, parsed json.RawMessage) decode.Instruction {
	name := decode.ProgramName(program)
	if cleaned := letters(kind); cleaned != "" {
		name += "." + cleaned
	}
	instruction := decode.Instruction{
		Index: r.top, Program: program, Name: name, Kind: decode.Forbidden,
		Refusal: "inside a program nothing but transfers may be done with it",
	}
	var tree any
	if json.Unmarshal(parsed, &tree) == nil {
		for _, key := range addressesIn(tree, nil) {
			instruction.Accounts = append(instruction.Accounts, r.role(key))
		}
	}
	return instruction
}

// letters lets through what can be the name of an instruction, begun with a
// capital, as decode writes them.
func letters(name string) string {
	const longest = 64
	if name == "" || len(name) > longest || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// addressesIn collects every text in a JSON value that is an address.
func addressesIn(value any, found []solana.PublicKey) []solana.PublicKey {
	switch value := value.(type) {
	case string:
		if key, err := solana.ParsePublicKey(value); err == nil {
			found = append(found, key)
		}
	case []any:
		for _, each := range value {
			found = addressesIn(each, found)
		}
	case map[string]any:
		for _, each := range value {
			found = addressesIn(each, found)
		}
	}
	return found
}
