package explain

import (
	"maps"
	"slices"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/guard"
)

// deriveFlow takes the flow from what the opaque programs are known for.
func (s *study) deriveFlow() {
	if s.Flow != 0 {
		return
	}
	s.Flow = effects.Transfer
	for _, i := range s.reading.Instructions {
		switch {
		case i.Kind != decode.Opaque:
		case i.Uses == decode.ForClaim:
			s.Flow = effects.Claim
		case s.Flow == effects.Transfer:
			s.Flow = effects.Swap
		}
	}
	if s.Flow == effects.Transfer {
		s.assume("flow not given: a transfer, since no opaque program is called")
		return
	}
	s.assume("flow not given: a %s, by the programs that are called", s.Flow)
}

// deriveBounds completes what the caller has said. What the transaction itself
// says about its bounds proves nothing, and so each such line is told.
func (s *study) deriveBounds() {
	s.bounds = effects.Bounds{Recipients: s.To}
	for _, i := range s.reading.Instructions {
		if i.Kind == decode.Opaque && !slices.Contains(s.bounds.Programs, i.Program) {
			s.bounds.Programs = append(s.bounds.Programs, i.Program)
		}
	}
	s.deriveFee()
	for _, units := range s.rent {
		s.bounds.MaxRent = add(s.bounds.MaxRent, units)
	}
	if s.Flow == effects.Transfer {
		s.deriveTransfer()
		return
	}
	s.deriveTrade()
}

// deriveTrade takes what is not given of a swap or claim from the simulation.
func (s *study) deriveTrade() {
	s.bounds.MaxOut, s.bounds.MinIn = s.moved()
	where := ": taken from what the simulation shows, so that only what happens after it would be refused"
	if !s.simulated {
		where = ", and no simulation shows it"
	}
	switch {
	case len(s.Out) > 0:
		s.bounds.MaxOut = s.resolve("--out", s.Out)
	case s.Flow == effects.Claim:
		s.bounds.MaxOut = map[solana.PublicKey]amount.Units{}
		s.assume("what may leave is not given: nothing, fees and rent apart, as by any claim")
	default:
		s.ownBounds = true
		s.assume("what may leave is not given%s", where)
	}
	if len(s.In) > 0 {
		s.bounds.MinIn = s.resolve("--in", s.In)
		return
	}
	s.ownBounds = true
	s.assume("what must arrive is not given%s", where)
}

// deriveTransfer takes amounts and recipients from the bytes, which hold them.
func (s *study) deriveTransfer() {
	if len(s.In) > 0 {
		s.assume("--in is left out: nothing arrives by a transfer")
	}
	payments := s.payments()
	s.bounds.MaxOut = map[solana.PublicKey]amount.Units{}
	if len(s.Out) > 0 {
		s.bounds.MaxOut = s.resolve("--out", s.Out)
	} else {
		for _, payment := range payments {
			s.bounds.MaxOut[payment.mint] = add(s.bounds.MaxOut[payment.mint], payment.units)
		}
		s.ownBounds = true
		s.assume("amounts not given: taken from the bytes")
	}
	if len(s.To) > 0 || len(payments) == 0 {
		return
	}
	for _, payment := range payments {
		if !slices.Contains(s.bounds.Recipients, payment.recipient) {
			s.bounds.Recipients = append(s.bounds.Recipients, payment.recipient)
		}
	}
	s.ownBounds = true
	s.assume("recipients not given: taken from the bytes; compare them with whom you mean to pay")
}

const (
	nameUnitLimit = "ComputeBudget.SetComputeUnitLimit"
	mostUnits     = 1_400_000
	priceScale    = 1_000_000
)

// deriveFee takes the fee in the bytes as the ceiling. A guard can raise it:
// the limit of compute units grows by what the guard takes, or where there is
// none, the default for each instruction is added.
func (s *study) deriveFee() {
	if s.MaxFee != nil {
		s.bounds.MaxFee = *s.MaxFee
		return
	}
	base, priority := s.reading.Fee.OfWallet()
	what := ""
	if price := s.reading.Fee.UnitPrice; price > 0 && s.reading.Fee.ByWallet && s.expectedGuard().State == wouldBeAdded {
		if most, err := s.guardedUnits().MulDiv(price, priceScale, true); err == nil {
			priority, what = max(priority, most), ", with what a guard can add to it"
		}
	}
	s.bounds.MaxFee = add(add(base, priority), s.tips())
	s.assume("fee ceiling not given: taken from the bytes%s", what)
}

