package permissions

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// The message formats.
const (
	legacy  = "legacy"
	v0      = "v0"
	v0Table = "v0 with lookup table"
	v1      = "v1"
)

var formats = []string{legacy, v0, v0Table, v1}

// Bounds of the two deals that an instruction stands in.
const (
	agreed  = 1_000      // lamports to the friend, in a transfer
	spend   = 50_000_000 // lamports that may leave, in a swap
	maxFee  = 100_000
	maxRent = 2_100_000
)

// trial is one transaction of the matrix.
type trial struct {
	instruction instruction
	role        string
	flow        effects.Flow
	format      string
}

func (t trial) String() string {
	return fmt.Sprintf("%s.%s, wallet as %s, in a %s, %s", decode.ProgramName(t.instruction.program), t.instruction.title(), t.role, t.flow, t.format)
}

// request is what was agreed: the payment of the instruction itself included.
func (t trial) request() judge.Request {
	bounds := effects.Bounds{MaxFee: maxFee, MaxRent: maxRent}
	if t.flow == effects.Swap {
		bounds.MaxOut = map[solana.PublicKey]amount.Units{amount.SOL: spend}
		bounds.Programs = []solana.PublicKey{scriptable}
		return judge.Request{Flow: t.flow, Bounds: bounds}
	}
	bounds.Recipients = []solana.PublicKey{friend}
	bounds.MaxOut = map[solana.PublicKey]amount.Units{amount.SOL: agreed}
	if pays := t.instruction.pays; pays != nil && pays.as == t.role {
		bounds.MaxOut[pays.mint] += amount.Units(pays.units)
	}
	return judge.Request{Flow: t.flow, Bounds: bounds}
}

// build makes the transaction: the instruction beside what was agreed, signed
// by everybody but the wallet.
func (t trial) build(blockhash solana.Hash) []byte {
	deal := decodetest.Transfer(wallet, friend, agreed)
	if t.flow == effects.Swap {
		// A program that does nothing with the wallet's signature. What it reads
		// can come through a lookup table.
		deal = decodetest.Call{Program: scriptable, Accounts: []decodetest.Meta{decodetest.SW(wallet), decodetest.R(rentSysvar)}}
	}
	pays := wallet
	if t.instruction.network && t.role == none {
		pays = other
	}
	calls := []decodetest.Call{t.instruction.call(t.role), deal}
	var tx solana.Transaction
	switch t.format {
	case legacy:
		tx = decodetest.Legacy(pays, blockhash, calls...)
	case v0:
		tx = decodetest.V0(pays, blockhash, nil, nil, calls...)
	case v0Table:
		tx = decodetest.V0(pays, blockhash, decode.Tables{everything: tableAddresses()}, []solana.PublicKey{everything}, calls...)
	case v1:
		tx = decodetest.Legacy(pays, blockhash, calls...)
		tx.Message.Version = solana.V1
		tx.Message.Config = solana.Config{
			PriorityFee: new(uint64(777)), UnitLimit: new(uint32(400_000)), LoadedDataLimit: new(uint32(20_000_000)),
		}
	}
	sign(&tx, map[solana.PublicKey]ed25519.PrivateKey{other: otherKey, fresh: freshKey})
	return tx.Marshal()
}

func sign(tx *solana.Transaction, keys map[solana.PublicKey]ed25519.PrivateKey) {
	message := tx.Message.Marshal()
	for i := range tx.Signatures {
		if key, ok := keys[tx.Message.Keys[i]]; ok {
			tx.Signatures[i] = solana.Signature(ed25519.Sign(key, message))
		}
	}
}

