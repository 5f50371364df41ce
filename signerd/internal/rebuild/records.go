package rebuild

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/policy"
)

// KindClockAccepted is the record of an owner who takes the clock for right.
const KindClockAccepted = "clock_accepted"

// add takes in one record. Kinds that change no ledger are passed over.
func (p *Plan) add(r audit.Record) error {
	switch r.Kind {
	case "proposed":
		p.proposed(r)
		return nil
	case "decided":
		return p.decided(r)
	case "reserved":
		return p.reserved(r)
	case "signed":
		return p.signed(r)
	case "settled":
		return p.settled(r)
	case "cancelled", "confirmed", "refused", "finished":
		return p.moved(r)
	case "recipient_added", "recipient_removed":
		return p.recipient(r)
	case KindClockAccepted:
		return p.clockAccepted(r)
	}
	return nil
}

// mostSeconds is how many a duration can hold: a clock can be set by as much.
const mostSeconds = math.MaxInt64 / int64(time.Second)

// clockAccepted reads by how much the clock was set, in seconds, and takes one
// more: less would let what was spent look older than it is.
func (p *Plan) clockAccepted(r audit.Record) error {
	seconds, err := strconv.ParseInt(r.Data["step_seconds"], 10, 64)
	if err != nil || seconds < -mostSeconds || seconds > mostSeconds {
		return errors.New("it does not say by how much the clock was set")
	}
	seconds = min(seconds, mostSeconds-1) // One more must fit.
	p.events = append(p.events, event{at: r.Time, change: clockAccepted, ahead: time.Duration(seconds+1) * time.Second})
	return nil
}

func (p *Plan) proposed(r audit.Record) {
	asked := intent{r.Data["tool"], r.Data["arguments"]}
	p.intents[fingerprint(asked)] = asked
	p.asked[r.Session+" "+r.Correlation] = asked
}

func fingerprint(i intent) string {
	digest := sha256.Sum256([]byte(i.tool + "\x00" + i.arguments))
	return hex.EncodeToString(digest[:])
}

func (p *Plan) decided(r audit.Record) error {
	if r.Proposal == "" || p.byID[r.Proposal] != nil {
		return errors.New("its proposal has no name, or one that was used before")
	}
	named := r.Data[flow.FieldFingerprint]
	asked, known := p.intents[named]
	if !known {
		asked = p.asked[r.Session+" "+r.Correlation]
	}
	if named == "" {
		named = fingerprint(asked)
	}
	made := &proposal{Record: approval.Record{Proposal: approval.Proposal{
		ID: r.Proposal, State: approval.Expired, Session: r.Session, Correlation: r.Correlation,
		Tool: asked.tool, Arguments: asked.arguments, Rules: strings.Fields(r.Data["rules"]), Tier: tierOf(r.Data["tier"]),
		CreatedAt: r.Time, ExpiresAt: r.Time,
	}}}
	if err := errors.Join(unhex(made.Fingerprint[:], named), unhex(made.CodeHash[:], r.Data[flow.FieldCode])); err != nil {
		return err
	}
	if key := r.Data[flow.FieldKey]; key != "" {
		made.Key = flow.GivenKey(key).Name
	}
	if code := r.Data["refused"]; code != "" {
		made.State, made.FinishedAt, made.Denied = approval.Denied, r.Time, fault.New(fault.Code(code), "%s", r.Data["why"])
	}
	p.proposals, p.byID[r.Proposal] = append(p.proposals, made), made
	return nil
}

func tierOf(name string) policy.Tier {
	for tier := policy.Auto; tier <= policy.Deny; tier++ {
		if tier.String() == name {
			return tier
		}
	}
	return policy.Deny
}

// unhex reads what fills a field; nothing leaves it empty.
func unhex(into []byte, text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 0 && len(raw) != len(into) {
		return fmt.Errorf("%q is no digest", text)
	}
	copy(into, raw)
	return nil
}

// moved follows a proposal from state to state.
func (p *Plan) moved(r audit.Record) error {
	about := p.byID[r.Proposal]
	if about == nil {
		if r.Kind == "cancelled" {
			return nil // Its caller left before it was told of, and nobody has its code.
		}
		return errUnknown
	}
	switch r.Kind {
	case "cancelled":
		if r.Data["state"] == approval.Cancelled.String() {
			about.State, about.FinishedAt = approval.Cancelled, r.Time
		}
	case "confirmed":
		count, err := strconv.ParseUint(r.Data["transactions"], 10, 32)
		if err != nil {
			return fmt.Errorf("its number of transactions: %w", err)
		}
		about.State, about.batch, about.correlation = approval.Executing, uint32(count), r.Correlation
	case "refused":
		about.refused = &flow.StoredFault{Code: fault.Code(r.Data["code"]), Message: r.Data["message"]}
	case "finished":
		about.State, about.FinishedAt = approval.Done, r.Time
	}
	return nil
}

