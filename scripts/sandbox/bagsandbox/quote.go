package bagsandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/market"
	"countersign/scripts/sandbox/world"
)

// Slippage that the service chooses in auto mode, and answers when told to
// ignore what was asked.
const (
	autoSlippage    = 300
	ignoredSlippage = 5_000
)

func quoteParams() []param {
	return []param{
		{name: "inputMint", check: isAddress},
		{name: "outputMint", check: isAddress},
		{name: "amount", check: isInteger(1, math.MaxUint64)},
		{name: "slippageMode", optional: true, check: isOneOf("auto", "manual")},
		{name: "slippageBps", optional: true, check: isInteger(0, market.MaxBps)},
	}
}

// tradeQuote is the documented answer, in the documented order. The two fields
// at its end are not documented: a client must keep what it does not know,
// digit for digit, when it echoes a quote.
type tradeQuote struct {
	RequestID            string          `json:"requestId"`
	ContextSlot          uint64          `json:"contextSlot"`
	InAmount             any             `json:"inAmount"`
	InputMint            string          `json:"inputMint"`
	OutAmount            any             `json:"outAmount"`
	OutputMint           string          `json:"outputMint"`
	MinOutAmount         any             `json:"minOutAmount,omitempty"`
	OtherAmountThreshold any             `json:"otherAmountThreshold"`
	PriceImpactPct       string          `json:"priceImpactPct"`
	SlippageBps          uint64          `json:"slippageBps"`
	RoutePlan            []routeLeg      `json:"routePlan"`
	PlatformFee          *struct{}       `json:"platformFee"`
	OutTransferFee       *string         `json:"outTransferFee"`
	SimulatedUnits       *uint64         `json:"simulatedComputeUnits"`
	Sequence             json.RawMessage `json:"routeSequence"`
	Score                json.RawMessage `json:"routeScore"`
}

type routeLeg struct {
	Venue          string `json:"venue"`
	MarketKey      string `json:"marketKey"`
	Data           string `json:"data"`
	InAmount       string `json:"inAmount"`
	InputMint      string `json:"inputMint"`
	InputDecimals  uint8  `json:"inputMintDecimals"`
	OutAmount      string `json:"outAmount"`
	OutputMint     string `json:"outputMint"`
	OutputDecimals uint8  `json:"outputMintDecimals"`
}

// issued is a quote as it went out.
type issued struct {
	raw      []byte
	pool     world.Pool
	in, out  solana.PublicKey
	amount   uint64
	minOut   uint64
	slippage uint64
	// stale: the swap follows the pool, not this quote.
	stale bool
}

