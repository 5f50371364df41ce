package solana

// Addresses of the programs and mints that both daemons know by name.
// Source: the programs' own declarations, as listed in docs.solana.com and
// the Bags SDK.
var (
	SystemProgram          = PublicKey{}
	TokenProgram           = MustPublicKey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	Token2022Program       = MustPublicKey("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	AssociatedTokenProgram = MustPublicKey("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
	ComputeBudgetProgram   = MustPublicKey("ComputeBudget111111111111111111111111111111")
	MemoProgram            = MustPublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	MemoV1Program          = MustPublicKey("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
	LookupTableProgram     = MustPublicKey("AddressLookupTab1e1111111111111111111111111")
	StakeProgram           = MustPublicKey("Stake11111111111111111111111111111111111111")
	VoteProgram            = MustPublicKey("Vote111111111111111111111111111111111111111")
	UpgradeableLoader      = MustPublicKey("BPFLoaderUpgradeab1e11111111111111111111111")
	LoaderV1               = MustPublicKey("BPFLoader1111111111111111111111111111111111")
	LoaderV2               = MustPublicKey("BPFLoader2111111111111111111111111111111111")
	LoaderV4               = MustPublicKey("LoaderV411111111111111111111111111111111111")
	ConfigProgram          = MustPublicKey("Config1111111111111111111111111111111111111")
	WrappedSOL             = MustPublicKey("So11111111111111111111111111111111111111112")

	DFlowProgram      = MustPublicKey("DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH")
	JupiterV6Program  = MustPublicKey("JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4")
	MeteoraDBCProgram = MustPublicKey("dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN")
	MeteoraDAMMv2     = MustPublicKey("cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG")
	FeeShareV1Program = MustPublicKey("FEEhPbKVKnco9EXnaY3i4R5rQVUx91wgVfu8qokixywi")
	FeeShareV2Program = MustPublicKey("FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK")
)

// IsTokenProgram reports the two programs that keep tokens.
func IsTokenProgram(key PublicKey) bool { return key == TokenProgram || key == Token2022Program }

// Facts of the fee schedule and the wire, from the runtime.
const (
	// LamportsPerSignature is the base fee.
	LamportsPerSignature = 5000
	// MaxTransactionSize is the packet limit for legacy and v0 transactions.
	MaxTransactionSize = 1232
	// MaxTransactionSizeV1 is the limit of v1 transactions.
	MaxTransactionSizeV1 = 4096
	// BlockhashLifetime is how many blocks a recent blockhash stays valid.
	BlockhashLifetime = 150
)