func (p *Plan) reserved(r audit.Record) error {
	about, id := p.byID[r.Proposal], r.Data["reservation"]
	if about == nil {
		return errUnknown
	}
	if id == "" || p.holds[id] != nil {
		return errors.New("its reservation has no name, or one that was used before")
	}
	position, err := strconv.Atoi(r.Data["position"])
	height, heightErr := strconv.ParseUint(r.Data["last_valid_block_height"], 10, 64)
	made := &hold{outcome: flow.Unknown, wallet: p.fallback, Entry: ledger.Entry{
		ID: id, ProposalID: r.Proposal, Session: r.Session, Position: position, LastValidHeight: height, ReservedAt: r.Time,
		Charge: make(map[solana.PublicKey]amount.Units), Payments: make(map[policy.Destination]amount.Units),
	}}
	if err := errors.Join(err, heightErr, unhex(made.Digest[:], r.Digest), made.amounts(r.Data)); err != nil {
		return err
	}
	if wallet := r.Data[flow.FieldWallet]; wallet == "" {
		if p.unnamed != nil {
			return fmt.Errorf("it does not name its wallet, and the configured one is not known: %w", p.unnamed)
		}
		p.attribute(made, about)
	} else if made.wallet, err = walletOf(wallet, r.Data[flow.FieldChain]); err != nil {
		return err
	}
	p.holds[id], about.holds = made, append(about.holds, made)
	p.events = append(p.events, event{at: r.Time, change: reserved, hold: made})
	return nil
}

func walletOf(address, genesis string) (Wallet, error) {
	key, err := solana.ParsePublicKey(address)
	if err != nil {
		return Wallet{}, err
	}
	hash, err := solana.ParseHash(genesis)
	return Wallet{key, hash}, err
}

// amounts reads what is held, and for whom.
func (h *hold) amounts(data map[string]string) error {
	for name, text := range data {
		if asset, ok := strings.CutPrefix(name, flow.PrefixCharge); ok {
			mint, err := assetOf(asset)
			units, unitsErr := unitsOf(text)
			if err := errors.Join(err, unitsErr); err != nil {
				return err
			}
			h.Charge[mint] = units
		}
		if to, ok := strings.CutPrefix(name, flow.PrefixPays); ok {
			recipient, asset, _ := strings.Cut(to, " ")
			key, err := solana.ParsePublicKey(recipient)
			mint, mintErr := assetOf(asset)
			units, unitsErr := unitsOf(text)
			if err := errors.Join(err, mintErr, unitsErr); err != nil {
				return err
			}
			h.Payments[policy.Destination{Recipient: key, Mint: mint}] = units
		}
	}
	if len(h.Charge) == 0 {
		return errors.New("it does not say what was reserved")
	}
	return nil
}

func assetOf(name string) (solana.PublicKey, error) {
	if name == "SOL" {
		return amount.SOL, nil
	}
	return solana.ParsePublicKey(name)
}

func unitsOf(text string) (amount.Units, error) {
	units, err := strconv.ParseUint(text, 10, 64)
	return amount.Units(units), err
}

// attribute finds the recipient of a transfer in a record of the first version,
// which did not name it: what was asked for does. All that was reserved counts as
// paid.
func (p *Plan) attribute(h *hold, about *proposal) {
	if about.Tool != "solana_transfer" {
		return
	}
	var asked struct{ To, Mint string }
	if err := json.Unmarshal([]byte(about.Arguments), &asked); err != nil {
		p.unpaid++
		return
	}
	to, err := solana.ParsePublicKey(asked.To)
	if err != nil {
		p.unpaid++
		return
	}
	mint, err := solana.ParsePublicKey(asked.Mint)
	if err != nil || mint == solana.WrappedSOL {
		mint = amount.SOL
	}
	h.Payments[policy.Destination{Recipient: to, Mint: mint}] = h.Charge[mint]
}

func (p *Plan) signed(r audit.Record) error {
	about := p.holds[r.Data["reservation"]]
	if about == nil {
		return errUnknown
	}
	signature, err := solana.ParseSignature(r.Data["signature"])
	if err != nil {
		return fmt.Errorf("its signature: %w", err)
	}
	about.Signature = signature
	p.events = append(p.events, event{at: r.Time, change: signed, hold: about, signature: signature})
	return nil
}

// outcomes are the proven ends as the log calls them.
var outcomes = map[flow.Outcome]ledger.Outcome{
	flow.NothingSent: ledger.NothingSent, flow.Landed: ledger.Landed, flow.LandedFailed: ledger.LandedFailed, flow.Expired: ledger.Expired,
}

// settled follows a reservation to its end. A crash between the log and the ledger
// leaves more than one: of those that moved nothing the last one counts, and what
// has moved money is final.
func (p *Plan) settled(r audit.Record) error {
	about, told := p.holds[r.Data["reservation"]], flow.Outcome(r.Data["outcome"])
	if about == nil {
		if told == flow.NothingSent {
			return nil // The process stopped before it told of the reservation, and so before it signed.
		}
		return errUnknown
	}
	outcome, proven := outcomes[told]
	if !proven {
		if told != flow.Unknown {
			return fmt.Errorf("%q is no outcome", told)
		}
		return nil
	}
	if about.outcome == flow.Landed || about.outcome == flow.LandedFailed {
		return nil
	}
	earlier := about.outcome
	about.outcome = told
	if slot, err := strconv.ParseUint(r.Data["slot"], 10, 64); err == nil {
		about.slot = slot
	}
	if fee, err := unitsOf(r.Data["fee"]); err == nil {
		about.fee = fee
	}
	if earlier != flow.Unknown && told != flow.Landed && told != flow.LandedFailed {
		p.events[about.end].outcome = outcome
		return nil
	}
	about.end = len(p.events)
	p.events = append(p.events, event{at: r.Time, change: settled, hold: about, outcome: outcome})
	return nil
}

func (p *Plan) recipient(r audit.Record) error {
	address, err := solana.ParsePublicKey(r.Data["address"])
	if err != nil {
		return fmt.Errorf("its address: %w", err)
	}
	e := event{at: r.Time, change: recipientAdded, recipient: effects.Recipient{Name: r.Data["name"], Address: address}}
	if r.Kind == "recipient_removed" {
		e.change = recipientRemoved
	}
	p.events = append(p.events, e)
	return nil
}
