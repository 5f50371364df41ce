package explain

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
	"countersign/signerd/internal/decode"
)

// What is listed at most. A transaction has room for more of either, and more
// would only hide what matters.
const (
	mostInstructions = 64
	mostAccounts     = 64
	mostData         = 64
)

// instructions explains each instruction, in order.
func (s *study) instructions() (list []Instruction, more int) {
	list = []Instruction{}
	start := s.guardStart()
	for _, i := range s.reading.Instructions {
		if len(list) == mostInstructions {
			return list, len(s.reading.Instructions) - mostInstructions
		}
		list = append(list, s.instruction(i, i.Index >= start))
	}
	return list, 0
}

func (s *study) instruction(i decode.ReadInstruction, guards bool) Instruction {
	view := Instruction{
		Number: i.Index + 1, Program: i.Program.String(), Name: i.Name, Opaque: i.Kind == decode.Opaque, Guard: guards,
		Accounts: []Account{},
	}
	if name := decode.ProgramName(i.Program); name != view.Program {
		view.ProgramName = name
	}
	switch {
	case i.Err != nil && s.namesUnresolved(i.Instruction):
		view.Text = s.unreadable(i)
	case i.Err != nil:
		view.Text, view.Refusal = s.unreadable(i), s.reason(i.Err)
	case guards:
		view.Text = "guard: " + s.sentence(i.Instruction)
	default:
		view.Text, view.Refusal = s.sentence(i.Instruction), i.Refusal
	}
	if i.Err == nil && (i.Program == solana.MemoProgram || i.Program == solana.MemoV1Program) {
		view.Memo = memo(i.Data)
	}
	if view.Opaque {
		view.Inner = s.inner(i.Index)
	}
	for _, account := range i.Accounts {
		if len(view.Accounts) == mostAccounts {
			view.More = len(i.Accounts) - mostAccounts
			break
		}
		view.Accounts = append(view.Accounts, s.account(account))
	}
	return view
}

// inner lists what an opaque instruction called from within, when it was
// simulated. What the others call is what they are known to do.
func (s *study) inner(top int) []Inner {
	var list []Inner
	for _, call := range s.simulation.Inner {
		if call.Top != top || len(list) == mostInstructions {
			continue
		}
		view := Inner{Program: call.Program.String(), Name: call.Name, Text: s.sentence(call.Instruction)}
		if view.Name == "" {
			view.Name = decode.ProgramName(call.Program)
		}
		if call.Refusal != "" {
			view.Text += ": " + call.Refusal
		}
		list = append(list, view)
	}
	return list
}

func (s *study) account(account decode.Account) Account {
	return Account{Party: s.party(account.Key), Signs: account.Signer, CanChange: account.Writable}
}

// unreadable shows what is there where nothing can be explained.
func (s *study) unreadable(i decode.ReadInstruction) string {
	data := hex.EncodeToString(i.Data[:min(len(i.Data), mostData)])
	if len(i.Data) > mostData {
		data += "…"
	}
	if s.namesUnresolved(i.Instruction) {
		return fmt.Sprintf("cannot be explained while a lookup table is not resolved; its data, in hex: %s", data)
	}
	return fmt.Sprintf("cannot be explained; %d accounts, and %d bytes of data, in hex: %s", len(i.Accounts), len(i.Data), data)
}

func (s *study) namesUnresolved(i decode.Instruction) bool {
	return slices.ContainsFunc(i.Accounts, func(a decode.Account) bool {
		_, unresolved := s.reading.Unresolved[a.Key]
		return unresolved
	})
}

// reason is what a fault says, and only that.
func (s *study) reason(err error) string { return clean(fault.From(err).Message, untrusted.Finding) }

func memo(data []byte) *Memo {
	text := untrusted.Clean(string(data), untrusted.Memo)
	view := &Memo{Text: text.Exposed(), Untrusted: true, Flags: []string{}}
	for _, flag := range text.Flags() {
		view.Flags = append(view.Flags, string(flag))
	}
	return view
}

// sentence says what one decoded instruction does.
func (s *study) sentence(i decode.Instruction) string {
	switch i.Kind {
	case decode.SystemTransfer:
		return s.systemTransfer(i)
	case decode.CreateAssociated:
		return s.createAssociated(i)
	case decode.TokenTransfer:
		return s.tokenTransfer(i)
	case decode.TokenClose:
		return s.tokenClose(i)
	case decode.TokenSync:
		return "counts the SOL sent to " + s.of(i.From) + " as wrapped SOL"
	case decode.TokenApprove:
		return fmt.Sprintf("lets %s spend %s from %s", s.of(i.To), s.tokenAmount(i), s.of(i.From))
	case decode.TokenRevoke:
		return "takes the right to spend from " + s.of(i.From) + " away from whoever has it"
	case decode.TokenSetAuthority:
		return s.setAuthority(i)
	case decode.Forbidden:
		return s.forbidden(i)
	case decode.Opaque:
		return s.opaque(i)
	case decode.Inert:
		return s.inert(i)
	}
	return "is of a kind that is not known"
}

func (s *study) createAssociated(i decode.Instruction) string {
	account := s.of(i.To)
	if _, own := s.own[i.To]; !own {
		account = fmt.Sprintf("%s, the %s account of %s", i.To, s.asset(i.Mint), s.of(i.Owner))
	}
	unless := ", and fails if it is open"
	if i.Idempotent {
		unless = ", unless it is open already"
	}
	return fmt.Sprintf("opens %s%s; %s pays the rent", account, unless, s.of(i.From))
}