// guardedUnits is the highest limit of compute units that a guard can lead to.
func (s *study) guardedUnits() amount.Units {
	if !slices.ContainsFunc(s.reading.Instructions, func(i decode.ReadInstruction) bool { return i.Name == nameUnitLimit }) {
		return mostUnits
	}
	plan := guard.Plan{}
	for _, account := range s.reading.Accounts {
		if own, ours := s.own[account.Key]; ours && account.Writable {
			plan.Lines = append(plan.Lines, guard.Line{Account: account.Key, Program: own.program})
		}
	}
	return min(mostUnits, amount.Units(s.reading.Fee.UnitLimit)+amount.Units(plan.Units()))
}

// payment is an amount that the bytes give to somebody else.
type payment struct {
	recipient solana.PublicKey
	mint      solana.PublicKey
	units     amount.Units
}

// payments reads the bytes for what they give to others, tips apart. A token
// account whose owner is not known stands for its owner.
func (s *study) payments() []payment {
	var list []payment
	for _, i := range s.reading.Instructions {
		if i.Kind == decode.SystemTransfer {
			if _, own := s.own[i.To]; i.From == s.Wallet && i.To != s.Wallet && !own && !effects.IsTip(i.To) {
				list = append(list, payment{i.To, amount.SOL, i.Amount})
			}
			continue
		}
		_, from := s.own[i.From]
		_, to := s.own[i.To]
		mint, known := s.mintOf(i.Instruction)
		if i.Kind != decode.TokenTransfer || to || !known || (!from && i.Authority != s.Wallet) {
			continue
		}
		owner, found := s.ownerOf(i.To)
		if !found {
			owner = i.To
		}
		list = append(list, payment{owner, amount.Asset(mint), i.Amount})
	}
	return list
}

// tips are what the bytes give to known tip accounts.
func (s *study) tips() amount.Units {
	total := amount.Units(0)
	for _, i := range s.reading.Instructions {
		if i.Kind == decode.SystemTransfer && i.From == s.Wallet && effects.IsTip(i.To) {
			total = add(total, i.Amount)
		}
	}
	return total
}

// moved is what the simulation takes from the wallet and gives to it, network
// fees, tips and rent apart. Nothing is offset between assets.
func (s *study) moved() (out, in map[solana.PublicKey]amount.Units) {
	out, in = map[solana.PublicKey]amount.Units{}, map[solana.PublicKey]amount.Units{}
	if !s.simulated {
		return out, in
	}
	before, after := map[solana.PublicKey]amount.Units{}, map[solana.PublicKey]amount.Units{}
	s.count(before, s.accounts)
	s.count(after, s.after())
	base, priority := s.reading.Fee.OfWallet()
	after[amount.SOL] = add(add(add(after[amount.SOL], base), priority), s.tips())
	for key, units := range s.rent {
		// Rent of the wallet's own accounts has not left; that of others has.
		if _, own := s.own[key]; !own {
			after[amount.SOL] = add(after[amount.SOL], units)
		}
	}
	for mint := range before {
		after[mint] = add(after[mint], 0)
	}
	for mint, units := range after {
		if left := before[mint].Less(units); left > 0 {
			out[mint] = left
		}
		if came := units.Less(before[mint]); came > 0 {
			in[mint] = came
		}
	}
	return out, in
}

// after is the state behind the simulation: what it did not show cannot change.
func (s *study) after() map[solana.PublicKey]chain.Account {
	state := maps.Clone(s.accounts)
	for _, key := range s.tx.Writable() {
		delete(state, key)
		if account, ok := s.simulation.After[key]; ok {
			state[key] = account
		}
	}
	return state
}

// count adds up what is the wallet's. SOL is every lamport in the wallet and in
// its token accounts, so that wrapping, unwrapping and rent that comes back
// cancel out.
func (s *study) count(sums map[solana.PublicKey]amount.Units, state map[solana.PublicKey]chain.Account) {
	sums[amount.SOL] = add(sums[amount.SOL], state[s.Wallet].Lamports)
	for _, account := range state {
		token, ok := chain.ParseToken(account)
		if !ok || token.Owner != s.Wallet {
			continue
		}
		sums[amount.SOL] = add(sums[amount.SOL], account.Lamports)
		if amount.Asset(token.Mint) != amount.SOL {
			sums[token.Mint] = add(sums[token.Mint], token.Amount)
		}
	}
}

// add stops at the largest amount there is: what is shown here decides nothing.
func add(a, b amount.Units) amount.Units {
	sum, err := amount.Sum(a, b)
	if err != nil {
		return ^amount.Units(0)
	}
	return sum
}
