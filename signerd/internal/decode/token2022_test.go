package decode_test

import (
	"slices"
	"strings"
	"testing"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// TestDecodeNamesEveryExtensionInstruction: each is known by its own name,
// refused as such, and the first number behind the last is refused outright.
func TestDecodeNamesEveryExtensionInstruction(t *testing.T) {
	for tag, want := range map[byte][]string{
		26: {"InitializeTransferFeeConfig", "", "WithdrawWithheldTokensFromMint", "WithdrawWithheldTokensFromAccounts", "HarvestWithheldTokensToMint", "SetTransferFee"},
		27: {
			"InitializeMint", "UpdateMint", "ConfigureAccount", "ApproveAccount", "EmptyAccount", "Deposit", "Withdraw", "Transfer", "ApplyPendingBalance",
			"EnableConfidentialCredits", "DisableConfidentialCredits", "EnableNonConfidentialCredits", "DisableNonConfidentialCredits",
			"TransferWithFee", "ConfigureAccountWithRegistry",
		},
		28: {"Initialize", "Update"}, 30: {"Enable", "Disable"}, 33: {"Initialize", "UpdateRate"}, 34: {"Enable", "Disable"},
		36: {"Initialize", "Update"},
		37: {
			"InitializeConfidentialTransferFeeConfig", "WithdrawWithheldTokensFromMint", "WithdrawWithheldTokensFromAccounts",
			"HarvestWithheldTokensToMint", "EnableHarvestToMint", "DisableHarvestToMint",
		},
		39: {"Initialize", "Update"}, 40: {"Initialize", "Update"}, 41: {"Initialize", "Update"},
		42: {"InitializeMint", "RotateSupplyElGamalPubkey", "UpdateDecryptableSupply", "Mint", "Burn", "ApplyPendingBurn"},
		43: {"Initialize", "UpdateMultiplier"}, 44: {"Initialize", "Pause", "Resume"},
		46: {"Initialize", "Burn", "BurnChecked", "ConfidentialBurn"},
	} {
		for inner, name := range want {
			if name == "" {
				continue // TransferCheckedWithFee, which TestDecodeEveryOpcode has
			}
			tx, err := readCalls(call(solana.Token2022Program, 3, tag, byte(inner)))
			if err != nil {
				t.Errorf("%d.%d: %v", tag, inner, err)
				continue
			}
			if got := tx.Instructions()[0]; !strings.HasSuffix(got.Name, "Extension."+name) || got.Refusal == "" {
				t.Errorf("%d.%d is %s with refusal %q, want %s refused", tag, inner, got.Name, got.Refusal, name)
			}
		}
		for _, raw := range [][]byte{{tag, byte(len(want))}, {tag, 255}, {tag}} {
			if _, err := readCalls(call(solana.Token2022Program, 3, raw...)); !fault.Is(err, fault.TransactionRefused) {
				t.Errorf("%v: %v, want refused", raw, err)
			}
		}
		if _, err := readCalls(call(solana.TokenProgram, 3, tag, 0)); !fault.Is(err, fault.TransactionRefused) {
			t.Errorf("SPL Token has no opcode %d: %v", tag, err)
		}
	}
}

func TestDecodeNamesMetadataInstructions(t *testing.T) {
	initialize := []byte{210, 225, 30, 162, 88, 184, 77, 141, 0, 0}
	_, err := readCalls(call(solana.Token2022Program, 3, initialize...))
	if !fault.Is(err, fault.TransactionRefused) || !strings.Contains(err.Error(), "TokenMetadata.Initialize") {
		t.Errorf("metadata: %v, want refused by its name", err)
	}
	if _, err := readCalls(call(solana.Token2022Program, 3, initialize[:7]...)); !fault.Is(err, fault.TransactionRefused) {
		t.Errorf("half a discriminator: %v", err)
	}
}

// TestDecodeUnpacksBatch: what is inside is decoded by the same rules, named,
// and not signed.
func TestDecodeUnpacksBatch(t *testing.T) {
	transfer := data([]byte{3}, make([]byte, 8))
	inside := func(accounts byte, raw []byte) []byte { return data([]byte{accounts, byte(len(raw))}, raw) }
	tx, err := readCalls(call(solana.TokenProgram, 6, data([]byte{255}, inside(3, transfer), inside(3, []byte{9}))...))
	if err != nil {
		t.Fatal(err)
	}
	batch := tx.Instructions()[0]
	if batch.Kind != decode.Forbidden || !strings.HasSuffix(batch.Refusal, ": SPL Token.Transfer, SPL Token.CloseAccount") {
		t.Errorf("kind %d, refusal %q, want the two named", batch.Kind, batch.Refusal)
	}
	if len(batch.Inner) != 2 || batch.Inner[0].Kind != decode.TokenTransfer || batch.Inner[0].From != wallet ||
		!slices.Equal(batch.Inner[1].Accounts, batch.Accounts[3:]) {
		t.Errorf("inside are %+v", batch.Inner)
	}
	for name, raw := range map[string][]byte{
		"nothing":              {},
		"half a header":        {3},
		"too many accounts":    inside(7, transfer),
		"too much data":        {3, 10, 3, 0},
		"unknown opcode":       data(inside(3, transfer), inside(3, []byte{99})),
		"no opcode":            data(inside(3, transfer), inside(3, nil)),
		"a batch in the batch": inside(6, data([]byte{255}, inside(6, transfer))),
		"a short argument":     inside(6, transfer[:5]),
	} {
		if _, err := readCalls(call(solana.TokenProgram, 6, data([]byte{255}, raw)...)); !fault.Is(err, fault.TransactionRefused) {
			t.Errorf("%s: %v, want refused", name, err)
		}
	}
}
