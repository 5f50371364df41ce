// Package fault is the closed list of what can go wrong that a user is told
// about: one code, its class, its advice. Refusals and failures cross every
// border of the system as one of these; whatever else an error holds stays in
// the log. Any package may import it.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Class says what kind of answer a caller should give to a fault.
type Class string

// The six classes.
const (
	// Validation: the call is wrong. Fix it.
	Validation Class = "validation"
	// Authentication: a credential is missing, expired or revoked.
	Authentication Class = "authentication"
	// AuthorizationRejected: policy, a cap or a person said no. Stop.
	AuthorizationRejected Class = "authorization_rejected"
	// Conflict: state has moved. Fetch again.
	Conflict Class = "conflict"
	// Operational: something is down, slow or full.
	Operational Class = "operational"
	// UnknownOutcome: it may have happened. Query, do not repeat.
	UnknownOutcome Class = "unknown_outcome"
)

// Code names one fault.
type Code string

// The codes. Their classes and hints are in the table below, which a test
// keeps total.
const (
	InvalidArguments     Code = "invalid_arguments"
	AmountInvalid        Code = "amount_invalid"
	UnknownMint          Code = "unknown_mint"
	TransactionMalformed Code = "transaction_malformed"
	TransactionTooLarge  Code = "transaction_too_large"
	VersionUnsupported   Code = "version_unsupported"
	NotFound             Code = "not_found"
	RecipientUnknown     Code = "recipient_unknown"

	CredentialMissing  Code = "credential_missing"
	CredentialRejected Code = "credential_rejected"
	PeerRejected       Code = "peer_rejected"
	SessionExpired     Code = "session_expired"

	CapExceeded        Code = "cap_exceeded"
	AssetUncapped      Code = "asset_uncapped"
	PolicyDenied       Code = "policy_denied"
	PersonRequired     Code = "person_required"
	IntentMismatch     Code = "intent_mismatch"
	OutsideBounds      Code = "outside_bounds"
	GuardImpossible    Code = "guard_impossible"
	TransactionRefused Code = "transaction_refused"
	GateNotMet         Code = "gate_not_met"
	NetworkNotAllowed  Code = "network_not_allowed"

	CodeUnknown       Code = "code_unknown"
	CodeExpired       Code = "code_expired"
	CodeOtherIntent   Code = "code_other_intent"
	CodeVoid          Code = "code_void"
	PriceMoved        Code = "price_moved"
	BlockhashExpired  Code = "blockhash_expired"
	NothingToClaim    Code = "nothing_to_claim"
	InsufficientFunds Code = "insufficient_funds"
	SimulationFailed  Code = "simulation_failed"
	NoRoute           Code = "no_route"
	WalletBusy        Code = "wallet_busy"
	AlreadyLanded     Code = "already_landed"
	KeyConflict       Code = "key_conflict"
	FailedOnChain     Code = "failed_on_chain"
	ProvenExpired     Code = "proven_expired"

	SignerUnavailable   Code = "signer_unavailable"
	CustodyUnavailable  Code = "custody_unavailable"
	RPCUnavailable      Code = "rpc_unavailable"
	RPCBadAnswer        Code = "rpc_bad_answer"
	NetworkMismatch     Code = "network_mismatch"
	UpstreamUnavailable Code = "upstream_unavailable"
	UpstreamRateLimited Code = "upstream_rate_limited"
	UpstreamBadAnswer   Code = "upstream_bad_answer"
	StateLocked         Code = "state_locked"
	Overloaded          Code = "overloaded"
	TimedOut            Code = "timed_out"
	Internal            Code = "internal"

	OutcomeUnknown Code = "outcome_unknown"
)

// Advice is what the table knows of a code.
type Advice struct {
	Class Class
	// Hint tells the reader what to do next, as a sentence.
	Hint string
	// SafeToRetry is true where repeating the same call cannot spend twice.
	SafeToRetry bool
}

