package explain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
	"countersign/signerd/internal/policy"
)

// report puts together what was found.
func (s *study) report() Report {
	r := Report{
		Transaction: s.transaction(), Flow: s.Flow.String(), Class: s.class(), Guard: s.guard(), Bounds: s.viewBounds(), OwnBounds: s.ownBounds,
		Simulation: s.viewSimulation(), Payments: s.viewPayments(), Cost: s.cost(), Writable: s.writable(),
		Tables: s.viewTables(), Findings: s.findings(), Caps: s.caps(),
	}
	r.Decision, r.Verdict = s.verdict()
	r.Instructions, r.More = s.instructions()
	r.Assumed, r.NotChecked = s.assumptions(), s.notChecked()
	return r
}

// verdict says who decides and how. A refusal that the bytes earn by
// themselves goes before one for want of an answer.
func (s *study) verdict() (string, Verdict) {
	v := Verdict{Rules: []string{}, PolicyVersion: s.Policy.Version()}
	if err := s.refusal(); err != nil {
		found := fault.From(err)
		v.By, v.Code, v.Reason, v.Advice = "builtin", string(found.Code), s.reason(err), found.Code.Advice().Hint
		if class := found.Class(); class == fault.Operational {
			v.By = "not_checked"
		} else if class == fault.Conflict {
			v.By = "state"
		}
		if s.also != nil && s.reason(s.also) != v.Reason {
			v.Also = s.reason(s.also)
		}
		return Refused, v
	}
	v.By, v.Tier, v.Rules = "policy", s.decision.Tier().String(), s.decision.Rules()
	why := s.decision.Fault()
	if why == nil {
		return Allowed, v
	}
	v.Code, v.Reason, v.Advice = string(why.Code), clean(why.Message, untrusted.Finding), why.Code.Advice().Hint
	if s.decision.Tier() == policy.Deny {
		return Refused, v
	}
	return NeedsPerson, v
}

// refusal is why signerd refuses before any policy is asked.
func (s *study) refusal() error {
	switch {
	case s.refused != nil && fault.From(s.refused).Class() == fault.Validation:
		return s.refused
	case s.refused != nil || s.offline != nil:
		if err := s.ownRefusal(); err != nil {
			return err
		}
		return cmp.Or(s.refused, s.offline)
	case s.failed != nil:
		return s.failed
	case !s.decision.Stamped():
		return fault.New(fault.Internal, "no decision was made")
	}
	return nil
}

// ownRefusal is the first instruction that no state of the chain makes good.
func (s *study) ownRefusal() error {
	for _, i := range s.reading.Instructions[:s.guardStart()] {
		if i.Err != nil && !s.namesUnresolved(i.Instruction) {
			return i.Err
		}
		if i.Refusal != "" {
			return fault.New(fault.TransactionRefused, "instruction %d (%s): %s", i.Index+1, i.Name, i.Refusal)
		}
	}
	return nil
}

// guardStart is where a guard begins, or the end.
func (s *study) guardStart() int {
	if !s.tx.Stamped() {
		return len(s.reading.Instructions)
	}
	return guard.Recognise(s.tx).Start
}

func (s *study) transaction() Transaction {
	message := s.wire.Message.Marshal()
	digest := sha256.Sum256(message)
	t := Transaction{
		Format: s.wire.Message.Version.String(), Bytes: len(s.Input.Raw), Encoding: s.Input.Encoding,
		Digest: hex.EncodeToString(digest[:]), FeePayer: s.party(s.wire.Message.Keys[0]),
		Blockhash: Blockhash{Value: s.parsed.Blockhash().String(), State: "not_checked", Replaced: s.replaced},
	}
	if id := s.wire.ID(); !id.IsZero() {
		t.ID = id.String()
	}
	switch {
	case s.checkedHash && s.valid:
		t.Blockhash.State = "valid"
	case s.checkedHash:
		t.Blockhash.State = "expired"
	}
	for i, signature := range s.wire.Signatures {
		key := s.wire.Message.Keys[i]
		signer := Signer{Party: s.party(key), Signature: "wrong"}
		switch {
		case signature.IsZero():
			signer.Signature = "missing"
		case key.Verify(message, signature):
			signer.Signature = "verifies"
		}
		t.Signers = append(t.Signers, signer)
	}
	return t
}

const unknownClass = "unknown"

