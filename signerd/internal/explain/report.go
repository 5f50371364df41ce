package explain

// Decisions of a report.
const (
	Allowed     = "allowed"
	NeedsPerson = "needs_person"
	Refused     = "refused"
)

// Report is all there is to say about one transaction. Its JSON form is read by
// scripts: Decision stays what it is, fields may be added. Amounts are text.
type Report struct {
	Decision string  `json:"decision"`
	Verdict  Verdict `json:"verdict"`

	Transaction Transaction `json:"transaction"`
	Flow        string      `json:"flow"`
	// Class is complete, guarded, unguarded, or unknown where an instruction
	// cannot be read.
	Class  string `json:"class"`
	Guard  Guard  `json:"guard"`
	Bounds Bounds `json:"bounds"`
	// OwnBounds says that some bound was taken from the transaction itself, so
	// that "allowed" says nothing about its price or its recipient.
	OwnBounds    bool          `json:"bounds_from_transaction"`
	Simulation   Simulation    `json:"simulation"`
	Payments     []Payment     `json:"payments"`
	Cost         Cost          `json:"cost"`
	Instructions []Instruction `json:"instructions"`
	// More counts instructions that are not listed.
	More     int       `json:"instructions_not_listed,omitempty"`
	Writable []Account `json:"writable_of_wallet"`
	Tables   []Table   `json:"lookup_tables,omitempty"`
	Findings []Finding `json:"findings"`
	Caps     []Cap     `json:"caps"`
	// Assumed says what was not given and where it was taken from.
	Assumed []string `json:"assumed"`
	// NotChecked says what could not be looked at.
	NotChecked []string `json:"not_checked"`
}

// Verdict says who decided what, and why.
type Verdict struct {
	Tier string `json:"tier,omitempty"`
	// By is builtin; state where only what stands on the chain now is against
	// it; policy; or not_checked where something could not be looked at, which
	// alone is a reason to refuse.
	By     string   `json:"by"`
	Rules  []string `json:"rules"`
	Code   string   `json:"code,omitempty"`
	Reason string   `json:"reason,omitempty"`
	Advice string   `json:"advice,omitempty"`
	// Also is a further reason, found where the first ends the judgement early.
	Also          string `json:"also,omitempty"`
	PolicyVersion string `json:"policy_version"`
}

// Amount is an amount of an asset. Amount and Decimals are absent where the
// mint could not be read. Name is the owner's name for it.
type Amount struct {
	Amount    string `json:"amount,omitempty"`
	BaseUnits string `json:"amount_base_units"`
	Decimals  *uint8 `json:"decimals,omitempty"`
	Mint      string `json:"mint"`
	Name      string `json:"name,omitempty"`
}

// Transaction is what the bytes are.
type Transaction struct {
	Format   string `json:"format"`
	Bytes    int    `json:"bytes"`
	Encoding string `json:"encoding"`
	Digest   string `json:"message_sha256"`
	// ID is the transaction id, once the fee payer has signed.
	ID       string   `json:"id,omitempty"`
	FeePayer Party    `json:"fee_payer"`
	Signers  []Signer `json:"signers"`
	// Blockhash is valid, expired or not_checked. Replaced says that a copy
	// with a fresh one was judged.
	Blockhash Blockhash `json:"blockhash"`
}

// Blockhash is the recent blockhash.
type Blockhash struct {
	Value    string `json:"value"`
	State    string `json:"state"`
	Replaced bool   `json:"judged_with_a_fresh_one"`
}

