package flow_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
)

// recorded reads the data of every audit record of a kind, as they stand on disk.
func (w *world) recorded(kind string) []map[string]string {
	w.t.Helper()
	file, err := os.Open(filepath.Join(w.dir, "audit.jsonl"))
	check(w.t, err)
	defer file.Close()
	var found []map[string]string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Record struct {
				Kind string            `json:"kind"`
				Data map[string]string `json:"data"`
			} `json:"record"`
		}
		check(w.t, json.Unmarshal(lines.Bytes(), &line))
		if line.Record.Kind == kind {
			found = append(found, line.Record.Data)
		}
	}
	return found
}

func TestReloadVoidsWhatWasProposed(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	before, after := w.rules.Version(), w.policy(`per_day = "2 SOL"`, `per_day = "1.5 SOL"`)
	voided, err := w.flow.Reload(t.Context(), after)
	check(t, err)
	if voided != 1 || w.flow.Policy().Version() != after.Version() {
		t.Errorf("%d voided, version %s in force, want 1 and %s", voided, w.flow.Policy().Version(), after.Version())
	}
	if _, err := w.flow.Execute(t.Context(), confirmed, ignore); !fault.Is(err, fault.CodeVoid) {
		t.Errorf("a proposal of the old policy: %v, want %s", err, fault.CodeVoid)
	}
	changed := w.recorded("policy_changed")
	if len(changed) != 1 || changed[0]["from"] != before || changed[0]["to"] != after.Version() {
		t.Errorf("recorded %v, want from %s to %s", changed, before, after.Version())
	}
	// The same file again is no change: what is open stays open.
	confirmed = w.propose()
	if voided, err := w.flow.Reload(t.Context(), after); voided != 0 || err != nil {
		t.Errorf("the same policy again: %d voided, %v", voided, err)
	}
	if receipt, err := w.flow.Execute(t.Context(), confirmed, ignore); err != nil || receipt.Outcome != flow.Landed {
		t.Errorf("under an unchanged policy: %s, %v", receipt.Outcome, err)
	}
	if w.sent() != 1 {
		t.Errorf("%d sent", w.sent())
	}
}

// A proposal that was decided by the old policy and stored behind the change is
// void too.
func TestExecuteRefusesAProposalOfAnOldPolicy(t *testing.T) {
	w := newWorld(t)
	p := w.proposed()
	decision := w.rules.Evaluate(effects.Transfer, []judge.Judged{w.judged()}, policy.Circumstances{Now: time.Now()})
	_, err := w.flow.Reload(t.Context(), w.policy(`per_day = "2 SOL"`, `per_day = "1.5 SOL"`))
	check(t, err)
	_, code, err := w.book.Open(t.Context(), approval.Draft{
		Session: session, Tool: p.Tool, Fingerprint: p.Fingerprint, Flow: p.Flow, Bounds: p.Bounds, Decision: decision, TTL: time.Minute,
	}, time.Now())
	check(t, err)
	receipt, err := w.flow.Execute(t.Context(), flow.Confirmed{
		Session: session, Code: code, Fingerprint: p.Fingerprint, Transactions: [][]byte{w.transfer(lamports)},
	}, ignore)
	check(t, err)
	if receipt.Outcome != flow.NothingSent || receipt.Fault.Fault().Code != fault.CodeVoid || w.sent() != 0 {
		t.Errorf("outcome %s, fault %v, %d sent", receipt.Outcome, receipt.Fault, w.sent())
	}
}

func TestReloadKeepsTheOldPolicyWhenItMust(t *testing.T) {
	w := newWorld(t)
	confirmed := w.propose()
	elsewhere, err := policy.Load(policy.Default("elsewhere", solana.Hash{9}))
	check(t, err)
	if _, err := w.flow.Reload(t.Context(), elsewhere); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("another network: %v", err)
	}
	check(t, w.flow.KeepPolicy(t.Context(), errors.New("line 3, column 1: caps.per_day: wrong\u202e\x1b[31m")))
	if w.flow.Policy().Version() != w.rules.Version() {
		t.Error("another policy is in force")
	}
	kept := w.recorded("policy_kept")
	if len(kept) != 1 || kept[0]["version"] != w.rules.Version() || kept[0]["why"] != "line 3, column 1: caps.per_day: wrong[31m" {
		t.Errorf("recorded %q", kept)
	}
	if receipt, err := w.flow.Execute(t.Context(), confirmed, ignore); err != nil || receipt.Outcome != flow.Landed {
		t.Errorf("what was proposed before: %s, %v", receipt.Outcome, err)
	}
}

