package effects

import "countersign/shared/solana"

// Known is whom and what the owner has named: recipients of the address book
// and of the policy, and the mints of the policy.
type Known struct {
	Recipients []Recipient
	Mints      []NamedMint
}

// Recipient is somebody who may be paid.
type Recipient struct {
	// Name is empty where the policy only lists the address.
	Name    string
	Address solana.PublicKey
}

// NamedMint is a token that the owner has named.
type NamedMint struct {
	Name string
	Mint solana.PublicKey
}

// Codes of findings. A policy can have rules about each.
const (
	// FirstSeenRecipient: somebody is paid whom the owner has not named.
	FirstSeenRecipient = "first_seen_recipient"
	// LookAlikeRecipient: an address that looks like a known one.
	LookAlikeRecipient = "look_alike_recipient"
	// LookAlikeMint: a token that wears the name of another that is known.
	LookAlikeMint = "look_alike_mint"
	// UnverifiedMint: a token is bought that the owner has not named.
	UnverifiedMint = "unverified_mint"
	// UnknownInnerProgram: a program called from within that signerd does not know.
	UnknownInnerProgram = "unknown_inner_program"
	// LooseLamports: SOL in a token account that no guard can hold.
	LooseLamports = "loose_lamports"
	// Freezable, PermanentDelegate, Pausable, TransferHook, TransferFee and
	// Confidential are what a token's maker can do to its holders.
	Freezable         = "freezable"
	PermanentDelegate = "permanent_delegate"
	Pausable          = "pausable"
	TransferHook      = "transfer_hook"
	TransferFee       = "transfer_fee"
	Confidential      = "confidential"
	// Delegate: somebody can already spend from a token account of the wallet.
	Delegate = "delegate"
)

// FindingCodes are all of them.
var FindingCodes = []string{
	FirstSeenRecipient, LookAlikeRecipient, LookAlikeMint, UnverifiedMint, UnknownInnerProgram, LooseLamports,
	Freezable, PermanentDelegate, Pausable, TransferHook, TransferFee, Confidential, Delegate,
}
