package flow

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/stated"
)

// Proposed is what a caller asks to be judged.
type Proposed struct {
	Session string
	// Peer is whom the kernel sees at the other end, and Client what that calls
	// itself.
	Peer         Peer
	Client       string
	Correlation  string
	Tool         string
	Arguments    string
	Fingerprint  [32]byte
	Flow         effects.Flow
	Bounds       effects.Bounds
	Transactions [][]byte
	// Key is what the caller calls this action, or empty.
	Key string
}

// Verdict is the answer to a proposal: a refusal, or what may be confirmed.
type Verdict struct {
	Proposal approval.Proposal
	// Code is the confirmation code, for tiers that need no person.
	Code    string
	Refused *fault.Fault
	Rules   []string
	Tier    policy.Tier
	Effects []effects.Effects
	Charge  map[solana.PublicKey]amount.Units
	// Limits are the caps and what stands against them, at At.
	Limits []Window
	At     time.Time
	// Earlier is set instead of all that where this action has been executed, or
	// is being executed, already.
	Earlier *Receipt
}

// Propose judges a batch and stores the proposal. It signs nothing. Refusals
// are verdicts; errors are failures to judge.
func (f *Flow) Propose(ctx context.Context, p Proposed) (Verdict, error) {
	if err := checkProposed(p); err != nil {
		return Verdict{}, err
	}
	rules := f.Policy()
	began := time.Now()
	if err := f.sessions.admit(p.Session, began, rules); err != nil {
		return Verdict{}, err
	}
	if err := f.openSession(ctx, p); err != nil {
		return Verdict{}, err
	}
	about := subject{session: p.Session, correlation: p.Correlation}
	if err := f.note(ctx, kindProposed, about, map[string]string{
		"tool": p.Tool, "arguments": p.Arguments, FieldFingerprint: hex.EncodeToString(p.Fingerprint[:]), "client_claimed": p.Client,
		"transactions": strconv.Itoa(len(p.Transactions)),
	}); err != nil {
		return Verdict{}, err
	}
	if receipt, err := f.earlier(f.stages.Book.Used(ctx, p.key(), p.Fingerprint, time.Now())); receipt != nil || err != nil {
		return Verdict{Earlier: receipt}, err
	}
	if err := f.pinned(ctx); err != nil {
		return Verdict{}, err
	}
	batch, err := f.judgeBatch(ctx, p, rules)
	if err != nil && !isRefusal(err) {
		return Verdict{}, err
	}
	verdict, draft, err := f.decide(ctx, p, rules, batch, err)
	if err != nil {
		return Verdict{}, err
	}
	verdict.Proposal, verdict.Code, err = f.stages.Book.Open(ctx, draft, time.Now())
	if receipt, err := f.earlier(err); receipt != nil || err != nil {
		return Verdict{Earlier: receipt}, err
	}
	about.proposal = verdict.Proposal.ID
	return verdict, f.recordDecision(ctx, about, p, verdict, time.Since(began))
}

// repeatTime is how long an action that nobody is asked to confirm is taken for
// the same one when it is asked for again in the same session: clients repeat a
// call whose answer they did not wait for.
const repeatTime = 10 * time.Minute

// key is what the action is called. Where the caller does not say, the session
// and the intent are its name for a while, and what provably took nothing but a
// fee may be tried again.
func (p Proposed) key() approval.ActionKey {
	if p.Key != "" {
		return GivenKey(p.Key)
	}
	return approval.ActionKey{Name: "derived " + p.Session + " " + hex.EncodeToString(p.Fingerprint[:]), For: repeatTime, Again: tookNothing}
}

func tookNothing(earlier approval.Proposal) bool {
	receipt, err := receiptOf(earlier)
	return err == nil && (receipt.Outcome == NothingSent || receipt.Outcome == Expired || receipt.Outcome == LandedFailed)
}

// earlier is the receipt of an action that has been executed already, if that
// is what err says.
func (f *Flow) earlier(err error) (*Receipt, error) {
	used, ok := errors.AsType[*approval.UsedError](err)
	if !ok {
		return nil, err
	}
	receipt, err := receiptOf(used.Proposal)
	receipt.Replayed = true
	return &receipt, err
}

