package bagsandbox

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Mode is one way to misbehave.
type Mode string

// Dishonest transactions, served by trade/swap.
const (
	// The pool program itself misuses the wallet's signature.
	Skim             Mode = "skim"              // takes Param lamports more
	Half             Mode = "half"              // pays half the tokens
	WrongDestination Mode = "wrong_destination" // pays the thief
	Delegate         Mode = "delegate"          // makes the thief delegate of the output account, for Param, by default all
	Assign           Mode = "assign"            // gives the wallet to another program
	SetOwner         Mode = "set_owner"         // gives the output account to the thief
	CloseAuthority   Mode = "close_authority"   // lets the thief close the output account
	BaitAndSwitch    Mode = "bait_and_switch"   // honest until the trigger is pulled, then skims Param lamports
	TakeInput        Mode = "take_input"        // takes Param more of the input token, 1,000 by default
	Allocate         Mode = "allocate"          // puts data on the wallet

	// The message is not what was quoted.
	ExtraTransfer  Mode = "extra_transfer"   // a System transfer of Param lamports to the thief
	OtherRecipient Mode = "other_recipient"  // the output account is the thief's
	CloseToThief   Mode = "close_to_thief"   // closes the wallet's wSOL account to the thief
	WrongMint      Mode = "wrong_mint"       // buys another token
	MoreIn         Mode = "more_in"          // takes Param more of the input, by default as much again
	LowMinimum     Mode = "low_minimum"      // asks the pool for a least amount of 1
	UnknownProgram Mode = "unknown_program"  // calls a program nobody has heard of
	NonceFirst     Mode = "nonce_first"      // never expires
	BigPriorityFee Mode = "big_priority_fee" // pays Param lamports of priority fee and answers the usual number
	OtherWallet    Mode = "other_wallet"     // is for the thief to sign, not the wallet
	FatRoute       Mode = "fat_route"        // honest, and so long that the packet has no room for more
)

// Dishonest quotes, served by trade/quote.
const (
	StaleQuote      Mode = "stale_quote"      // Param bps better than the pool; the swap is built from the pool
	PriceMove       Mode = "price_move"       // the pool's price really moves by Param bps after the answer
	SlippageIgnored Mode = "slippage_ignored" // answers Param bps, 5000 by default
	QuoteWrongMint  Mode = "quote_wrong_mint" // answers another output mint
	QuoteMoreIn     Mode = "quote_more_in"    // answers twice the input
	QuoteNumbers    Mode = "quote_numbers"    // amounts are JSON numbers
	QuoteIncomplete Mode = "quote_incomplete" // minOutAmount is missing
	MinimumMismatch Mode = "minimum_mismatch" // minOutAmount and otherAmountThreshold differ
)

// Dishonest claims, served by token-launch/claim-txs/v3.
const (
	ClaimExtraTransfer   Mode = "claim_extra_transfer"   // as extra_transfer, in the last transaction
	ClaimOtherRecipient  Mode = "claim_other_recipient"  // names the thief's account as the one to pay
	ClaimHiddenRecipient Mode = "claim_hidden_recipient" // names the wallet's, and the program pays the thief's
	ClaimCloseToThief    Mode = "claim_close_to_thief"   // the claimed wSOL is unwrapped to the thief
	ClaimBigPriorityFee  Mode = "claim_big_priority_fee" // as big_priority_fee, in each transaction
	SponsorMissing       Mode = "sponsor_missing"        // the sponsor has not signed
	SponsorBadSignature  Mode = "sponsor_bad_signature"  // the sponsor's signature is over something else
	ClaimBadBlockhash    Mode = "claim_bad_blockhash"    // a blockhash that was never valid
	ClaimHugeTransaction Mode = "claim_huge_transaction" // more than 1,232 bytes
)

// Failures of the service, served by any endpoint.
const (
	RateLimited  Mode = "rate_limited" // 429, reset in Param seconds, 30 by default
	ServerError  Mode = "server_error" // 500, after nothing was done
	Unauthorized Mode = "unauthorized" // 401 in spite of the right key
	Forbidden    Mode = "forbidden"    // 403
	Slow         Mode = "slow"         // waits Param milliseconds, 30,000 by default, then answers
	Garbage      Mode = "garbage"      // 200 with a body that is not JSON
	Truncated    Mode = "truncated"    // 200, connection closed in the middle of the body
	Redirect     Mode = "redirect"     // 307 to Text, by default to a path that records
	Huge         Mode = "huge"         // 200 with Param bytes, 64 MiB by default
	HTMLPage     Mode = "html_page"    // 502 with a page instead of JSON
)

const (
	quoteEndpoint = "trade/quote"
	swapEndpoint  = "trade/swap"
	claimEndpoint = "token-launch/claim-txs/v3"
	anyEndpoint   = ""
)

