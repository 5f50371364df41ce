package propose

import (
	"time"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/plan"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Tier is what the policy asks for.
type Tier string

// The tiers.
const (
	TierAuto    Tier = "auto"
	TierConfirm Tier = "confirm"
	TierHuman   Tier = "human"
	TierQuorum  Tier = "quorum"
)

// Outcome is what happened, in the words of DESIGN's invariant I7.
type Outcome string

// The outcomes.
const (
	NothingSent  Outcome = "nothing_sent"
	Landed       Outcome = "landed"
	LandedFailed Outcome = "landed_failed"
	Expired      Outcome = "expired"
	Unknown      Outcome = "unknown"
	InProgress   Outcome = "in_progress"
)

// State is where a proposal stands.
type State string

// The states.
const (
	StateOpen      State = "open"
	StateExecuting State = "executing"
	StateDone      State = "done"
	StateExpired   State = "expired"
	StateCancelled State = "cancelled"
	StateDenied    State = "denied"
)

// Network is the cluster the signer is pinned to.
type Network struct {
	Cluster string
	Genesis solana.Hash
}

// Change is what the wallet gives and gets of one asset.
type Change struct {
	Mint     solana.PublicKey
	Decimals uint8
	Out, In  amount.Units
}

// Payment is an amount that somebody else receives.
type Payment struct {
	Recipient, Mint solana.PublicKey
	Amount          amount.Units
	// Name is the owner's for the recipient, or empty.
	Name string
}

// Finding is something the signer wants a person to know.
type Finding struct{ Code, Text string }

// Effects is what the signer found in one transaction for itself.
type Effects struct {
	Class        string
	Changes      []Change
	BaseFee      amount.Units
	PriorityFee  amount.Units
	Tip          amount.Units
	Rent         amount.Units
	RentReturned amount.Units
	Payments     []Payment
	Programs     []solana.PublicKey
	Instructions []string
	Findings     []Finding
	Simulated    bool
}

// Proposal is a batch that the signer judged and stored. Nothing is signed.
type Proposal struct {
	ID        string
	Tier      Tier
	Code      string
	ExpiresAt time.Time
	Effects   []Effects
	Bounds    plan.Bounds
	Limits    caps.Limits
	Network   Network
	Rules     []string
	// Charge is what the caps are charged in the worst case.
	Charge []plan.Asset
}

// Denial is a refusal of the signer.
type Denial struct {
	Fault      *fault.Fault
	ProposalID string
	Rules      []string
	Limits     caps.Limits
}

// ProgramError is why a transaction failed on chain.
type ProgramError struct {
	Program solana.PublicKey
	// Instruction is nil where the transaction was refused as a whole.
	Instruction *uint32
	Code, Text  string
}

// TransactionReceipt is what became of one transaction.
type TransactionReceipt struct {
	Signature solana.Signature
	Outcome   Outcome
	Slot      uint64
	Fee       amount.Units
	Changes   []Change
	Error     *ProgramError
}

// Untold reports a transaction that is on chain, and of which too few of the
// signer's RPC nodes told what it did: its fee is never nothing.
func (t TransactionReceipt) Untold() bool {
	return (t.Outcome == Landed || t.Outcome == LandedFailed) && t.Fee == 0
}

// Receipt is a stored outcome.
type Receipt struct {
	ProposalID   string
	Tool         string
	Outcome      Outcome
	Replayed     bool
	Transactions []TransactionReceipt
	Fault        *fault.Fault
	Limits       caps.Limits
	CreatedAt    time.Time
	FinishedAt   time.Time
	Network      Network
	Rules        []string
	// Expected is how many transactions the batch has; where fewer are listed,
	// the rest was not sent.
	Expected uint32
	// Correlation is the call that confirmed it, as logs and the audit log name it.
	Correlation string
	// Proof shows that the receipt is in the signer's audit log. It is passed on,
	// never read.
	Proof string
}

// Confirmation is what a code is still good for.
type Confirmation struct {
	ProposalID string
	State      State
	Bounds     plan.Bounds
	// Receipt is there for a used code.
	Receipt *Receipt
}

// Progress is one step of an execution.
type Progress struct {
	Stage                     string
	Transaction, Transactions uint32
}

// Activity is one proposal in a list.
type Activity struct {
	ProposalID string
	Tool       string
	Arguments  string
	State      State
	Outcome    Outcome
	CreatedAt  time.Time
	Signatures []solana.Signature
	Fault      *fault.Fault
}
