package mutation_test

import (
	"fmt"
	"slices"

	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

// purse is what the wallet has, by the observer's reading alone.
type purse struct {
	// liquid is lamports of the wallet and wrapped SOL; wealth also the rent
	// that lies in its token accounts.
	liquid, wealth uint64
	tokens         map[string]uint64
	accounts       map[string]observer.TokenAccount
}

func count(seen observer.Snapshot) purse {
	p := purse{tokens: map[string]uint64{}, accounts: map[string]observer.TokenAccount{}}
	for address, account := range seen {
		if address == wallet.String() {
			p.liquid += account.Lamports
			p.wealth += account.Lamports
			continue
		}
		token, err := observer.ParseTokenAccount(account)
		if err != nil || token.Owner != wallet.String() {
			continue
		}
		p.accounts[address] = token
		p.wealth += account.Lamports
		if token.Mint == solana.WrappedSOL.String() {
			p.liquid += token.Amount
		} else {
			p.tokens[token.Mint] += token.Amount
		}
	}
	return p
}

func lost(before, after uint64) uint64 { return before - min(before, after) }

// trial is what one signed transaction did.
type trial struct {
	honest        honest
	charge        map[solana.PublicKey]amount.Units
	failure       string
	before, after observer.Snapshot
	// opens are own accounts that the honest transaction opens, known those
	// that it names.
	opens, known []string
}

// wrongs are the ways in which a transaction did more than it was allowed to,
// in words.
func (t trial) wrongs() []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	before, after := count(t.before), count(t.after)
	t.checkWallet(say)
	t.checkSOL(before, after, say)
	for mint, had := range before.tokens {
		loss, key := lost(had, after.tokens[mint]), solana.MustPublicKey(mint)
		if most := t.honest.request.Bounds.MaxOut[key]; loss > uint64(most) {
			say("%d of token %s left, at most %d may", loss, mint, most)
		}
		if charge := t.charge[key]; loss > uint64(charge) {
			say("%d of token %s left, and the caps are charged %d", loss, mint, charge)
		}
	}
	t.checkAccounts(before, after, say)
	t.checkOthers(say)
	if t.failure == "" {
		t.checkArrivals(before, after, say)
	}
	return list
}

type sayer = func(format string, args ...any)

func (t trial) checkWallet(say sayer) {
	account, exists := t.after[wallet.String()]
	if !exists || account.Owner != solana.SystemProgram.String() || len(account.Data) > 0 || account.Executable {
		say("the wallet is not a plain account any more: %+v", account)
	}
}

func (t trial) checkSOL(before, after purse, say sayer) {
	bounds := t.honest.request.Bounds
	liquid, wealth := lost(before.liquid, after.liquid), lost(before.wealth, after.wealth)
	most := uint64(bounds.MaxOut[amount.SOL] + bounds.MaxFee + bounds.MaxRent)
	if t.failure != "" {
		most = uint64(bounds.MaxFee)
	}
	if liquid > most {
		say("%d lamports left, at most %d may", liquid, most)
	}
	// What the wallet's own accounts hold is still the wallet's.
	if bounds := most - uint64(bounds.MaxRent); t.failure == "" && t.honest.request.Flow != effects.Transfer && wealth > bounds {
		say("%d lamports are lost for good, at most %d may be", wealth, bounds)
	}
	if charge := t.charge[amount.SOL]; liquid > uint64(charge) {
		say("%d lamports left, and the caps are charged %d", liquid, charge)
	}
}

// checkAccounts compares everything about the wallet's token accounts but
// their amounts.
func (t trial) checkAccounts(before, after purse, say sayer) {
	for address, had := range before.accounts {
		has, still := after.accounts[address]
		account, exists := t.after[address]
		switch {
		case !still && exists && len(account.Data) > 0:
			say("token account %s is somebody else's: %+v", address, account)
		case !still:
		case has.Mint != had.Mint || has.Program != had.Program || has.Frozen != had.Frozen:
			say("token account %s was %+v and is %+v", address, had, has)
		case has.Delegate != had.Delegate && has.Delegate != "":
			say("token account %s has the delegate %s", address, has.Delegate)
		case has.CloseAuthority != had.CloseAuthority && has.CloseAuthority != "":
			say("token account %s has the close authority %s", address, has.CloseAuthority)
		}
	}
	for address, has := range after.accounts {
		if _, had := before.accounts[address]; had {
			continue
		}
		if !slices.Contains(t.opens, address) {
			say("a token account %s of the wallet was opened, which nobody stated", address)
		}
		if has.Delegate != "" || has.CloseAuthority != "" || has.Frozen {
			say("the new token account %s is %+v", address, has)
		}
	}
}

// checkOthers looks at who gained. In a transfer only those named may. What a
// swap's program does with the tokens that it was given is its own affair, as
// long as the wallet gets its due; lamports go to nobody whom the honest
// transaction does not name. Tips are fees.
func (t trial) checkOthers(say sayer) {
	for _, change := range observer.Diff(t.before, t.after) {
		if change.After == nil || change.Address == wallet.String() || change.Address == tip.String() {
			continue
		}
		_, in := change.Lamports()
		token, err := observer.ParseTokenAccount(*change.After)
		held := uint64(0)
		if change.Before != nil {
			if had, err := observer.ParseTokenAccount(*change.Before); err == nil {
				held = had.Amount
			}
		}
		gained := in > 0 || (err == nil && token.Amount > held)
		owner := change.Address
		if err == nil {
			owner = token.Owner
		}
		switch {
		case !gained || owner == wallet.String():
		case t.honest.request.Flow == effects.Transfer && !slices.ContainsFunc(t.honest.request.Bounds.Recipients, func(r solana.PublicKey) bool { return r.String() == owner }):
			say("%s gained, who is not named: %s", owner, change)
		case t.honest.request.Flow != effects.Transfer && err != nil && !slices.Contains(t.known, change.Address):
			say("%s gained, who has no part in this: %s", owner, change)
		}
	}
}

// checkArrivals demands what had to come in, fees and rent apart.
func (t trial) checkArrivals(before, after purse, say sayer) {
	bounds := t.honest.request.Bounds
	for mint, least := range bounds.MinIn {
		gained := after.tokens[mint.String()] - min(after.tokens[mint.String()], before.tokens[mint.String()])
		if mint == amount.SOL {
			costs := uint64(bounds.MaxFee)
			gained = after.wealth + costs - min(after.wealth+costs, before.wealth)
		}
		if gained < uint64(least) {
			say("%d of %s arrived, at least %d had to", gained, mint, least)
		}
	}
}
