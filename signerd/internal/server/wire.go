package server

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/peer"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

// Limits of one request's parts. The whole message is bounded by the server.
const (
	maxArguments = 16 << 10
	maxLabel     = 128
	maxListed    = 64
)

func proposedFromWire(caller peer.Identity, request *signerv1.ProposeRequest) (flow.Proposed, error) {
	intent := request.GetIntent()
	if len(intent.GetArgumentsJson()) > maxArguments || len(intent.GetTool()) > maxLabel ||
		len(request.GetClientName()) > maxLabel || len(request.GetCorrelationId()) > maxLabel {
		return flow.Proposed{}, fault.New(fault.InvalidArguments, "a text of the proposal is too long")
	}
	fingerprint, err := fingerprintFromWire(intent.GetFingerprint())
	if err != nil {
		return flow.Proposed{}, err
	}
	kind, err := flowFromWire(request.GetFlow())
	if err != nil {
		return flow.Proposed{}, err
	}
	bounds, err := boundsFromWire(request.GetBounds())
	if err != nil {
		return flow.Proposed{}, err
	}
	return flow.Proposed{
		Session: caller.Session, Peer: flow.Peer{UID: caller.UID, PID: caller.PID, Executable: caller.Executable},
		Client: request.GetClientName(), Correlation: request.GetCorrelationId(),
		Tool: intent.GetTool(), Arguments: intent.GetArgumentsJson(), Fingerprint: fingerprint, Key: request.GetIdempotencyKey(),
		Flow: kind, Bounds: bounds, Transactions: request.GetTransactions(),
	}, nil
}

func confirmedFromWire(caller peer.Identity, request *signerv1.ExecuteRequest) (flow.Confirmed, error) {
	fingerprint, err := fingerprintFromWire(request.GetFingerprint())
	if err != nil {
		return flow.Confirmed{}, err
	}
	// It stands in every record of the execution, which must not become too long to
	// be written once the code is used.
	if len(request.GetCorrelationId()) > maxLabel {
		return flow.Confirmed{}, fault.New(fault.InvalidArguments, "the correlation id is too long")
	}
	return flow.Confirmed{
		Session: caller.Session, Correlation: request.GetCorrelationId(), Code: request.GetCode(),
		Fingerprint: fingerprint, Transactions: request.GetTransactions(),
	}, nil
}

func fingerprintFromWire(raw []byte) ([32]byte, error) {
	hash, err := solana.HashFromBytes(raw)
	if err != nil {
		return [32]byte{}, fault.New(fault.InvalidArguments, "a fingerprint has 32 bytes")
	}
	return hash, nil
}

func flowFromWire(kind signerv1.Flow) (effects.Flow, error) {
	switch kind {
	case signerv1.Flow_FLOW_TRANSFER:
		return effects.Transfer, nil
	case signerv1.Flow_FLOW_SWAP:
		return effects.Swap, nil
	case signerv1.Flow_FLOW_CLAIM:
		return effects.Claim, nil
	case signerv1.Flow_FLOW_UNSPECIFIED:
	}
	return 0, fault.New(fault.InvalidArguments, "the flow must be transfer, swap or claim")
}

func boundsFromWire(wire *signerv1.Bounds) (effects.Bounds, error) {
	if wire == nil {
		return effects.Bounds{}, fault.New(fault.InvalidArguments, "a proposal needs bounds")
	}
	bounds := effects.Bounds{MaxFee: amount.Units(wire.GetMaxFee()), MaxRent: amount.Units(wire.GetMaxRent())}
	var err error
	if bounds.MaxOut, err = amountsFromWire(wire.GetMaxOut()); err != nil {
		return effects.Bounds{}, err
	}
	if bounds.MinIn, err = amountsFromWire(wire.GetMinIn()); err != nil {
		return effects.Bounds{}, err
	}
	if bounds.Programs, err = keysFromWire(wire.GetPrograms()); err != nil {
		return effects.Bounds{}, err
	}
	bounds.Recipients, err = keysFromWire(wire.GetRecipients())
	return bounds, err
}

// amountsFromWire reads amounts by mint. A mint named twice is refused, so
// that no reader can take one amount and another reader the other.
func amountsFromWire(wire []*signerv1.AssetAmount) (map[solana.PublicKey]amount.Units, error) {
	if len(wire) > maxListed {
		return nil, fault.New(fault.InvalidArguments, "too many amounts")
	}
	amounts := make(map[solana.PublicKey]amount.Units, len(wire))
	for _, entry := range wire {
		mint := amount.SOL
		if raw := entry.GetMint(); len(raw) != 0 {
			key, err := solana.PublicKeyFromBytes(raw)
			if err != nil || key == amount.SOL || key == solana.WrappedSOL {
				return nil, fault.New(fault.InvalidArguments, "a mint is 32 bytes, or empty for SOL")
			}
			mint = key
		}
		if _, twice := amounts[mint]; twice {
			return nil, fault.New(fault.InvalidArguments, "a mint is named twice")
		}
		amounts[mint] = amount.Units(entry.GetAmount())
	}
	return amounts, nil
}