// longestKey bounds what an action can be called.
const longestKey = 64

// checkProposed refuses what could not be judged sensibly.
func checkProposed(p Proposed) error {
	digest := sha256.New()
	digest.Write([]byte(p.Tool))
	digest.Write([]byte{0})
	digest.Write([]byte(p.Arguments))
	switch {
	case subtle.ConstantTimeCompare(digest.Sum(nil), p.Fingerprint[:]) != 1:
		return fault.New(fault.InvalidArguments, "the fingerprint is not that of the intent")
	case len(p.Transactions) == 0 || len(p.Transactions) > batchLimit:
		return fault.New(fault.InvalidArguments, "a proposal has 1 to %d transactions", batchLimit)
	case strings.ContainsFunc(p.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		// The audit log would escape it, and a repair would make another key of it.
		return fault.New(fault.InvalidArguments, "an idempotency key consists of printable ASCII without spaces")
	case len(p.Key) > longestKey:
		return fault.New(fault.InvalidArguments, "an idempotency key has at most %d characters", longestKey)
	case len(p.Transactions) > 1 && len(p.Bounds.MaxOut) > 0:
		return fault.New(fault.InvalidArguments, "a batch of several transactions may pay only fees and rent")
	}
	return nil
}

// isRefusal tells a no from a failure to find out.
func isRefusal(err error) bool {
	switch fault.From(err).Class() {
	case fault.AuthorizationRejected, fault.Validation, fault.Conflict:
		return true
	case fault.Authentication, fault.Operational, fault.UnknownOutcome:
		return false
	}
	return false
}

// checkStated refuses a proposal that is not what its tool call says. How many
// digits a token has behind the point is the mint's own word.
func (f *Flow) checkStated(ctx context.Context, p Proposed, rules *policy.Policy) error {
	mints, err := f.stages.Chain.Mints(ctx, p.Bounds.TokensOut())
	if err != nil {
		return err
	}
	for mint, info := range mints {
		if err := rules.CheckDecimals(mint, info.Decimals); err != nil {
			return err
		}
	}
	return stated.Check(p.Tool, p.Arguments, p.Flow, p.Bounds, func(mint solana.PublicKey) (uint8, bool) {
		info, known := mints[mint]
		return info.Decimals, known
	})
}

// judgeBatch judges each transaction. Only the first can be simulated now: the
// others need it to have landed, and are simulated when their turn comes.
func (f *Flow) judgeBatch(ctx context.Context, p Proposed, rules *policy.Policy) ([]judge.Judged, error) {
	if err := f.checkStated(ctx, p, rules); err != nil {
		return nil, err
	}
	known, err := f.known(ctx, rules)
	if err != nil {
		return nil, err
	}
	inFlight, _, err := f.stages.Ledger.InFlight(ctx)
	if err != nil {
		return nil, err
	}
	share := shares{bounds: p.Bounds, count: len(p.Transactions)}
	var batch []judge.Judged
	for i, raw := range p.Transactions {
		judged, err := f.stages.Judge.Judge(ctx, raw, judge.Request{
			Flow: p.Flow, Bounds: share.of(i), Later: i > 0, InFlight: inFlight,
			Known: known, Pins: rules.Pins(),
		})
		if err != nil {
			return batch, err
		}
		if err := share.spend(judged); err != nil {
			return batch, err
		}
		batch = append(batch, judged)
	}
	return batch, nil
}

// known is whom and what the owner has named, in the policy and in the address book.
func (f *Flow) known(ctx context.Context, rules *policy.Policy) (effects.Known, error) {
	known := rules.Known()
	book, err := f.stages.Recipients.List(ctx)
	if err != nil {
		return effects.Known{}, err
	}
	// Names first: an address in both lists is called by its name.
	known.Recipients = append(book, known.Recipients...)
	return known, nil
}

// decide asks the policy, or takes the judge's refusal, and drafts what is stored.
func (f *Flow) decide(ctx context.Context, p Proposed, rules *policy.Policy, batch []judge.Judged, refusal error) (Verdict, approval.Draft, error) {
	now := time.Now()
	usage, err := f.stages.Ledger.Usage(ctx, p.Session, now)
	if err != nil {
		return Verdict{}, approval.Draft{}, err
	}
	draft := approval.Draft{
		Session: p.Session, Client: p.Client, Correlation: p.Correlation,
		Tool: p.Tool, Arguments: p.Arguments, Fingerprint: p.Fingerprint,
		Flow: p.Flow, Bounds: p.Bounds, TTL: codeLifetime,
	}
	verdict := Verdict{Limits: windows(rules, usage, true), At: now}
	for _, judged := range batch {
		draft.Digests = append(draft.Digests, judged.Tx().Digest())
		verdict.Effects = append(verdict.Effects, judged.Effects())
	}
	if refusal != nil {
		verdict.Refused, verdict.Tier, verdict.Rules = fault.From(refusal), policy.Deny, []string{"builtin"}
		draft.Denied = verdict.Refused
		return verdict, draft, nil
	}
	decision := rules.Evaluate(p.Flow, batch, policy.Circumstances{Usage: usage, Client: p.Client, Now: now})
	draft.Decision, draft.Denied = decision, decision.Fault()
	if p.Key != "" || decision.Tier() == policy.Auto {
		draft.Key = p.key()
	}
	verdict.Refused, verdict.Tier, verdict.Rules = decision.Fault(), decision.Tier(), decision.Rules()
	verdict.Charge, err = totalCharge(batch)
	return verdict, draft, err
}

// recordDecision tells of a proposal that the ledger has, whether its caller still
// waits or not: later records are about it.
func (f *Flow) recordDecision(ctx context.Context, about subject, p Proposed, v Verdict, took time.Duration) error {
	output, err := v.hash()
	if err != nil {
		return err
	}
	data := identity(v, p.Key)
	maps.Copy(data, map[string]string{
		"tool": p.Tool, "tier": v.Tier.String(), "rules": strings.Join(v.Rules, " "), "outcome": v.outcome(),
		fieldOutput: output, fieldDuration: milliseconds(took),
	})
	if v.Refused != nil {
		data["refused"], data["why"] = string(v.Refused.Code), reason(v.Refused)
	}
	if len(v.Effects) > 0 {
		data["class"] = v.Effects[0].Class().String()
	}
	for mint, units := range v.Charge {
		data[PrefixCharge+assetName(mint)] = units.String()
	}
	return f.record(context.WithoutCancel(ctx), kindDecided, about, data)
}

func assetName(mint solana.PublicKey) string {
	if mint == amount.SOL {
		return "SOL"
	}
	return mint.String()
}

// totalCharge adds up the worst case of a batch.
func totalCharge(batch []judge.Judged) (map[solana.PublicKey]amount.Units, error) {
	total := make(map[solana.PublicKey]amount.Units)
	for _, judged := range batch {
		for mint, units := range judged.Charge() {
			sum, err := amount.Sum(total[mint], units)
			if err != nil {
				return nil, fault.New(fault.OutsideBounds, "the amounts of this batch overflow").Because(err)
			}
			total[mint] = sum
		}
	}
	return total, nil
}

// Peek says what a code is good for. Showing an open code with other arguments
// voids it.
func (f *Flow) Peek(ctx context.Context, code string, fingerprint [32]byte, session string) (approval.Proposal, error) {
	return f.stages.Book.Peek(ctx, code, fingerprint, session, time.Now())
}

// Cancel voids an open proposal of the session.
func (f *Flow) Cancel(ctx context.Context, id, session string) (approval.State, error) {
	state, err := f.stages.Book.Cancel(ctx, id, session, time.Now())
	if err != nil {
		return state, err
	}
	return state, f.record(ctx, kindCancelled, subject{session: session, proposal: id}, map[string]string{"state": state.String()})
}