func (s *Sandbox) quote(ctx context.Context, c call) (any, error) {
	slippage, err := slippageOf(c.query)
	if err != nil {
		return nil, err
	}
	in, out := key(c.query["inputMint"]), key(c.query["outputMint"])
	pool, found := s.layout.PoolOf(in, out)
	if !found {
		return nil, badRequest("No route found for %s to %s", in, out)
	}
	reserves, slot, err := world.Reserves(ctx, s.chain, pool, in)
	if err != nil {
		return nil, err
	}
	if c.mode.Mode == StaleQuote {
		reserves.Out = market.More(reserves.Out, c.mode.param(2_000))
	}
	if c.mode.Mode == SlippageIgnored {
		slippage = min(c.mode.param(ignoredSlippage), market.MaxBps)
	}
	amount := integer(c.query, "amount", 0)
	paid, err := reserves.Pays(amount)
	if errors.Is(err, market.ErrNoLiquidity) {
		return nil, badRequest("No route found: amount is too small or the pool is empty")
	}
	if err != nil {
		return nil, err
	}
	q := issued{pool: pool, in: in, out: out, amount: amount, slippage: slippage,
		minOut: market.Less(paid, slippage), stale: c.mode.Mode == StaleQuote}
	answer := q.answer(slot, paid, reserves.Impact(amount, paid))
	s.distort(&answer, c.mode, q)
	raw, err := s.issue(answer, q)
	if err != nil {
		return nil, err
	}
	if c.mode.Mode == PriceMove {
		if err := world.MovePrice(ctx, s.chain, pool, in, c.mode.param(2_000)); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// slippageOf follows the documented rule: auto unless said otherwise, and in
// manual mode the number is required.
func slippageOf(query map[string]string) (uint64, error) {
	if query["slippageMode"] != "manual" {
		return autoSlippage, nil
	}
	if _, given := query["slippageBps"]; !given {
		return 0, badRequest("slippageBps is required when slippageMode is manual")
	}
	return integer(query, "slippageBps", 0), nil
}

func (q issued) answer(slot, paid uint64, impact string) tradeQuote {
	from, to := q.pool.A, q.pool.B
	if q.in != from.Address {
		from, to = to, from
	}
	return tradeQuote{
		RequestID:            requestID(),
		ContextSlot:          slot,
		InAmount:             text(q.amount),
		InputMint:            q.in.String(),
		OutAmount:            text(paid),
		OutputMint:           q.out.String(),
		MinOutAmount:         text(q.minOut),
		OtherAmountThreshold: text(q.minOut),
		PriceImpactPct:       impact,
		SlippageBps:          q.slippage,
		RoutePlan: []routeLeg{{
			Venue: "Meteora DAMM v2", MarketKey: q.pool.VaultA.String(),
			InAmount: text(q.amount), InputMint: q.in.String(), InputDecimals: from.Decimals,
			OutAmount: text(paid), OutputMint: q.out.String(), OutputDecimals: to.Decimals,
		}},
		// More than a double holds, and a zero that a float drops.
		Sequence: json.RawMessage("9007199254740993"),
		Score:    json.RawMessage("0.950"),
	}
}

// distort changes what the answer says, apart from the price.
func (s *Sandbox) distort(answer *tradeQuote, m Misbehaviour, q issued) {
	switch m.Mode {
	case QuoteWrongMint:
		answer.OutputMint = s.otherMint(q).String()
	case QuoteMoreIn:
		answer.InAmount = text(market.More(q.amount, market.MaxBps))
	case QuoteNumbers:
		answer.InAmount, answer.OutAmount = q.amount, json.RawMessage(answer.OutAmount.(string))
	case QuoteIncomplete:
		answer.MinOutAmount = nil
	case MinimumMismatch:
		answer.OtherAmountThreshold = text(q.minOut / 2)
	}
}

// otherMint is a token of the world that this trade is not about.
func (s *Sandbox) otherMint(q issued) solana.PublicKey {
	for _, mint := range s.layout.Mints() {
		if mint.Address != q.in && mint.Address != q.out {
			return mint.Address
		}
	}
	return s.layout.WSOL.Address
}

func text(n uint64) string { return strconv.FormatUint(n, 10) }

// requestID is a random version 4 UUID.
func requestID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// maxQuotes bounds memory; the oldest quote is forgotten first.
const maxQuotes = 4096

type quoteBook struct {
	mu     sync.Mutex // guards what follows
	quotes map[string]issued
	order  []string
}

func (s *Sandbox) issue(answer tradeQuote, q issued) (json.RawMessage, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	q.raw = raw
	s.quotes.mu.Lock()
	defer s.quotes.mu.Unlock()
	if len(s.quotes.order) == maxQuotes {
		delete(s.quotes.quotes, s.quotes.order[0])
		s.quotes.order = s.quotes.order[1:]
	}
	s.quotes.quotes[answer.RequestID] = q
	s.quotes.order = append(s.quotes.order, answer.RequestID)
	return raw, nil
}

// echoed finds the quote that a client sends back. It must be the very bytes:
// the two errors tell a changed quote from one that was only written anew.
func (s *Sandbox) echoed(raw json.RawMessage) (issued, error) {
	var named struct {
		RequestID string `json:"requestId"`
	}
	if err := json.Unmarshal(raw, &named); err != nil || named.RequestID == "" {
		return issued{}, badRequest("quoteResponse.requestId is required")
	}
	s.quotes.mu.Lock()
	q, known := s.quotes.quotes[named.RequestID]
	s.quotes.mu.Unlock()
	switch {
	case !known:
		return issued{}, badRequest("quoteResponse is no quote of this service, or has been forgotten")
	case bytes.Equal(raw, q.raw):
		return q, nil
	case sameJSON(raw, q.raw):
		return issued{}, badRequest("quoteResponse was re-encoded: send the bytes of the quote as they came")
	}
	return issued{}, badRequest("quoteResponse differs from the quote that was given")
}

func sameJSON(a, b []byte) bool {
	var left, right any
	return decodeExact(a, &left) == nil && decodeExact(b, &right) == nil && reflect.DeepEqual(left, right)
}

// decodeExact keeps numbers as they are written.
func decodeExact(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}
