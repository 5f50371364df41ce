package hostile

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"countersign/shared/solana"
	"countersign/signerd/internal/flow"
)

// inventsTrade makes the node tell of every simulation that it was the trade
// that was agreed, and that no program called another.
func (s *scene) inventsTrade() {
	s.node.tells("simulateTransaction", func(params, result json.RawMessage) json.RawMessage {
		var asked struct {
			Accounts struct{ Addresses []string }
		}
		var answer struct {
			Context json.RawMessage            `json:"context"`
			Value   map[string]json.RawMessage `json:"value"`
		}
		// The first parameter is the transaction, a text.
		var pair [2]json.RawMessage
		if json.Unmarshal(params, &pair) != nil || json.Unmarshal(pair[1], &asked) != nil || json.Unmarshal(result, &answer) != nil {
			return result
		}
		answer.Value["err"] = json.RawMessage("null")
		answer.Value["innerInstructions"] = json.RawMessage("[]")
		answer.Value["accounts"] = s.asTraded(asked.Accounts.Addresses)
		changed, _ := json.Marshal(answer) // What was parsed can be written.
		return changed
	})
}

// asTraded are accounts as they would be after the trade.
func (s *scene) asTraded(addresses []string) json.RawMessage {
	seen, err := s.eye.Snapshot(s.t.Context(), addresses...)
	if err != nil {
		return json.RawMessage("null")
	}
	told := make([]any, len(addresses))
	for i, address := range addresses {
		account, exists := seen[address]
		if !exists {
			continue
		}
		switch solana.MustPublicKey(address) {
		case wallet:
			account.Lamports -= price + fee
		case s.token.ofWallet:
			amount := account.Data[64:]
			binary.LittleEndian.PutUint64(amount, binary.LittleEndian.Uint64(amount)+bought)
		}
		told[i] = map[string]any{
			"lamports": account.Lamports, "owner": account.Owner, "executable": false, "rentEpoch": 0, "space": len(account.Data),
			"data": []string{base64.StdEncoding.EncodeToString(account.Data), "base64"},
		}
	}
	raw, _ := json.Marshal(told) // Plain values can be written.
	return raw
}

// TestLyingSimulationChangesNothing: the node invents that each attack is an
// honest trade, and sends what it is given without looking.
func TestLyingSimulationChangesNothing(t *testing.T) {
	s := startScene(t)
	for _, a := range fill(attacks()) {
		if a.unseen != undone {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			s := s.with(t, a.token)
			s.reset()
			a.on(s)
			s.inventsTrade()
			s.node.springs(func() {})
			s.demandsUndoing(s.confirms(a))
		})
	}
}

// TestInventedTradeIsBelieved: an attack is undone because the guard is there, and not
// because the lie was too bad to be believed.
func TestInventedTradeIsBelieved(t *testing.T) {
	s := startScene(t)
	a := fill(walletAttacks())[0]
	s.reset()
	s.inventsTrade()
	s.lower()
	before := s.estateIn(s.belongings())
	receipt, err := s.flow.Execute(t.Context(), s.confirms(a), ignore)
	check(t, err)
	if got, want := s.estateIn(s.belongings()), before.traded(); receipt.Outcome != flow.Landed || got != want {
		t.Errorf("outcome %s, the wallet has %+v, want %+v", receipt.Outcome, got, want)
	}
}
