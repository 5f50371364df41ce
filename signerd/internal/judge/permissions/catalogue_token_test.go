package permissions

import (
	"countersign/shared/solana"
)

// parts are the accounts that token instructions share.
type parts struct {
	purse
	// from and to are what a transfer moves between, by is who signs for from.
	from, to, by seat
	// account is a token account, held by its owner or by a delegate, and mint
	// a mint with its authority.
	account, mint, rules seat
}

func partsOf(p purse) parts {
	const both = owner + "+" + destination
	return parts{
		purse:   p,
		from:    at(p.ofWallet, p.ofOther, "w", owner, source).when(delegate, p.lent).when(signer, p.ofShared),
		to:      at(p.ofWallet, p.ofFriend, "w", destination).when(both, p.second),
		by:      signedBy(owner, delegate),
		account: at(p.ofWallet, p.ofOther, "w", owner, source).when(signer, p.ofShared),
		mint:    at(p.ruled, p.mint, "w", authority),
		rules:   signedBy(authority),
	}
}

// signedBy is the authority of a token instruction: a key, or a multisig.
func signedBy(roles ...string) seat {
	by := at(wallet, other, "s", roles...)
	by.multisigCanStand = true
	return by
}

// tokenCatalogue is what both token programs understand, p-token's additions
// among it.
func tokenCatalogue(program solana.PublicKey) []instruction {
	p := partsOf(purseOf(program))
	list := append(tokenMoves(p), tokenAuthorities(p)...)
	list = append(list, tokenSetUp(p)...)
	list = append(list, tokenRest(p)...)
	for n := range list {
		list[n].program = program
		list[n].data = append([]any{[]byte{byte(list[n].tag)}}, list[n].data...)
	}
	return list
}

func tokenMoves(p parts) []instruction {
	const both = owner + "+" + destination
	amount, checked := u64(units), append(u64(units), p.decimals)
	pays := &payment{mint: p.mint.theirs, units: units, as: owner}
	readMint := fixed(p.purse.mint, "")
	empty := at(p.walletEmpty, p.otherEmpty, "w", owner, source)
	wrapped := at(p.wrapped, p.otherWrapped, "w", owner, source).when(signer, p.ofShared)
	takes := at(wallet, friend, "w", destination)
	return []instruction{
		{tag: 3, name: "Transfer", data: []any{amount}, seats: []seat{p.from, p.to, p.by}, also: []string{both}, pays: pays},
		{tag: 12, name: "TransferChecked", data: []any{checked}, seats: []seat{p.from, readMint, p.to, p.by}, also: []string{both}, pays: pays},
		{tag: 8, name: "Burn", data: []any{amount}, seats: []seat{p.from, fixed(p.purse.mint, "w"), p.by}},
		{tag: 15, name: "BurnChecked", data: []any{checked}, seats: []seat{p.from, fixed(p.purse.mint, "w"), p.by}},
		{tag: 9, name: "CloseAccount", seats: []seat{empty, takes, signedBy(owner, authority)}, also: []string{both}},
		{tag: 17, name: "SyncNative", seats: []seat{at(p.wrapped, p.otherWrapped, "w", owner)}},
		{tag: 38, name: "WithdrawExcessLamports", seats: []seat{p.from, takes, p.by}, also: []string{both}},
		{tag: 45, name: "UnwrapLamports", data: []any{[]byte{0}}, seats: []seat{wrapped, takes, p.by}, also: []string{both}},
		{
			tag: 255, name: "Batch", way: "of one Transfer", data: []any{[]byte{3, 9, 3}, amount},
			seats: []seat{p.from, p.to, at(wallet, other, "s", owner, delegate)},
		},
	}
}

func tokenAuthorities(p parts) []instruction {
	amount, checked := u64(units), append(u64(units), p.decimals)
	heir := at(wallet, friend, "", delegate)
	heirKey := at(wallet, friend, "", destination)
	by := signedBy(owner)
	list := []instruction{
		{tag: 4, name: "Approve", data: []any{amount}, seats: []seat{p.account, heir, by}},
		{tag: 13, name: "ApproveChecked", data: []any{checked}, seats: []seat{p.account, fixed(p.purse.mint, ""), heir, by}},
		{tag: 5, name: "Revoke", seats: []seat{p.account, by}},
		{tag: 6, name: "SetAuthority", way: "of an account's owner", data: []any{[]byte{2, 1}, heirKey}, seats: []seat{p.account, by}},
		{tag: 6, name: "SetAuthority", way: "of an account's close authority", data: []any{[]byte{3, 1}, heirKey}, seats: []seat{p.account, by}},
		{tag: 6, name: "SetAuthority", way: "to none", data: []any{[]byte{3, 0}}, seats: []seat{p.account, by}},
		{tag: 6, name: "SetAuthority", way: "of a mint's authority", data: []any{[]byte{0, 1}, heirKey}, seats: []seat{p.mint, p.rules}},
		{tag: 7, name: "MintTo", data: []any{amount}, seats: []seat{p.mint, p.to, p.rules}},
		{tag: 14, name: "MintToChecked", data: []any{checked}, seats: []seat{p.mint, p.to, p.rules}},
		{tag: 10, name: "FreezeAccount", seats: []seat{at(p.ofWallet, p.ofOther, "w", owner), p.mint, p.rules}},
		{tag: 11, name: "ThawAccount", seats: []seat{at(p.ofWallet, p.ofOther, "w", owner), p.mint, p.rules}},
	}
	return list
}

