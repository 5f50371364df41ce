package hostile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
	"countersign/signerd/internal/judge"
)

// looser lists in what a verdict is looser than another.
func looser(got, honest judge.Judged) []string {
	var list []string
	find := func(bad bool, format string, args ...any) {
		if bad {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	g, h := guard.Recognise(got.Tx()), guard.Recognise(honest.Tx())
	find(g.Floor < h.Floor, "floor %d, honest %d", g.Floor, h.Floor)
	for _, line := range h.Lines {
		other, ok := g.Line(line.Account)
		find(!ok || other.Least < line.Least, "line %s %d, honest %d", line.Account, other.Least, line.Least)
	}
	charge := got.Charge()
	for mint, units := range honest.Charge() {
		find(charge[mint] < units, "charge of %s %d, honest %d", mint, charge[mint], units)
	}
	ge, he := got.Effects(), honest.Effects()
	find(ge.Class() < he.Class(), "class %s, honest %s", ge.Class(), he.Class())
	for _, finding := range he.Findings() {
		find(!slices.Contains(ge.Findings(), finding), "finding %v is missing", finding)
	}
	find(ge.Rent() < he.Rent() || ge.RentReturned() > he.RentReturned() || ge.Tip() < he.Tip() || ge.Loose() < he.Loose(), "rent, tip or loose")
	find(ge.BaseFee() != he.BaseFee() || ge.PriorityFee() != he.PriorityFee(), "fees")
	for mint, units := range ge.Held() {
		find(units > he.Held()[mint], "held %s %d, honest %d", mint, units, he.Held()[mint])
	}
	for _, mint := range he.Assets() {
		find(!slices.Contains(ge.Assets(), mint), "asset %s is missing", mint)
	}
	for _, change := range he.Changes() {
		i := slices.IndexFunc(ge.Changes(), func(c effects.Change) bool { return c.Mint == change.Mint })
		if i < 0 {
			find(change.Out > 0, "change of %s is missing", change.Mint)
			continue
		}
		other := ge.Changes()[i]
		find(other.Out < change.Out || other.In > change.In, "change %+v, honest %+v", other, change)
		find(other.Decimals != change.Decimals, "decimals of %s: %d, honest %d", change.Mint, other.Decimals, change.Decimals)
	}
	find(len(ge.Payments()) != len(he.Payments()), "payments")
	for i, payment := range he.Payments() {
		other := ge.Payments()[i]
		find(other.Amount != payment.Amount || other.Recipient != payment.Recipient || other.Mint != payment.Mint || other.Received > payment.Received, "payment %+v, honest %+v", other, payment)
	}
	find(ge.Simulated() && !he.Simulated(), "simulated")
	return list
}

// liarsPerCase is how many liars are tried on each transaction.
const liarsPerCase = 6

// TestOneLiarOnlyMakesItStricter: whatever one node says, beside an honest one
// the verdict is never looser than the honest one's own. The lines that keep it
// are those of judge.everywhere and effects.Strictest.
func TestOneLiarOnlyMakesItStricter(t *testing.T) {
	s := startScene(t)
	honest, alone := s.judgeBy(1, s.net.RPCURL), s.judgeBy(1, s.node.url)
	other := startNode(t, s.net.RPCURL)
	beside := map[string]*judge.Judge{
		"liar first": s.judgeBy(2, s.node.url, s.net.RPCURL), "liar last": s.judgeBy(2, s.net.RPCURL, s.node.url),
		"of three, one down": s.judgeBy(2, "http://127.0.0.1:1", s.node.url, s.net.RPCURL),
		"of three":           s.judgeBy(2, s.node.url, s.net.RPCURL, other.url),
	}
	deceived, accepted := 0, 0
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			s := s.with(t, plain)
			s.reset()
			c.prepare(s)
			for seed := range uint64(liarsPerCase) {
				raw := c.build(s)
				s.node.behave()
				truth, refusal := honest.Judge(t.Context(), raw, c.request)
				keys, known := s.known(raw)
				l := s.corrupt(seed*1000+uint64(len(c.name)), keys, known)
				if got, err := alone.Judge(t.Context(), raw, c.request); err == nil && (refusal != nil || len(looser(got, truth)) > 0) {
					deceived++
				}
				for name, j := range beside {
					got, err := j.Judge(t.Context(), raw, c.request)
					if err != nil {
						continue
					}
					accepted++
					if refusal != nil {
						t.Errorf("seed %d, %s: accepted; the honest node alone: %v\n%s", seed, name, refusal, strings.Join(l.told, "\n"))
					} else if list := looser(got, truth); len(list) > 0 {
						t.Errorf("seed %d, %s: looser in %v\n%s", seed, name, list, strings.Join(l.told, "\n"))
					}
				}
			}
		})
	}
	if deceived == 0 || accepted == 0 {
		t.Errorf("%d liars deceive whoever asks them alone, and %d verdicts were yes: the liars test nothing", deceived, accepted)
	}
}

// judgeBy is a judge that asks these nodes, of which so many must answer.
func (s *scene) judgeBy(mustAnswer int, nodes ...string) *judge.Judge {
	s.t.Helper()
	client, err := chain.New(nodes, chain.Options{Timeout: 10 * time.Second, MustAnswer: mustAnswer})
	check(s.t, err)
	return judge.New(client, wallet)
}

// known is what stands at the addresses of a transaction.
func (s *scene) known(raw []byte) ([]string, map[string]json.RawMessage) {
	tx, err := solana.ParseTransaction(raw)
	check(s.t, err)
	var keys []string
	for _, key := range tx.Message.Keys {
		keys = append(keys, key.String())
	}
	for _, key := range []solana.PublicKey{wallet, plain.ofWallet, plain.second, plain.mint, wrapped, of2022.ofWallet, of2022.mint, place("table")} {
		keys = append(keys, key.String(), key.String())
	}
	var answer struct{ Value []json.RawMessage }
	check(s.t, s.rpc.Call(s.t.Context(), "getMultipleAccounts", []any{keys, map[string]any{"encoding": "base64"}}, &answer))
	known := make(map[string]json.RawMessage)
	for i, key := range keys {
		known[key] = answer.Value[i]
	}
	return keys, known
}
