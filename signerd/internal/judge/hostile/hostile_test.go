package hostile

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
)

// estate is what the wallet has in its own hands.
type estate struct{ lamports, wrapped, tokens uint64 }

// traded is the estate after the trade that was agreed, and nothing else.
func (e estate) traded() estate {
	return estate{e.lamports - price - fee, e.wrapped, e.tokens + bought}
}

// estateIn reads it from the chain. What is not a plain account any more, or
// belongs to somebody else, is out of the wallet's hands.
func (s *scene) estateIn(seen observer.Snapshot) estate {
	s.t.Helper()
	var e estate
	if account := seen[wallet.String()]; account.Owner == solana.SystemProgram.String() && len(account.Data) == 0 {
		e.lamports = account.Lamports
	}
	for _, key := range []solana.PublicKey{wrapped, s.token.ofWallet, s.token.second} {
		account, exists := seen[key.String()]
		if !exists {
			continue
		}
		token, err := observer.ParseTokenAccount(account)
		check(s.t, err)
		switch {
		case token.Owner != wallet.String():
		case key == wrapped:
			e.wrapped += token.Amount
		default:
			e.tokens += token.Amount
		}
	}
	return e
}

// thiefActs sends what the thief alone signs, and says why it failed.
func (s *scene) thiefActs(a attack) string {
	s.t.Helper()
	return s.send(thiefKey, decodetest.Legacy(thief, s.blockhash(), a.afterwards...).Marshal())
}

// script is the whole program call of an attack.
func (a attack) script() *script {
	units := a.units
	if units == 0 {
		units = bought
	}
	p := a.token.trade(units, a.further...).stopsUnlessRaised()
	a.harm(p)
	return p
}

func (s *scene) build(a attack) []byte {
	s.t.Helper()
	return decodetest.Legacy(wallet, s.blockhash(), a.script().call()).Marshal()
}

// proposal is what an honest caller asks for: the price out, the tokens in.
func (s *scene) proposal(a attack) flow.Proposed {
	s.t.Helper()
	p := flow.Proposed{
		Session: "s_hostile", Tool: "bags_execute_trade", Flow: effects.Swap,
		Arguments: fmt.Sprintf(`{"amount":"0.05","input_mint":%q,"output_mint":%q,"slippage_bps":100}`, solana.WrappedSOL, a.token.mint),
		Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: price},
			MinIn:  map[solana.PublicKey]amount.Units{a.token.mint: bought},
			MaxFee: 2 * fee, Programs: []solana.PublicKey{scriptable},
		},
		Transactions: [][]byte{s.build(a)},
	}
	p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
	return p
}

func fill(list []attack) []attack {
	for i := range list {
		if list[i].token.mint == (solana.PublicKey{}) {
			list[i].token = plain
		}
		if list[i].on == nil {
			list[i].on, list[i].off = (*scene).raise, (*scene).lower
		}
	}
	return list
}

// TestHostilePrograms is the table. Each attack is shown to rob the wallet
// when nobody judges, to be refused when simulation shows it, and to bring the
// thief nothing when the program behaves for as long as it is simulated: bait
// and switch. Then the chain undoes it all and the receipt says so, unless the
// attack says otherwise.
func TestHostilePrograms(t *testing.T) {
	s := startScene(t)
	for _, a := range fill(attacks()) {
		t.Run(a.name, func(t *testing.T) {
			t.Run("robs without a guard", func(t *testing.T) { s.with(t, a.token).robs(a) })
			if a.unseen != later {
				t.Run("is refused where simulation shows it", func(t *testing.T) { s.with(t, a.token).refused(a) })
			}
			t.Run("brings nothing where simulation does not show it", func(t *testing.T) { s.with(t, a.token).unseen(a) })
		})
	}
}