// TestEveryInstructionIsInTheMatrix: an opcode that the decoder learns must be
// thought about here as well.
func TestEveryInstructionIsInTheMatrix(t *testing.T) {
	type opcode struct {
		program solana.PublicKey
		tag     uint32
	}
	found := make(map[opcode]string)
	for _, i := range catalogue() {
		if !i.unlisted {
			found[opcode{i.program, i.tag}] = i.name
		}
	}
	for _, known := range decode.Known() {
		name, ok := found[opcode{known.Program, known.Tag}]
		delete(found, opcode{known.Program, known.Tag})
		if want := decode.ProgramName(known.Program) + "." + name; !ok || want != known.Name {
			t.Errorf("%s (opcode %d) stands in the matrix as %q", known.Name, known.Tag, name)
		}
	}
	for left, name := range found {
		t.Errorf("%s.%s (opcode %d) is in the matrix and not in the decoder's tables", decode.ProgramName(left.program), name, left.tag)
	}
}

// TestExpectationsAreAboutTheMatrix: a misspelt name would expect nothing.
func TestExpectationsAreAboutTheMatrix(t *testing.T) {
	tried := make(map[string]bool)
	for _, i := range catalogue() {
		for _, role := range i.roles() {
			tried[i.program.String()+i.title()+role] = true
		}
	}
	for program, instructions := range expected {
		for title, roles := range instructions {
			for role := range roles {
				if !tried[program.String()+title+role] {
					t.Errorf("%s.%s as %s is expected and never tried", decode.ProgramName(program), title, role)
				}
			}
		}
	}
}

// TestPermissionMatrix judges everything and holds the verdicts against the
// expectations and the document. What is allowed is signed, sent and compared
// with the chain.
func TestPermissionMatrix(t *testing.T) {
	s := startScene(t)
	var rows []row
	landed := 0
	for _, i := range catalogue() {
		for _, role := range i.roles() {
			each := row{instruction: i, role: role, found: make(map[string]pair)}
			for _, format := range formats {
				var texts pair
				for n, flow := range []effects.Flow{effects.Transfer, effects.Swap} {
					tried := trial{instruction: i, role: role, flow: flow, format: format}
					judged, err := s.judge.Judge(t.Context(), tried.build(s.blockhash()), tried.request())
					tried.compare(t, err)
					texts[n] = verdict(judged, err)
					if err == nil {
						s.lands(tried, judged)
						landed++
					}
				}
				each.found[format] = texts
			}
			rows = append(rows, each)
		}
	}
	if landed < 100 {
		t.Errorf("only %d transactions were allowed and sent", landed)
	}
	compareDocument(t, render(rows))
}

// compare holds the verdict against the expectation.
func (t trial) compare(test *testing.T, err error) {
	test.Helper()
	want := t.instruction.want(t.role).transfer
	if t.flow == effects.Swap {
		want = t.instruction.want(t.role).swap
	}
	var got fault.Code
	if err != nil {
		got = fault.From(err).Code
	}
	if got != want {
		test.Errorf("%s: %s (%v), want %s", t, outcome(got), err, outcome(want))
	}
}

func outcome(code fault.Code) string {
	if code == yes {
		return "allowed"
	}
	return string(code)
}

// verdict is the verdict in words, without what differs from run to run.
func verdict(judged judge.Judged, err error) string {
	if err == nil {
		return "allowed, " + judged.Effects().Class().String()
	}
	var refused *fault.Fault
	if !errors.As(err, &refused) {
		return "error: " + err.Error()
	}
	text := refused.Message
	if _, after, ok := strings.Cut(text, "): "); ok && strings.HasPrefix(text, "instruction ") {
		text = after
	}
	return fmt.Sprintf("`%s`: %s", refused.Code, named(text))
}

// named replaces addresses by what they are.
func named(text string) string {
	for key, name := range map[solana.PublicKey]string{wallet: "the wallet", other: "somebody", friend: "the payee", shared: "the multisig"} {
		text = strings.ReplaceAll(text, key.String(), name)
	}
	for _, account := range world() {
		text = strings.ReplaceAll(text, "of token "+account.Key.String(), "of the token")
		text = strings.ReplaceAll(text, "hold "+account.Key.String(), "hold the token")
		text = strings.ReplaceAll(text, account.Key.String(), "an account")
	}
	return text
}
