package propose

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/plan"
	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
)

func wireFlow(flow plan.Flow) signerv1.Flow {
	switch flow {
	case plan.FlowTransfer:
		return signerv1.Flow_FLOW_TRANSFER
	case plan.FlowSwap:
		return signerv1.Flow_FLOW_SWAP
	case plan.FlowClaim:
		return signerv1.Flow_FLOW_CLAIM
	}
	return signerv1.Flow_FLOW_UNSPECIFIED
}

func wireAsset(asset plan.Asset) *signerv1.AssetAmount {
	wire := &signerv1.AssetAmount{Amount: uint64(asset.Amount)}
	if asset.Mint != amount.SOL {
		wire.Mint = asset.Mint[:]
	}
	return wire
}

func wireBounds(bounds plan.Bounds) *signerv1.Bounds {
	wire := &signerv1.Bounds{MaxFee: uint64(bounds.MaxFee), MaxRent: uint64(bounds.MaxRent)}
	for _, asset := range bounds.MaxOut {
		wire.MaxOut = append(wire.MaxOut, wireAsset(asset))
	}
	for _, asset := range bounds.MinIn {
		wire.MinIn = append(wire.MinIn, wireAsset(asset))
	}
	for _, key := range bounds.Programs {
		wire.Programs = append(wire.Programs, key[:])
	}
	for _, key := range bounds.Recipients {
		wire.Recipients = append(wire.Recipients, key[:])
	}
	return wire
}

// reader turns messages into domain values and remembers the first that cannot
// be read. lost is the code for that, Internal unless set.
type reader struct {
	lost fault.Code
	err  error
}

func (r *reader) fail() {
	if r.err != nil {
		return
	}
	code := fault.SignerUnavailable
	if r.lost != "" {
		code = r.lost
	}
	r.err = fault.New(code, "the signer sent an answer that cannot be read; it may be of another version")
}

func (r *reader) key(raw []byte) solana.PublicKey {
	key, err := solana.PublicKeyFromBytes(raw)
	if err != nil {
		r.fail()
	}
	return key
}

// asset reads a mint; none means SOL.
func (r *reader) asset(raw []byte) solana.PublicKey {
	if len(raw) == 0 {
		return amount.SOL
	}
	return r.key(raw)
}

func (r *reader) hash(raw []byte) solana.Hash {
	hash, err := solana.HashFromBytes(raw)
	if err != nil {
		r.fail()
	}
	return hash
}

// signature reads a signature; none means not signed.
func (r *reader) signature(raw []byte) solana.Signature {
	if len(raw) == 0 {
		return solana.Signature{}
	}
	signature, err := solana.SignatureFromBytes(raw)
	if err != nil {
		r.fail()
	}
	return signature
}

func (r *reader) decimals(value uint32) uint8 {
	if value > 255 {
		r.fail()
		return 0
	}
	return uint8(value)
}

// text cleans words of the signer, which may quote what a chain account says.
func (*reader) text(raw string) string { return untrusted.Clean(raw, untrusted.Finding).Display() }

func (r *reader) texts(raw []string) []string {
	texts := make([]string, 0, len(raw))
	for _, text := range raw {
		texts = append(texts, r.text(text))
	}
	return texts
}

func timeOf(stamp *timestamppb.Timestamp) time.Time {
	if !stamp.IsValid() {
		return time.Time{}
	}
	return stamp.AsTime()
}

func (r *reader) assets(wire []*signerv1.AssetAmount) []plan.Asset {
	var assets []plan.Asset
	for _, asset := range wire {
		assets = append(assets, plan.Asset{Mint: r.asset(asset.GetMint()), Amount: amount.Units(asset.GetAmount())})
	}
	return assets
}

func (r *reader) keys(wire [][]byte) []solana.PublicKey {
	var keys []solana.PublicKey
	for _, raw := range wire {
		keys = append(keys, r.key(raw))
	}
	return keys
}

func (r *reader) bounds(wire *signerv1.Bounds) plan.Bounds {
	return plan.Bounds{
		MaxOut:     r.assets(wire.GetMaxOut()),
		MinIn:      r.assets(wire.GetMinIn()),
		MaxFee:     amount.Units(wire.GetMaxFee()),
		MaxRent:    amount.Units(wire.GetMaxRent()),
		Programs:   r.keys(wire.GetPrograms()),
		Recipients: r.keys(wire.GetRecipients()),
	}
}