// robs sends what nobody judged and demands the loss.
func (s *scene) robs(a attack) {
	s.t.Helper()
	s.reset()
	a.on(s)
	before := s.estateIn(s.belongings())
	if failure := s.send(walletKey, s.build(a)); failure != "" {
		s.t.Fatalf("the attack fails on chain by itself, so that refusing it proves nothing: %s", failure)
	}
	if a.stuck != nothing {
		s.isStuck(a)
	}
	if a.afterwards != nil {
		if failure := s.thiefActs(a); failure != "" {
			s.t.Errorf("what the thief does afterwards fails: %s", failure)
		}
	}
	honest, after := before.traded(), s.estateIn(s.belongings())
	if got := (estate{honest.lamports - after.lamports, honest.wrapped - after.wrapped, honest.tokens - after.tokens}); got != a.loss {
		s.t.Errorf("the wallet lost %+v, want %+v", got, a.loss)
	}
}

// isStuck demands that the wallet cannot move what is still called its own.
func (s *scene) isStuck(a attack) {
	s.t.Helper()
	move := decodetest.Transfer(wallet, thief, 1_000_000)
	if a.stuck == itsTokens {
		move = s.token.moves(s.token.ofWallet, s.token.loot, wallet, 1)
	}
	tx := decodetest.Legacy(wallet, s.blockhash(), move)
	var answer struct {
		Value struct{ Err any }
	}
	check(s.t, s.rpc.Call(s.t.Context(), "simulateTransaction", []any{base64.StdEncoding.EncodeToString(tx.Marshal()), map[string]any{"encoding": "base64"}}, &answer))
	if answer.Value.Err == nil {
		s.t.Errorf("the wallet can still move what should be stuck")
	}
}

// refused proposes the attack as it is and demands a no, and that nothing
// happened.
func (s *scene) refused(a attack) {
	s.t.Helper()
	s.reset()
	a.on(s)
	s.demandsRefusal(a)
}

func (s *scene) demandsRefusal(a attack) {
	s.t.Helper()
	before, sent := s.belongings(), s.history()
	verdict, err := s.flow.Propose(s.t.Context(), s.proposal(a))
	check(s.t, err)
	switch {
	case verdict.Refused == nil || verdict.Code != "":
		s.t.Fatalf("not refused: tier %s, effects %+v", verdict.Tier, verdict.Effects[0].Changes())
	case verdict.Refused.Class() != fault.AuthorizationRejected && verdict.Refused.Code != fault.PriceMoved:
		s.t.Errorf("refused with %v, which is not a no", verdict.Refused)
	case verdict.Refused.Message == "":
		s.t.Error("refused without a reason")
	}
	if changes := observer.Diff(before, s.belongings()); len(changes) > 0 || s.history() != sent {
		s.t.Errorf("it was refused, and yet: %v, %d more transactions", changes, s.history()-sent)
	}
}

// unseen has the program behave until the transaction is handed to the node,
// and demands what the attack says of that.
func (s *scene) unseen(a attack) {
	s.t.Helper()
	s.reset()
	a.off(s)
	if a.unseen == refused {
		s.demandsRefusal(a)
		return
	}
	confirmed := s.confirms(a)
	s.node.springs(func() { a.on(s) })
	if a.unseen == undone {
		s.demandsUndoing(confirmed)
		return
	}
	want := s.estateIn(s.belongings()).traded()
	receipt, err := s.flow.Execute(s.t.Context(), confirmed, ignore)
	check(s.t, err)
	if got := s.estateIn(s.belongings()); receipt.Outcome != flow.Landed || got != want {
		s.t.Errorf("outcome %s, the wallet has %+v, want %+v", receipt.Outcome, got, want)
	}
	if a.unseen == wiped {
		s.demandsNothingLeft(a)
	}
}

// demandsNothingLeft has the thief try to use what was handed to him.
func (s *scene) demandsNothingLeft(a attack) {
	s.t.Helper()
	before := s.estateIn(s.belongings())
	if failure := s.thiefActs(a); failure == "" {
		s.t.Error("the thief can use what was handed to him")
	}
	if got := s.estateIn(s.belongings()); got != before {
		s.t.Errorf("the wallet has %+v, had %+v", got, before)
	}
}

