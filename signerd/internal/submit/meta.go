package submit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"countersign/shared/amount"
	"countersign/shared/gather"
	"countersign/shared/solana"
	"countersign/shared/txerror"
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

// errNoMeta is a node that has a transaction and no account of it.
var errNoMeta = errors.New("the RPC node has no account of the transaction")

// transaction asks one node for a confirmed transaction; nil if it has none.
func (n *node) transaction(ctx context.Context, id solana.Signature) (*meta, error) {
	var answer *struct {
		Slot uint64 `json:"slot"`
		Meta *meta  `json:"meta"`
	}
	err := n.call(ctx, "getTransaction", []any{id.String(), map[string]any{
		"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 1,
	}}, &answer)
	if err != nil || answer == nil {
		return nil, err
	}
	if answer.Meta == nil {
		return nil, errNoMeta
	}
	answer.Meta.Slot = answer.Slot
	return answer.Meta, nil
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

// told is one node's account of the transaction.
type told struct {
	meta
	changes []Change
}

// readMetas reads the account back from every node that has it, can be read, and
// tells the same end as was found. With too few the outcome stands all the same,
// and the ledger charges what was reserved.
func (a *attempt) readMetas(ctx context.Context, found status) []told {
	ctx, cancel := context.WithTimeout(ctx, metaTime)
	defer cancel()
	pause := time.NewTicker(a.options.Interval / 2)
	defer pause.Stop()
	var all []told
	missing := slices.Clone(a.nodes)
	tries := metaTries
	if a.resumed {
		tries = 1 // It is resumed again if this does not suffice, and others wait.
	}
	for ; tries > 0 && len(missing) > 0; tries-- {
		var still []*node
		for i, one := range gather.Enough(ctx, missing, a.options.MustAnswer-len(all), nil, func(ctx context.Context, n *node) (*told, error) {
			return a.readMeta(ctx, n, found)
		}) {
			if one.Err != nil || one.Value == nil {
				still = append(still, missing[i])
				continue
			}
			all = append(all, *one.Value)
		}
		missing = still
		if len(all) >= a.options.MustAnswer {
			tries = min(tries, 1+metaAfter)
		}
		if tries == 1 || len(missing) == 0 {
			break
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return all
		}
	}
	return all
}

// errOtherEnd is an account that contradicts the outcome, or cannot be read.
var errOtherEnd = errors.New("the RPC node's account of the transaction is not one of what happened")

// readMeta asks one node; nil if it has no such transaction yet.
func (a *attempt) readMeta(ctx context.Context, n *node, found status) (*told, error) {
	m, err := n.transaction(ctx, a.id)
	if err != nil || m == nil {
		return nil, err
	}
	changes, ok := changesOf(a.raw, a.options.Wallet, *m)
	if !ok || !sameEnd(m.status(), found) {
		return nil, errOtherEnd
	}
	return &told{meta: *m, changes: changes}, nil
}

// tell reads back what a transaction did, by the word of the node that tells
// the worst of it: one that names a smaller outflow than there was must not
// make room under a cap while another tells the truth. Where fewer tell it than
// must, nothing is told: they may be those that lie.
func (a *attempt) tell(result *Result, all []told) {
	if len(all) < a.options.MustAnswer {
		return
	}
	for i, each := range all {
		if i > 0 && !sameDecimals(result.Changes, each.changes) {
			result.Fee, result.Changes = 0, nil
			return
		}
		result.Fee = max(result.Fee, amount.Units(each.Fee))
		if i > 0 {
			each.changes = worse(result.Changes, each.changes)
		}
		result.Changes = each.changes
	}
}

// sameDecimals: an amount that is read with other decimals is another amount.
func sameDecimals(x, y []Change) bool {
	return !slices.ContainsFunc(x, func(c Change) bool { return of(y, c).Decimals != c.Decimals })
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
// change: the wallet's. An account that is not whole is none.
func changesOf(raw []byte, wallet solana.PublicKey, m meta) ([]Change, bool) {
	tx, err := solana.ParseTransaction(raw)
	if err != nil || m.Fee == 0 || len(m.PreBalances) < len(tx.Message.Keys) || len(m.PreBalances) != len(m.PostBalances) {
		return nil, false
	}
	if wallet.IsZero() {
		wallet = tx.Message.Keys[0]
	}
	before, after := make(map[solana.PublicKey]amount.Units), make(map[solana.PublicKey]amount.Units)
	decimals := map[solana.PublicKey]uint8{amount.SOL: amount.SOLDecimals}
	if slot := slices.Index(tx.Message.Keys, wallet); slot >= 0 {
		before[amount.SOL], after[amount.SOL] = amount.Units(m.PreBalances[slot]), amount.Units(m.PostBalances[slot])
	}
	if !addTokens(before, decimals, wallet, m.PreTokenBalances) || !addTokens(after, decimals, wallet, m.PostTokenBalances) {
		return nil, false
	}
	if !addKept(before, after, wallet, m) {
		return nil, false
	}
	var changes []Change
	for mint, digits := range decimals {
		change := Change{Mint: mint, Decimals: digits, Out: before[mint].Less(after[mint]), In: after[mint].Less(before[mint])}
		if change.Out != 0 || change.In != 0 {
			changes = append(changes, change)
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return x.Mint.Compare(y.Mint) })
	return changes, true
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
		switch balance.Owner {
		case solana.PublicKey{}:
			return false // It may be the wallet's.
		case wallet:
		default:
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
