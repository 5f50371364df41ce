package effects

import (
	"slices"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/guard"
)

// State is what the chain says about everything that a transaction names.
type State struct {
	// Before holds the accounts that exist.
	Before map[solana.PublicKey]chain.Account
	Mints  map[solana.PublicKey]chain.MintInfo
	// Names is what tokens call themselves, for those that do.
	Names map[solana.PublicKey]chain.TokenName
	// Rent is the rent of accounts by size: of those that are opened, and where an
	// opaque program is called of the wallet's own.
	Rent map[int]amount.Units
}

// Draft is a transaction judged by its bytes and the state before it.
type Draft struct {
	tx     decode.Tx
	flow   Flow
	bounds Bounds
	state  State
	known  Known
	wallet solana.PublicKey
	guard  guard.Found

	own map[solana.PublicKey]*ownAccount
	// opened maps accounts opened for others to their owners.
	opened map[solana.PublicKey]solana.PublicKey

	baseFee, priorityFee, tip amount.Units
	rent, rentReturned        amount.Units
	// loose are lamports that no guard can hold.
	loose    amount.Units
	payments []Payment
	// paid sums up payments by mint.
	paid             map[solana.PublicKey]amount.Units
	programs, opaque []solana.PublicKey
	names            []string
	findings         []Finding
}

// ownAccount is a token account of the wallet.
type ownAccount struct {
	key     solana.PublicKey
	mint    solana.PublicKey
	program solana.PublicKey
	// before is its state, or zero where created.
	before   chain.Token
	lamports amount.Units
	created  bool
	// rent is what opening it costs the wallet.
	rent amount.Units
	// touched says that a known instruction names it, closed that one closes it.
	touched, closed bool
}

// Read judges a transaction by its bytes. The error is a fault: a refusal that
// no policy lifts. known refuses nothing: it gives recipients their names and
// findings what to compare with.
func Read(tx decode.Tx, flow Flow, bounds Bounds, state State, known Known) (Draft, error) {
	if !tx.Stamped() {
		return Draft{}, fault.New(fault.Internal, "a transaction was assessed before it was decoded")
	}
	d := &Draft{
		tx: tx, flow: flow, bounds: bounds, state: state, known: known, wallet: tx.Wallet(), guard: guard.Recognise(tx),
		own: make(map[solana.PublicKey]*ownAccount), opened: make(map[solana.PublicKey]solana.PublicKey),
		paid: make(map[solana.PublicKey]amount.Units),
	}
	d.baseFee, d.priorityFee = tx.Fee().OfWallet()
	d.findOwn()
	if err := d.walk(); err != nil {
		return Draft{}, err
	}
	for _, check := range []func() error{d.checkWallet, d.checkMultisigs, d.checkWritable, d.checkFlow, d.checkCost, d.countLoose} {
		if err := check(); err != nil {
			return Draft{}, err
		}
	}
	d.inspectMints()
	d.inspectRecipients()
	d.inspectNames()
	return *d, nil
}

// NeedsGuard reports that an opaque program is called, that the wallet is the
// only signer, and that no guard is there yet.
func (d Draft) NeedsGuard() bool {
	return len(d.opaque) > 0 && d.tx.SoleSigner() && !d.guard.Present()
}

// HasGuard reports a guard that was in the bytes already, around an opaque
// program.
func (d Draft) HasGuard() bool { return len(d.opaque) > 0 && d.guard.Present() }

// findOwn lists the wallet's token accounts among the accounts named.
func (d *Draft) findOwn() {
	for _, account := range d.tx.Accounts() {
		before, exists := d.state.Before[account.Key]
		if !exists {
			continue
		}
		token, ok := chain.ParseToken(before)
		if !ok || token.Owner != d.wallet {
			continue
		}
		d.own[account.Key] = &ownAccount{
			key: account.Key, mint: token.Mint, program: token.Program, before: token, lamports: before.Lamports,
		}
	}
}

// ownKeys lists own accounts in the transaction's order, so that the same
// bytes always give the same guard.
func (d *Draft) ownKeys() []solana.PublicKey {
	var keys []solana.PublicKey
	for _, account := range d.tx.Accounts() {
		if _, ok := d.own[account.Key]; ok {
			keys = append(keys, account.Key)
		}
	}
	return keys
}

func (d *Draft) find(code, text string) {
	if !slices.Contains(d.findings, Finding{code, text}) {
		d.findings = append(d.findings, Finding{code, text})
	}
}

// refuse is a built-in refusal about one instruction.
func refuse(i decode.Instruction, format string, args ...any) error {
	return fault.New(fault.TransactionRefused, "instruction %d (%s): "+format, append([]any{i.Index + 1, i.Name}, args...)...)
}
