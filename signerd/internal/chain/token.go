package chain

import (
	"encoding/binary"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

// TokenState is whether a token account can be used.
type TokenState uint8

// The states of a token account.
const (
	TokenUninitialized TokenState = iota
	TokenInitialized
	TokenFrozen
)

// Token is a token account.
type Token struct {
	Program         solana.PublicKey
	Mint            solana.PublicKey
	Owner           solana.PublicKey
	Amount          amount.Units
	Delegate        solana.PublicKey
	HasDelegate     bool
	Delegated       amount.Units
	State           TokenState
	Native          bool
	Reserve         amount.Units
	CloseAuthority  solana.PublicKey
	HasCloser       bool
	MemoRequired    bool
	NonTransferable bool
}

// Sizes of the base states, from spl_token_interface::state. In Token-2022 the
// byte behind a token account's base tells accounts from mints.
const (
	tokenSize    = 165
	mintSize     = 82
	multisigSize = 355

	typeMint    = 1
	typeAccount = 2
)

// IsMultisig reports a multisig of either token program.
func IsMultisig(account Account) bool {
	return solana.IsTokenProgram(account.Owner) && len(account.Data) == multisigSize
}

// ParseToken reads a token account of either program. It reports false for
// anything else, also for a mint or multisig of these programs.
func ParseToken(account Account) (Token, bool) {
	data := account.Data
	if !solana.IsTokenProgram(account.Owner) || len(data) < tokenSize || len(data) == multisigSize {
		return Token{}, false
	}
	var extensions []extension
	if len(data) > tokenSize {
		if account.Owner != solana.Token2022Program || data[tokenSize] != typeAccount {
			return Token{}, false
		}
		var ok bool
		if extensions, ok = parseExtensions(data[tokenSize+1:]); !ok {
			return Token{}, false
		}
	}
	token := Token{
		Program: account.Owner,
		Mint:    solana.PublicKey(data[0:32]), Owner: solana.PublicKey(data[32:64]),
		Amount: units(data[64:]), State: TokenState(data[108]), Delegated: units(data[121:]),
	}
	var okDelegate, okNative, okCloser bool
	token.Delegate, token.HasDelegate, okDelegate = optionalKey(data[72:108])
	token.Native, okNative = presence(data[109:113])
	token.CloseAuthority, token.HasCloser, okCloser = optionalKey(data[129:165])
	if !okDelegate || !okNative || !okCloser || token.State == TokenUninitialized || token.State > TokenFrozen {
		return Token{}, false
	}
	if token.Native {
		token.Reserve = units(data[113:])
	}
	for _, each := range extensions {
		switch each.kind {
		case extMemoTransfer:
			token.MemoRequired = len(each.value) == 1 && each.value[0] != 0
		case extNonTransferableAccount:
			token.NonTransferable = true
		}
	}
	return token, true
}

func units(data []byte) amount.Units { return amount.Units(binary.LittleEndian.Uint64(data)) }

// presence reads the four-byte tag of an optional value.
func presence(data []byte) (present, ok bool) {
	tag := binary.LittleEndian.Uint32(data)
	return tag == 1, tag <= 1
}

func optionalKey(data []byte) (key solana.PublicKey, present, ok bool) {
	present, ok = presence(data)
	if present {
		key = solana.PublicKey(data[4:36])
	}
	return key, present, ok
}

// extension is one entry behind the base state of a Token-2022 account.
type extension struct {
	kind  uint16
	value []byte
}

// The extension types that are looked at (spl_token_2022_interface::extension).
const (
	extTransferFeeConfig      = 1
	extConfidentialTransfer   = 4
	extDefaultState           = 6
	extMemoTransfer           = 8
	extNonTransferable        = 9
	extPermanentDelegate      = 12
	extNonTransferableAccount = 13
	extTransferHook           = 14
	extTokenMetadata          = 19
	extPausable               = 26
)

func parseExtensions(data []byte) ([]extension, bool) {
	var found []extension
	for len(data) >= 4 {
		kind, length := binary.LittleEndian.Uint16(data), int(binary.LittleEndian.Uint16(data[2:]))
		if kind == 0 {
			return found, true
		}
		if len(data)-4 < length {
			return nil, false
		}
		found = append(found, extension{kind: kind, value: data[4 : 4+length]})
		data = data[4+length:]
	}
	for _, b := range data {
		if b != 0 {
			return nil, false
		}
	}
	return found, true
}
