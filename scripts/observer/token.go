package observer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// The programs whose accounts hold tokens.
const (
	tokenProgram     = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	token2022Program = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
)

// TokenAccount is a token account. Delegate and CloseAuthority are empty where
// there is none.
type TokenAccount struct {
	Program        string
	Mint           string
	Owner          string
	Amount         uint64
	Delegate       string
	Delegated      uint64
	CloseAuthority string
	Frozen         bool
}

// TokenAmount is what a token account holds, and whether there is one.
func (o *Observer) TokenAmount(ctx context.Context, tokenAccount string) (amount uint64, exists bool, err error) {
	account, exists, err := o.TokenAccount(ctx, tokenAccount)
	return account.Amount, exists, err
}

// TokenAccount reads a token account, and whether there is one. Any other kind
// of account at that address is an error.
func (o *Observer) TokenAccount(ctx context.Context, address string) (TokenAccount, bool, error) {
	account, exists, err := o.Account(ctx, address)
	if err != nil || !exists {
		return TokenAccount{}, false, err
	}
	token, err := ParseTokenAccount(account)
	if err != nil {
		return TokenAccount{}, false, fmt.Errorf("%s: %w", address, err)
	}
	return token, true, nil
}

// Where the fields of a token account stand. Token-2022 appends to them a byte
// that says it is an account (2) and not a mint, then extensions.
const (
	amountAt      = 64
	delegateAt    = 72
	stateAt       = 108
	delegatedAt   = 121
	closeAt       = 129
	tokenSize     = 165
	kindAt        = tokenSize
	kindAccount   = 2
	stateReady    = 1
	stateFrozen   = 2
	optionAbsent  = 0
	optionPresent = 1
)

// ParseTokenAccount reads the data of a token account.
func ParseTokenAccount(account Account) (TokenAccount, error) {
	data := account.Data
	if account.Owner != tokenProgram && account.Owner != token2022Program {
		return TokenAccount{}, fmt.Errorf("no token account: its owner is %s", account.Owner)
	}
	extended := account.Owner == token2022Program && len(data) > kindAt && data[kindAt] == kindAccount
	if len(data) != tokenSize && !extended {
		return TokenAccount{}, fmt.Errorf("no token account: %d bytes", len(data))
	}
	state := data[stateAt]
	if state != stateReady && state != stateFrozen {
		return TokenAccount{}, fmt.Errorf("the token account is in state %d", state)
	}
	delegate, err := optionalKey(data[delegateAt:])
	if err != nil {
		return TokenAccount{}, fmt.Errorf("delegate: %w", err)
	}
	closer, err := optionalKey(data[closeAt:])
	if err != nil {
		return TokenAccount{}, fmt.Errorf("close authority: %w", err)
	}
	return TokenAccount{
		Program: account.Owner, Mint: base58(data[:32]), Owner: base58(data[32:64]),
		Amount:   binary.LittleEndian.Uint64(data[amountAt:]),
		Delegate: delegate, Delegated: binary.LittleEndian.Uint64(data[delegatedAt:]),
		CloseAuthority: closer, Frozen: state == stateFrozen,
	}, nil
}

func optionalKey(data []byte) (string, error) {
	switch binary.LittleEndian.Uint32(data) {
	case optionAbsent:
		return "", nil
	case optionPresent:
		return base58(data[4:36]), nil
	}
	return "", errors.New("neither absent nor present")
}

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func base58(raw []byte) string {
	var text []byte
	number, digit, base := new(big.Int).SetBytes(raw), new(big.Int), big.NewInt(int64(len(alphabet)))
	for number.Sign() > 0 {
		number.DivMod(number, base, digit)
		text = append(text, alphabet[digit.Int64()])
	}
	for _, b := range raw {
		if b != 0 {
			break
		}
		text = append(text, alphabet[0])
	}
	slices.Reverse(text)
	return string(text)
}
