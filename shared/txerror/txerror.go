// Package txerror puts a failed transaction into words. The same number means
// different things to different programs, so a code is always read with the
// table of the program that failed, found in the log. Both daemons word a failed
// simulation with it, and signerd what landed and failed; it is pure, trusts none
// of its input, and promises words of its own only.
package txerror

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"countersign/shared/solana"
)

// NoInstruction is the Instruction of an error of the whole transaction.
const NoInstruction = -1

// Error is why a transaction failed.
type Error struct {
	// Instruction is the index of the failing top-level instruction, or
	// NoInstruction.
	Instruction int `json:"instruction"`
	// Program is the program that failed, which may be one that the instruction's
	// own program called. It is zero when the whole transaction was refused.
	Program solana.PublicKey `json:"program"`
	// Code is the runtime's name, or the program's number in decimal.
	Code string `json:"code"`
	// Text is a sentence fragment of our own, never text from the chain.
	Text string `json:"text"`
}

func (e Error) Error() string { return e.Text }

// Describe words the `err` of a status, simulation or transaction meta. logs
// may be missing; programs are those of the top-level instructions, in order.
func Describe(raw json.RawMessage, logs []string, programs []solana.PublicKey) Error {
	name, detail := variant(raw)
	if name != "InstructionError" {
		return wholeError(name, detail)
	}
	var pair []json.RawMessage
	index := NoInstruction
	if json.Unmarshal(detail, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &index) != nil {
		return unreadable()
	}
	found := Error{Instruction: index}
	if index >= 0 && index < len(programs) {
		found.Program = programs[index]
	}
	if failed, ok := failingProgram(logs); ok {
		found.Program = failed
	}
	found.Code, found.Text = instructionError(found.Program, pair[1])
	return found
}

// IsNone reports an `err` that says there was none: it is missing or null.
func IsNone(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// IsAlreadyProcessed reports the error that means "it has landed".
func IsAlreadyProcessed(raw json.RawMessage) bool {
	name, _ := variant(raw)
	return name == "AlreadyProcessed"
}

// IsBlockhashNotFound reports the error of a blockhash that is too old or that
// the node has not seen yet.
func IsBlockhashNotFound(raw json.RawMessage) bool {
	name, _ := variant(raw)
	return name == "BlockhashNotFound"
}

// variant reads an enum as the runtime's JSON writes it: a bare name, or an
// object with the name as its only key.
func variant(raw json.RawMessage) (string, json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return clean(name), nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && len(object) == 1 {
		for key, value := range object {
			return clean(key), value
		}
	}
	return "", nil
}

// longestName is longer than any name of the runtime.
const longestName = 64

// clean lets through what can be a name of the runtime, as a Code. It is no part
// of a Text: a node's answer must not put words of its own before a reader.
func clean(name string) string {
	if len(name) > longestName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return ""
	}
	return name
}

func unreadable() Error {
	return Error{Instruction: NoInstruction, Code: "unreadable", Text: "the transaction failed for a reason that could not be read"}
}

func wholeError(name string, detail json.RawMessage) Error {
	if name == "" {
		return unreadable()
	}
	text, known := transactionErrors[name]
	if !known {
		text = "the network refused the transaction, for a reason that has no words here"
	}
	var account struct {
		Index *uint8 `json:"account_index"`
	}
	if json.Unmarshal(detail, &account) == nil && account.Index != nil {
		text += fmt.Sprintf(" (account %d of the transaction)", *account.Index)
	}
	return Error{Instruction: NoInstruction, Code: name, Text: text}
}

func instructionError(program solana.PublicKey, raw json.RawMessage) (code, text string) {
	name, detail := variant(raw)
	var number uint32
	if name == "Custom" && json.Unmarshal(detail, &number) == nil {
		return strconv.FormatUint(uint64(number), 10), customText(program, number)
	}
	if name == "" {
		failure := unreadable()
		return failure.Code, failure.Text
	}
	text, known := instructionErrors[name]
	if !known {
		text = "it failed, for a reason that has no words here"
	}
	return name, programName(program) + ": " + text
}

func customText(program solana.PublicKey, number uint32) string {
	name := programName(program)
	if text, ok := programErrors[program][number]; ok {
		return name + ": " + text
	}
	if text, ok := anchorErrors[number]; ok && !nativePrograms[program] {
		return name + ": " + text
	}
	return fmt.Sprintf("%s failed with its own error %d", name, number)
}

func programName(program solana.PublicKey) string {
	if name, ok := programNames[program]; ok {
		return name
	}
	return "program " + program.String()
}

// failingProgram is the program of the first "failed" line. The innermost
// program fails first, and its callers cannot catch it. A program's own
// messages begin with "Program log:" and so cannot pose as this line.
func failingProgram(logs []string) (solana.PublicKey, bool) {
	for _, line := range logs {
		rest, ok := strings.CutPrefix(line, "Program ")
		if !ok {
			continue
		}
		id, rest, ok := strings.Cut(rest, " ")
		if !ok || !strings.HasPrefix(rest, "failed: ") {
			continue
		}
		if program, err := solana.ParsePublicKey(id); err == nil {
			return program, true
		}
	}
	return solana.PublicKey{}, false
}
