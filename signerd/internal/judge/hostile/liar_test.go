package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/policy"
)

// besideHonest runs a test with the thief's node and an honest one, in either
// order. edits are replacements in the policy.
func (s *scene) besideHonest(t *testing.T, edits []string, test func(*scene)) {
	t.Helper()
	for name, nodes := range map[string][]string{
		"liar first": {s.node.url, s.net.RPCURL}, "liar last": {s.net.RPCURL, s.node.url},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t, plain)
			s.flow = s.startSignerWith(edits, nodes...)
			s.reset()
			test(s)
		})
	}
}

// shows changes what the thief's node shows of one account.
func (s *scene) shows(key solana.PublicKey, change func(account json.RawMessage) json.RawMessage) {
	s.node.tells("getMultipleAccounts", func(params, result json.RawMessage) json.RawMessage {
		var asked []json.RawMessage
		var keys []string
		var answer struct {
			Context json.RawMessage   `json:"context"`
			Value   []json.RawMessage `json:"value"`
		}
		if json.Unmarshal(params, &asked) != nil || json.Unmarshal(asked[0], &keys) != nil || json.Unmarshal(result, &answer) != nil {
			return result
		}
		if i := slices.Index(keys, key.String()); i >= 0 {
			answer.Value[i] = change(answer.Value[i])
		}
		changed, _ := json.Marshal(answer) // What was parsed can be written.
		return changed
	})
}

func hide(json.RawMessage) json.RawMessage { return json.RawMessage("null") }

// withLamports is the account with so many lamports.
func withLamports(lamports uint64) func(json.RawMessage) json.RawMessage {
	return func(account json.RawMessage) json.RawMessage {
		var fields map[string]json.RawMessage
		if json.Unmarshal(account, &fields) != nil {
			return account
		}
		fields["lamports"] = json.RawMessage(strconv.FormatUint(lamports, 10))
		changed, _ := json.Marshal(fields)
		return changed
	}
}

// honestTrade harms nobody.
var honestTrade = fill([]attack{{name: "honest trade", harm: func(*script) {}}})[0]

// dayCap is a little more than one trade, and smallDay the policy that has it.
const dayCap = 60_000_000

var smallDay = []string{`per_day = "1000 SOL"`, `per_day = "0.06 SOL"`, `per_session = "1000 SOL"`, `per_session = "0.06 SOL"`}

// tradesWithin makes trades for as long as it is let, and holds what the wallet
// lost against the cap, and what the receipts say against the chain.
func (s *scene) tradesWithin(most amount.Units) {
	s.t.Helper()
	s.lower()
	before := s.estateIn(s.belongings())
	for range 3 {
		verdict, err := s.flow.Propose(s.t.Context(), s.proposal(honestTrade))
		check(s.t, err)
		if verdict.Refused != nil {
			break
		}
		had := s.estateIn(s.belongings())
		waiting, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
		receipt, err := s.flow.Execute(waiting, flow.Confirmed{
			Session: "s_hostile", Code: verdict.Code, Fingerprint: s.proposal(honestTrade).Fingerprint, Transactions: [][]byte{s.build(honestTrade)},
		}, ignore)
		cancel()
		s.node.release(s.t)
		check(s.t, s.net.Advance(s.t.Context(), 3))
		lost := had.lamports - s.estateIn(s.belongings()).lamports
		told := err == nil && (receipt.Outcome == flow.LandedFailed || receipt.Outcome == flow.Expired || receipt.Outcome == flow.NothingSent)
		if told && lost > fee {
			s.t.Errorf("the receipt says %s, and the wallet lost %d", receipt.Outcome, lost)
		}
		if err == nil && receipt.Outcome == flow.Landed && len(receipt.Transactions[0].Changes) > 0 && receipt.Transactions[0].Changes[0].Out < amount.Units(lost) {
			s.t.Errorf("the receipt tells of %s lamports, and the wallet lost %d", receipt.Transactions[0].Changes[0].Out, lost)
		}
	}
	after := s.estateIn(s.belongings())
	if lost := amount.Units(before.lamports - after.lamports); lost > most {
		s.t.Errorf("the wallet lost %s lamports in a day that is capped at %s", lost, most)
	}
}

// TestForgedOutcomeMakesNoRoom: a node that keeps the bytes back, invents an
// end with a small outflow, and sends them afterwards.
func TestForgedOutcomeMakesNoRoom(t *testing.T) {
	s := startScene(t)
	for name, failure := range map[string]string{"landed": "null", "failed": `{"InstructionError":[0,{"Custom":6001}]}`} {
		s.besideHonest(t, smallDay, func(s *scene) {
			s.t.Log(name)
			s.node.keepsBack()
			s.node.tells("getSignatureStatuses", func(_, _ json.RawMessage) json.RawMessage {
				return json.RawMessage(`{"context":{"slot":5},"value":[{"slot":5,"confirmations":1,"err":` + failure + `,"confirmationStatus":"confirmed"}]}`)
			})
			s.node.tells("getTransaction", func(_, _ json.RawMessage) json.RawMessage {
				return json.RawMessage(`{"slot":5,"meta":{"err":` + failure + `,"fee":5000,"preBalances":[2000000000],"postBalances":[1999995000],` +
					`"preTokenBalances":[],"postTokenBalances":[],"logMessages":[]},"transaction":["",""]}`)
			})
			s.tradesWithin(dayCap)
		})
	}
}

