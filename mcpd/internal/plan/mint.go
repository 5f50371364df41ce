package plan

import (
	"encoding/binary"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Layout of a mint, from the token programs' own sources.
const (
	mintSize            = 82
	decimalsOffset      = 44
	initializedOffset   = 45
	accountTypeOffset   = 165
	accountTypeMint     = 1
	extensionsOffset    = 166
	tokenAccountSize    = 165
	immutableOwnerBytes = 4
)

// Extension types of Token-2022 that matter to a transfer.
const (
	extTransferFee     = 1
	extNonTransferable = 9
	extTransferHook    = 14
	extPausable        = 26
)

// Mint is what a mint account says.
type Mint struct {
	Address  solana.PublicKey
	Program  solana.PublicKey
	Decimals uint8
	// AccountSize is the size of a fresh associated token account.
	AccountSize     int
	NonTransferable bool
	TransferHook    bool
	TransferFee     bool
}

// ReadMint reads a mint out of a snapshot. Whoever owns the account decides
// whether it is a mint at all.
func ReadMint(address solana.PublicKey, snapshot Snapshot) (Mint, error) {
	if address == amount.SOL || address == solana.WrappedSOL {
		return Mint{Address: address, Program: solana.TokenProgram, Decimals: amount.SOLDecimals, AccountSize: tokenAccountSize}, nil
	}
	unknown := fault.New(fault.UnknownMint, "there is no token mint at %s on this network", address)
	account, exists := snapshot.Accounts[address]
	if !exists || len(account.Data) < mintSize || account.Data[initializedOffset] != 1 {
		return Mint{}, unknown
	}
	mint := Mint{Address: address, Program: account.Owner, Decimals: account.Data[decimalsOffset], AccountSize: tokenAccountSize}
	switch {
	case account.Owner == solana.TokenProgram && len(account.Data) == mintSize:
		return mint, nil
	case account.Owner == solana.Token2022Program && len(account.Data) == mintSize:
		mint.AccountSize = extensionsOffset + immutableOwnerBytes
		return mint, nil
	case account.Owner == solana.Token2022Program && len(account.Data) > extensionsOffset && account.Data[accountTypeOffset] == accountTypeMint:
		return mint, readExtensions(&mint, account.Data[extensionsOffset:])
	}
	return Mint{}, unknown
}

// readExtensions walks type (u16), length (u16), value.
func readExtensions(mint *Mint, data []byte) error {
	mint.AccountSize = extensionsOffset + immutableOwnerBytes
	for len(data) >= 4 {
		kind, length := binary.LittleEndian.Uint16(data), int(binary.LittleEndian.Uint16(data[2:]))
		if kind == 0 {
			return nil
		}
		if len(data) < 4+length {
			return fault.New(fault.UnknownMint, "the mint %s cannot be read", mint.Address)
		}
		value := data[4 : 4+length]
		switch kind {
		case extTransferFee:
			mint.TransferFee = true
			mint.AccountSize += 4 + 8
		case extNonTransferable:
			mint.NonTransferable = true
			mint.AccountSize += 4
		case extTransferHook:
			// authority (32), program (32): no program, no hook.
			mint.TransferHook = len(value) >= 64 && [32]byte(value[32:64]) != [32]byte{}
			mint.AccountSize += 4 + 1
		case extPausable:
			mint.AccountSize += 4
		}
		data = data[4+length:]
	}
	return nil
}

// TokenAccountSize is the size of a new account of mint under program.
func TokenAccountSize(program, mint solana.PublicKey, snapshot Snapshot) (int, error) {
	if program == solana.TokenProgram {
		return tokenAccountSize, nil
	}
	read, err := ReadMint(mint, snapshot)
	if err != nil {
		return 0, err
	}
	return read.AccountSize, nil
}

// TokenBalance reads the amount of a token account, zero where it is missing.
func TokenBalance(address solana.PublicKey, snapshot Snapshot) amount.Units {
	account, exists := snapshot.Accounts[address]
	if !exists || len(account.Data) < tokenAccountSize ||
		account.Owner != solana.TokenProgram && account.Owner != solana.Token2022Program {
		return 0
	}
	return amount.Units(binary.LittleEndian.Uint64(account.Data[64:]))
}
