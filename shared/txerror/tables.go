package txerror

import (
	"maps"

	"countersign/shared/solana"
)

var programNames = map[solana.PublicKey]string{
	solana.SystemProgram:          "the System program",
	solana.TokenProgram:           "the Token program",
	solana.Token2022Program:       "the Token-2022 program",
	solana.AssociatedTokenProgram: "the Associated Token program",
	solana.ComputeBudgetProgram:   "the Compute Budget program",
	solana.MemoProgram:            "the Memo program",
	solana.MemoV1Program:          "the Memo program",
	solana.LookupTableProgram:     "the Lookup Table program",
	solana.DFlowProgram:           "the DFlow swap",
	solana.JupiterV6Program:       "the Jupiter swap",
	solana.MeteoraDBCProgram:      "the Meteora bonding curve",
	solana.MeteoraDAMMv2:          "the Meteora pool",
	solana.FeeShareV1Program:      "the Bags fee share",
	solana.FeeShareV2Program:      "the Bags fee share",
}

// nativePrograms number their errors from zero and are not built on Anchor.
var nativePrograms = map[solana.PublicKey]bool{
	solana.SystemProgram:          true,
	solana.TokenProgram:           true,
	solana.Token2022Program:       true,
	solana.AssociatedTokenProgram: true,
	solana.ComputeBudgetProgram:   true,
	solana.MemoProgram:            true,
	solana.MemoV1Program:          true,
	solana.LookupTableProgram:     true,
}

// transactionErrors are the runtime's refusals of a whole transaction.
var transactionErrors = map[string]string{
	"AccountNotFound":                       "the wallet that pays the fee is empty: it has never received SOL",
	"AlreadyProcessed":                      "this very transaction has landed already",
	"BlockhashNotFound":                     "the transaction is too old, or newer than the node knows",
	"InsufficientFundsForFee":               "the wallet has too little SOL for the network fee",
	"InsufficientFundsForRent":              "an account would keep less SOL than its rent needs",
	"InvalidAccountForFee":                  "the account that should pay the fee may not pay fees",
	"InvalidRentPayingAccount":              "an account would keep less SOL than its rent needs",
	"AddressLookupTableNotFound":            "an address lookup table does not exist",
	"InvalidAddressLookupTableIndex":        "an address lookup table has no such entry",
	"InvalidAddressLookupTableOwner":        "an address lookup table is not one",
	"InvalidAddressLookupTableData":         "an address lookup table cannot be read",
	"SignatureFailure":                      "a signature is wrong",
	"SanitizeFailure":                       "the transaction is not well formed",
	"ProgramAccountNotFound":                "a program that it calls does not exist",
	"InvalidProgramForExecution":            "an account that it calls is not a program",
	"WouldExceedMaxBlockCostLimit":          "the block was full",
	"WouldExceedMaxAccountCostLimit":        "the block was full for an account that it uses",
	"ComputationalBudgetExceeded":           "it needs more computing than it paid for",
	"MaxLoadedAccountsDataSizeExceeded":     "it loads more account data than it may",
	"InvalidLoadedAccountsDataSizeLimit":    "its limit of account data is wrong",
	"AccountInUse":                          "an account was in use by another transaction",
	"AccountLoadedTwice":                    "an account is named twice",
	"TooManyAccountLocks":                   "it uses more accounts than allowed",
	"ClusterMaintenance":                    "the network is under maintenance",
	"UnsupportedVersion":                    "the network does not take this transaction version",
	"ProgramExecutionTemporarilyRestricted": "a program that it calls is stopped for the moment",
}

// instructionErrors are the runtime's names for a failed instruction.
var instructionErrors = map[string]string{
	"InsufficientFunds":              "not enough funds",
	"InvalidArgument":                "an argument is wrong",
	"InvalidInstructionData":         "the instruction's data is wrong",
	"InvalidAccountData":             "an account holds other data than expected",
	"AccountDataTooSmall":            "an account is too small",
	"IncorrectProgramId":             "an account belongs to another program than expected (often the other token program)",
	"MissingRequiredSignature":       "a required signature is missing",
	"AccountAlreadyInitialized":      "an account exists already",
	"UninitializedAccount":           "an account does not exist yet",
	"UnbalancedInstruction":          "funds do not add up",
	"ExternalAccountLamportSpend":    "it tried to spend from an account that is not its own",
	"ReadonlyLamportChange":          "it tried to change the balance of a read-only account",
	"ReadonlyDataModified":           "it tried to change a read-only account",
	"NotEnoughAccountKeys":           "it was given too few accounts",
	"AccountBorrowFailed":            "an account was in use",
	"MissingAccount":                 "an account that it needs was not given",
	"InvalidSeeds":                   "an address does not follow from its seeds",
	"InvalidRealloc":                 "an account cannot grow that much",
	"ComputationalBudgetExceeded":    "it needs more computing than it paid for",
	"PrivilegeEscalation":            "it tried to use a right that the transaction did not give",
	"ProgramFailedToComplete":        "it broke off, or needs more computing than it paid for",
	"ProgramEnvironmentSetupFailure": "it could not be started",
	"ImmutableAccount":               "an account cannot be changed",
	"IllegalOwner":                   "an account's owner is not allowed",
	"ArithmeticOverflow":             "a sum overflowed",
	"AccountNotRentExempt":           "an account would keep less SOL than its rent needs",
	"InvalidAccountOwner":            "an account belongs to another program than expected",
	"UnsupportedSysvar":              "it asked for something that the network does not have",
	"UnsupportedProgramId":           "it is not a program that can be called",
	"IncorrectAuthority":             "the wrong authority signed",
}