func tokenSetUp(p parts) []instruction {
	rent := fixed(rentSysvar, "")
	fresh, readMint := fixed(fresh, "w"), fixed(p.purse.mint, "")
	who, whoKey := at(wallet, other, "", owner), at(wallet, other, "", owner)
	ruler := at(wallet, other, "", authority)
	member := at(wallet, other, "", signer)
	return []instruction{
		{tag: 0, name: "InitializeMint", data: []any{[]byte{6}, ruler, []byte{0}}, seats: []seat{fresh, rent}},
		{tag: 20, name: "InitializeMint2", data: []any{[]byte{6}, ruler, []byte{0}}, seats: []seat{fresh}},
		{tag: 1, name: "InitializeAccount", seats: []seat{fresh, readMint, who, rent}},
		{tag: 16, name: "InitializeAccount2", data: []any{whoKey}, seats: []seat{fresh, readMint, rent}},
		{tag: 18, name: "InitializeAccount3", data: []any{whoKey}, seats: []seat{fresh, readMint}},
		{tag: 2, name: "InitializeMultisig", data: []any{[]byte{1}}, seats: []seat{fresh, rent, member}},
		{tag: 19, name: "InitializeMultisig2", data: []any{[]byte{1}}, seats: []seat{fresh, member}},
		{tag: 22, name: "InitializeImmutableOwner", seats: []seat{fresh}},
	}
}

func tokenRest(p parts) []instruction {
	looked := at(p.ruled, p.purse.mint, "", authority)
	return []instruction{
		{tag: 21, name: "GetAccountDataSize", seats: []seat{looked}},
		{tag: 23, name: "AmountToUiAmount", data: []any{u64(units)}, seats: []seat{looked}},
		{tag: 24, name: "UiAmountToAmount", data: []any{[]byte("7")}, seats: []seat{looked}},
		{tag: 99, name: "any other opcode", seats: []seat{p.from, p.to, p.by}, unlisted: true},
	}
}

