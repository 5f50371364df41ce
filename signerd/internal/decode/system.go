package decode

import "countersign/shared/amount"

// Reasons that several instructions share.
const (
	refuseNonce = "a durable nonce would keep the signature valid for ever"
	refuseOwner = "it can hand the wallet to another program"
	refuseMaker = "it opens an account whose later control the bytes do not show"
	refuseSeeds = "it moves SOL out of an account derived from the wallet"
)

// systemSpecs are all instructions of the System program
// (solana_system_interface::instruction::SystemInstruction).
var systemSpecs = map[uint32]spec{
	0:  {name: "CreateAccount", kind: Forbidden, data: []field{u64, u64, key}, accounts: 2, refusal: refuseMaker},
	1:  {name: "Assign", kind: Forbidden, data: []field{key}, accounts: 1, refusal: refuseOwner},
	2:  {name: "Transfer", kind: SystemTransfer, data: []field{u64}, accounts: 2, fill: fillTransfer},
	3:  {name: "CreateAccountWithSeed", kind: Forbidden, data: []field{key, seed, u64, u64, key}, accounts: 2, optional: 1, refusal: refuseMaker},
	4:  {name: "AdvanceNonceAccount", kind: Forbidden, accounts: 3, refusal: refuseNonce},
	5:  {name: "WithdrawNonceAccount", kind: Forbidden, data: []field{u64}, accounts: 5, refusal: refuseNonce},
	6:  {name: "InitializeNonceAccount", kind: Forbidden, data: []field{key}, accounts: 3, refusal: refuseNonce},
	7:  {name: "AuthorizeNonceAccount", kind: Forbidden, data: []field{key}, accounts: 2, refusal: refuseNonce},
	8:  {name: "Allocate", kind: Forbidden, data: []field{u64}, accounts: 1, refusal: refuseOwner},
	9:  {name: "AllocateWithSeed", kind: Forbidden, data: []field{key, seed, u64, key}, accounts: 2, refusal: refuseOwner},
	10: {name: "AssignWithSeed", kind: Forbidden, data: []field{key, seed, key}, accounts: 2, refusal: refuseOwner},
	11: {name: "TransferWithSeed", kind: Forbidden, data: []field{u64, seed, key}, accounts: 3, refusal: refuseSeeds},
	12: {name: "UpgradeNonceAccount", kind: Forbidden, accounts: 1, refusal: refuseNonce},
	13: {name: "CreateAccountAllowPrefund", kind: Forbidden, data: []field{u64, u64, key}, accounts: 1, optional: 1, refusal: refuseMaker},
}

func fillTransfer(i *Instruction, v values) error {
	i.From, i.To, i.Amount = i.key(0), i.key(1), amount.Units(v.numbers[0])
	return nil
}
