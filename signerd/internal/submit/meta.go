package submit

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/txerror"
)

// meta is the chain's account of a transaction.
type meta struct {
	Slot              uint64          `json:"-"`
	Err               json.RawMessage `json:"err"`
	Fee               uint64          `json:"fee"`
	PreBalances       []uint64        `json:"preBalances"`
	PostBalances      []uint64        `json:"postBalances"`
	PreTokenBalances  []tokenBalance  `json:"preTokenBalances"`
	PostTokenBalances []tokenBalance  `json:"postTokenBalances"`
	LogMessages       []string        `json:"logMessages"`
}

type tokenBalance struct {
	// Account is the place of the token account among the accounts of the transaction.
	Account int              `json:"accountIndex"`
	Mint    solana.PublicKey `json:"mint"`
	Owner   solana.PublicKey `json:"owner"`
	Amount  struct {
		Amount   string `json:"amount"`
		Decimals uint8  `json:"decimals"`
	} `json:"uiTokenAmount"`
}

// units is the amount in base units, unless the node writes none.
func (b tokenBalance) units() (amount.Units, bool) {
	units, err := strconv.ParseUint(b.Amount.Amount, 10, 64)
	return amount.Units(units), err == nil
}

func (m *meta) status() status {
	s := status{known: true, slot: m.Slot, settled: true}
	if !txerror.IsNone(m.Err) {
		s.failed = m.Err
	}
	return s
}

// transaction asks one node for a confirmed transaction; nil if it has none.
func (n *node) transaction(ctx context.Context, id solana.Signature) (*meta, error) {
	var answer *struct {
		Slot uint64 `json:"slot"`
		Meta meta   `json:"meta"`
	}
	err := n.call(ctx, "getTransaction", []any{id.String(), map[string]any{
		"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 1,
	}}, &answer)
	if err != nil || answer == nil {
		return nil, err
	}
	answer.Meta.Slot = answer.Slot
	return &answer.Meta, nil
}

const (
	// metaTries is how often each node is asked for the account of a
	// transaction that has just been confirmed: it may lag by a moment.
	metaTries = 10
	// metaAfter is how many more times the others are asked once one has
	// answered.
	metaAfter = 2
	// metaTime bounds all of that together.
	metaTime = 10 * time.Second
)

// readMetas reads the account back from every node that has it. With too few the
// outcome stands all the same, and the ledger charges what was reserved.
func (a *attempt) readMetas(ctx context.Context) []meta {
	ctx, cancel := context.WithTimeout(ctx, metaTime)
	defer cancel()
	pause := time.NewTicker(a.options.Interval / 2)
	defer pause.Stop()
	var metas []meta
	missing := slices.Clone(a.nodes)
	for tries := metaTries; tries > 0; tries-- {
		missing = slices.DeleteFunc(missing, func(n *node) bool {
			got, err := n.transaction(ctx, a.id)
			if err == nil && got != nil {
				metas = append(metas, *got)
			}
			return err == nil && got != nil
		})
		if len(missing) == 0 {
			break
		}
		if len(metas) >= a.options.MustAnswer {
			tries = min(tries, 1+metaAfter)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return metas
		}
	}
	return metas
}

// tell reads back what a transaction did, by the word of the node that tells
// the worst of it: one that names a smaller outflow than there was must not
// make room under a cap while another tells the truth. Where fewer tell it than
// must, nothing is told: they may be those that lie.
func (a *attempt) tell(result *Result, metas []meta) {
	if len(metas) < a.options.MustAnswer {
		return
	}
	for i, m := range metas {
		result.Fee = max(result.Fee, amount.Units(m.Fee))
		changes := changesOf(a.raw, a.options.Wallet, m)
		if i > 0 {
			changes = worse(result.Changes, changes)
		}
		result.Changes = changes
	}
}

// worse is, asset for asset, the larger loss or else the smaller gain. An
// asset that one does not mention has not changed in it.
func worse(x, y []Change) []Change {
	var list []Change
	for _, change := range slices.Concat(x, y) {
		if slices.ContainsFunc(list, func(c Change) bool { return c.Mint == change.Mint }) {
			continue
		}
		one, other := of(x, change), of(y, change)
		change.Out = max(one.Out, other.Out)
		change.In = 0
		if change.Out == 0 {
			change.In = min(one.In, other.In)
		}
		list = append(list, change)
	}
	list = slices.DeleteFunc(list, func(c Change) bool { return c.Out == 0 && c.In == 0 })
	slices.SortFunc(list, func(x, y Change) int { return x.Mint.Compare(y.Mint) })
	return list
}