func (r *reader) limits(wire *signerv1.Limits) caps.Limits {
	limits := caps.Limits{AsOf: timeOf(wire.GetAsOf())}
	for _, window := range wire.GetWindows() {
		limits.Windows = append(limits.Windows, caps.Window{
			Name: r.text(window.GetName()), Mint: r.asset(window.GetMint()), Decimals: r.decimals(window.GetDecimals()),
			Cap: amount.Units(window.GetCap()), Used: amount.Units(window.GetUsed()),
			Reserved: amount.Units(window.GetReserved()), Left: amount.Units(window.GetLeft()),
		})
	}
	return limits
}

func (r *reader) network(wire *signerv1.Network) Network {
	if wire == nil {
		return Network{}
	}
	return Network{Cluster: r.text(wire.GetCluster()), Genesis: r.hash(wire.GetGenesisHash())}
}

func (r *reader) denial(wire *signerv1.Denial) Denial {
	denial := Denial{
		Fault: faultgrpc.FromWire(wire.GetFault()), ProposalID: r.text(wire.GetProposalId()),
		Rules: r.texts(wire.GetRules()), Limits: r.limits(wire.GetLimits()),
	}
	if denial.Fault == nil {
		r.fail()
	}
	return denial
}

func (r *reader) proposal(wire *signerv1.Proposal) Proposal {
	if wire.GetId() == "" {
		r.fail()
	}
	proposal := Proposal{
		ID: r.text(wire.GetId()), Tier: r.tier(wire.GetTier()), Code: r.text(wire.GetConfirmationCode()), ExpiresAt: timeOf(wire.GetExpiresAt()),
		Bounds: r.bounds(wire.GetBounds()), Limits: r.limits(wire.GetLimits()), Network: r.network(wire.GetNetwork()),
		Rules: r.texts(wire.GetRules()), Charge: r.assets(wire.GetCharge()),
	}
	for _, effects := range wire.GetEffects() {
		proposal.Effects = append(proposal.Effects, r.effects(effects))
	}
	needsCode := proposal.Tier == TierAuto || proposal.Tier == TierConfirm
	if needsCode && proposal.Code == "" {
		r.fail()
	}
	return proposal
}

func (r *reader) effects(wire *signerv1.Effects) Effects {
	effects := Effects{
		Class: r.class(wire.GetClass()), Changes: r.changes(wire.GetChanges()),
		BaseFee: amount.Units(wire.GetBaseFee()), PriorityFee: amount.Units(wire.GetPriorityFee()), Tip: amount.Units(wire.GetTip()),
		Rent: amount.Units(wire.GetRent()), RentReturned: amount.Units(wire.GetRentReturned()),
		Programs: r.keys(wire.GetPrograms()), Instructions: r.texts(wire.GetInstructions()), Simulated: wire.GetSimulated(),
	}
	for _, payment := range wire.GetPayments() {
		effects.Payments = append(effects.Payments, Payment{
			Recipient: r.key(payment.GetRecipient()), Mint: r.asset(payment.GetMint()), Amount: amount.Units(payment.GetAmount()),
			Name: r.text(payment.GetName()),
		})
	}
	for _, finding := range wire.GetFindings() {
		effects.Findings = append(effects.Findings, Finding{Code: r.text(finding.GetCode()), Text: r.text(finding.GetText())})
	}
	return effects
}

func (r *reader) changes(wire []*signerv1.AssetChange) []Change {
	var changes []Change
	for _, change := range wire {
		changes = append(changes, Change{
			Mint: r.asset(change.GetMint()), Decimals: r.decimals(change.GetDecimals()),
			Out: amount.Units(change.GetOut()), In: amount.Units(change.GetIn()),
		})
	}
	return changes
}

// longestProof bounds what is passed on: a path of 63 hashes and a checkpoint.
const longestProof = 4 << 10

func (r *reader) receipt(wire *signerv1.Receipt) Receipt {
	if wire == nil {
		r.fail()
		return Receipt{}
	}
	receipt := Receipt{
		ProposalID: r.text(wire.GetProposalId()), Tool: r.text(wire.GetTool()), Outcome: r.outcome(wire.GetOutcome()), Replayed: wire.GetReplayed(),
		Fault: faultgrpc.FromWire(wire.GetFault()), Limits: r.limits(wire.GetLimits()),
		CreatedAt: timeOf(wire.GetCreatedAt()), FinishedAt: timeOf(wire.GetFinishedAt()),
		Network: r.network(wire.GetNetwork()), Rules: r.texts(wire.GetRules()),
		Expected: wire.GetExpectedTransactions(), Correlation: r.text(wire.GetCorrelationId()),
	}
	if proof := wire.GetInclusionProof(); len(proof) <= longestProof {
		receipt.Proof = proof
	}
	for _, tx := range wire.GetTransactions() {
		receipt.Transactions = append(receipt.Transactions, r.transaction(tx))
	}
	return receipt
}

