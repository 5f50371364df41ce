package tools

import (
	"strings"
	"testing"

	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
)

// TestReceiptClaimsNoFreeTransaction: where it is not told what a transaction
// moved, no zero stands in its place.
func TestReceiptClaimsNoFreeTransaction(t *testing.T) {
	receipt := propose.Receipt{Outcome: propose.Landed, Expected: 1, Transactions: []propose.TransactionReceipt{{Outcome: propose.Landed}}}
	text := renderReceipt(receipt, intent.Intent{}, nil).Text
	if strings.Contains(text, "fee 0") || !strings.Contains(text, "not told by enough RPC nodes") {
		t.Errorf("it says: %s", text)
	}
	receipt.Transactions[0].Fee = 5000
	if text := renderReceipt(receipt, intent.Intent{}, nil).Text; !strings.Contains(text, "fee 0.000005 SOL") {
		t.Errorf("it says: %s", text)
	}
}
