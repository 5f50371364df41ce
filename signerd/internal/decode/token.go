package decode

import "countersign/shared/amount"

const (
	refuseDelegate  = "it lets somebody else spend from a token account"
	refuseRevoke    = "it changes a delegate outside a guard"
	refuseAuthority = "it hands over control of a token account or mint"
	refuseSupply    = "it creates or destroys tokens"
	refuseFreeze    = "it freezes or thaws a token account"
	refuseSetUp     = "it sets up a token account or mint by hand"
	refuseUnwrap    = "it moves SOL out of a token account without closing it"
	refuseContainer = "it hides other instructions inside"
)

// tokenSpecs are the instructions that SPL Token and Token-2022 share, with
// the additions of p-token (spl_token_interface::instruction::TokenInstruction).
var tokenSpecs = map[uint32]spec{
	0:   {name: "InitializeMint", kind: Forbidden, data: []field{u8, key, optionalKey}, accounts: 2, refusal: refuseSetUp},
	1:   {name: "InitializeAccount", kind: Forbidden, accounts: 4, refusal: refuseSetUp},
	2:   {name: "InitializeMultisig", kind: Forbidden, data: []field{u8}, accounts: 2, extra: true, refusal: refuseSetUp},
	3:   {name: "Transfer", kind: TokenTransfer, data: []field{u64}, accounts: 3, extra: true, fill: fillTokenTransfer},
	4:   {name: "Approve", kind: TokenApprove, data: []field{u64}, accounts: 3, extra: true, refusal: refuseDelegate, fill: fillApprove},
	5:   {name: "Revoke", kind: TokenRevoke, accounts: 2, extra: true, refusal: refuseRevoke, fill: fillRevoke},
	6:   {name: "SetAuthority", kind: TokenSetAuthority, data: []field{u8, optionalKey}, accounts: 2, extra: true, refusal: refuseAuthority, fill: fillSetAuthority},
	7:   {name: "MintTo", kind: Forbidden, data: []field{u64}, accounts: 3, extra: true, refusal: refuseSupply},
	8:   {name: "Burn", kind: Forbidden, data: []field{u64}, accounts: 3, extra: true, refusal: refuseSupply},
	9:   {name: "CloseAccount", kind: TokenClose, accounts: 3, extra: true, fill: fillClose},
	10:  {name: "FreezeAccount", kind: Forbidden, accounts: 3, extra: true, refusal: refuseFreeze},
	11:  {name: "ThawAccount", kind: Forbidden, accounts: 3, extra: true, refusal: refuseFreeze},
	12:  {name: "TransferChecked", kind: TokenTransfer, data: []field{u64, u8}, accounts: 4, extra: true, fill: fillTransferChecked},
	13:  {name: "ApproveChecked", kind: Forbidden, data: []field{u64, u8}, accounts: 4, extra: true, refusal: refuseDelegate},
	14:  {name: "MintToChecked", kind: Forbidden, data: []field{u64, u8}, accounts: 3, extra: true, refusal: refuseSupply},
	15:  {name: "BurnChecked", kind: Forbidden, data: []field{u64, u8}, accounts: 3, extra: true, refusal: refuseSupply},
	16:  {name: "InitializeAccount2", kind: Forbidden, data: []field{key}, accounts: 3, refusal: refuseSetUp},
	17:  {name: "SyncNative", kind: TokenSync, accounts: 1, fill: fillSync},
	18:  {name: "InitializeAccount3", kind: Forbidden, data: []field{key}, accounts: 2, refusal: refuseSetUp},
	19:  {name: "InitializeMultisig2", kind: Forbidden, data: []field{u8}, accounts: 1, extra: true, refusal: refuseSetUp},
	20:  {name: "InitializeMint2", kind: Forbidden, data: []field{u8, key, optionalKey}, accounts: 1, refusal: refuseSetUp},
	21:  {name: "GetAccountDataSize", kind: Inert, data: []field{rest}, accounts: 1},
	22:  {name: "InitializeImmutableOwner", kind: Forbidden, accounts: 1, refusal: refuseSetUp},
	23:  {name: "AmountToUiAmount", kind: Inert, data: []field{u64}, accounts: 1},
	24:  {name: "UiAmountToAmount", kind: Inert, data: []field{rest}, accounts: 1},
	38:  {name: "WithdrawExcessLamports", kind: Forbidden, accounts: 3, extra: true, refusal: refuseUnwrap},
	45:  {name: "UnwrapLamports", kind: Forbidden, data: []field{optionalU64}, accounts: 3, extra: true, refusal: refuseUnwrap},
	255: {name: "Batch", kind: Forbidden, data: []field{rest}, extra: true, refusal: refuseContainer, container: true},
}

func fillTokenTransfer(i *Instruction, v values) error {
	i.From, i.To, i.Authority = i.key(0), i.key(1), i.key(2)
	i.Amount, i.TokenProgram = amount.Units(v.numbers[0]), i.Program
	return nil
}

func fillTransferChecked(i *Instruction, v values) error {
	i.From, i.Mint, i.To, i.Authority = i.key(0), i.key(1), i.key(2), i.key(3)
	i.Amount, i.Decimals, i.Checked, i.TokenProgram = amount.Units(v.numbers[0]), v.small(1), true, i.Program
	return nil
}

func fillApprove(i *Instruction, v values) error {
	i.From, i.To, i.Authority = i.key(0), i.key(1), i.key(2)
	i.Amount, i.TokenProgram = amount.Units(v.numbers[0]), i.Program
	return nil
}

func fillRevoke(i *Instruction, _ values) error {
	i.From, i.Authority, i.TokenProgram = i.key(0), i.key(1), i.Program
	return nil
}

func fillSetAuthority(i *Instruction, v values) error {
	i.From, i.Authority, i.TokenProgram = i.key(0), i.key(1), i.Program
	i.AuthorityType, i.NoOwner = v.small(0), v.absent
	if !v.absent {
		i.Owner = v.keys[0]
	}
	return nil
}

func fillClose(i *Instruction, _ values) error {
	i.From, i.To, i.Authority, i.TokenProgram = i.key(0), i.key(1), i.key(2), i.Program
	return nil
}

func fillSync(i *Instruction, _ values) error {
	i.From, i.TokenProgram = i.key(0), i.Program
	return nil
}