func keysFromWire(wire [][]byte) ([]solana.PublicKey, error) {
	if len(wire) > maxListed {
		return nil, fault.New(fault.InvalidArguments, "too many addresses")
	}
	keys := make([]solana.PublicKey, 0, len(wire))
	for _, raw := range wire {
		key, err := solana.PublicKeyFromBytes(raw)
		if err != nil {
			return nil, fault.New(fault.InvalidArguments, "an address has 32 bytes")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func boundsToWire(bounds effects.Bounds) *signerv1.Bounds {
	wire := &signerv1.Bounds{
		MaxOut: amountsToWire(bounds.MaxOut), MinIn: amountsToWire(bounds.MinIn),
		MaxFee: uint64(bounds.MaxFee), MaxRent: uint64(bounds.MaxRent),
	}
	wire.Programs = keysToWire(bounds.Programs)
	wire.Recipients = keysToWire(bounds.Recipients)
	return wire
}

func amountsToWire(amounts map[solana.PublicKey]amount.Units) []*signerv1.AssetAmount {
	wire := make([]*signerv1.AssetAmount, 0, len(amounts))
	for mint, units := range amounts {
		wire = append(wire, &signerv1.AssetAmount{Mint: mintToWire(mint), Amount: uint64(units)})
	}
	slices.SortFunc(wire, func(a, b *signerv1.AssetAmount) int { return slices.Compare(a.GetMint(), b.GetMint()) })
	return wire
}

// mintToWire writes SOL as an empty mint.
func mintToWire(mint solana.PublicKey) []byte {
	if mint == amount.SOL {
		return nil
	}
	return mint[:]
}

func keysToWire(keys []solana.PublicKey) [][]byte {
	wire := make([][]byte, 0, len(keys))
	for _, key := range keys {
		wire = append(wire, key[:])
	}
	return wire
}

func denial(v flow.Verdict) *signerv1.Denial {
	return &signerv1.Denial{
		Fault: faultgrpc.ToWire(v.Refused), Rules: v.Rules, ProposalId: v.Proposal.ID,
		Limits: limitsToWire(v.Limits, v.At),
	}
}

func (s *Server) proposal(v flow.Verdict) *signerv1.Proposal {
	proposal := &signerv1.Proposal{
		Id: v.Proposal.ID, Tier: tierToWire(v.Tier), ConfirmationCode: v.Code,
		ExpiresAt: timestamppb.New(v.Proposal.ExpiresAt), Bounds: boundsToWire(v.Proposal.Bounds),
		Limits: limitsToWire(v.Limits, v.At), Network: s.network(), Rules: v.Rules,
		Charge: amountsToWire(v.Charge),
	}
	for _, found := range v.Effects {
		proposal.Effects = append(proposal.Effects, effectsToWire(found))
	}
	return proposal
}

func tierToWire(tier policy.Tier) signerv1.Tier {
	switch tier {
	case policy.Auto:
		return signerv1.Tier_TIER_AUTO
	case policy.Confirm:
		return signerv1.Tier_TIER_CONFIRM
	case policy.Human:
		return signerv1.Tier_TIER_HUMAN
	case policy.Quorum:
		return signerv1.Tier_TIER_QUORUM
	case policy.Deny:
		return signerv1.Tier_TIER_DENY
	}
	return signerv1.Tier_TIER_UNSPECIFIED
}

func stateToWire(state approval.State) signerv1.ProposalState {
	switch state {
	case approval.Open:
		return signerv1.ProposalState_PROPOSAL_STATE_OPEN
	case approval.Executing:
		return signerv1.ProposalState_PROPOSAL_STATE_EXECUTING
	case approval.Done:
		return signerv1.ProposalState_PROPOSAL_STATE_DONE
	case approval.Expired:
		return signerv1.ProposalState_PROPOSAL_STATE_EXPIRED
	case approval.Cancelled:
		return signerv1.ProposalState_PROPOSAL_STATE_CANCELLED
	case approval.Denied:
		return signerv1.ProposalState_PROPOSAL_STATE_DENIED
	}
	return signerv1.ProposalState_PROPOSAL_STATE_UNSPECIFIED
}

func classToWire(class effects.Class) signerv1.Class {
	switch class {
	case effects.Complete:
		return signerv1.Class_CLASS_COMPLETE
	case effects.Guarded:
		return signerv1.Class_CLASS_GUARDED
	case effects.Unguarded:
		return signerv1.Class_CLASS_UNGUARDED
	}
	return signerv1.Class_CLASS_UNSPECIFIED
}

func outcomeToWire(outcome flow.Outcome) signerv1.Outcome {
	switch outcome {
	case flow.NothingSent:
		return signerv1.Outcome_OUTCOME_NOTHING_SENT
	case flow.Landed:
		return signerv1.Outcome_OUTCOME_LANDED
	case flow.LandedFailed:
		return signerv1.Outcome_OUTCOME_LANDED_FAILED
	case flow.Expired:
		return signerv1.Outcome_OUTCOME_EXPIRED
	case flow.Unknown:
		return signerv1.Outcome_OUTCOME_UNKNOWN
	case flow.InProgress:
		return signerv1.Outcome_OUTCOME_IN_PROGRESS
	}
	return signerv1.Outcome_OUTCOME_UNKNOWN
}

func effectsToWire(found effects.Effects) *signerv1.Effects {
	wire := &signerv1.Effects{
		Class: classToWire(found.Class()), BaseFee: uint64(found.BaseFee()), PriorityFee: uint64(found.PriorityFee()),
		Tip: uint64(found.Tip()), Rent: uint64(found.Rent()), RentReturned: uint64(found.RentReturned()),
		Programs: keysToWire(found.Programs()), Instructions: found.Instructions(), Simulated: found.Simulated(),
	}
	for _, change := range found.Changes() {
		wire.Changes = append(wire.Changes, &signerv1.AssetChange{
			Mint: mintToWire(change.Mint), Decimals: uint32(change.Decimals), Out: uint64(change.Out), In: uint64(change.In),
		})
	}
	for _, payment := range found.Payments() {
		wire.Payments = append(wire.Payments, &signerv1.Payment{
			Recipient: payment.Recipient[:], Mint: mintToWire(payment.Mint), Amount: uint64(payment.Amount),
			Name: payment.Name,
		})
	}
	for _, finding := range found.Findings() {
		wire.Findings = append(wire.Findings, &signerv1.Finding{Code: finding.Code, Text: finding.Text})
	}
	return wire
}

// receipt adds to a stored receipt what is true now: limits and network.
func (s *Server) receipt(ctx context.Context, caller peer.Identity, r flow.Receipt) (*signerv1.Receipt, error) {
	limits, err := s.limits(ctx, caller.Session)
	if err != nil {
		return nil, err
	}
	wire := &signerv1.Receipt{
		ProposalId: r.ProposalID, Tool: r.Tool, Outcome: outcomeToWire(r.Outcome), Replayed: r.Replayed, CorrelationId: r.Correlation,
		Fault: faultgrpc.ToWire(r.Fault.Fault()), Limits: limits, CreatedAt: timestamppb.New(r.CreatedAt),
		Network: s.network(), Rules: r.Rules, ExpectedTransactions: r.Expected,
	}
	if !r.FinishedAt.IsZero() {
		wire.FinishedAt = timestamppb.New(r.FinishedAt)
	}
	for _, transaction := range r.Transactions {
		wire.Transactions = append(wire.Transactions, transactionToWire(transaction))
	}
	wire.InclusionProof = s.flow.Proof(ctx, r)
	return wire, nil
}

func transactionToWire(t flow.TransactionReceipt) *signerv1.TransactionReceipt {
	wire := &signerv1.TransactionReceipt{
		Signature: t.Signature[:], Outcome: outcomeToWire(t.Outcome), Slot: t.Slot, Fee: uint64(t.Fee),
	}
	for _, change := range t.Changes {
		wire.Changes = append(wire.Changes, &signerv1.AssetChange{
			Mint: mintToWire(change.Mint), Decimals: uint32(change.Decimals), Out: uint64(change.Out), In: uint64(change.In),
		})
	}
	if t.Error != nil {
		wire.Error = &signerv1.ProgramError{
			Program: t.Error.Program[:], Instruction: instructionIndex(*t.Error), Code: t.Error.Code, Text: t.Error.Text,
		}
	}
	return wire
}

// instructionIndex is absent for an error of the transaction as a whole.
func instructionIndex(e submit.TxError) *uint32 {
	if e.Instruction < 0 {
		return nil
	}
	return new(uint32(e.Instruction)) //nolint:gosec // G115: an index of at most 64 instructions.
}

func activityToWire(p approval.Proposal, r flow.Receipt) *signerv1.Activity {
	wire := &signerv1.Activity{
		ProposalId: p.ID, Tool: p.Tool, ArgumentsJson: p.Arguments, State: stateToWire(p.State),
		Outcome: outcomeToWire(r.Outcome), CreatedAt: timestamppb.New(p.CreatedAt), Fault: faultgrpc.ToWire(r.Fault.Fault()),
	}
	for _, transaction := range r.Transactions {
		wire.Signatures = append(wire.Signatures, transaction.Signature[:])
	}
	return wire
}

func limitsToWire(windows []flow.Window, asOf time.Time) *signerv1.Limits {
	limits := &signerv1.Limits{AsOf: timestamppb.New(asOf)}
	for _, w := range windows {
		limits.Windows = append(limits.Windows, &signerv1.Window{
			Name: w.Name, Mint: mintToWire(w.Mint), Decimals: uint32(w.Decimals), Cap: uint64(w.Cap),
			Used: uint64(w.Used), Reserved: uint64(w.Reserved), Left: uint64(w.Left),
		})
	}
	return limits
}