// class is the judge's, or what it would be by the programs and signers.
func (s *study) class() string {
	if s.judged.Stamped() {
		return s.judged.Effects().Class().String()
	}
	opaque, unread := false, false
	for _, i := range s.reading.Instructions {
		opaque = opaque || i.Kind == decode.Opaque
		unread = unread || (i.Err != nil && !s.namesUnresolved(i.Instruction))
	}
	switch {
	case unread:
		return unknownClass
	case !opaque:
		return effects.Complete.String()
	case len(s.wire.Signatures) == 1 && s.wire.Message.Keys[0] == s.Wallet:
		return effects.Guarded.String()
	}
	return effects.Unguarded.String()
}

func (s *study) guard() Guard {
	if !s.judged.Stamped() {
		return s.expectedGuard()
	}
	final := s.judged.Tx()
	found := guard.Recognise(final)
	if s.judged.Effects().Class() != effects.Guarded {
		return Guard{State: map[bool]string{true: "not_needed", false: "impossible"}[s.judged.Effects().Class() == effects.Complete]}
	}
	floor := sol(found.Floor)
	g := Guard{State: "added", Bytes: len(final.Raw()), Wallet: &floor}
	if bytes.Equal(final.Raw(), s.tx.Raw()) {
		g.State = "present"
	}
	for _, line := range found.Lines {
		g.Accounts = append(g.Accounts, GuardLine{Party: s.party(line.Account), Keeps: s.amount(line.Mint, line.Least)})
	}
	return g
}

const wouldBeAdded = "would_be_added"

// expectedGuard is said of a transaction that got no further.
func (s *study) expectedGuard() Guard {
	switch s.class() {
	case unknownClass:
		return Guard{State: "not_known"}
	case effects.Complete.String():
		return Guard{State: "not_needed"}
	case effects.Unguarded.String():
		return Guard{State: "impossible"}
	}
	if fault.Is(s.failed, fault.GuardImpossible) {
		return Guard{State: "impossible"}
	}
	if s.tx.Stamped() && guard.Recognise(s.tx).Present() {
		return Guard{State: "present"}
	}
	return Guard{State: wouldBeAdded}
}

// amounts lists what a map holds, SOL first.
func (s *study) amounts(units map[solana.PublicKey]amount.Units) []Amount {
	list := []Amount{}
	for _, mint := range slices.SortedFunc(maps.Keys(units), solana.PublicKey.Compare) {
		list = append(list, s.amount(mint, units[mint]))
	}
	return list
}

func (s *study) parties(keys []solana.PublicKey) []Party {
	list := []Party{}
	for _, key := range keys {
		list = append(list, s.party(key))
	}
	return list
}

func (s *study) viewBounds() Bounds {
	return Bounds{
		Out: s.amounts(s.bounds.MaxOut), In: s.amounts(s.bounds.MinIn), MaxFee: sol(s.bounds.MaxFee), MaxRent: sol(s.bounds.MaxRent),
		Programs: s.parties(s.bounds.Programs), Recipients: s.parties(s.bounds.Recipients),
	}
}

func (s *study) viewPayments() []Payment {
	list := []Payment{}
	for _, each := range s.payments() {
		if len(list) == mostInstructions {
			break
		}
		view := Payment{Recipient: each.recipient.String(), Name: s.recipientName(each.recipient), Amount: s.amount(each.mint, each.units)}
		if party := s.party(each.recipient); view.Name == "" {
			view.Recipient, view.What = party.Address, party.What
		}
		list = append(list, view)
	}
	return list
}

// cost is the judge's where there is a judgement: a guard can raise the fee.
func (s *study) cost() Cost {
	fee, tip := s.reading.Fee, s.tips()
	rent, known := s.bounds.MaxRent, s.offline == nil
	c := Cost{PaidByWallet: fee.ByWallet}
	returned := amount.Units(0)
	for _, i := range s.reading.Instructions {
		if i.Kind == decode.TokenClose && i.To == s.Wallet {
			returned = add(returned, s.rent[i.From])
		}
	}
	if s.judged.Stamped() {
		found := s.judged.Effects()
		fee, tip, rent, returned = s.judged.Tx().Fee(), found.Tip(), found.Rent(), found.RentReturned()
	}
	if s.reading.FeeErr != nil && !s.judged.Stamped() {
		c.Error = s.reason(s.reading.FeeErr)
	}
	c.Base, c.Priority, c.Tip = sol(fee.Base), sol(fee.Priority), sol(tip)
	c.UnitLimit, c.UnitPrice = fee.UnitLimit, fmt.Sprintf("%d", fee.UnitPrice)
	c.Rent, c.RentReturned, c.RentKnown = sol(rent), sol(returned), known
	return c
}