// confirms proposes and returns what confirms the proposal.
func (s *scene) confirms(a attack) flow.Confirmed {
	s.t.Helper()
	p := s.proposal(a)
	verdict, err := s.flow.Propose(s.t.Context(), p)
	check(s.t, err)
	if verdict.Refused != nil || verdict.Code == "" {
		s.t.Fatalf("the bait was refused, so the switch proves nothing: %v", verdict.Refused)
	}
	if class := verdict.Effects[0].Class(); class != effects.Guarded {
		s.t.Errorf("class %s, want guarded", class)
	}
	if findings := verdict.Effects[0].Findings(); a.warned != "" && !slices.ContainsFunc(findings, func(f effects.Finding) bool { return f.Code == a.warned }) {
		s.t.Errorf("findings %v, want %s among them", findings, a.warned)
	}
	return flow.Confirmed{Session: p.Session, Code: verdict.Code, Fingerprint: p.Fingerprint, Transactions: [][]byte{s.build(a)}}
}

func (s *scene) demandsUndoing(confirmed flow.Confirmed) {
	s.t.Helper()
	before, sent := s.belongings(), s.history()
	receipt, err := s.flow.Execute(s.t.Context(), confirmed, ignore)
	check(s.t, err)
	if receipt.Outcome != flow.LandedFailed || receipt.Fault == nil || receipt.Fault.Code != fault.FailedOnChain {
		s.t.Fatalf("outcome %s, fault %+v, changes %+v: the thief got through, or nothing was tried", receipt.Outcome, receipt.Fault, receipt.Transactions)
	}
	for _, words := range []string{"only its fee was spent", "the guard found that the wallet", "the chain undid the whole transaction"} {
		if !strings.Contains(receipt.Fault.Message, words) {
			s.t.Errorf("the receipt says %q, and not %q", receipt.Fault.Message, words)
		}
	}
	if s.history() != sent+1 {
		s.t.Errorf("%d transactions of the wallet landed, want 1", s.history()-sent)
	}
	s.onlyFeeIsGone(before)
}

// onlyFeeIsGone compares everything that the wallet and the thief have. The
// mint is the maker's to change.
func (s *scene) onlyFeeIsGone(before observer.Snapshot) {
	s.t.Helper()
	changes := slices.DeleteFunc(observer.Diff(before, s.belongings()), func(c observer.Change) bool {
		return c.Address == s.token.mint.String()
	})
	if len(changes) == 1 && changes[0].Address == wallet.String() && changes[0].After != nil {
		out, in := changes[0].Lamports()
		if out == fee && in == 0 && changes[0].After.Owner == changes[0].Before.Owner && len(changes[0].After.Data) == 0 {
			return
		}
	}
	s.t.Errorf("more changed than the wallet's fee of %d: %v", fee, changes)
}

// TestPreflightStopsWhatItSees: a node that looks once more before it sends
// refuses, and then it costs nothing at all. Its word is no proof, so nobody
// is told of a failure before the transaction can no longer land.
func TestPreflightStopsWhatItSees(t *testing.T) {
	s := startScene(t)
	a := fill(walletAttacks())[0]
	s.reset()
	a.off(s)
	confirmed := s.confirms(a)
	s.node.first("sendTransaction", func() { a.on(s) })
	before, sent := s.belongings(), s.history()
	receipt, err := s.flow.Execute(t.Context(), confirmed, ignore)
	check(t, err)
	if receipt.Outcome != flow.NothingSent && receipt.Outcome != flow.Unknown {
		t.Errorf("outcome %s, fault %+v", receipt.Outcome, receipt.Fault)
	}
	for _, transaction := range receipt.Transactions {
		if transaction.Error != nil && strings.Contains(transaction.Error.Text, "undid") {
			t.Errorf("the chain undid nothing, and the receipt says %q", transaction.Error.Text)
		}
	}
	if changes := observer.Diff(before, s.belongings()); len(changes) > 0 || s.history() != sent {
		t.Errorf("nothing was sent, and yet: %v, %d more transactions", changes, s.history()-sent)
	}
}

func ignore(flow.Progress) {}
