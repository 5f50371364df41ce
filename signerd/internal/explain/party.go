package explain

import (
	"fmt"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
)

// party says what an address is to the wallet or to the owner.
func (s *study) party(key solana.PublicKey) Party {
	if entry, unresolved := s.reading.Unresolved[key]; unresolved {
		return Party{What: fmt.Sprintf("address %d of lookup table %s, which is not resolved", entry.Index, entry.Table)}
	}
	return Party{Address: key.String(), What: s.what(key), Note: s.note(key)}
}

// note is what stands behind an address: that nothing is there yet.
func (s *study) note(key solana.PublicKey) string {
	if own, ok := s.own[key]; ok && !own.exists && s.offline == nil {
		return "not open yet"
	}
	return ""
}

func (s *study) what(key solana.PublicKey) string {
	if key == s.Wallet {
		return "the wallet"
	}
	if name := s.recipientName(key); name != "" {
		return fmt.Sprintf("%q in the owner's address book", name)
	}
	if own, ok := s.own[key]; ok {
		return s.whatOwn(own)
	}
	if name := decode.ProgramName(key); name != key.String() {
		return "program " + name
	}
	if key == solana.WrappedSOL {
		return "the mint of wrapped SOL"
	}
	if name := s.assetName(key); name != "" {
		return "the mint of " + name
	}
	return s.whatStranger(key)
}

func (s *study) whatOwn(own ownAccount) string {
	what := "the wallet's token account"
	switch name := s.assetName(own.mint); {
	case own.mint == solana.WrappedSOL:
		what = "the wallet's wrapped-SOL account"
	case name != "":
		what = "the wallet's " + name + " account"
	}
	return what
}

// whatStranger tells what the chain shows of an account that is not the wallet's.
func (s *study) whatStranger(key solana.PublicKey) string {
	account, exists := s.accounts[key]
	if !exists {
		if owner, opened := s.ownerOf(key); opened {
			return "a token account of " + owner.String() + " that is not open yet"
		}
		return ""
	}
	if token, ok := chain.ParseToken(account); ok {
		return "a token account of " + token.Owner.String()
	}
	if _, ok := chain.ParseMint(account); ok {
		return "the mint of a token"
	}
	if account.Executable {
		return "a program"
	}
	if effects.IsTip(key) {
		return "a tip account"
	}
	return ""
}

// recipientName is what the owner calls a recipient, or nothing.
func (s *study) recipientName(key solana.PublicKey) string {
	for _, each := range s.known().Recipients {
		if each.Address == key && each.Name != "" {
			return clean(each.Name, untrusted.Name)
		}
	}
	return ""
}

// known is whom and what the owner has named.
func (s *study) known() effects.Known {
	known := s.Policy.Known()
	known.Recipients = append(known.Recipients, s.Book...)
	return known
}

// String writes a party for people: what it is, and its address in full.
func (p Party) String() string {
	switch {
	case p.What == "":
		return p.Address
	case p.Address == "":
		return p.What
	case p.What == "the wallet":
		return p.What
	}
	return p.full()
}

// full writes a party with its address, the wallet too.
func (p Party) full() string {
	switch {
	case p.Address == "":
		return p.What
	case p.What == "":
		return p.Address
	case p.Note == "":
		return p.Address + ", " + p.What
	}
	return p.Address + ", " + p.What + ", " + p.Note
}

// of writes a party inside a sentence.
func (s *study) of(key solana.PublicKey) string {
	p := s.party(key)
	_, own := s.own[key]
	switch {
	case p.What == "" || p.Address == "" || p.What == "the wallet":
		return p.String()
	case own:
		return p.What + " " + p.Address
	}
	return p.Address + " (" + p.What + ")"
}

// asset names the asset of a mint inside a sentence.
func (s *study) asset(mint solana.PublicKey) string {
	switch name := s.assetName(mint); {
	case mint == solana.WrappedSOL:
		return "wrapped SOL"
	case amount.Asset(mint) == amount.SOL:
		return "SOL"
	case name != "":
		return name
	}
	return "token " + s.party(mint).String()
}

// clean makes a text fit to be shown.
func clean(text string, limit untrusted.Limit) string { return untrusted.Clean(text, limit).Exposed() }
