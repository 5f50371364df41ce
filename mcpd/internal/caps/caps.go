// Package caps refuses, before any upstream is reached, what the limits would
// refuse later: mcpd's own caps and the signer's current ones. It is a
// courtesy, fast and with reasons; the signer trusts none of it and decides
// again. intent comes before it, plan takes what it admits. It promises that
// no Admitted exists for an intent that a known limit forbids, and that the
// session's own sum never passes its cap, whatever runs at once.
package caps

import (
	"sync"
	"time"

	"countersign/mcpd/internal/intent"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Own is what mcpd.toml allows. Zero means no cap of our own.
type Own struct {
	PerTransaction amount.Units
	PerSession     amount.Units
	// AllowUncappedSwaps lets token inputs without a cap through to the
	// signer, which must allow them too.
	AllowUncappedSwaps bool
}

// Mint is a token whose amounts the signer's policy bounds.
type Mint struct {
	Address  solana.PublicKey
	Decimals uint8
	Name     string
}

// Names of the signer's windows.
const (
	WindowTransaction  = "transaction"
	WindowSession      = "session"
	WindowDay          = "day"
	WindowTransactions = "transactions_per_hour"
)

// Window is one cap of the signer and what is left of it.
type Window struct {
	Name                      string
	Mint                      solana.PublicKey
	Decimals                  uint8
	Cap, Used, Reserved, Left amount.Units
}

// Limits are the signer's windows at one moment.
type Limits struct {
	Windows []Window
	AsOf    time.Time
}

// Signer is for whom and under which rules the signer works.
type Signer struct {
	Wallet        solana.PublicKey
	Cluster       string
	Genesis       solana.Hash
	PolicyVersion string
	Version       string
	Capped        []Mint
	AllowUncapped bool
	Limits        Limits
}

// Admitted is an intent that no known limit forbids.
type Admitted struct {
	intent   intent.Intent
	signer   Signer
	uncapped bool
	stamped  bool
}

// Intent is what was admitted.
func (a Admitted) Intent() intent.Intent { return a.intent }

// Signer is the view of the signer that it was admitted under.
func (a Admitted) Signer() Signer { return a.signer }

// Uncapped reports that a token leaves to which no limit applies.
func (a Admitted) Uncapped() bool { return a.uncapped }

// Stamped reports that Admit made a.
func (a Admitted) Stamped() bool { return a.stamped }

// Book holds mcpd's own caps and what this session has used of them. It is
// safe for concurrent use.
type Book struct {
	own Own

	mu   sync.Mutex // guards used
	used amount.Units
}

// NewBook starts a session.
func NewBook(own Own) *Book { return &Book{own: own} }

// Own returns the configured caps.
func (b *Book) Own() Own { return b.own }

// Used is what this session holds of its own cap.
func (b *Book) Used() amount.Units {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Admit checks an intent against every limit that is known without asking
// anybody but the signer.
func (b *Book) Admit(i intent.Intent, signer Signer) (Admitted, error) {
	if !i.Stamped() {
		return Admitted{}, fault.New(fault.Internal, "an intent was not parsed")
	}
	admitted := Admitted{intent: i, signer: signer, stamped: true}
	asset, text, spends := spent(i)
	if !spends {
		return admitted, checkCount(signer.Limits)
	}
	decimals, known := DecimalsOf(asset, signer.Capped)
	if !known {
		if _, swaps := i.Swap(); swaps && !b.own.AllowUncappedSwaps || !signer.AllowUncapped {
			return Admitted{}, uncappedFault(asset, signer.AllowUncapped)
		}
		admitted.uncapped = true
		return admitted, checkCount(signer.Limits)
	}
	units, err := amount.ParseDecimal(text, decimals)
	if err != nil {
		return Admitted{}, intent.AmountFault(err)
	}
	if asset == amount.SOL {
		if err := b.checkOwn(units); err != nil {
			return Admitted{}, err
		}
	}
	if err := checkWindows(asset, units, decimals, signer.Limits); err != nil {
		return Admitted{}, err
	}
	return admitted, nil
}

func spent(i intent.Intent) (asset solana.PublicKey, text string, spends bool) {
	if swap, ok := i.Swap(); ok {
		return swap.Input, swap.Amount, true
	}
	if transfer, ok := i.Transfer(); ok {
		return transfer.Mint, transfer.Amount, true
	}
	return solana.PublicKey{}, "", false
}

// DecimalsOf knows the decimals of SOL and of the mints that the policy caps.
func DecimalsOf(asset solana.PublicKey, capped []Mint) (uint8, bool) {
	if asset == amount.SOL {
		return amount.SOLDecimals, true
	}
	for _, mint := range capped {
		if mint.Address == asset {
			return mint.Decimals, true
		}
	}
	return 0, false
}

func uncappedFault(mint solana.PublicKey, signerAllows bool) error {
	advice := "the owner can add a [[mint]] block for it to policy.toml and reload signerd (SIGHUP)"
	if signerAllows {
		advice += ", or set allow_uncapped_token_swaps = true in mcpd.toml and restart mcpd"
	}
	return fault.New(fault.AssetUncapped, "token %s has no cap and cannot be valued in SOL: %s", mint, advice)
}

func (b *Book) checkOwn(units amount.Units) error {
	if limit := b.own.PerTransaction; limit != 0 && units > limit {
		return overOne(units, limit)
	}
	if limit := b.own.PerSession; limit != 0 {
		if left := limit.Less(b.Used()); units > left {
			return exceeded("mcpd's own cap per session", units, limit, left)
		}
	}
	return nil
}

func overOne(asked, limit amount.Units) error {
	return fault.New(fault.CapExceeded, "%s SOL is more than mcpd.toml allows: at most %s SOL in one transaction, fees and rent included",
		asked.Decimal(amount.SOLDecimals), limit.Decimal(amount.SOLDecimals))
}

func exceeded(which string, asked, limit, left amount.Units) error {
	return fault.New(fault.CapExceeded, "%s SOL is more than %s leaves: %s of %s SOL", asked.Decimal(amount.SOLDecimals),
		which, left.Decimal(amount.SOLDecimals), limit.Decimal(amount.SOLDecimals))
}

func checkWindows(asset solana.PublicKey, units amount.Units, decimals uint8, limits Limits) error {
	name, included := "SOL", ", fees and rent included"
	if asset != amount.SOL {
		name, included = asset.String(), ""
	}
	for _, window := range limits.Windows {
		if window.Mint != asset || window.Name == WindowTransactions {
			continue
		}
		most, left := window.Cap.Decimal(decimals), window.Left
		words := "only " + left.Decimal(decimals) + " of " + most + " is left " + periodOf(window.Name)
		if window.Name == WindowTransaction {
			left, words = window.Cap, "at most "+most+" "+name+" in one transaction"
		}
		if units > left {
			return fault.New(fault.CapExceeded, "%s %s is more than the signer's policy allows: %s%s", units.Decimal(decimals), name, words, included)
		}
	}
	return checkCount(limits)
}

func periodOf(window string) string {
	if window == WindowDay {
		return "in 24 hours"
	}
	return "in this " + window
}

func checkCount(limits Limits) error {
	for _, window := range limits.Windows {
		if window.Name == WindowTransactions && window.Left == 0 && window.Cap > 0 {
			return fault.New(fault.CapExceeded, "the signer's cap of %s transactions per hour is used up", window.Cap)
		}
	}
	return nil
}

// Held is a part of the session's cap that an execution keeps.
type Held struct {
	book *Book
	cost amount.Units
}

// Hold counts a worst case in SOL against mcpd's own caps, all or nothing. It
// stays held until Settle says what it really was.
func (b *Book) Hold(cost amount.Units) (*Held, error) {
	if limit := b.own.PerTransaction; limit != 0 && cost > limit {
		return nil, overOne(cost, limit)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	sum, err := amount.Sum(b.used, cost)
	if err != nil {
		return nil, fault.New(fault.CapExceeded, "the sum of this session is too large").Because(err)
	}
	if limit := b.own.PerSession; limit != 0 && sum > limit {
		return nil, exceeded("mcpd's own cap per session (amount, fees and rent)", cost, limit, limit.Less(b.used))
	}
	b.used = sum
	return &Held{book: b, cost: cost}, nil
}

// Settle replaces what is held by the real cost, zero where nothing was spent.
// Calling it again changes nothing.
func (h *Held) Settle(spent amount.Units) {
	h.book.mu.Lock()
	defer h.book.mu.Unlock()
	if h.cost == 0 {
		return
	}
	h.book.used = h.book.used.Less(h.cost) + min(spent, h.cost)
	h.cost = 0
}

// Check is Hold without holding: for a proposal, which spends nothing yet.
func (b *Book) Check(cost amount.Units) error {
	held, err := b.Hold(cost)
	if err == nil {
		held.Settle(0)
	}
	return err
}
