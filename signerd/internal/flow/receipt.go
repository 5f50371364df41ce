package flow

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/submit"
)

// Outcome is what is known to have happened (invariant I7).
type Outcome string

// The outcomes. InProgress is only ever told, never stored.
const (
	NothingSent  Outcome = "nothing_sent"
	Landed       Outcome = "landed"
	LandedFailed Outcome = "landed_failed"
	Expired      Outcome = "expired"
	Unknown      Outcome = "unknown"
	InProgress   Outcome = "in_progress"
)

// Receipt is the stored outcome of one confirmation.
type Receipt struct {
	ProposalID string `json:"proposal_id"`
	// Correlation is the call that confirmed it.
	Correlation  string               `json:"correlation,omitempty"`
	Tool         string               `json:"tool"`
	Outcome      Outcome              `json:"outcome"`
	Transactions []TransactionReceipt `json:"transactions,omitempty"`
	// Expected is how many transactions the batch has.
	Expected   uint32       `json:"expected"`
	Fault      *StoredFault `json:"fault,omitempty"`
	Rules      []string     `json:"rules,omitempty"`
	CreatedAt  time.Time    `json:"created_at"`
	FinishedAt time.Time    `json:"finished_at"`
	Replayed   bool         `json:"-"`
}

// TransactionReceipt is what became of one transaction of the batch.
type TransactionReceipt struct {
	ReservationID string           `json:"reservation_id"`
	Signature     solana.Signature `json:"signature"`
	Outcome       Outcome          `json:"outcome"`
	Slot          uint64           `json:"slot,omitempty"`
	Fee           amount.Units     `json:"fee,omitempty"`
	Changes       []submit.Change  `json:"changes,omitempty"`
	Error         *submit.TxError  `json:"error,omitempty"`
}

// StoredFault is a fault as kept on disk.
type StoredFault struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Fault restores the stored fault.
func (s *StoredFault) Fault() *fault.Fault {
	if s == nil {
		return nil
	}
	return fault.New(s.Code, "%s", s.Message)
}

func storedFault(err error) *StoredFault {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	return &StoredFault{Code: f.Code, Message: f.Message}
}

// conclude derives the batch's outcome from its transactions: the last one
// that was sent decides, since nothing is sent after one that did not land.
func (r *Receipt) conclude() {
	r.Outcome = NothingSent
	for _, transaction := range r.Transactions {
		if transaction.Outcome == NothingSent && r.Outcome == Landed {
			break
		}
		r.Outcome = transaction.Outcome
	}
}

func encodeReceipt(r Receipt) ([]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode receipt: %w", err)
	}
	return raw, nil
}

// receiptOf reads a proposal's stored receipt, or tells that there is none yet.
func receiptOf(p approval.Proposal) (Receipt, error) {
	if len(p.Receipt) == 0 {
		receipt := Receipt{ProposalID: p.ID, Tool: p.Tool, Outcome: NothingSent, CreatedAt: p.CreatedAt, Rules: p.Rules}
		if p.State == approval.Executing {
			receipt.Outcome = InProgress
		}
		if p.Denied != nil {
			receipt.Fault = storedFault(p.Denied)
		}
		return receipt, nil
	}
	var receipt Receipt
	if err := json.Unmarshal(p.Receipt, &receipt); err != nil {
		return Receipt{}, fault.New(fault.StateLocked, "a stored receipt cannot be read").Because(err)
	}
	return receipt, nil
}

// count32 is a count as receipts and progress carry it. Counts here are of
// transactions of a batch, open ones or sessions, and never negative.
func count32(n int) uint32 { return uint32(min(max(n, 0), math.MaxInt32)) }
