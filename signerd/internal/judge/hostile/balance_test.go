package hostile

import (
	"encoding/json"
	"testing"

	"countersign/shared/fault"
	"countersign/signerd/internal/decode/decodetest"
)

// hidden is what a lying node says the wallet does not have.
const hidden = 1_000_000_000

// liesAboutBalance makes the node tell of a poorer wallet in every answer that
// says how much it has, so that a theft of the difference looks like none.
func (s *scene) liesAboutBalance() {
	s.node.tells("getBalance", func(_, result json.RawMessage) json.RawMessage {
		var answer struct {
			Context json.RawMessage `json:"context"`
			Value   uint64          `json:"value"`
		}
		if json.Unmarshal(result, &answer) != nil || answer.Value < hidden {
			return result
		}
		answer.Value -= hidden
		changed, _ := json.Marshal(answer) // What was parsed can be written.
		return changed
	})
	s.node.tells("getMultipleAccounts", func(_, result json.RawMessage) json.RawMessage {
		var answer struct {
			Context json.RawMessage   `json:"context"`
			Value   []json.RawMessage `json:"value"`
		}
		if json.Unmarshal(result, &answer) != nil {
			return result
		}
		for i, account := range answer.Value {
			answer.Value[i] = poorer(account)
		}
		changed, _ := json.Marshal(answer)
		return changed
	})
}

// poorer changes the one account that has just what the wallet has.
func poorer(account json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(account, &fields) != nil || string(fields["lamports"]) != "2000000000" {
		return account
	}
	fields["lamports"] = json.RawMessage("1000000000")
	changed, _ := json.Marshal(fields)
	return changed
}

// TestOneHonestNodeIsEnough: a node that hides half of what the wallet has
// lowers what the guard asserts by as much, and a program that behaves in
// simulation can take it. Alone the node gets through with that, which shows
// that the loss is real; beside one honest node it does not.
func TestOneHonestNodeIsEnough(t *testing.T) {
	theft := fill([]attack{{
		name: "take what the node hides", further: []decodetest.Meta{decodetest.W(thief)},
		harm: func(p *script) { p.does(decodetest.Transfer(wallet, thief, hidden)) },
	}})[0]
	s := startScene(t)
	t.Run("the liar alone", func(t *testing.T) {
		s := s.with(t, plain)
		s.reset()
		s.liesAboutBalance()
		s.lower()
		confirmed := s.confirms(theft)
		s.node.springs(s.raise)
		receipt, err := s.flow.Execute(t.Context(), confirmed, ignore)
		check(t, err)
		want := estate{startLamports - price - fee - hidden, startWrapped, 2*startTokens + bought}
		if got := s.estateIn(s.belongings()); got != want {
			t.Errorf("the wallet has %+v, want %+v; outcome %s: this attack attacks nothing", got, want, receipt.Outcome)
		}
	})
	t.Run("beside an honest one, refused", func(t *testing.T) {
		s := s.with(t, plain)
		s.flow = s.startSigner(s.node.url, s.net.RPCURL)
		s.reset()
		s.liesAboutBalance()
		before := s.belongings()
		verdict, err := s.flow.Propose(t.Context(), s.proposal(theft))
		check(t, err)
		if verdict.Refused == nil || verdict.Refused.Class() != fault.AuthorizationRejected {
			t.Errorf("the verdict is %v, want a refusal", verdict.Refused)
		}
		if changed := s.belongings(); s.estateIn(changed) != s.estateIn(before) {
			t.Errorf("the wallet has %+v, had %+v", s.estateIn(changed), s.estateIn(before))
		}
	})
	t.Run("beside an honest one, undone", func(t *testing.T) {
		s := s.with(t, plain)
		s.flow = s.startSigner(s.node.url, s.net.RPCURL)
		s.reset()
		s.liesAboutBalance()
		s.lower()
		confirmed := s.confirms(theft)
		s.node.springs(s.raise)
		s.demandsUndoing(confirmed)
	})
}
