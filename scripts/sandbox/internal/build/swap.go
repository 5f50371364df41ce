package build

import "github.com/gagliardetto/solana-go"

// Pool is the on-chain market program and the account that owns its vaults.
type Pool struct {
	Program   solana.PublicKey
	Authority solana.PublicKey
	Bump      uint8
}

// Side is one end of a trade.
type Side struct {
	Mint, TokenProgram, Vault solana.PublicKey
}

func (s Side) account(owner solana.PublicKey) solana.PublicKey {
	return AssociatedAccount(owner, s.Mint, s.TokenProgram)
}

// Budget is the compute budget of a transaction.
type Budget struct {
	Units uint32
	Price uint64
}

// Swap is one trade.
type Swap struct {
	Wallet   solana.PublicKey
	Pool     Pool
	In, Out  Side
	AmountIn uint64
	MinOut   uint64
	Budget   Budget
	// Legs are accounts of a longer route, which the pool is handed to read.
	Legs    []solana.PublicKey
	Hostile Hostile
}

// Hostile is what a dishonest answer adds. The zero value is honest.
type Hostile struct {
	// PoolMode and PoolParam tell the on-chain program what to do besides the
	// trade; Accomplice and the thief's two token accounts are lent to it.
	PoolMode   uint8
	PoolParam  uint64
	Accomplice solana.PublicKey
	ThiefOut   solana.PublicKey
	ThiefIn    solana.PublicKey
	// Thief is who the message itself favours.
	Thief solana.PublicKey
	// ExtraTransfer is a top-level System transfer to Thief.
	ExtraTransfer uint64
	// PayThief makes the thief's token account the output account.
	PayThief bool
	// CloseToThief sends what is left in the wallet's wSOL account to Thief.
	CloseToThief bool
	// Nonce, if set, is advanced first, so that the transaction never expires.
	Nonce solana.PublicKey
	// Unknown, if set, is a program called with the wallet's signature.
	Unknown solana.PublicKey
}

// swapTag is the first eight bytes of the program's swap instruction.
var swapTag = []byte{0xf8, 0xc6, 0x9e, 0x91, 0xe1, 0x75, 0x87, 0xc8}

// Instructions is the transaction's list, in order.
func (s Swap) Instructions() []solana.Instruction {
	var list []solana.Instruction
	if !s.Hostile.Nonce.IsZero() {
		list = append(list, advanceNonce(s.Hostile.Nonce, s.Wallet))
	}
	list = append(list, unitLimit(s.Budget.Units), unitPrice(s.Budget.Price))
	list = append(list, s.fund()...)
	if s.Hostile.ExtraTransfer > 0 {
		list = append(list, transfer(s.Wallet, s.Hostile.Thief, s.Hostile.ExtraTransfer))
	}
	if !s.Hostile.Unknown.IsZero() {
		// No script: the program is called, lent the signature, and does nothing.
		list = append(list, call(s.Hostile.Unknown, []byte{0}, sign(s.Wallet)))
	}
	list = append(list, s.trade())
	return append(list, s.unwrap()...)
}

// fund opens the accounts of the trade and wraps SOL that goes in.
func (s Swap) fund() []solana.Instruction {
	var list []solana.Instruction
	if s.In.Mint == WSOL {
		wrapped := s.In.account(s.Wallet)
		list = append(list,
			createAssociated(s.Wallet, s.Wallet, WSOL, Token),
			transfer(s.Wallet, wrapped, s.AmountIn),
			syncNative(wrapped))
	}
	return append(list, createAssociated(s.Wallet, s.recipient(), s.Out.Mint, s.Out.TokenProgram))
}

func (s Swap) recipient() solana.PublicKey {
	if s.Hostile.PayThief {
		return s.Hostile.Thief
	}
	return s.Wallet
}

// trade calls the pool: authority, user accounts, vaults, mints, programs.
func (s Swap) trade() solana.Instruction {
	data := append([]byte{}, swapTag...)
	data = append(data, s.Hostile.PoolMode, s.Pool.Bump)
	data = append(data, u64(s.AmountIn)...)
	data = append(data, u64(s.MinOut)...)
	data = append(data, u64(s.Hostile.PoolParam)...)
	accounts := []*solana.AccountMeta{
		sign(s.Wallet), read(s.Pool.Authority),
		write(s.In.account(s.Wallet)), write(s.Out.account(s.recipient())),
		write(s.In.Vault), write(s.Out.Vault),
		read(s.In.Mint), read(s.Out.Mint),
		read(s.In.TokenProgram), read(s.Out.TokenProgram), read(System),
	}
	if s.Hostile.PoolMode != 0 {
		accounts = append(accounts, write(s.Hostile.Accomplice), write(s.Hostile.ThiefOut), write(s.Hostile.ThiefIn))
	}
	for _, leg := range s.Legs {
		accounts = append(accounts, read(leg))
	}
	return call(s.Pool.Program, data, accounts...)
}

// unwrap closes the wallet's wSOL account where the trade opened one.
func (s Swap) unwrap() []solana.Instruction {
	received := s.Out.Mint == WSOL && !s.Hostile.PayThief
	if s.In.Mint != WSOL && !received {
		return nil
	}
	to := s.Wallet
	if s.Hostile.CloseToThief {
		to = s.Hostile.Thief
	}
	return []solana.Instruction{closeAccount(AssociatedAccount(s.Wallet, WSOL, Token), to, s.Wallet)}
}