var table = map[Code]Advice{
	InvalidArguments:     {Validation, "Correct the named argument and call again.", true},
	AmountInvalid:        {Validation, "Give the amount as a plain decimal string in whole units, with no more digits than the asset has.", true},
	UnknownMint:          {Validation, "Check the mint address; it must exist on this network.", true},
	TransactionMalformed: {Validation, "Build the transaction again.", true},
	TransactionTooLarge:  {Validation, "Ask for a smaller route.", true},
	VersionUnsupported:   {Validation, "Ask for a legacy or v0 transaction.", true},
	NotFound:             {Validation, "Check the identifier; list_activity shows what exists.", true},
	RecipientUnknown:     {Validation, "Check the name with the user. The owner adds one with: signerd recipients add NAME ADDRESS. A full address works too.", true},

	CredentialMissing:  {Authentication, "The owner must store the named credential and restart.", true},
	CredentialRejected: {Authentication, "The owner must replace the named credential.", true},
	PeerRejected:       {Authentication, "The owner must start both processes under the accounts that the configuration names.", true},
	SessionExpired:     {Authentication, "Stop; the run is over. The owner begins another by restarting the program that runs the tools.", true},

	CapExceeded:        {AuthorizationRejected, "Stop, or ask for less; only the owner can raise a cap.", true},
	AssetUncapped:      {AuthorizationRejected, "Stop; the owner must set a cap for this mint or allow uncapped tokens.", true},
	PolicyDenied:       {AuthorizationRejected, "Stop; only the owner can change the policy.", true},
	PersonRequired:     {AuthorizationRejected, "Stop; this needs a person, and this version has no way to ask one yet.", true},
	IntentMismatch:     {AuthorizationRejected, "Stop; the transaction does something other than what was asked for.", true},
	OutsideBounds:      {AuthorizationRejected, "Stop; the transaction takes more or gives less than its bounds.", true},
	GuardImpossible:    {AuthorizationRejected, "Stop; this transaction cannot be protected on chain.", true},
	TransactionRefused: {AuthorizationRejected, "Stop; the signer never signs this, whatever the policy says.", true},
	GateNotMet:         {AuthorizationRejected, "Stop; the wallet does not hold what the owner's gate asks for.", true},
	NetworkNotAllowed:  {AuthorizationRejected, "Stop; the owner allows another network.", true},

	CodeUnknown:       {Conflict, "Call again without confirm for a new proposal.", true},
	CodeExpired:       {Conflict, "Call again without confirm for a new proposal.", true},
	CodeOtherIntent:   {Conflict, "A code is good only for the arguments it was given for; call without confirm for a new proposal.", true},
	CodeVoid:          {Conflict, "Call again without confirm for a new proposal.", true},
	PriceMoved:        {Conflict, "Call again without confirm for a new quote.", true},
	BlockhashExpired:  {Conflict, "Nothing was sent; call again without confirm for a new proposal.", true},
	NothingToClaim:    {Conflict, "Nothing is claimable now; look again later.", true},
	InsufficientFunds: {Conflict, "Fund the wallet or ask for less.", true},
	SimulationFailed:  {Conflict, "The transaction cannot succeed as the chain stands; fetch a new quote.", true},
	NoRoute:           {Conflict, "No route exists for this pair and amount now; try another amount or later.", true},
	WalletBusy:        {Conflict, "Another transaction of this wallet is under way; wait for its receipt, then call again.", true},

	KeyConflict:   {Conflict, "An idempotency_key stands for one action: give another one to another action.", true},
	AlreadyLanded: {Conflict, "This very transaction is on chain already: ask get_receipt, and do not repeat the call.", false},
	FailedOnChain: {Conflict, "The receipt says what was spent; call again without confirm for a new proposal.", true},
	ProvenExpired: {Conflict, "It can no longer land, and cost nothing; call again without confirm for a new proposal.", true},

	SignerUnavailable:   {Operational, "Start signerd, or check the socket path in mcpd.toml.", true},
	CustodyUnavailable:  {Operational, "The owner must unlock or repair the key store.", true},
	RPCUnavailable:      {Operational, "Wait and call again; the owner can check the RPC address.", true},
	RPCBadAnswer:        {Operational, "Wait and call again; the owner can configure another RPC node.", true},
	NetworkMismatch:     {Operational, "The owner must configure an RPC node of the pinned network.", true},
	UpstreamUnavailable: {Operational, "Wait and call again.", true},
	UpstreamRateLimited: {Operational, "Wait as long as said, then call again.", true},
	UpstreamBadAnswer:   {Operational, "Wait and call again.", true},
	StateLocked:         {Operational, "The owner must look at signerd's log and repair its state.", true},
	Overloaded:          {Operational, "Wait a moment and call again.", true},
	TimedOut:            {Operational, "Wait a moment and call again.", true},
	Internal:            {Operational, "The owner should look at the log.", false},

	OutcomeUnknown: {UnknownOutcome, "It may have happened: ask get_receipt, and do not repeat the call.", false},
}

// Codes lists every code, in no order.
func Codes() []Code {
	codes := make([]Code, 0, len(table))
	for code := range table {
		codes = append(codes, code)
	}
	return codes
}

// Advice returns what the table knows. An unlisted code is advised as Internal.
func (c Code) Advice() Advice {
	if advice, ok := table[c]; ok {
		return advice
	}
	return table[Internal]
}

// Known reports whether c is in the list.
func (c Code) Known() bool {
	_, ok := table[c]
	return ok
}

// Fault is a refusal or failure that a user may read.
type Fault struct {
	Code Code
	// Message is one sentence for the user. It holds no secret, no path of the
	// host and no text from an upstream.
	Message string
	// RetryAfter is how long an upstream asked us to wait, if it did.
	RetryAfter time.Duration
	cause      error
}

// New makes a fault. The message must be fit for the user to read.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Because attaches the cause, for the log only: Error does not print it.
func (f *Fault) Because(cause error) *Fault {
	with := *f
	with.cause = cause
	return &with
}

// After attaches how long to wait.
func (f *Fault) After(wait time.Duration) *Fault {
	with := *f
	with.RetryAfter = wait
	return &with
}

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Unwrap gives errors.Is and the log access to the cause.
func (f *Fault) Unwrap() error { return f.cause }

// Class is the class of the code.
func (f *Fault) Class() Class { return f.Code.Advice().Class }

// From finds the fault in err. An error that holds none becomes Internal, with
// its text kept as the cause and not shown.
func From(err error) *Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return New(Internal, "something went wrong inside Countersign").Because(err)
}

// Is reports whether err holds a fault with this code.
func Is(err error, code Code) bool {
	f, ok := errors.AsType[*Fault](err)
	return ok && f.Code == code
}
