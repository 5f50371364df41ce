package propose

import (
	"testing"
	"unicode"

	"google.golang.org/protobuf/proto"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/alloctest"
	"countersign/shared/solana"
)

// Whatever the signer sends is read or refused, costs memory by its length, and
// an outcome or a class that is not known is never taken for a good one.
func FuzzReadAnswers(f *testing.F) {
	for kind, message := range []proto.Message{
		&signerv1.Proposal{
			Id: "p", Tier: signerv1.Tier_TIER_CONFIRM, ConfirmationCode: "CODE", Network: &signerv1.Network{Cluster: "local", GenesisHash: make([]byte, 32)},
			Effects: []*signerv1.Effects{{Class: signerv1.Class_CLASS_GUARDED, Payments: []*signerv1.Payment{{Recipient: solana.DFlowProgram[:], Amount: 1}}}},
			Limits:  &signerv1.Limits{Windows: []*signerv1.Window{{Name: "day", Decimals: 9, Cap: 5, Left: 5}}},
		},
		&signerv1.Receipt{ProposalId: "p", Outcome: signerv1.Outcome_OUTCOME_LANDED, Transactions: []*signerv1.TransactionReceipt{{
			Signature: make([]byte, 64), Outcome: signerv1.Outcome_OUTCOME_LANDED, Changes: []*signerv1.AssetChange{{Decimals: 9, Out: 5}},
			Error: &signerv1.ProgramError{Code: "Custom", Text: "\x1b[31m"},
		}}},
		&signerv1.Denial{Fault: &signerv1.Fault{Code: "cap_exceeded", Message: "no"}, Rules: []string{"caps\u202e"}},
		&signerv1.Activity{ProposalId: "p", State: signerv1.ProposalState_PROPOSAL_STATE_DONE, Outcome: 77, Signatures: [][]byte{{1}}},
	} {
		raw, err := proto.Marshal(message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(kind), raw)
		f.Add(byte(kind), raw[:len(raw)-1])
	}
	f.Fuzz(func(t *testing.T, kind byte, raw []byte) {
		if wrong := alloctest.Excess(len(raw), 4_000, 256<<10, func() { readAnswer(t, kind, raw) }); wrong != "" {
			t.Error(wrong)
		}
	})
}

func readAnswer(t *testing.T, kind byte, raw []byte) {
	t.Helper()
	r := &reader{}
	switch kind % 4 {
	case 0:
		var wire signerv1.Proposal
		if proto.Unmarshal(raw, &wire) == nil {
			got := r.proposal(&wire)
			checkTexts(t, append(got.Rules, got.ID, got.Code)...)
			if r.err == nil && (got.ID == "" || got.Tier == "" || len(got.Effects) != len(wire.GetEffects())) {
				t.Fatalf("%v was read as %+v", &wire, got)
			}
		}
	case 1:
		var wire signerv1.Receipt
		if proto.Unmarshal(raw, &wire) == nil {
			got := r.receipt(&wire)
			if (got.Outcome == Landed) != (wire.GetOutcome() == signerv1.Outcome_OUTCOME_LANDED) || len(got.Transactions) != len(wire.GetTransactions()) {
				t.Fatalf("%v was read as %+v", &wire, got)
			}
			for i, transaction := range got.Transactions {
				if (transaction.Outcome == Landed) != (wire.GetTransactions()[i].GetOutcome() == signerv1.Outcome_OUTCOME_LANDED) {
					t.Fatalf("%v was read as %+v", &wire, got)
				}
			}
		}
	case 2:
		var wire signerv1.Denial
		if proto.Unmarshal(raw, &wire) == nil {
			got := r.denial(&wire)
			checkTexts(t, append(got.Rules, got.ProposalID)...)
			if r.err == nil && got.Fault == nil {
				t.Fatalf("%v was read as no refusal", &wire)
			}
		}
	case 3:
		var wire signerv1.Activity
		if proto.Unmarshal(raw, &wire) == nil {
			got := r.activity(&wire)
			checkTexts(t, got.ProposalID, got.Tool, got.Arguments)
		}
	}
}

// checkTexts demands that nothing in a text reaches a terminal as a command.
func checkTexts(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, r := range text {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q reaches the model", text)
			}
		}
	}
}