// An audit log that cannot be written keeps the old policy in force: the change
// would be on no record.
func TestReloadNeedsTheAuditLog(t *testing.T) {
	w := newWorld(t)
	check(t, w.audit.Close())
	_, err := w.flow.Reload(t.Context(), w.policy(`per_day = "2 SOL"`, `per_day = "1.5 SOL"`))
	if !fault.Is(err, fault.StateLocked) || w.flow.Policy().Version() != w.rules.Version() {
		t.Errorf("%v, and version %s is in force", err, w.flow.Policy().Version())
	}
}

// What stated and real intent differ in stands in the audit log.
func TestProposeRecordsWhyItRefused(t *testing.T) {
	w := newWorld(t)
	p := w.proposed()
	p.Bounds.MaxOut = map[solana.PublicKey]amount.Units{amount.SOL: 11_000_000}
	p.Transactions = [][]byte{w.transfer(11_000_000)}
	verdict, err := w.flow.Propose(t.Context(), p)
	check(t, err)
	if verdict.Refused == nil || verdict.Refused.Code != fault.IntentMismatch || verdict.Code != "" {
		t.Fatalf("0.011 SOL where 0.01 was stated: %v", verdict.Refused)
	}
	decided := w.recorded("decided")
	if len(decided) != 1 || decided[0]["refused"] != string(fault.IntentMismatch) || decided[0]["why"] != verdict.Refused.Message {
		t.Errorf("recorded %q, want the refusal %q", decided, verdict.Refused.Message)
	}
}

// The address book makes a stranger known.
func TestProposeKnowsTheAddressBook(t *testing.T) {
	w := newWorld(t)
	_, err := w.flow.Reload(t.Context(), w.policy(`new = "confirm"`, `new = "human"`))
	check(t, err)
	verdict, err := w.flow.Propose(t.Context(), w.proposed())
	check(t, err)
	if verdict.Tier != policy.Human || verdict.Code != "" {
		t.Errorf("a stranger is paid: %s (%v)", verdict.Tier, verdict.Rules)
	}
	w.flow.Close()
	w.rules = w.policy(`new = "confirm"`, `new = "human"`)
	w.people = people{{Name: "bob", Address: payee}}
	w.start()
	verdict, err = w.flow.Propose(t.Context(), w.proposed())
	check(t, err)
	if verdict.Tier != policy.Confirm || verdict.Code == "" || verdict.Effects[0].Payments()[0].Name != "bob" {
		t.Errorf("bob is paid: %s (%v), %v", verdict.Tier, verdict.Rules, verdict.Refused)
	}
}

// The fresh bytes are decided about anew: what now takes a person is not sent.
func TestExecuteRefusesAStricterTier(t *testing.T) {
	w := newWorld(t)
	w.flow.Close()
	w.rules = w.policy(`# human_above = "0.05 SOL"`, `human_above = "0.010005 SOL"`) // the amount and the base fee
	w.start()
	confirmed := w.propose()
	confirmed.Transactions = [][]byte{w.transferWithPriority(lamports, 1000)}
	receipt, err := w.flow.Execute(t.Context(), confirmed, ignore)
	check(t, err)
	if receipt.Outcome != flow.NothingSent || receipt.Fault.Fault().Code != fault.PersonRequired || w.sent() != 0 {
		t.Errorf("outcome %s, fault %v, %d sent", receipt.Outcome, receipt.Fault, w.sent())
	}
}

// Steps that are each below a line of the policy do not add up unseen.
func TestExecuteDecidesAboutTheWholeBatch(t *testing.T) {
	w := newWorld(t)
	w.flow.Close()
	w.rules = w.policy(`# human_above = "0.05 SOL"`, `human_above = "0.015 SOL"`)
	w.start()
	confirmed := w.propose()
	grant, err := w.book.Consume(t.Context(), confirmed.Code, confirmed.Fingerprint, session, time.Now())
	check(t, err)
	step := w.judged() // 0.01 SOL
	verdicts := w.flow.DecideInTurn(grant, step, step)
	if verdicts[0] != nil || !fault.Is(verdicts[1], fault.PersonRequired) {
		t.Errorf("verdicts %v, want none and %s", verdicts, fault.PersonRequired)
	}
}