// programErrors are each program's own numbers, as their sources and published
// interfaces name them.
var programErrors = map[solana.PublicKey]map[uint32]string{
	solana.SystemProgram: {
		0: "the account exists already",
		1: "not enough SOL",
		2: "the owner program is not allowed",
		3: "the account would be too large",
		4: "a seed is too long",
		5: "the address does not follow from its seed",
		6: "the nonce account cannot be used yet",
		7: "the nonce has expired",
		8: "the nonce value is not the expected one",
	},
	solana.TokenProgram:     tokenErrors(nil),
	solana.Token2022Program: tokenErrors(token2022Errors),
	solana.MeteoraDBCProgram: {
		6002: slippage,
		6005: "the amount is zero",
		6012: "the curve has too little liquidity",
		6013: "the curve is full and the token is moving to a pool; try again later with a new quote",
		6014: "the curve is not full yet",
		6033: "the curve cannot take this amount",
		6042: "the launch's rate limiter refuses this trade",
		6043: "the launch's rate limiter refuses this trade",
		6057: "the launch's first swap is checked and did not pass",
	},
	solana.MeteoraDAMMv2: {
		6002: slippage,
		6003: "the pool is disabled",
		6006: "the amount is zero",
		6011: "the pool is not open yet",
		6015: "the price is outside the pool's range",
		6023: "the pool has too little liquidity",
		6049: "the pool's rate limiter allows one swap in a transaction",
		6069: "nothing is left after the token's transfer fee",
	},
	solana.FeeShareV2Program: {
		6009: "the wallet is not a claimer of this token",
		6010: "nothing to claim",
		6013: "the claimer's place in the list has changed; fetch the claim again",
		6014: "only SOL can be claimed here",
		6015: "a claimer is listed twice",
		6016: "a claimer still has fees outstanding",
		6017: "a claimer still has fees outstanding",
		6023: "the fee share has not been set up",
		6024: "claims are blocked while the fee share is being changed; try again later",
		6027: "the fee share's authority is wrong",
		6032: "somebody else is changing the fee share; try again later",
	},
	solana.FeeShareV1Program: {
		6000: "a number could not be converted",
		6001: "a sum overflowed",
		6002: "the shares are wrong",
		6003: "the wallet is not a claimer of this token",
		6004: "the claimers are in the wrong order",
	},
	solana.DFlowProgram: {
		15000: "a swap inside the route failed",
		15001: slippage,
		15002: "the fee account is missing",
		15004: "the amount is zero",
		15005: "the receiving account is not the expected one",
		15015: "a leg of the route took more than its input",
	},
	solana.JupiterV6Program: {
		6001: slippage,
		6008: "too few accounts: the transaction was changed after it was built",
		6014: "a token account belongs to the other token program",
		6017: "the exact output cannot be reached",
		6024: "not enough of the token to sell",
		6025: "a token account is not the expected one",
	},
}

const slippage = "the price moved by more than the slippage allowed; fetch a new quote"

// tokenErrors are the numbers that both token programs share, and more.
func tokenErrors(more map[uint32]string) map[uint32]string {
	all := map[uint32]string{
		0:  "an account would keep less SOL than its rent needs",
		1:  "not enough of the token",
		2:  "the mint is not one",
		3:  "an account is of another mint",
		4:  "an account has another owner",
		5:  "the supply is fixed",
		6:  "the account is in use already",
		9:  "the account does not exist yet",
		10: "this is not possible with wrapped SOL",
		11: "the account still holds tokens and cannot be closed",
		12: "the instruction is not allowed here",
		13: "the account's state does not allow this",
		14: "a sum overflowed",
		16: "the mint cannot freeze accounts",
		17: "the account is frozen",
		18: "the mint has other decimals",
		19: "this is possible with wrapped SOL only",
	}
	maps.Copy(all, more)
	return all
}

var token2022Errors = map[uint32]string{
	30: "the transfer fee is above its limit",
	31: "the transfer must name its mint",
	32: "the transfer fee is not the expected one",
	34: "the account's owner cannot be changed",
	35: "the account still holds withheld transfer fees",
	36: "the receiver asks for a memo",
	37: "the token cannot be transferred",
	42: "the account does not let programs move its tokens",
	44: "the account does not let programs close it",
	49: "plain transfers are switched off for this account",
	67: "the token is paused",
}

// anchorErrors are the framework's own numbers, below those of any program.
var anchorErrors = map[uint32]string{
	101:  "it does not know this instruction",
	2003: "an account breaks a rule of the program",
	2006: "an address does not follow from its seeds",
	2015: "a token account has another owner",
	3002: "an account is of another kind than expected",
	3003: "an account cannot be read",
	3007: "an account belongs to another program than expected",
	3012: "an account has not been set up",
}
