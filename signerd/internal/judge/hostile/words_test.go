package hostile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
)

// uncapped lets tokens be paid to anybody.
var uncapped = []string{`new = "human"`, `new = "confirm"`, "[network]\n", "allow_uncapped_tokens = true\n[network]\n"}

// pays is a proposal that pays units of the token to the thief.
func (s *scene) pays(units amount.Units) flow.Proposed {
	p := flow.Proposed{
		Session: "s", Tool: "solana_transfer", Flow: effects.Transfer,
		Arguments: fmt.Sprintf(`{"amount":%q,"mint":%q,"to":%q}`, units.Decimal(s.token.decimals), s.token.mint, thief),
		Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{s.token.mint: units}, MaxFee: 2 * fee, Recipients: []solana.PublicKey{thief},
		},
		Transactions: [][]byte{decodetest.Legacy(wallet, s.blockhash(), s.token.moves(s.token.ofWallet, s.token.loot, wallet, uint64(units))).Marshal()},
	}
	p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
	return p
}

// TestDecimalsAreNoOneNodesWord: one node tells, of the wallet's token alone or
// along with other accounts, that it has other digits behind the point, so that
// a person would be shown another amount than leaves.
func TestDecimalsAreNoOneNodesWord(t *testing.T) {
	s := startScene(t)
	s.besideHonest(t, uncapped, func(s *scene) {
		asked := 0
		s.shows(s.token.mint, func(account json.RawMessage) json.RawMessage {
			var fields map[string]json.RawMessage
			var data []string
			// The first question is the flow's own, to all nodes, about the decimals.
			if asked++; asked == 1 || json.Unmarshal(account, &fields) != nil || json.Unmarshal(fields["data"], &data) != nil {
				return account
			}
			raw, _ := base64.StdEncoding.DecodeString(data[0])
			raw[44] = 2
			fields["data"], _ = json.Marshal([]string{base64.StdEncoding.EncodeToString(raw), "base64"})
			changed, _ := json.Marshal(fields)
			return changed
		})
		verdict, err := s.flow.Propose(s.t.Context(), s.pays(5000))
		if err != nil {
			if !fault.Is(err, fault.RPCBadAnswer) {
				s.t.Error(err)
			}
			return
		}
		if verdict.Refused != nil {
			s.t.Fatalf("refused: %v", verdict.Refused)
		}
		for _, change := range verdict.Effects[0].Changes() {
			if change.Mint == s.token.mint && change.Decimals != s.token.decimals {
				s.t.Errorf("%s of the token leave, and %s are told", change.Out.Decimal(s.token.decimals), change.Out.Decimal(change.Decimals))
			}
		}
	})
}

// TestOneNodeDoesNotMakeItLanded: one node says of a payment that nobody has
// signed yet that it is on chain already, so that it is believed to be made.
func TestOneNodeDoesNotMakeItLanded(t *testing.T) {
	s := startScene(t)
	for _, failure := range []string{`"AlreadyProcessed"`, `"BlockhashNotFound"`} {
		s.besideHonest(t, uncapped, func(s *scene) {
			lies := func(_, result json.RawMessage) json.RawMessage {
				var answer map[string]json.RawMessage
				var value map[string]json.RawMessage
				_ = json.Unmarshal(result, &answer)
				_ = json.Unmarshal(answer["value"], &value)
				value["err"] = json.RawMessage(failure)
				answer["value"], _ = json.Marshal(value)
				changed, _ := json.Marshal(answer)
				return changed
			}
			verdict, err := s.flow.Propose(s.t.Context(), s.pays(5000))
			check(s.t, err)
			if verdict.Refused != nil {
				s.t.Fatal(verdict.Refused)
			}
			s.node.tells("simulateTransaction", lies)
			p := s.pays(5000)
			receipt, err := s.flow.Execute(s.t.Context(), flow.Confirmed{Session: "s", Code: verdict.Code, Fingerprint: p.Fingerprint, Transactions: p.Transactions}, ignore)
			check(s.t, err)
			if receipt.Outcome != flow.NothingSent || receipt.Fault == nil {
				s.t.Fatalf("outcome %s, %+v", receipt.Outcome, receipt.Fault)
			}
			if receipt.Fault.Code == fault.AlreadyLanded {
				s.t.Errorf("nothing was sent, and the receipt says: %s", receipt.Fault.Message)
			}
		})
	}
}

// TestOneNodeHidesNoTheftBehindAPrice: one node says that the price has moved,
// or that there is too little money, of what the other shows to be a theft.
// Callers try again after the one, and must not after the other.
func TestOneNodeHidesNoTheftBehindAPrice(t *testing.T) {
	s := startScene(t)
	theft := fill(walletAttacks())[0]
	for _, failure := range []string{`"InsufficientFundsForFee"`, `"BlockhashNotFound"`, `"AlreadyProcessed"`} {
		s.besideHonest(t, nil, func(s *scene) {
			s.raise()
			s.node.tells("simulateTransaction", func(_, result json.RawMessage) json.RawMessage {
				var answer, value map[string]json.RawMessage
				_ = json.Unmarshal(result, &answer)
				_ = json.Unmarshal(answer["value"], &value)
				value["err"] = json.RawMessage(failure)
				answer["value"], _ = json.Marshal(value)
				changed, _ := json.Marshal(answer)
				return changed
			})
			verdict, err := s.flow.Propose(s.t.Context(), s.proposal(theft))
			check(s.t, err)
			if verdict.Refused == nil || verdict.Refused.Class() != fault.AuthorizationRejected {
				s.t.Errorf("%s: the verdict is %v, want what the honest node shows", failure, verdict.Refused)
			}
		})
	}
}