// extensionCatalogue is what Token-2022 alone understands: each instruction of
// each extension, by the opcode inside the opcode.
func extensionCatalogue() []instruction {
	p := partsOf(t22)
	onMint, onAccount := []seat{p.mint, p.rules}, []seat{p.account, signedBy(owner)}
	withdraw := []seat{p.mint, p.to, p.rules}
	var list []instruction
	add := func(tag uint32, name string, seats []seat, inner ...string) {
		for sub, way := range inner {
			list = append(list, instruction{tag: tag, name: name, way: way, data: []any{[]byte{byte(tag), byte(sub)}, make([]byte, 40)}, seats: seats})
		}
	}
	add(27, "ConfidentialTransferExtension", onAccount, "InitializeMint", "UpdateMint", "ConfigureAccount", "ApproveAccount", "EmptyAccount",
		"Deposit", "Withdraw", "Transfer", "ApplyPendingBalance", "EnableConfidentialCredits", "DisableConfidentialCredits",
		"EnableNonConfidentialCredits", "DisableNonConfidentialCredits", "TransferWithFee", "ConfigureAccountWithRegistry")
	add(28, "DefaultAccountStateExtension", onMint, "Initialize", "Update")
	add(30, "MemoTransferExtension", onAccount, "Enable", "Disable")
	add(33, "InterestBearingMintExtension", onMint, "Initialize", "UpdateRate")
	add(34, "CpiGuardExtension", onAccount, "Enable", "Disable")
	add(36, "TransferHookExtension", onMint, "Initialize", "Update")
	add(37, "ConfidentialTransferFeeExtension", withdraw, "InitializeConfidentialTransferFeeConfig", "WithdrawWithheldTokensFromMint",
		"WithdrawWithheldTokensFromAccounts", "HarvestWithheldTokensToMint", "EnableHarvestToMint", "DisableHarvestToMint")
	add(39, "MetadataPointerExtension", onMint, "Initialize", "Update")
	add(40, "GroupPointerExtension", onMint, "Initialize", "Update")
	add(41, "GroupMemberPointerExtension", onMint, "Initialize", "Update")
	add(42, "ConfidentialMintBurnExtension", onMint, "InitializeMint", "RotateSupplyElGamalPubkey", "UpdateDecryptableSupply", "Mint", "Burn", "ApplyPendingBurn")
	add(43, "ScaledUiAmountExtension", onMint, "Initialize", "UpdateMultiplier")
	add(44, "PausableExtension", onMint, "Initialize", "Pause", "Resume")
	add(46, "PermissionedBurnExtension", onMint, "Initialize", "Burn", "BurnChecked")
	list = append(list, feeCatalogue()...)
	single := func(tag uint32, name string, data []any, seats ...seat) {
		list = append(list, instruction{tag: tag, name: name, data: append([]any{[]byte{byte(tag)}}, data...), seats: seats})
	}
	single(25, "InitializeMintCloseAuthority", []any{[]byte{1}, at(wallet, other, "", authority)}, fixed(fresh, "w"))
	single(29, "Reallocate", []any{[]byte{7, 0}}, p.account, at(wallet, other, "sw", payer), fixed(solana.SystemProgram, ""), signedBy(owner))
	single(31, "CreateNativeMint", nil, at(wallet, other, "sw", payer), fixed(fresh, "w"), fixed(solana.SystemProgram, ""))
	single(32, "InitializeNonTransferableMint", nil, fixed(fresh, "w"))
	single(35, "InitializePermanentDelegate", []any{at(wallet, other, "", delegate)}, fixed(fresh, "w"))
	for n := range list {
		list[n].program = solana.Token2022Program
	}
	return append(list, interfaceCatalogue(onMint)...)
}

// feeCatalogue is the transfer-fee extension, whose one instruction that only
// moves tokens may be signed.
func feeCatalogue() []instruction {
	p := partsOf(taxed)
	fee := append(u64(units), p.decimals)
	fee = append(fee, u64(taxOf(units))...)
	onMint, withdraw := []seat{p.mint, p.rules}, []seat{p.mint, p.to, p.rules}
	list := []instruction{
		{way: "InitializeTransferFeeConfig", data: []any{make([]byte, 12)}, seats: onMint},
		{
			way: "TransferCheckedWithFee", data: []any{fee}, seats: []seat{p.from, fixed(p.purse.mint, ""), p.to, p.by},
			also: []string{owner + "+" + destination}, pays: &payment{mint: p.purse.mint, units: units, as: owner},
		},
		{way: "WithdrawWithheldTokensFromMint", seats: withdraw},
		{way: "WithdrawWithheldTokensFromAccounts", data: []any{[]byte{1}}, seats: append(withdraw[:3:3], fixed(p.ofFriend, "w"))},
		{way: "HarvestWithheldTokensToMint", seats: []seat{fixed(p.purse.mint, "w"), at(p.ofWallet, p.ofFriend, "w", source)}},
		{way: "SetTransferFee", data: []any{make([]byte, 10)}, seats: onMint},
	}
	for sub := range list {
		list[sub].tag, list[sub].name = 26, "TransferFeeExtension"
		list[sub].data = append([]any{[]byte{26, byte(sub)}}, list[sub].data...)
	}
	return list
}

// interfaceCatalogue is what mints answer to under names of eight bytes: token
// metadata and token groups. Their first bytes are no opcode.
func interfaceCatalogue(seats []seat) []instruction {
	var list []instruction
	for _, each := range []struct {
		name  string
		first []byte
	}{
		{"token metadata: Initialize", []byte{210, 225, 30, 162, 88, 184, 77, 141}},
		{"token metadata: UpdateField", []byte{221, 233, 49, 45, 181, 202, 220, 200}},
		{"token metadata: RemoveKey", []byte{234, 18, 32, 56, 89, 141, 37, 181}},
		{"token metadata: UpdateAuthority", []byte{215, 228, 166, 228, 84, 100, 86, 123}},
		{"token group: InitializeGroup", []byte{121, 113, 108, 39, 54, 51, 0, 4}},
		{"token group: InitializeMember", []byte{152, 32, 222, 176, 223, 237, 116, 134}},
	} {
		list = append(list, instruction{
			program: solana.Token2022Program, tag: uint32(each.first[0]), name: each.name, unlisted: true,
			data: []any{each.first}, seats: seats,
		})
	}
	return list
}