// A run that has lasted as long as the owner lets one last does nothing more,
// whatever was confirmed before.
func TestExecuteRefusesAnEndedSession(t *testing.T) {
	w := newWorld(t)
	w.flow.Close()
	w.rules = w.policy("# lasts", "lasts")
	w.start()
	confirmed := w.propose()
	w.flow.Backdate(session, 8*time.Hour)
	if _, err := w.flow.Execute(t.Context(), confirmed, ignore); !fault.Is(err, fault.SessionExpired) {
		t.Errorf("a code of an ended session: %v", err)
	}
	if _, err := w.flow.Propose(t.Context(), w.proposed()); !fault.Is(err, fault.SessionExpired) {
		t.Errorf("a proposal of an ended session: %v", err)
	}
	if w.sent() != 0 {
		t.Errorf("%d sent", w.sent())
	}
}

// What one recipient gets is counted from the first payment on, across sessions.
func TestExecuteCountsWhatARecipientGets(t *testing.T) {
	w := newWorld(t)
	w.flow.Close()
	w.rules = w.policy(`# per_destination = "0.5 SOL"`, `per_destination = "0.015 SOL"`)
	w.start()
	first, second := w.propose(), w.propose()
	receipt, err := w.flow.Execute(t.Context(), first, ignore)
	check(t, err)
	if receipt.Outcome != flow.Landed {
		t.Fatalf("the first payment: %s, %v", receipt.Outcome, receipt.Fault)
	}
	receipt, err = w.flow.Execute(t.Context(), second, ignore)
	check(t, err)
	if receipt.Outcome != flow.NothingSent || receipt.Fault.Fault().Code != fault.CapExceeded {
		t.Errorf("the second payment: %s, %v", receipt.Outcome, receipt.Fault)
	}
	third := w.proposed()
	third.Session = "s_other"
	verdict, err := w.flow.Propose(t.Context(), third)
	check(t, err)
	if verdict.Tier != policy.Deny || !slices.Equal(verdict.Rules, []string{"caps.per_destination"}) || w.sent() != 1 {
		t.Errorf("a third, in another session: %s (%v), %d sent", verdict.Tier, verdict.Rules, w.sent())
	}
}

// A cap of 10 TOK is another cap if TOK has other decimals than the policy says.
func TestProposeComparesDecimalsWithTheMint(t *testing.T) {
	w := newWorld(t)
	token := solana.PublicKey{7, 7, 7}
	data := make([]byte, 82)
	data[44], data[45] = 9, 1 // decimals, initialised
	check(t, w.net.SetAccount(t.Context(), token.String(), localnet.Account{Lamports: 1_461_600, Owner: solana.TokenProgram.String(), Data: data}))
	w.flow.Close()
	w.rules = w.policy("# A token can be spent only", "[[mint]]\naddress = \""+token.String()+"\"\nname = \"TOK\"\ndecimals = 6\n"+
		"per_transaction = \"10 TOK\"\nper_session = \"10 TOK\"\nper_day = \"10 TOK\"\n# A token can be spent only")
	w.start()
	p := w.proposed()
	p.Bounds.MaxOut = map[solana.PublicKey]amount.Units{token: 1}
	verdict, err := w.flow.Propose(t.Context(), p)
	check(t, err)
	if verdict.Refused == nil || verdict.Refused.Code != fault.PolicyDenied || !strings.Contains(verdict.Refused.Message, "has 9") {
		t.Errorf("a mint of 9 decimals where the policy says 6: %v", verdict.Refused)
	}
}

// transferWithPriority is a transfer that pays 1,000 lamports for speed for
// each thousand units of price.
func (w *world) transferWithPriority(units, price uint64) []byte {
	w.t.Helper()
	raw := w.transfer(units)
	tx, err := solana.ParseTransaction(raw)
	check(w.t, err)
	tx.Message.Keys = append(tx.Message.Keys, solana.ComputeBudgetProgram)
	tx.Message.ReadonlyUnsigned++
	budget := []solana.Instruction{
		{Program: 3, Data: binary.LittleEndian.AppendUint32([]byte{2}, 1_000_000)},
		{Program: 3, Data: binary.LittleEndian.AppendUint64([]byte{3}, price)},
	}
	tx.Message.Instructions = append(budget, tx.Message.Instructions...)
	return tx.Marshal()
}

// judged is a transfer as the real judge sees it.
func (w *world) judged() judge.Judged {
	w.t.Helper()
	p := w.proposed()
	judged, err := judge.New(w.chain, w.signer.PublicKey()).Judge(w.t.Context(), p.Transactions[0], judge.Request{Flow: p.Flow, Bounds: p.Bounds})
	check(w.t, err)
	return judged
}