// servedBy says which endpoint serves a mode.
var servedBy = map[Mode]string{
	Skim: swapEndpoint, Half: swapEndpoint, WrongDestination: swapEndpoint, Delegate: swapEndpoint,
	Assign: swapEndpoint, SetOwner: swapEndpoint, CloseAuthority: swapEndpoint, BaitAndSwitch: swapEndpoint,
	Allocate: swapEndpoint, TakeInput: swapEndpoint, ExtraTransfer: swapEndpoint, OtherRecipient: swapEndpoint, CloseToThief: swapEndpoint,
	WrongMint: swapEndpoint, MoreIn: swapEndpoint, LowMinimum: swapEndpoint, UnknownProgram: swapEndpoint,
	NonceFirst: swapEndpoint, BigPriorityFee: swapEndpoint, OtherWallet: swapEndpoint,
	FatRoute: swapEndpoint,

	StaleQuote: quoteEndpoint, PriceMove: quoteEndpoint, SlippageIgnored: quoteEndpoint, QuoteWrongMint: quoteEndpoint,
	QuoteMoreIn: quoteEndpoint, QuoteNumbers: quoteEndpoint, QuoteIncomplete: quoteEndpoint, MinimumMismatch: quoteEndpoint,

	ClaimExtraTransfer: claimEndpoint, ClaimOtherRecipient: claimEndpoint, ClaimHiddenRecipient: claimEndpoint, ClaimCloseToThief: claimEndpoint,
	ClaimBigPriorityFee: claimEndpoint, SponsorMissing: claimEndpoint, SponsorBadSignature: claimEndpoint,
	ClaimBadBlockhash: claimEndpoint, ClaimHugeTransaction: claimEndpoint,

	RateLimited: anyEndpoint, ServerError: anyEndpoint, Unauthorized: anyEndpoint, Forbidden: anyEndpoint,
	Slow: anyEndpoint, Garbage: anyEndpoint, Truncated: anyEndpoint, Redirect: anyEndpoint, Huge: anyEndpoint,
	HTMLPage: anyEndpoint,
}

// Modes lists every mode by name.
func Modes() []Mode { return slices.Sorted(maps.Keys(servedBy)) }

// Misbehaviour asks for a mode in the next Count requests that can serve it.
type Misbehaviour struct {
	Mode Mode `json:"mode"`
	// Count is how many requests; 0 means one.
	Count int `json:"count,omitempty"`
	// Param and Text mean what the mode says; zero is the mode's default.
	Param uint64 `json:"param,omitempty"`
	Text  string `json:"text,omitempty"`
	// Endpoint narrows a failure of the service to one endpoint, written as
	// its path without /api/v1/.
	Endpoint string `json:"endpoint,omitempty"`
}

// transport reports a failure of the service, which needs no valid request.
func (m Misbehaviour) transport() bool { return servedBy[m.Mode] == anyEndpoint }

func (m Misbehaviour) param(otherwise uint64) uint64 {
	if m.Param == 0 {
		return otherwise
	}
	return m.Param
}

type plan struct {
	mu      sync.Mutex // guards pending
	pending []Misbehaviour
}

func (p *plan) add(m Misbehaviour) error {
	endpoint, known := servedBy[m.Mode]
	if !known {
		return fmt.Errorf("unknown mode %q", m.Mode)
	}
	if m.Count < 0 {
		return fmt.Errorf("count %d is negative", m.Count)
	}
	if endpoint != anyEndpoint {
		if m.Endpoint != "" && m.Endpoint != endpoint {
			return fmt.Errorf("mode %q is served by %s only", m.Mode, endpoint)
		}
		m.Endpoint = endpoint
	} else if m.Endpoint != "" && !isEndpoint(m.Endpoint) {
		return fmt.Errorf("unknown endpoint %q", m.Endpoint)
	}
	m.Count = max(m.Count, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, m)
	return nil
}

// take uses up one request of the first pending mode that fits.
func (p *plan) take(endpoint string, transport bool) Misbehaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, m := range p.pending {
		if m.transport() != transport || (m.Endpoint != "" && m.Endpoint != endpoint) {
			continue
		}
		p.pending[i].Count--
		if p.pending[i].Count == 0 {
			p.pending = slices.Delete(p.pending, i, i+1)
		}
		return m
	}
	return Misbehaviour{}
}

// giveBack undoes take.
func (p *plan) giveBack(m Misbehaviour) {
	if m.Mode == "" {
		return
	}
	m.Count = 1
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = slices.Insert(p.pending, 0, m)
}

func (p *plan) list() []Misbehaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.pending)
}

func (p *plan) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = nil
}

func isEndpoint(name string) bool {
	return slices.ContainsFunc(routes(), func(e endpoint) bool { return e.path == name })
}
