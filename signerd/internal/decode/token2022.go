package decode

import (
	"fmt"
	"maps"
)

const (
	refuseExtension = "it changes a Token-2022 extension"
	refuseMetadata  = "it changes what a mint says of itself"
)

// extension is an instruction of Token-2022 alone. Those of one extension
// share an opcode, and a second byte tells them apart: inner names them in
// its order, and is nil where the opcode is the whole instruction.
type extension struct {
	name  string
	inner []string
}

// extensions are in the order of spl_token_2022_interface's TokenInstruction
// and of the enumerations beside it. All but one are never signed.
var extensions = map[uint32]extension{
	25: {name: "InitializeMintCloseAuthority"},
	26: {"TransferFeeExtension", []string{
		"InitializeTransferFeeConfig", "TransferCheckedWithFee", "WithdrawWithheldTokensFromMint",
		"WithdrawWithheldTokensFromAccounts", "HarvestWithheldTokensToMint", "SetTransferFee",
	}},
	27: {"ConfidentialTransferExtension", []string{
		"InitializeMint", "UpdateMint", "ConfigureAccount", "ApproveAccount", "EmptyAccount", "Deposit", "Withdraw", "Transfer",
		"ApplyPendingBalance", "EnableConfidentialCredits", "DisableConfidentialCredits", "EnableNonConfidentialCredits",
		"DisableNonConfidentialCredits", "TransferWithFee", "ConfigureAccountWithRegistry",
	}},
	28: {"DefaultAccountStateExtension", []string{"Initialize", "Update"}},
	29: {name: "Reallocate"},
	30: {"MemoTransferExtension", []string{"Enable", "Disable"}},
	31: {name: "CreateNativeMint"},
	32: {name: "InitializeNonTransferableMint"},
	33: {"InterestBearingMintExtension", []string{"Initialize", "UpdateRate"}},
	34: {"CpiGuardExtension", []string{"Enable", "Disable"}},
	35: {name: "InitializePermanentDelegate"},
	36: {"TransferHookExtension", []string{"Initialize", "Update"}},
	37: {"ConfidentialTransferFeeExtension", []string{
		"InitializeConfidentialTransferFeeConfig", "WithdrawWithheldTokensFromMint", "WithdrawWithheldTokensFromAccounts",
		"HarvestWithheldTokensToMint", "EnableHarvestToMint", "DisableHarvestToMint",
	}},
	39: {"MetadataPointerExtension", []string{"Initialize", "Update"}},
	40: {"GroupPointerExtension", []string{"Initialize", "Update"}},
	41: {"GroupMemberPointerExtension", []string{"Initialize", "Update"}},
	42: {"ConfidentialMintBurnExtension", []string{
		"InitializeMint", "RotateSupplyElGamalPubkey", "UpdateDecryptableSupply", "Mint", "Burn", "ApplyPendingBurn",
	}},
	43: {"ScaledUiAmountExtension", []string{"Initialize", "UpdateMultiplier"}},
	44: {"PausableExtension", []string{"Initialize", "Pause", "Resume"}},
	46: {"PermissionedBurnExtension", []string{"Initialize", "Burn", "BurnChecked", "ConfidentialBurn"}},
}

// metadataInstructions belong to the interfaces of token metadata and token
// groups, which Token-2022 serves as well: the first eight bytes of the
// SHA-256 of "spl_token_metadata_interface:initialize_account" and the like.
var metadataInstructions = map[discriminator]string{
	mustDiscriminator("d2e11ea258b84d8d"): "TokenMetadata.Initialize",
	mustDiscriminator("dde9312db5cadcc8"): "TokenMetadata.UpdateField",
	mustDiscriminator("ea122038598d25b5"): "TokenMetadata.RemoveKey",
	mustDiscriminator("d7e4a6e45464567b"): "TokenMetadata.UpdateAuthority",
	mustDiscriminator("faa6b4fa0d0cb846"): "TokenMetadata.Emit",
	mustDiscriminator("79716c2736330004"): "TokenGroup.InitializeGroup",
	mustDiscriminator("6c25ab8ff81e126e"): "TokenGroup.UpdateGroupMaxSize",
	mustDiscriminator("a1695801edddd8cb"): "TokenGroup.UpdateGroupAuthority",
	mustDiscriminator("9820deb0dfed7486"): "TokenGroup.InitializeMember",
}

func token2022Specs() map[uint32]spec {
	specs := maps.Clone(tokenSpecs)
	for tag, found := range extensions {
		specs[tag] = spec{
			name: found.name, kind: Forbidden, data: []field{rest}, extra: true,
			refusal: refuseExtension, fill: found.fill,
		}
	}
	return specs
}

// unknown2022 says more of an opcode that is not in the table, if it can.
func unknown2022(data []byte) error {
	if len(data) < len(discriminator{}) {
		return nil
	}
	if name, ok := metadataInstructions[discriminator(data[:8])]; ok {
		return fmt.Errorf("%s is never signed: %s", name, refuseMetadata)
	}
	return nil
}

// fill names the instruction of an extension. Moving tokens under a fee is
// the one that may be signed.
func (e extension) fill(i *Instruction, _ values) error {
	if e.inner == nil {
		return nil
	}
	inner, arguments, ok := byteTag(i.Data[1:])
	if !ok {
		return fmt.Errorf("%s has no second opcode", e.name)
	}
	if int(inner) >= len(e.inner) {
		return fmt.Errorf("%s has no instruction %d", e.name, inner)
	}
	i.Name += "." + e.inner[inner]
	if e.inner[inner] == "TransferCheckedWithFee" {
		return fillTransferWithFee(i, arguments)
	}
	return nil
}

func fillTransferWithFee(i *Instruction, arguments []byte) error {
	v, err := readFields([]field{u64, u8, u64}, arguments)
	if err != nil {
		return err
	}
	const named = 4
	if len(i.Accounts) < named {
		return fmt.Errorf("it has %d accounts, want %d", len(i.Accounts), named)
	}
	i.Name, i.Kind, i.Refusal = "Token-2022.TransferCheckedWithFee", TokenTransfer, ""
	i.Extra = i.Accounts[named:]
	return fillTransferChecked(i, v)
}