// TestForgedHeightExpiresNothing: a node that says that the chain is so high
// that what was just signed cannot land any more, or never ceases to be able to.
func TestForgedHeightExpiresNothing(t *testing.T) {
	s := startScene(t)
	check(t, s.net.Advance(t.Context(), 400))
	for _, height := range []string{"18446744073709551615", "8796093022208", "1000000000"} {
		s.besideHonest(t, smallDay, func(s *scene) {
			s.t.Log(height)
			s.node.keepsBack()
			s.node.tells("getBlockHeight", func(_, _ json.RawMessage) json.RawMessage { return json.RawMessage(height) })
			s.tradesWithin(dayCap)
			if _, reserved := s.today(); reserved != 0 {
				s.t.Errorf("%s lamports are held for what nothing proves the end of", reserved)
			}
		})
	}
}

// TestBusyHonestNodeIsWaitedFor: the honest node is asked so much that it does
// not answer. What the other says of the wallet is not believed meanwhile.
func TestBusyHonestNodeIsWaitedFor(t *testing.T) {
	theft := fill([]attack{{
		name: "take what the node hides", further: []decodetest.Meta{decodetest.W(thief)},
		harm: func(p *script) { p.does(decodetest.Transfer(wallet, thief, hidden)) },
	}})[0]
	s := startScene(t)
	for _, method := range []string{"getBalance", "getMultipleAccounts", "getGenesisHash", "getBlockHeight", "simulateTransaction", "isBlockhashValid"} {
		t.Run(method, func(t *testing.T) {
			honest := startNode(t, s.net.RPCURL)
			s.besideNode(t, honest, func(s *scene) {
				honest.behave()
				s.liesAboutBalance()
				s.lower()
				confirmed := s.confirms(theft)
				honest.isBusyFor(method)
				before := s.belongings()
				s.node.springs(s.raise)
				receipt, err := s.flow.Execute(s.t.Context(), confirmed, ignore)
				check(s.t, err)
				if receipt.Outcome != flow.NothingSent || receipt.Fault == nil || receipt.Fault.Code != fault.RPCUnavailable {
					s.t.Errorf("outcome %s, %+v; want nothing sent for want of a node", receipt.Outcome, receipt.Fault)
				}
				if now := s.estateIn(s.belongings()); now != s.estateIn(before) {
					s.t.Errorf("the wallet has %+v, had %+v", now, s.estateIn(before))
				}
			})
		})
	}
}

// besideNode is besideHonest with an honest node of the test's own.
func (s *scene) besideNode(t *testing.T, honest *node, test func(*scene)) {
	t.Helper()
	next := *s
	net := *s.net
	net.RPCURL = honest.url
	next.net = &net
	next.besideHonest(t, nil, test)
}

// hiddenThings are accounts in which the wallet has rights, and what a program
// does to them that has its signature.
func hiddenThings() []struct {
	name    string
	account chain.Account
	harm    decodetest.Call
} {
	nonce, mint := place("nonce of the wallet"), place("a mint of the wallet")
	state := make([]byte, 80)
	binary.LittleEndian.PutUint32(state[0:], 1)
	binary.LittleEndian.PutUint32(state[4:], 1)
	copy(state[8:], wallet[:])
	copy(state[40:], bytes.Repeat([]byte{7}, 32))
	binary.LittleEndian.PutUint64(state[72:], fee)
	const savings = 1_500_000_000
	own := chaintest.Mint(mint, solana.TokenProgram, 6)
	own.Data[0] = 1
	copy(own.Data[4:], wallet[:])
	return []struct {
		name    string
		account chain.Account
		harm    decodetest.Call
	}{
		{"a nonce account", chain.Account{Key: nonce, Lamports: savings, Owner: solana.SystemProgram, Data: state}, decodetest.Call{
			Program:  solana.SystemProgram,
			Data:     binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, 5), savings),
			Accounts: []decodetest.Meta{decodetest.W(nonce), decodetest.W(thief), decodetest.R(nonceSysvar), decodetest.R(rentSysvar), decodetest.S(wallet)},
		}},
		{"a mint", own, decodetest.Call{
			Program: solana.TokenProgram, Data: append([]byte{6, 0, 1}, thief[:]...),
			Accounts: []decodetest.Meta{decodetest.W(mint), decodetest.S(wallet)},
		}},
	}
}