// signUnsent has a transfer reserved and signed, and not sent.
func (w *world) signUnsent(lastValid uint64) {
	w.t.Helper()
	ctx := w.t.Context()
	first := w.propose()
	grant, err := w.book.Consume(ctx, first.Code, first.Fingerprint, session, time.Now())
	check(w.t, err)
	held, err := w.ledger.Reserve(ctx, grant, w.judged(), w.rules, 0, lastValid, time.Now())
	check(w.t, err)
	signed, err := w.signer.Sign(held)
	check(w.t, err)
	check(w.t, w.ledger.RecordSigned(ctx, held.ID(), signed.Raw(), signed.ID()))
}

// A guard's floor would have to leave room for what an earlier transaction may
// still take, and nobody can tell whether it has taken it already: so nothing
// that needs a guard begins before the outcome is proven. The code stays good.
// It is proven even if a node once claimed an absurd height, from which the
// ledger has a last valid one that is never reached: flow.lastValid lowers it.
func TestExecuteWaitsForTheOutcomeBefore(t *testing.T) {
	for name, absurd := range map[string]bool{"": false, "absurd height": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, localnet.Options{NoClock: true})
			lastValid, err := w.chain.LastValidHeight(t.Context(), w.blockhash())
			check(t, err)
			if absurd {
				lastValid = 1 << 40
			}
			w.signUnsent(lastValid)
			decision := w.rules.Evaluate(effects.Swap, []judge.Judged{w.judged()}, policy.Circumstances{Now: time.Now()})
			_, code, err := w.book.Open(t.Context(), approval.Draft{Session: session, Flow: effects.Swap, Decision: decision, TTL: time.Minute}, time.Now())
			check(t, err)
			swap := flow.Confirmed{Session: session, Code: code, Transactions: [][]byte{w.transfer(lamports)}}
			if _, err := w.flow.Execute(t.Context(), swap, ignore); !fault.Is(err, fault.WalletBusy) {
				t.Fatalf("while an earlier transaction may land: %v, want %s", err, fault.WalletBusy)
			}
			if absurd {
				// The nodes that it was lowered by may be as far behind as they
				// are allowed to be, so one lifetime more proves nothing.
				check(t, w.net.Advance(t.Context(), solana.BlockhashLifetime+50))
				if _, err := w.flow.Execute(t.Context(), swap, ignore); !fault.Is(err, fault.WalletBusy) {
					t.Fatalf("one lifetime later: %v, want %s", err, fault.WalletBusy)
				}
				check(t, w.net.Advance(t.Context(), solana.BlockhashLifetime))
			}
			check(t, w.net.ExpireBlockhash(t.Context()))
			for deadline := time.Now().Add(20 * time.Second); ; {
				receipt, err := w.flow.Execute(t.Context(), swap, ignore)
				if err == nil { // The code was used, and what it was given is no swap.
					if receipt.Outcome != flow.NothingSent || receipt.Fault == nil || w.sent() != 0 {
						t.Errorf("outcome %s, fault %v, %d sent", receipt.Outcome, receipt.Fault, w.sent())
					}
					return
				}
				if !fault.Is(err, fault.WalletBusy) || time.Now().After(deadline) {
					t.Fatalf("once it is proven expired: %v", err)
				}
			}
		})
	}
}

func TestSessionsEndAndAreCounted(t *testing.T) {
	w := &world{t: t, text: string(policy.Default("local", solana.Hash{1}))}
	rules := w.policy("per_hour = 30\n# lasts", "per_hour = 2\nlasts")
	var sessions flow.Sessions
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	steps := []struct {
		session string
		after   time.Duration
		want    fault.Code
	}{
		{"a", 0, ""},
		{"b", time.Minute, ""},
		{"c", 2 * time.Minute, fault.PolicyDenied},
		{"a", 3 * time.Minute, ""},
		{"c", time.Hour, ""},
		{"a", 8*time.Hour - 1, ""},
		{"a", 8 * time.Hour, fault.SessionExpired},
		{"c", 8 * time.Hour, ""},
		{"d", 8 * time.Hour, ""},
		{"a", 9 * time.Hour, fault.SessionExpired},
	}
	for i, step := range steps {
		err := sessions.Admit(step.session, noon.Add(step.after), rules)
		if got := codeOf(err); got != step.want {
			t.Errorf("step %d: session %s after %s: %v, want %q", i, step.session, step.after, err, step.want)
		}
	}
}

func codeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}
