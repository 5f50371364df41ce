package explain

import (
	"fmt"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
)

// control says what the simulation shows of the wallet and its accounts that no
// amount tells: whoever takes over an account takes what comes into it, too.
func (s *study) control() []string {
	list := []string{}
	if !s.simulated {
		return list
	}
	after := s.after()
	switch wallet := after[s.Wallet]; {
	case wallet.Lamports == 0:
		list = append(list, "the wallet is emptied")
	case wallet.Owner != solana.SystemProgram:
		list = append(list, "the wallet is handed to "+s.of(wallet.Owner))
	case len(wallet.Data) > 0:
		list = append(list, "the wallet is turned into another kind of account")
	}
	for _, account := range s.reading.Accounts {
		list = append(list, s.controlOf(account.Key, after)...)
	}
	return list
}

// controlOf is what changes about one token account of the wallet.
func (s *study) controlOf(key solana.PublicKey, after map[solana.PublicKey]chain.Account) (list []string) {
	own, ours := s.own[key]
	token, open := chain.ParseToken(after[key])
	if !ours || !open {
		return nil
	}
	before, _ := chain.ParseToken(s.accounts[key])
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if token.Owner != s.Wallet {
		say("%s belongs to %s afterwards", s.of(key), s.of(token.Owner))
	}
	if delegated(token) && (!delegated(before) || token.Delegate != before.Delegate || token.Delegated > before.Delegated) {
		say("%s may spend %s from %s afterwards", s.of(token.Delegate), s.upTo(own.mint, token.Delegated), s.of(key))
	}
	if token.HasCloser && token.CloseAuthority != s.Wallet && (!before.HasCloser || token.CloseAuthority != before.CloseAuthority) {
		say("%s may close %s afterwards", s.of(token.CloseAuthority), s.of(key))
	}
	if token.State == chain.TokenFrozen && before.State != chain.TokenFrozen {
		say("%s is frozen afterwards", s.of(key))
	}
	return list
}

func delegated(token chain.Token) bool { return token.HasDelegate && token.Delegated > amount.Units(0) }
