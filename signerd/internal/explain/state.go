package explain

import (
	"context"
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
)

// ownAccount is a token account of the wallet: one that the chain shows, one
// that the bytes open, or an associated address where none is yet.
type ownAccount struct {
	mint    solana.PublicKey
	program solana.PublicKey
	exists  bool
}

// readState fetches what stands at the addresses that the transaction names.
// Without the chain only the addresses themselves speak.
func (s *study) readState(ctx context.Context) {
	s.accounts, s.mints = map[solana.PublicKey]chain.Account{}, map[solana.PublicKey]chain.MintInfo{}
	if s.offline == nil {
		s.accounts, s.offline = s.chain.Accounts(ctx, s.addresses())
	}
	if s.offline == nil {
		s.readMints(ctx)
	}
	s.findOwn()
	s.readRent(ctx)
}

// addresses are all that are known, the wallet among them.
func (s *study) addresses() []solana.PublicKey {
	keys := []solana.PublicKey{s.Wallet}
	for _, account := range s.reading.Accounts {
		if _, unknown := s.reading.Unresolved[account.Key]; !unknown && account.Key != s.Wallet {
			keys = append(keys, account.Key)
		}
	}
	return keys
}

// readMints reads the mints of every token account and instruction, and those
// that the caller named. What is no mint is left out.
func (s *study) readMints(ctx context.Context) {
	var keys []solana.PublicKey
	add := func(key solana.PublicKey) {
		if _, unknown := s.reading.Unresolved[key]; !unknown && !key.IsZero() && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, account := range s.accounts {
		if token, ok := chain.ParseToken(account); ok {
			add(token.Mint)
		}
	}
	for _, instruction := range s.reading.Instructions {
		add(instruction.Mint)
	}
	for _, wanted := range slices.Concat(s.Out, s.In) {
		add(wanted.Mint)
	}
	found, err := s.chain.Accounts(ctx, keys)
	if err != nil {
		s.offline = err
		return
	}
	maps.Copy(found, s.accounts)
	keys = keys[:0]
	for key, account := range found {
		if _, ok := chain.ParseMint(account); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	// What amounts mean must not be the word of the node that answers first.
	if s.mints, err = s.chain.Mints(ctx, keys); err != nil {
		s.offline = err
	}
}

// findOwn finds the wallet's token accounts among the addresses.
func (s *study) findOwn() {
	s.own = map[solana.PublicKey]ownAccount{}
	s.findAssociated()
	for _, instruction := range s.reading.Instructions {
		if instruction.Kind == decode.CreateAssociated && instruction.Owner == s.Wallet {
			s.own[instruction.To] = ownAccount{mint: instruction.Mint, program: instruction.TokenProgram}
		}
	}
	for key, account := range s.accounts {
		token, ok := chain.ParseToken(account)
		switch {
		case ok && token.Owner == s.Wallet:
			s.own[key] = ownAccount{mint: token.Mint, program: token.Program, exists: true}
		case ok:
			delete(s.own, key) // It is somebody else's, whatever its address.
		}
	}
}

// findAssociated tells the wallet's associated accounts by their addresses, of
// every mint that the transaction names.
func (s *study) findAssociated() {
	named := make(map[solana.PublicKey]bool, len(s.reading.Accounts))
	mints := []solana.PublicKey{solana.WrappedSOL}
	for _, account := range s.reading.Accounts {
		named[account.Key] = true
		if account.Key != solana.WrappedSOL && !account.Signer {
			mints = append(mints, account.Key)
		}
	}
	for _, asset := range s.Policy.Caps() {
		if asset.Mint != amount.SOL && !named[asset.Mint] {
			mints = append(mints, asset.Mint)
		}
	}
	for _, mint := range mints {
		for _, program := range []solana.PublicKey{solana.TokenProgram, solana.Token2022Program} {
			if key := solana.AssociatedTokenAddress(s.Wallet, mint, program); named[key] {
				s.own[key] = ownAccount{mint: mint, program: program}
			}
		}
	}
}

// readRent asks what the accounts cost that the bytes open at the wallet's expense.
func (s *study) readRent(ctx context.Context) {
	s.rent = map[solana.PublicKey]amount.Units{}
	for _, i := range s.opens() {
		mint, known := s.mints[i.Mint]
		if s.offline != nil || !known {
			continue
		}
		units, err := s.chain.RentExempt(ctx, mint.AccountSize)
		if err != nil {
			s.offline = err
			return
		}
		s.rent[i.To] = units
	}
}

// opens are the instructions that open a token account for the wallet's money.
func (s *study) opens() []decode.Instruction {
	var list []decode.Instruction
	for _, i := range s.reading.Instructions {
		account, exists := s.accounts[i.To]
		if i.Kind == decode.CreateAssociated && i.From == s.Wallet && (!exists || account.Owner == solana.SystemProgram) &&
			!slices.ContainsFunc(list, func(earlier decode.Instruction) bool { return earlier.To == i.To }) {
			list = append(list, i.Instruction)
		}
	}
	return list
}

// ownerOf finds who owns a token account that is not the wallet's: by the
// chain, or by the instruction that opens it.
func (s *study) ownerOf(key solana.PublicKey) (solana.PublicKey, bool) {
	if token, ok := chain.ParseToken(s.accounts[key]); ok {
		return token.Owner, true
	}
	for _, i := range s.reading.Instructions {
		if i.Kind == decode.CreateAssociated && i.To == key {
			return i.Owner, true
		}
	}
	return solana.PublicKey{}, false
}

// mintOf finds what a token instruction moves.
func (s *study) mintOf(i decode.Instruction) (solana.PublicKey, bool) {
	if own, ok := s.own[i.From]; ok {
		return own.mint, true
	}
	if i.Checked {
		return i.Mint, true
	}
	if token, ok := chain.ParseToken(s.accounts[i.From]); ok {
		return token.Mint, true
	}
	if token, ok := chain.ParseToken(s.accounts[i.To]); ok {
		return token.Mint, true
	}
	return solana.PublicKey{}, false
}
