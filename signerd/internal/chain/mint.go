package chain

import (
	"context"
	"encoding/binary"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// MintInfo is what matters of a mint.
type MintInfo struct {
	Mint     solana.PublicKey
	Program  solana.PublicKey
	Decimals uint8
	// Freezable is true where somebody can freeze holders' accounts.
	Freezable bool
	// AccountSize is how large a holder's associated account is.
	AccountSize int

	// What Token-2022 extensions do to a holder. FeeBasisPoints is the higher
	// of the present and the coming fee, which Fees are.
	FeeBasisPoints uint16
	Fees           [2]TransferFee
	Hook           bool
	// HookLater and FeeLater are true where there is none now, and somebody may
	// still switch it on.
	HookLater, FeeLater bool
	PermanentDelegate   bool
	DefaultFrozen       bool
	NonTransferable     bool
	Pausable, Paused    bool
	Confidential        bool
	// Name is what the mint itself says that it is called.
	Name TokenName
}

// Mints reads several mints; each must exist. What amounts mean must not be one
// node's word: all must show the same program and decimals.
func (c *Client) Mints(ctx context.Context, keys []solana.PublicKey) (map[solana.PublicKey]MintInfo, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if len(keys) > accountsPerCall {
		return nil, fault.New(fault.TransactionMalformed, "the transaction is about more than %d tokens", accountsPerCall)
	}
	answers, err := askAll(ctx, c, methodMany, manyParams(keys), checkMany(keys))
	if err != nil {
		return nil, err
	}
	var agreed map[solana.PublicKey]MintInfo
	for _, answer := range answers {
		accounts, err := readAccounts(keys, answer.Value)
		if err != nil {
			return nil, jsonrpc.BadAnswer(methodMany, err)
		}
		mints := make(map[solana.PublicKey]MintInfo, len(keys))
		for _, key := range keys {
			info, ok := ParseMint(accounts[key])
			if !ok {
				return nil, fault.New(fault.UnknownMint, "%s is not the mint of a token on this network", key)
			}
			if other, shown := agreed[key]; shown && (other.Program != info.Program || other.Decimals != info.Decimals) {
				return nil, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about the decimals of token %s", key)
			}
			mints[key] = info
		}
		agreed = mints
	}
	return agreed, nil
}

// ParseMint reads a mint of either token program.
func ParseMint(account Account) (MintInfo, bool) {
	data := account.Data
	if !solana.IsTokenProgram(account.Owner) || len(data) < mintSize || data[45] != 1 {
		return MintInfo{}, false
	}
	_, freezable, ok := optionalKey(data[46:82])
	if !ok {
		return MintInfo{}, false
	}
	info := MintInfo{
		Mint: account.Key, Program: account.Owner, Decimals: data[44],
		Freezable: freezable, AccountSize: tokenSize,
	}
	if account.Owner == solana.TokenProgram {
		return info, len(data) == mintSize
	}
	var extensions []extension
	if len(data) > mintSize {
		if len(data) <= tokenSize || len(data) == multisigSize || data[tokenSize] != typeMint {
			return MintInfo{}, false
		}
		if extensions, ok = parseExtensions(data[tokenSize+1:]); !ok {
			return MintInfo{}, false
		}
	}
	// An associated account of Token-2022 always has an immutable owner.
	info.AccountSize += 1 + entry(0)
	for _, each := range extensions {
		if !info.apply(each) {
			return MintInfo{}, false
		}
	}
	if info.AccountSize == multisigSize {
		info.AccountSize += 2
	}
	return info, true
}

// TransferFee is what a mint keeps back of every transfer.
type TransferFee struct {
	Most        amount.Units
	BasisPoints uint16
}

// Fee is the most that the mint can keep back of a transfer of so much: the
// present fee or the coming one, whichever is higher.
func (m MintInfo) Fee(of amount.Units) amount.Units {
	const whole = 10_000
	highest := amount.Units(0)
	for _, fee := range m.Fees {
		kept, err := of.MulDiv(uint64(fee.BasisPoints), whole, true)
		if err != nil {
			kept = of // A rate above the whole: nothing arrives.
		}
		highest = max(highest, min(kept, fee.Most))
	}
	return min(highest, of)
}

// entry is the size of an extension with its type and length.
func entry(value int) int { return 4 + value }

// apply notes one extension of the mint, and what it adds to a holder's account.
func (m *MintInfo) apply(e extension) bool {
	const feeConfig = 108
	switch e.kind {
	case extTransferFeeConfig:
		if len(e.value) != feeConfig {
			return false
		}
		// Each is an epoch, the most in units, and a rate.
		for i, at := range []int{80, 98} {
			m.Fees[i] = TransferFee{Most: units(e.value[at:]), BasisPoints: binary.LittleEndian.Uint16(e.value[at+8:])}
			m.FeeBasisPoints = max(m.FeeBasisPoints, m.Fees[i].BasisPoints)
		}
		m.FeeLater = m.FeeBasisPoints == 0 && solana.PublicKey(e.value[:32]) != solana.PublicKey{}
		m.AccountSize += entry(8)
	case extConfidentialTransfer:
		m.Confidential = true
	case extDefaultState:
		m.DefaultFrozen = len(e.value) != 1 || TokenState(e.value[0]) == TokenFrozen
	case extNonTransferable:
		m.NonTransferable = true
		m.AccountSize += entry(0)
	case extPermanentDelegate:
		m.PermanentDelegate = len(e.value) != 32 || solana.PublicKey(e.value) != solana.PublicKey{}
	case extTransferHook:
		m.Hook = len(e.value) != 64 || solana.PublicKey(e.value[32:]) != solana.PublicKey{}
		m.HookLater = !m.Hook && solana.PublicKey(e.value[:32]) != solana.PublicKey{}
		m.AccountSize += entry(1)
	case extTokenMetadata:
		// Update authority and mint stand before the texts.
		if len(e.value) >= 64 {
			if name, ok := readName(e.value[64:]); ok {
				m.Name = name
			}
		}
	case extPausable:
		m.Pausable, m.Paused = true, len(e.value) != 33 || e.value[32] != 0
		m.AccountSize += entry(0)
	}
	return true
}