func (r *reader) transaction(wire *signerv1.TransactionReceipt) TransactionReceipt {
	receipt := TransactionReceipt{
		Signature: r.signature(wire.GetSignature()), Outcome: r.outcome(wire.GetOutcome()), Slot: wire.GetSlot(),
		Fee: amount.Units(wire.GetFee()), Changes: r.changes(wire.GetChanges()),
	}
	if failure := wire.GetError(); failure != nil {
		receipt.Error = &ProgramError{Instruction: failure.Instruction, Code: r.text(failure.GetCode()), Text: r.text(failure.GetText())}
		if len(failure.GetProgram()) > 0 {
			receipt.Error.Program = r.key(failure.GetProgram())
		}
	}
	return receipt
}

func (r *reader) activity(wire *signerv1.Activity) Activity {
	activity := Activity{
		ProposalID: r.text(wire.GetProposalId()), Tool: r.text(wire.GetTool()), Arguments: untrusted.Clean(wire.GetArgumentsJson(), argumentsLimit).Display(),
		State: r.state(wire.GetState()), CreatedAt: timeOf(wire.GetCreatedAt()), Fault: faultgrpc.FromWire(wire.GetFault()),
	}
	if wire.GetOutcome() != signerv1.Outcome_OUTCOME_UNSPECIFIED {
		activity.Outcome = r.outcome(wire.GetOutcome())
	}
	for _, signature := range wire.GetSignatures() {
		activity.Signatures = append(activity.Signatures, r.signature(signature))
	}
	return activity
}

// argumentsLimit is longer than any arguments that intent lets through.
var argumentsLimit = untrusted.Limit{Runes: 2000, Bytes: 4000}

func (r *reader) tier(wire signerv1.Tier) Tier {
	switch wire {
	case signerv1.Tier_TIER_AUTO:
		return TierAuto
	case signerv1.Tier_TIER_CONFIRM:
		return TierConfirm
	case signerv1.Tier_TIER_HUMAN:
		return TierHuman
	case signerv1.Tier_TIER_QUORUM:
		return TierQuorum
	case signerv1.Tier_TIER_UNSPECIFIED, signerv1.Tier_TIER_DENY:
	}
	r.fail()
	return ""
}

func (r *reader) class(wire signerv1.Class) string {
	switch wire {
	case signerv1.Class_CLASS_COMPLETE:
		return "complete"
	case signerv1.Class_CLASS_GUARDED:
		return "guarded"
	case signerv1.Class_CLASS_UNGUARDED:
		return "unguarded"
	case signerv1.Class_CLASS_UNSPECIFIED:
	}
	r.fail()
	return ""
}

// outcome never guesses: a word that is not known means not known.
func (r *reader) outcome(wire signerv1.Outcome) Outcome {
	switch wire {
	case signerv1.Outcome_OUTCOME_NOTHING_SENT:
		return NothingSent
	case signerv1.Outcome_OUTCOME_LANDED:
		return Landed
	case signerv1.Outcome_OUTCOME_LANDED_FAILED:
		return LandedFailed
	case signerv1.Outcome_OUTCOME_EXPIRED:
		return Expired
	case signerv1.Outcome_OUTCOME_IN_PROGRESS:
		return InProgress
	case signerv1.Outcome_OUTCOME_UNKNOWN, signerv1.Outcome_OUTCOME_UNSPECIFIED:
	}
	return Unknown
}

func (r *reader) state(wire signerv1.ProposalState) State {
	switch wire {
	case signerv1.ProposalState_PROPOSAL_STATE_OPEN:
		return StateOpen
	case signerv1.ProposalState_PROPOSAL_STATE_EXECUTING:
		return StateExecuting
	case signerv1.ProposalState_PROPOSAL_STATE_DONE:
		return StateDone
	case signerv1.ProposalState_PROPOSAL_STATE_EXPIRED:
		return StateExpired
	case signerv1.ProposalState_PROPOSAL_STATE_CANCELLED:
		return StateCancelled
	case signerv1.ProposalState_PROPOSAL_STATE_DENIED:
		return StateDenied
	case signerv1.ProposalState_PROPOSAL_STATE_UNSPECIFIED:
	}
	r.fail()
	return ""
}
