package build

import (
	"slices"

	"github.com/gagliardetto/solana-go"
)

// FeeShare is the ledger of one token's fees: its program, the derived
// accounts that hold what was earned, and the vaults fees are pulled from.
type FeeShare struct {
	Program       solana.PublicKey
	BaseMint      solana.PublicKey
	Config        solana.PublicKey
	Authority     solana.PublicKey
	AuthorityBump uint8
	AuthorityATA  solana.PublicKey
	Event         solana.PublicKey
	// Vaults are the pools' wSOL accounts that hold fees, VaultOwner their
	// common owner.
	Vaults     []solana.PublicKey
	VaultOwner solana.PublicKey
	VaultBump  uint8
}

// NewFeeShare derives the accounts of a token's ledger.
func NewFeeShare(program, baseMint solana.PublicKey, vaults ...solana.PublicKey) FeeShare {
	f := FeeShare{
		Program: program, BaseMint: baseMint, Vaults: vaults,
		Config: Derived(program, []byte("fee_share_config"), baseMint[:], WSOL[:]),
		Event:  Derived(program, []byte("__event_authority")),
	}
	f.Authority, f.AuthorityBump = DerivedWithBump(program, []byte("fee_share_authority"), baseMint[:], WSOL[:])
	f.AuthorityATA = AssociatedAccount(f.Authority, WSOL, Token)
	f.VaultOwner, f.VaultBump = DerivedWithBump(program, []byte("pool_fees"), baseMint[:])
	return f
}

// First eight bytes of the ledger's instructions.
var (
	claimVaultTag = []byte{0xe5, 0x8e, 0x26, 0x41, 0xc6, 0x32, 0x6e, 0x3a}
	claimUserTag  = []byte{0xa4, 0x40, 0x37, 0xc7, 0x5a, 0x4e, 0x93, 0xbc}
)

// Claim pays a wallet what its share of a token's fees has earned.
type Claim struct {
	Wallet   solana.PublicKey
	FeeShare FeeShare
	// Pull are the vaults to pull from; the program refuses an empty one.
	Pull []solana.PublicKey
	// Budget is that of each transaction.
	Budget  Budget
	Hostile ClaimHostile
}

// ClaimHostile is what a dishonest answer adds. The zero value is honest.
type ClaimHostile struct {
	Thief         solana.PublicKey
	ExtraTransfer uint64
	// PayThief names the thief's account, HidePayee adds it where the program
	// looks for the true one.
	PayThief     bool
	HidePayee    bool
	CloseToThief bool
	// Padding is that many bytes of memo, to burst the packet limit.
	Padding int
}

// Transactions are the instruction lists of at most count transactions, 1 to
// 3, to be sent in this order: fees are pulled from the vaults first and paid
// out last.
func (c Claim) Transactions(count int) [][]solana.Instruction {
	var groups [][]solana.Instruction
	for _, vault := range c.Pull {
		groups = append(groups, []solana.Instruction{c.pull(vault)})
	}
	groups = append(groups, c.payOut())
	for len(groups) > count {
		groups[0] = append(groups[0], groups[1]...)
		groups = slices.Delete(groups, 1, 2)
	}
	for i, group := range groups {
		budget := []solana.Instruction{unitLimit(c.Budget.Units), unitPrice(c.Budget.Price)}
		groups[i] = append(budget, group...)
	}
	return groups
}

// pull moves what a vault holds into the ledger. Anyone may ask for it; the
// wallet does, so that every transaction of a claim has its signature.
func (c Claim) pull(vault solana.PublicKey) solana.Instruction {
	f := c.FeeShare
	return call(f.Program, append(slices.Clone(claimVaultTag), f.VaultBump),
		sign(c.Wallet), read(f.Config), read(f.Authority), write(f.AuthorityATA), write(vault),
		read(f.VaultOwner), read(f.BaseMint), read(WSOL), read(Token))
}

// payOut opens the wallet's wSOL account, pays into it and unwraps it.
func (c Claim) payOut() []solana.Instruction {
	owner, to := c.Wallet, c.Wallet
	if c.Hostile.PayThief {
		owner = c.Hostile.Thief
	}
	if c.Hostile.CloseToThief {
		to = c.Hostile.Thief
	}
	f := c.FeeShare
	accounts := []*solana.AccountMeta{
		sign(c.Wallet), sign(c.Wallet), read(f.Config), write(f.Authority), write(f.AuthorityATA),
		write(AssociatedAccount(owner, WSOL, Token)), read(f.BaseMint), read(WSOL),
		read(System), read(Token), read(Associated), read(f.Event), read(f.Program),
	}
	if c.Hostile.HidePayee {
		accounts = append(accounts, write(AssociatedAccount(c.Hostile.Thief, WSOL, Token)))
	}
	list := []solana.Instruction{
		createAssociated(c.Wallet, c.Wallet, WSOL, Token),
		// Claimer index 0.
		call(f.Program, append(slices.Clone(claimUserTag), u32(0)...), accounts...),
		closeAccount(AssociatedAccount(c.Wallet, WSOL, Token), to, c.Wallet),
	}
	if c.Hostile.ExtraTransfer > 0 {
		list = append(list, transfer(c.Wallet, c.Hostile.Thief, c.Hostile.ExtraTransfer))
	}
	if c.Hostile.Padding > 0 {
		list = append(list, memo(c.Hostile.Padding))
	}
	return list
}
