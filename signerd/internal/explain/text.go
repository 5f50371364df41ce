package explain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteText writes a report for a person: the verdict first, then what the
// transaction is, what it moves, what each instruction does, and what was
// assumed or could not be checked.
func WriteText(w io.Writer, r Report) error {
	t := &text{}
	t.verdict(r)
	t.identity(r)
	t.movements(r)
	t.instructions(r)
	t.accounts(r)
	t.closing(r)
	_, err := io.WriteString(w, t.out.String())
	return err
}

// text collects lines.
type text struct{ out strings.Builder }

func (t *text) line(depth int, format string, args ...any) {
	t.out.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&t.out, format, args...)
	t.out.WriteByte('\n')
}

func (t *text) head(title string) { t.out.WriteString("\n" + title + "\n") }

func (t *text) verdict(r Report) {
	v := r.Verdict
	rules := ""
	if len(v.Rules) > 0 {
		rules = " by " + strings.Join(v.Rules, ", ")
	}
	switch {
	case r.Decision == Allowed && v.Tier == "auto":
		t.line(0, "ALLOWED without anybody's consent (tier auto%s)", rules)
	case r.Decision == Allowed:
		t.line(0, "ALLOWED with a code (tier %s%s)", v.Tier, rules)
	case r.Decision == NeedsPerson:
		t.line(0, "NEEDS A PERSON (tier %s%s)", v.Tier, rules)
	case v.By == "policy":
		t.line(0, "REFUSED by the policy (%s%s)", v.Code, rules)
	case v.By == "state":
		t.line(0, "REFUSED by signerd itself, as things stand now (%s)", v.Code)
	case v.By == "not_checked":
		t.line(0, "REFUSED because it cannot be checked (%s)", v.Code)
	default:
		t.line(0, "REFUSED by signerd itself, whatever the policy says (%s)", v.Code)
	}
	if v.Reason != "" {
		t.line(1, "%s", v.Reason)
		t.line(1, "%s", v.Advice)
	}
	if v.Also != "" {
		t.line(1, "and besides: %s", v.Also)
	}
	if r.Decision != Refused && r.OwnBounds {
		t.line(1, "That is by its own word for what may move: whether the price is fair and the recipient right, it does not say.")
	}
	t.line(1, "policy version %s", v.PolicyVersion)
}

// signatures words the states of a signature.
var signatures = map[string]string{
	"missing": "not signed yet", "verifies": "has signed, and the signature verifies", "wrong": "has signed something else: THE SIGNATURE DOES NOT VERIFY",
}

func (t *text) identity(r Report) {
	x := r.Transaction
	t.head("What it is")
	t.line(1, "a %s, %s format, %s bytes, read as %s", r.Flow, x.Format, groupedText(strconv.Itoa(x.Bytes)), x.Encoding)
	t.line(1, "fee payer: %s", x.FeePayer)
	for _, signer := range x.Signers {
		t.line(1, "signer: %s: %s", signer.full(), signatures[signer.Signature])
	}
	if !slices.ContainsFunc(x.Signers, func(signer Signer) bool { return signer.What == "the wallet" }) {
		t.line(1, "the wallet is NOT asked to sign")
	}
	if x.ID != "" {
		t.line(1, "transaction id: %s", x.ID)
	} else {
		t.line(1, "transaction id: none until the fee payer has signed")
	}
	t.line(1, "blockhash: %s, %s", x.Blockhash.Value, blockhash(x.Blockhash))
	t.line(1, "message SHA-256: %s", x.Digest)
	t.line(1, "class: %s", class(r))
	t.guard(r.Guard)
}

func blockhash(b Blockhash) string {
	switch {
	case b.Replaced:
		return "expired (a copy with a fresh one was judged)"
	case b.State == "not_checked":
		return "not checked"
	}
	return b.State
}