// Party is an address, and what it is to the wallet or the owner.
type Party struct {
	Address string `json:"address"`
	What    string `json:"what,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Signer is a required signer. Signature is missing, verifies or wrong.
type Signer struct {
	Party
	Signature string `json:"signature"`
}

// Guard is what the chain would be made to enforce. State is not_needed,
// present, added, would_be_added, impossible or not_known.
type Guard struct {
	State string `json:"state"`
	// Bytes is the size of the transaction with its guard.
	Bytes    int         `json:"bytes,omitempty"`
	Wallet   *Amount     `json:"wallet_keeps,omitempty"`
	Accounts []GuardLine `json:"accounts,omitempty"`
}

// GuardLine is the assertion of one token account.
type GuardLine struct {
	Party
	Keeps Amount `json:"keeps"`
}

// Bounds is what the transaction was held against.
type Bounds struct {
	Out        []Amount `json:"out_at_most"`
	In         []Amount `json:"in_at_least"`
	MaxFee     Amount   `json:"fees_at_most"`
	MaxRent    Amount   `json:"rent_at_most"`
	Programs   []Party  `json:"programs"`
	Recipients []Party  `json:"recipients"`
}

// Simulation is what happened when the transaction was tried, network fees and
// rent apart. State is succeeded, failed or not_run.
type Simulation struct {
	State string   `json:"state"`
	Why   string   `json:"why,omitempty"`
	Out   []Amount `json:"out"`
	In    []Amount `json:"in"`
	// Control is what changes hands without moving an amount.
	Control []string `json:"control"`
	// Called are the programs that other programs called.
	Called []Party `json:"called"`
}

// Payment is an amount that the bytes give to somebody else.
type Payment struct {
	Recipient string `json:"recipient"`
	// Name is the owner's name for the recipient, What is anything else known.
	Name   string `json:"name,omitempty"`
	What   string `json:"what,omitempty"`
	Amount Amount `json:"amount"`
}

// Cost is the network fee, and rent. PaidByWallet is false where somebody else
// pays the fee.
type Cost struct {
	PaidByWallet bool   `json:"paid_by_wallet"`
	Base         Amount `json:"base_fee"`
	Priority     Amount `json:"priority_fee"`
	UnitLimit    uint32 `json:"compute_unit_limit"`
	// UnitPrice is in millionths of a lamport.
	UnitPrice    string `json:"compute_unit_price_micro_lamports"`
	Tip          Amount `json:"tips"`
	Rent         Amount `json:"rent"`
	RentReturned Amount `json:"rent_returned"`
	RentKnown    bool   `json:"rent_known"`
	Error        string `json:"error,omitempty"`
}

// Instruction is one instruction, explained.
type Instruction struct {
	Number      int    `json:"number"`
	Program     string `json:"program"`
	ProgramName string `json:"program_name,omitempty"`
	Name        string `json:"name,omitempty"`
	Text        string `json:"text"`
	// Opaque: the bytes do not show what it does.
	Opaque bool `json:"opaque"`
	Guard  bool `json:"guard"`
	// Refusal says why this instruction alone is a reason to refuse.
	Refusal  string    `json:"refusal,omitempty"`
	Memo     *Memo     `json:"memo,omitempty"`
	Accounts []Account `json:"accounts"`
	More     int       `json:"accounts_not_listed,omitempty"`
	// Inner is what it called from within, when it was simulated.
	Inner []Inner `json:"inner,omitempty"`
}

// Inner is a call from within.
type Inner struct {
	Program string `json:"program"`
	Name    string `json:"name"`
	Text    string `json:"text"`
}

// Memo is text that anybody may have written.
type Memo struct {
	Text      string   `json:"text"`
	Untrusted bool     `json:"untrusted"`
	Flags     []string `json:"flags"`
}

// Account is an account and its role in the transaction.
type Account struct {
	Party
	Signs     bool `json:"signs"`
	CanChange bool `json:"can_change"`
}

// Table is a lookup table and what it was asked for.
type Table struct {
	Address  string       `json:"address"`
	Resolved bool         `json:"resolved"`
	Why      string       `json:"why,omitempty"`
	Entries  []TableEntry `json:"entries"`
}

// TableEntry is one address of a table.
type TableEntry struct {
	Index uint8 `json:"index"`
	Party
	CanChange bool `json:"can_change"`
}

// Finding is something that a person should know.
type Finding struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Cap is what the transaction would count against the caps of one asset.
type Cap struct {
	Counts Amount `json:"counts"`
	// Capped is false where the owner has set no cap for it.
	Capped         bool    `json:"capped"`
	PerTransaction *Amount `json:"per_transaction,omitempty"`
	PerSession     *Amount `json:"per_session,omitempty"`
	PerDay         *Amount `json:"per_day,omitempty"`
	PerDestination *Amount `json:"per_destination,omitempty"`
	Ceiling        *Amount `json:"ceiling,omitempty"`
}