func (s *study) systemTransfer(i decode.Instruction) string {
	lamports := sol(i.Amount).String()
	if i.From == i.To && i.From == s.Wallet {
		return fmt.Sprintf("moves %s from the wallet to itself: fails on chain unless the wallet still has that much, and is still a plain account", lamports)
	}
	return fmt.Sprintf("moves %s from %s to %s", lamports, s.of(i.From), s.of(i.To))
}

// upTo writes an amount, and the largest there is as what it means.
func (s *study) upTo(mint solana.PublicKey, units amount.Units) string {
	if units == ^amount.Units(0) {
		return "any amount of " + s.asset(mint)
	}
	return s.money(mint, units)
}

func (s *study) tokenAmount(i decode.Instruction) string {
	if mint, known := s.mintOf(i); known {
		return s.upTo(mint, i.Amount)
	}
	return i.Amount.String() + " base units of a token that is not known"
}

func (s *study) tokenTransfer(i decode.Instruction) string {
	if i.From == i.To {
		return fmt.Sprintf("moves %s from %s to itself: fails on chain unless there is that much", s.tokenAmount(i), s.of(i.From))
	}
	to := s.of(i.To)
	if owner, known := s.ownerOf(i.To); known && owner != s.Wallet {
		to = fmt.Sprintf("%s, whose owner is %s", i.To, s.of(owner))
	}
	text := fmt.Sprintf("moves %s from %s to %s", s.tokenAmount(i), s.of(i.From), to)
	if i.Authority != s.Wallet {
		text += ", by the signature of " + s.of(i.Authority)
	}
	return text
}

func (s *study) tokenClose(i decode.Instruction) string {
	own, ours := s.own[i.From]
	text := fmt.Sprintf("closes %s; its SOL goes to %s", s.of(i.From), s.of(i.To))
	switch {
	case ours && own.mint == solana.WrappedSOL && i.To == s.Wallet:
		return text + " (unwraps what is in it, and its rent comes back)"
	case ours && i.To == s.Wallet:
		return text + " (its rent comes back)"
	}
	return text
}

// authorities are what SetAuthority can hand over, by number.
var authorities = []string{"mint authority", "freeze authority", "owner", "close authority"}

func (s *study) setAuthority(i decode.Instruction) string {
	which := fmt.Sprintf("authority number %d", i.AuthorityType)
	if int(i.AuthorityType) < len(authorities) {
		which = authorities[i.AuthorityType]
	}
	if i.NoOwner {
		return fmt.Sprintf("takes the %s of %s away from whoever has it", which, s.of(i.From))
	}
	return fmt.Sprintf("makes %s the %s of %s", s.of(i.Owner), which, s.of(i.From))
}

// forbidden names the accounts of an instruction that is understood and never
// signed: which of them matter is a question for a person.
func (s *study) forbidden(i decode.Instruction) string {
	if len(i.Accounts) == 0 {
		return "names no account"
	}
	var roles []string
	for _, account := range i.Accounts[:min(len(i.Accounts), 3)] {
		role := "names"
		switch {
		case account.Signer && account.Writable:
			role = "signed by, and can change,"
		case account.Signer:
			role = "signed by"
		case account.Writable:
			role = "can change"
		}
		roles = append(roles, role+" "+s.of(account.Key))
	}
	return strings.Join(roles, "; ")
}

// opaque says what may be known of a call into a program that is not decoded.
func (s *study) opaque(i decode.Instruction) string {
	text := "opaque: the bytes do not show what it does"
	switch i.Uses {
	case decode.ForSwap:
		text += "; known for swaps"
	case decode.ForClaim:
		text += "; known for claims"
	case decode.ForSwap | decode.ForClaim:
		text += ", and its instructions are not known here"
	}
	var can []string
	signs := false
	for _, account := range i.Accounts {
		_, own := s.own[account.Key]
		switch {
		case account.Key == s.Wallet:
			signs = signs || account.Signer
			if account.Writable && !slices.Contains(can, "the wallet") {
				can = append(can, "the wallet")
			}
		case own && account.Writable && !slices.Contains(can, s.of(account.Key)):
			can = append(can, s.of(account.Key))
		}
	}
	if signs {
		text += "; it has the wallet's signature"
	}
	if len(can) > 0 {
		text += "; of the wallet's it can change " + list(can)
	}
	return text
}

// list writes "a, b and c".
func list(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

func (s *study) inert(i decode.Instruction) string {
	switch i.Program {
	case solana.ComputeBudgetProgram:
		return budget(i)
	case solana.MemoProgram, solana.MemoV1Program:
		return fmt.Sprintf("writes a text of %d bytes", len(i.Data))
	}
	return "moves nothing and gives nothing away"
}

func budget(i decode.Instruction) string {
	number := grouped(i.Number)
	switch i.Name {
	case nameUnitLimit:
		return "sets a limit of " + number + " compute units"
	case "ComputeBudget.SetComputeUnitPrice":
		return "offers a price of " + number + " millionths of a lamport for each compute unit"
	case "ComputeBudget.RequestHeapFrame":
		return "asks for " + number + " bytes of memory"
	case "ComputeBudget.SetLoadedAccountsDataSizeLimit":
		return "limits the account data that is loaded to " + number + " bytes"
	}
	return "sets " + number
}

// grouped writes 1234567 as 1,234,567.
func grouped(n uint64) string { return groupedText(fmt.Sprintf("%d", n)) }

func groupedText(text string) string {
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