// TestHiddenAccountsAreSeenByTheOther: one node says that an account does not
// exist in which the wallet has rights. Alone it gets through with that.
func TestHiddenAccountsAreSeenByTheOther(t *testing.T) {
	s := startScene(t)
	for _, thing := range hiddenThings() {
		theft := fill([]attack{{
			name: thing.name, harm: func(p *script) { p.does(thing.harm) },
			further: slices.DeleteFunc(slices.Clone(thing.harm.Accounts), func(m decodetest.Meta) bool { return m.Key == wallet }),
		}})[0]
		try := func(s *scene) *fault.Fault {
			s.put(thing.account)
			s.lower()
			s.shows(thing.account.Key, hide)
			verdict, err := s.flow.Propose(s.t.Context(), s.proposal(theft))
			check(s.t, err)
			return verdict.Refused
		}
		t.Run(thing.name+", the liar alone", func(t *testing.T) {
			s := s.with(t, plain)
			s.reset()
			if refused := try(s); refused != nil {
				t.Errorf("refused, so hiding it hides nothing: %v", refused)
			}
		})
		t.Run(thing.name, func(t *testing.T) {
			s.besideHonest(t, nil, func(s *scene) {
				if refused := try(s); refused == nil || refused.Code != fault.TransactionRefused {
					s.t.Errorf("the verdict is %v, want a refusal", refused)
				}
			})
		})
	}
}

// TestHiddenLamportsOfClosedAccount: one node hides what lies in a token account
// that the transaction closes to the wallet, so that the floor would be lower.
func TestHiddenLamportsOfClosedAccount(t *testing.T) {
	const extra = 400_000_000
	s := startScene(t)
	s.besideHonest(t, nil, func(s *scene) {
		empty := chaintest.Token(plain.second, plain.program, plain.mint, wallet, 0)
		empty.Lamports += extra
		s.put(empty)
		s.lower()
		s.shows(plain.second, withLamports(1))
		a := fill([]attack{{name: "x", further: []decodetest.Meta{decodetest.W(thief)}, harm: func(p *script) {
			p.does(decodetest.Transfer(wallet, thief, uint64(empty.Lamports)-1))
		}}})[0]
		build := func() []byte {
			return decodetest.Legacy(wallet, s.blockhash(), a.script().call(), decodetest.Close(plain.program, plain.second, wallet, wallet)).Marshal()
		}
		p := s.proposal(a)
		p.Transactions = [][]byte{build()}
		verdict, err := s.flow.Propose(s.t.Context(), p)
		check(s.t, err)
		if verdict.Refused != nil {
			s.t.Fatalf("the bait was refused, so the switch proves nothing: %v", verdict.Refused)
		}
		s.node.springs(s.raise)
		before := s.estateIn(s.belongings())
		_, err = s.flow.Execute(s.t.Context(), flow.Confirmed{Session: p.Session, Code: verdict.Code, Fingerprint: p.Fingerprint, Transactions: [][]byte{build()}}, ignore)
		check(s.t, err)
		if after := s.estateIn(s.belongings()); before.lamports-after.lamports > 2*fee {
			s.t.Errorf("the wallet lost %d lamports", before.lamports-after.lamports)
		}
	})
}

// TestShareIsOfTheLeastHeld: one node shows a wallet ten times as rich, so that
// what leaves is a small share of it.
func TestShareIsOfTheLeastHeld(t *testing.T) {
	const pays, rich = 900_000_000, 20_000_000_000
	s := startScene(t)
	edits := []string{"[tiers]\n", "[tiers]\nhuman_above_share = \"10%\"\n", `new = "human"`, `new = "confirm"`}
	s.besideHonest(t, edits, func(s *scene) {
		s.shows(wallet, withLamports(rich))
		s.node.tells("simulateTransaction", func(_, result json.RawMessage) json.RawMessage {
			return bytes.Replace(result, fmt.Appendf(nil, `"lamports":%d`, uint64(startLamports-pays-fee)), fmt.Appendf(nil, `"lamports":%d`, uint64(rich-pays-fee)), 1)
		})
		p := flow.Proposed{
			Session: "s", Tool: "solana_transfer", Flow: effects.Transfer,
			Arguments: fmt.Sprintf(`{"amount":"0.9","mint":%q,"to":%q}`, solana.WrappedSOL, thief),
			Bounds: effects.Bounds{
				MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: pays}, MaxFee: 2 * fee, Recipients: []solana.PublicKey{thief},
			},
			Transactions: [][]byte{decodetest.Legacy(wallet, s.blockhash(), decodetest.Transfer(wallet, thief, pays)).Marshal()},
		}
		p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
		verdict, err := s.flow.Propose(s.t.Context(), p)
		check(s.t, err)
		if verdict.Tier < policy.Human || verdict.Code != "" {
			s.t.Errorf("tier %s by %v, want a person", verdict.Tier, verdict.Rules)
		}
	})
}