// writable lists what of the wallet's the transaction can change.
func (s *study) writable() []Account {
	list := []Account{}
	for _, account := range s.reading.Accounts {
		if _, own := s.own[account.Key]; account.Writable && (own || account.Key == s.Wallet) {
			list = append(list, s.account(account))
		}
	}
	return list
}

func (s *study) viewTables() []Table {
	var list []Table
	for _, lookup := range s.parsed.Lookups() {
		table := Table{Address: lookup.Table.String(), Resolved: s.unread[lookup.Table] == nil, Entries: []TableEntry{}}
		if err := s.unread[lookup.Table]; err != nil {
			table.Why = s.reason(err)
		}
		for _, part := range []struct {
			indexes  []uint8
			writable bool
		}{{lookup.Writable, true}, {lookup.Readonly, false}} {
			for _, index := range part.indexes {
				entry := TableEntry{Index: index, CanChange: part.writable}
				if addresses := s.tables[lookup.Table]; int(index) < len(addresses) {
					entry.Party = s.party(addresses[index])
				}
				table.Entries = append(table.Entries, entry)
			}
		}
		list = append(list, table)
	}
	return list
}

func (s *study) findings() []Finding {
	list := []Finding{}
	if !s.judged.Stamped() {
		return list
	}
	for _, each := range s.judged.Effects().Findings() {
		list = append(list, Finding{Code: each.Code, Text: clean(each.Text, untrusted.Finding)})
	}
	return list
}

// caps lists what the judged transaction counts as, asset by asset.
func (s *study) caps() []Cap {
	list := []Cap{}
	if !s.judged.Stamped() {
		return list
	}
	charge := s.judged.Charge()
	for _, mint := range slices.SortedFunc(maps.Keys(charge), solana.PublicKey.Compare) {
		view := Cap{Counts: s.amount(mint, charge[mint])}
		if asset, capped := s.Policy.Cap(mint); capped {
			transaction, session, day := s.amount(mint, asset.PerTransaction), s.amount(mint, asset.PerSession), s.amount(mint, asset.PerDay)
			view.Capped, view.PerTransaction, view.PerSession, view.PerDay = true, &transaction, &session, &day
			view.PerDestination, view.Ceiling = s.optional(mint, asset.PerDestination), s.optional(mint, asset.Ceiling)
		}
		list = append(list, view)
	}
	return list
}

func (s *study) optional(mint solana.PublicKey, units *amount.Units) *Amount {
	if units == nil {
		return nil
	}
	view := s.amount(mint, *units)
	return &view
}

// assumptions are what was not given, and what was changed in the copy that
// was judged.
func (s *study) assumptions() []string {
	list := []string{}
	if s.replaced {
		list = append(list, "the blockhash has expired: a copy with a fresh one was judged, as whoever builds the transaction would make one")
	}
	if _, signed := s.walletSignature(); signed && s.tx.Stamped() {
		list = append(list, "the wallet has signed already: what follows was read from a copy without its signature")
	}
	return append(list, s.assumed...)
}

func (s *study) notChecked() []string {
	list := []string{}
	if s.offline != nil {
		list = append(list, "the chain: "+s.reason(s.offline))
	}
	for _, lookup := range s.parsed.Lookups() {
		if err := s.unread[lookup.Table]; err != nil && s.offline == nil {
			list = append(list, "the addresses in a lookup table: "+s.reason(err))
		}
	}
	if s.offline == nil && s.simulationState() == notRun {
		list = append(list, "what it would do, by simulation: "+s.reason(s.unsimulated))
	}
	if len(list) > 0 {
		list = append(list, "what cannot be checked is refused, whatever else is right")
	}
	if s.Book == nil {
		list = append(list, "the address book: no running signerd was asked, so only recipients.allow of the policy counts as known")
	}
	if len(s.Policy.Rules()) > 0 {
		list = append(list, "rules about clients: nobody asks here, so no rule that names a client applies")
	}
	return append(list, "limits used so far are not looked at, and decided as if nothing was used; see signerd limits")
}