func class(r Report) string {
	switch r.Class {
	case "complete":
		return "complete (known programs only: every effect follows from the bytes)"
	case "guarded":
		if r.Guard.State == "impossible" {
			return "guarded (an opaque program is called, and no guard is possible here)"
		}
		return "guarded (an opaque program is called, and the chain itself is made to enforce the bounds)"
	case "unguarded":
		return "unguarded (an opaque program is called, and only simulation speaks for it)"
	}
	return "not known (not every instruction can be explained)"
}

func (t *text) guard(g Guard) {
	switch g.State {
	case "not_needed":
		t.line(1, "guard: none is needed")
	case "impossible", "not_known":
		t.line(1, "guard: none can be added")
	case "would_be_added":
		t.line(1, "guard: one would be added, were it not refused")
	case "present":
		t.line(1, "guard: there is one in the bytes already")
	case "added":
		t.line(1, "guard: signerd adds one, %s bytes with it. The whole transaction reverts on chain unless at its end", groupedText(strconv.Itoa(g.Bytes)))
	}
	if g.Wallet != nil {
		t.line(2, "the wallet is a plain account that holds at least %s", g.Wallet)
	}
	for _, line := range g.Accounts {
		t.line(2, "%s holds at least %s, and nobody else controls it", line.Party, line.Keeps)
	}
}

func (t *text) movements(r Report) {
	t.head("What moves")
	if r.Decision == Refused {
		t.line(1, "held against: may leave: %s; must arrive: %s", amounts(r.Bounds.Out), amounts(r.Bounds.In))
	} else {
		t.line(1, "leaves at most: %s", amounts(r.Bounds.Out))
		t.line(1, "arrives at least: %s", amounts(r.Bounds.In))
	}
	switch r.Simulation.State {
	case "succeeded":
		t.line(1, "simulation, fees and rent apart: out %s; in %s", amounts(r.Simulation.Out), amounts(r.Simulation.In))
	case "failed":
		t.line(1, "simulation FAILED: %s", r.Simulation.Why)
	default:
		t.line(1, "simulation not run: %s", r.Simulation.Why)
	}
	for _, each := range r.Simulation.Control {
		t.line(1, "simulation: %s", each)
	}
	for _, payment := range r.Payments {
		who := Party{Address: payment.Recipient, What: payment.What}.full()
		if payment.Name != "" {
			who = fmt.Sprintf("%q, %s", payment.Name, payment.Recipient)
		}
		t.line(1, "pays %s to %s", payment.Amount, who)
	}
	if len(r.Payments) == 0 {
		t.line(1, "pays nobody by instructions that the bytes show")
	}
	t.cost(r.Cost, len(r.Transaction.Signers))
}

