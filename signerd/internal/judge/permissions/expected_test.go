package permissions

import (
	"maps"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// This table is written by hand from DESIGN.md section 4.3. It is not derived
// from the code: where the two differ, one of them is wrong, and the test says
// so. What is not listed is refused as never signed.

// verdicts are what is expected beside an agreed payment and beside an agreed
// trade. An empty code is a yes.
type verdicts struct{ transfer, swap fault.Code }

const (
	yes    fault.Code = ""
	never             = fault.TransactionRefused
	unmeet            = fault.IntentMismatch // understood, and not what was agreed
)

var (
	anywhere   = verdicts{yes, yes}
	inTransfer = verdicts{yes, never}
	inSwap     = verdicts{never, yes}
	// paying somebody is what a transfer is for, and no part of a trade.
	paying = verdicts{yes, unmeet}
)

// moving are the rules of everything that moves tokens: the owner pays whom
// was agreed, what others do with what is theirs is their affair, and nobody's
// account but the wallet's own is spent from with its signature. Two accounts
// of one token cannot both be guarded, so a trade may not move between them.
var moving = map[string]verdicts{
	owner: paying, destination: anywhere, none: anywhere,
	owner + "+" + destination: {never, fault.GuardImpossible},
}

// expected is by program, then instruction with the way it is used, then role.
var expected = map[solana.PublicKey]map[string]map[string]verdicts{
	solana.SystemProgram: {
		"Transfer": {source: paying, destination: anywhere, source + "+" + destination: anywhere, none: anywhere},
		// Wrapping is a step of a trade, and a transfer needs none of it. Somebody
		// else's account is nobody who was agreed. What others send is a present.
		"Transfer to a wrapped-SOL account": {source: {unmeet, unmeet}, destination: anywhere, source + "+" + destination: inSwap, none: anywhere},
	},
	solana.TokenProgram: tokens(nil),
	solana.Token2022Program: tokens(map[string]map[string]verdicts{
		"TransferFeeExtension TransferCheckedWithFee": {
			owner: paying, destination: anywhere, none: anywhere,
			// Its fee leaves the wallet, and no trade agreed to that.
			owner + "+" + destination: {never, fault.OutsideBounds},
		},
	}),
	solana.AssociatedTokenProgram: {
		"Create": opening, "Create in its oldest form, without opcode": opening, "CreateIdempotent": opening,
	},
	solana.ComputeBudgetProgram: {
		"RequestHeapFrame": fees, "SetComputeUnitLimit": fees, "SetComputeUnitPrice": fees, "SetLoadedAccountsDataSizeLimit": fees,
	},
	solana.MemoProgram:   {"Memo": {signer: anywhere, none: anywhere}},
	solana.MemoV1Program: {"Memo": {signer: anywhere, none: anywhere}},
}

// opening: accounts are opened for the wallet, or for whom a transfer pays.
var opening = map[string]verdicts{
	owner: anywhere, payer + "+" + owner: anywhere, payer: inTransfer, none: inTransfer,
}

var fees = map[string]verdicts{payer: anywhere, none: anywhere}

func tokens(more map[string]map[string]verdicts) map[string]map[string]verdicts {
	table := map[string]map[string]verdicts{
		"Transfer": moving, "TransferChecked": moving,
		// An account is closed to the wallet, or is somebody else's.
		"CloseAccount": {owner + "+" + destination: anywhere, destination: anywhere, none: anywhere},
		"SyncNative":   {owner: anywhere, none: anywhere},
		// They read a mint and answer.
		"GetAccountDataSize": {authority: anywhere, none: anywhere},
		"AmountToUiAmount":   {authority: anywhere, none: anywhere},
		"UiAmountToAmount":   {authority: anywhere, none: anywhere},
	}
	maps.Copy(table, more)
	return table
}

// want is the expectation for one use in one role.
func (i instruction) want(role string) verdicts {
	if found, ok := expected[i.program][i.title()][role]; ok {
		return found
	}
	return verdicts{never, never}
}