// of finds the change of one asset, which is none where it is not listed.
func of(list []Change, asset Change) Change {
	for _, change := range list {
		if change.Mint == asset.Mint {
			return change
		}
	}
	return Change{Mint: asset.Mint, Decimals: asset.Decimals}
}

// changesOf adds up what the wallet had before and after. Wrapped SOL of the
// wallet is SOL, and so is what lies in a token account that it keeps: lamports
// beyond the rent can be taken from there. A gain and a loss of one asset are one
// change: the wallet's.
func changesOf(raw []byte, wallet solana.PublicKey, m meta) []Change {
	tx, err := solana.ParseTransaction(raw)
	if err != nil {
		return nil
	}
	if wallet.IsZero() {
		wallet = tx.Message.Keys[0]
	}
	before, after := make(map[solana.PublicKey]amount.Units), make(map[solana.PublicKey]amount.Units)
	decimals := map[solana.PublicKey]uint8{amount.SOL: amount.SOLDecimals}
	if slot := slices.Index(tx.Message.Keys, wallet); slot >= 0 && slot < len(m.PreBalances) && slot < len(m.PostBalances) {
		before[amount.SOL], after[amount.SOL] = amount.Units(m.PreBalances[slot]), amount.Units(m.PostBalances[slot])
	}
	if !addTokens(before, decimals, wallet, m.PreTokenBalances) || !addTokens(after, decimals, wallet, m.PostTokenBalances) {
		return nil
	}
	if !addKept(before, after, wallet, m) {
		return nil
	}
	var changes []Change
	for mint, digits := range decimals {
		change := Change{Mint: mint, Decimals: digits, Out: before[mint].Less(after[mint]), In: after[mint].Less(before[mint])}
		if change.Out != 0 || change.In != 0 {
			changes = append(changes, change)
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return x.Mint.Compare(y.Mint) })
	return changes
}

// addKept adds the lamports of the wallet's token accounts that are there before
// and after, less what they hold as wrapped SOL, which is counted already. The
// rent of an account that is opened or closed is not among them: it goes from the
// wallet, or comes to it.
func addKept(before, after map[solana.PublicKey]amount.Units, wallet solana.PublicKey, m meta) bool {
	for _, pre := range m.PreTokenBalances {
		kept := slices.IndexFunc(m.PostTokenBalances, func(post tokenBalance) bool {
			return post.Account == pre.Account && post.Owner == wallet && post.Mint == pre.Mint
		})
		if pre.Owner != wallet || kept < 0 {
			continue
		}
		if !addBehind(before, pre, m.PreBalances) || !addBehind(after, m.PostTokenBalances[kept], m.PostBalances) {
			return false
		}
	}
	return true
}

// addBehind adds the lamports of one token account that are not wrapped SOL.
func addBehind(total map[solana.PublicKey]amount.Units, account tokenBalance, lamports []uint64) bool {
	if account.Account < 0 || account.Account >= len(lamports) {
		return false
	}
	behind := amount.Units(lamports[account.Account])
	if account.Mint == solana.WrappedSOL {
		units, ok := account.units()
		if !ok {
			return false
		}
		behind = behind.Less(units)
	}
	sum, err := amount.Sum(total[amount.SOL], behind)
	total[amount.SOL] = sum
	return err == nil
}

func addTokens(total map[solana.PublicKey]amount.Units, decimals map[solana.PublicKey]uint8, wallet solana.PublicKey, balances []tokenBalance) bool {
	for _, balance := range balances {
		if balance.Owner != wallet {
			continue
		}
		mint := amount.Asset(balance.Mint)
		if mint != amount.SOL {
			decimals[mint] = balance.Amount.Decimals
		}
		units, ok := balance.units()
		if !ok {
			return false
		}
		var err error
		if total[mint], err = amount.Sum(total[mint], units); err != nil {
			return false
		}
	}
	return true
}