func (t *text) cost(c Cost, signers int) {
	if c.Error != "" {
		t.line(1, "fees: %s", c.Error)
		return
	}
	payer := "the wallet pays"
	if !c.PaidByWallet {
		payer = "somebody else pays"
	}
	t.line(1, "base fee: %s (%s lamports for %s); %s", c.Base, groupedText(c.Base.BaseUnits), plural(signers, "signature"), payer)
	switch {
	case c.Priority.BaseUnits == "0":
		t.line(1, "priority fee: none")
	case c.UnitPrice == "0":
		t.line(1, "priority fee: %s (%s lamports, a total that its header offers)", c.Priority, groupedText(c.Priority.BaseUnits))
	default:
		t.line(1, "priority fee: %s (%s compute units × %s millionths of a lamport = %s lamports), used or not",
			c.Priority, grouped(uint64(c.UnitLimit)), groupedText(c.UnitPrice), groupedText(c.Priority.BaseUnits))
	}
	if c.Tip.BaseUnits != "0" {
		t.line(1, "tips: %s", c.Tip)
	}
	switch {
	case !c.RentKnown:
		t.line(1, "rent: not known")
	case c.Rent.BaseUnits != "0":
		t.line(1, "rent: %s for accounts it opens, of which %s comes back", c.Rent, c.RentReturned)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func amounts(list []Amount) string {
	if len(list) == 0 {
		return "nothing"
	}
	texts := make([]string, 0, len(list))
	for _, each := range list {
		texts = append(texts, each.String())
	}
	return strings.Join(texts, " + ")
}

func (t *text) instructions(r Report) {
	t.head("Instructions")
	for _, i := range r.Instructions {
		name := i.Name
		switch {
		case name == "" && i.ProgramName != "":
			name = i.ProgramName
		case name == "":
			name = "program " + i.Program
		}
		t.line(1, "%d. %s: %s", i.Number, name, i.Text)
		if i.Memo != nil {
			t.line(3, "text written by whoever built it, not by signerd: %q%s", i.Memo.Text, flags(i.Memo.Flags))
		}
		if i.Refusal != "" {
			t.line(3, "NEVER SIGNED: %s", i.Refusal)
		}
		if i.Opaque || i.Name == "" {
			t.roles(i)
		}
		for _, call := range i.Inner {
			t.line(3, "calls %s: %s", call.Name, call.Text)
		}
	}
	if r.More > 0 {
		t.line(1, "%d more instructions are not listed", r.More)
	}
}

func flags(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// roles lists the accounts of an instruction that sign or can change.
func (t *text) roles(i Instruction) {
	const most = 16
	shown, others := 0, i.More
	seen := map[Account]bool{}
	for _, account := range i.Accounts {
		if seen[account] {
			continue
		}
		seen[account] = true
		if (!account.Signs && !account.CanChange) || shown == most {
			others++
			continue
		}
		shown++
		t.line(3, "%s: %s", role(account), account.full())
	}
	switch {
	case others == 0 || !i.Opaque:
	case shown < most && i.More == 0:
		t.line(3, "%s, only read", plural(others, "other account"))
	default:
		t.line(3, "%s", plural(others, "other account"))
	}
}

func role(account Account) string {
	switch {
	case account.Signs && account.CanChange:
		return "signs, can change"
	case account.Signs:
		return "signs"
	case account.CanChange:
		return "can change"
	}
	return "is read"
}

func (t *text) accounts(r Report) {
	t.head("What of the wallet's it can change")
	for _, account := range r.Writable {
		t.line(1, "%s", account.full())
	}
	if len(r.Writable) == 0 {
		t.line(1, "nothing that the bytes show")
	}
	if len(r.Tables) > 0 {
		t.head("Lookup tables")
	}
	for _, table := range r.Tables {
		if !table.Resolved {
			t.line(1, "%s: NOT RESOLVED: %s", table.Address, table.Why)
		} else {
			t.line(1, "%s", table.Address)
		}
		for _, entry := range table.Entries {
			change := "read"
			if entry.CanChange {
				change = "can change"
			}
			who := entry.full()
			if who == "" {
				who = "unknown"
			}
			t.line(2, "%d (%s): %s", entry.Index, change, who)
		}
	}
	if len(r.Simulation.Called) > 0 {
		t.head("Programs that others call, by the simulation")
		for _, program := range r.Simulation.Called {
			t.line(1, "%s", program.full())
		}
	}
}

func (t *text) closing(r Report) {
	if len(r.Findings) > 0 {
		t.head("Findings")
		for _, finding := range r.Findings {
			t.line(1, "%s: %s", finding.Code, finding.Text)
		}
	}
	if len(r.Caps) > 0 {
		t.head("What it counts as against the caps, at its worst")
	}
	for _, each := range r.Caps {
		if !each.Capped {
			t.line(1, "%s: NO CAP is set for it", each.Counts)
			continue
		}
		more := ""
		if each.PerDestination != nil {
			more += fmt.Sprintf(", %s to one recipient in any 24 hours", each.PerDestination)
		}
		if each.Ceiling != nil {
			more += fmt.Sprintf(", and never more than %s at once", each.Ceiling)
		}
		t.line(1, "%s, of %s per transaction, %s per session, %s in any 24 hours%s", each.Counts, each.PerTransaction, each.PerSession, each.PerDay, more)
	}
	if len(r.Assumed) > 0 {
		t.head("Assumed")
		for _, each := range r.Assumed {
			t.line(1, "%s", each)
		}
	}
	t.head("Not looked at")
	for _, each := range r.NotChecked {
		t.line(1, "%s", each)
	}
}
