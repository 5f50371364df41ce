package bags

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/mr-tron/base58"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
)

// QuoteRequest asks what an exact input would give. SOL is amount.SOL.
type QuoteRequest struct {
	Input, Output solana.PublicKey
	Amount        amount.Units
	SlippageBps   uint16
}

// Quote is an answer that has been compared with its request.
type Quote struct {
	Request QuoteRequest
	Out     amount.Units
	MinOut  amount.Units
	// PriceImpact is a decimal number as the API wrote it; its scale is not
	// documented, so it is for display only.
	PriceImpact string
	// Venues are the names of the legs of the route, cleaned.
	Venues []untrusted.Text
	// PlatformFeeBps is the fee that the API says it takes, or zero.
	PlatformFeeBps uint64
	// raw is echoed byte for byte when the swap is built.
	raw json.RawMessage
}

// Stamped reports that Client.Quote made q.
func (q Quote) Stamped() bool { return q.raw != nil }

type wireQuote struct {
	InAmount             string      `json:"inAmount"`
	InputMint            string      `json:"inputMint"`
	OutAmount            string      `json:"outAmount"`
	OutputMint           string      `json:"outputMint"`
	MinOutAmount         string      `json:"minOutAmount"`
	OtherAmountThreshold string      `json:"otherAmountThreshold"`
	PriceImpactPct       string      `json:"priceImpactPct"`
	SlippageBps          json.Number `json:"slippageBps"`
	RoutePlan            []struct {
		Venue string `json:"venue"`
	} `json:"routePlan"`
	PlatformFee *struct {
		FeeBps json.Number `json:"feeBps"`
	} `json:"platformFee"`
}

func mintParam(asset solana.PublicKey) string {
	if asset == amount.SOL {
		return solana.WrappedSOL.String()
	}
	return asset.String()
}

// Quote asks for a price. The slippage mode is always sent as manual: without
// it the server chooses a slippage of its own.
func (c *Client) Quote(ctx context.Context, request QuoteRequest) (Quote, error) {
	query := url.Values{
		"inputMint":    {mintParam(request.Input)},
		"outputMint":   {mintParam(request.Output)},
		"amount":       {request.Amount.String()},
		"slippageMode": {"manual"},
		"slippageBps":  {strconv.FormatUint(uint64(request.SlippageBps), 10)},
	}
	raw, err := c.call(ctx, http.MethodGet, "/trade/quote", query, nil,
		fault.New(fault.NoRoute, "the Bags API has no route for this pair and amount"))
	if err != nil {
		return Quote{}, err
	}
	var wire wireQuote
	if err := json.Unmarshal(raw, &wire); err != nil {
		return Quote{}, errEnvelope
	}
	return checkQuote(request, wire, raw)
}

func checkQuote(request QuoteRequest, wire wireQuote, raw json.RawMessage) (Quote, error) {
	differs := func(what string) (Quote, error) {
		return Quote{}, fault.New(fault.UpstreamBadAnswer, "the Bags API quoted another %s than was asked for", what)
	}
	in, err := parseUnits(wire.InAmount)
	switch {
	case err != nil || in != request.Amount:
		return differs("input amount")
	case wire.InputMint != mintParam(request.Input):
		return differs("input mint")
	case wire.OutputMint != mintParam(request.Output):
		return differs("output mint")
	case wire.SlippageBps.String() != strconv.FormatUint(uint64(request.SlippageBps), 10):
		return differs("slippage")
	}
	quote := Quote{Request: request, raw: bytes.Clone(raw)}
	if quote.Out, err = parseUnits(wire.OutAmount); err != nil {
		return Quote{}, errEnvelope
	}
	if quote.MinOut, err = parseUnits(wire.MinOutAmount); err != nil {
		return Quote{}, errEnvelope
	}
	threshold, err := parseUnits(wire.OtherAmountThreshold)
	if err != nil || threshold != quote.MinOut {
		return Quote{}, fault.New(fault.UpstreamBadAnswer, "the Bags API quoted two different least amounts")
	}
	// The least amount must be what the slippage allows, or better: otherwise
	// the percentage in the request binds nothing. One unit is left for rounding.
	allowed, err := quote.Out.MulDiv(uint64(10_000-request.SlippageBps), 10_000, false)
	if err != nil || quote.MinOut == 0 || quote.MinOut > quote.Out || quote.MinOut+1 < allowed {
		return Quote{}, fault.New(fault.UpstreamBadAnswer, "the least amount in the Bags quote does not follow from its slippage")
	}
	quote.PriceImpact = plainDecimal(wire.PriceImpactPct)
	for _, leg := range wire.RoutePlan[:min(len(wire.RoutePlan), maxLegs)] {
		quote.Venues = append(quote.Venues, untrusted.Clean(leg.Venue, untrusted.Name))
	}
	if wire.PlatformFee != nil {
		quote.PlatformFeeBps, _ = strconv.ParseUint(wire.PlatformFee.FeeBps.String(), 10, 16)
	}
	return quote, nil
}

// maxLegs bounds how much of a route is shown.
const maxLegs = 8

func parseUnits(text string) (amount.Units, error) {
	units, err := strconv.ParseUint(text, 10, 64)
	return amount.Units(units), err
}

// plainDecimal lets a short decimal number through and nothing else.
func plainDecimal(text string) string {
	if len(text) > 24 {
		return ""
	}
	for i, r := range text {
		if (r < '0' || r > '9') && r != '.' && (r != '-' || i != 0) {
			return ""
		}
	}
	return text
}

// Swap has the quoted swap built for wallet and returns its wire bytes.
func (c *Client) Swap(ctx context.Context, quote Quote, wallet solana.PublicKey) ([]byte, error) {
	if !quote.Stamped() {
		return nil, fault.New(fault.Internal, "a swap was asked for without a quote")
	}
	// Written by hand: encoding the quote again could change its bytes.
	body := bytes.Join([][]byte{[]byte(`{"quoteResponse":`), quote.raw, []byte(`,"userPublicKey":"` + wallet.String() + `"}`)}, nil)
	raw, err := c.call(ctx, http.MethodPost, "/trade/swap", nil, body,
		fault.New(fault.NoRoute, "the Bags API would not build this swap"))
	if err != nil {
		return nil, err
	}
	var wire struct {
		SwapTransaction string `json:"swapTransaction"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, errEnvelope
	}
	return decodeTransaction(wire.SwapTransaction)
}

// maxTransactionText is the base58 length of the largest transaction, with
// room: base58 needs 1.37 characters for a byte.
const maxTransactionText = 2 * solana.MaxTransactionSize

func decodeTransaction(text string) ([]byte, error) {
	if len(text) > maxTransactionText {
		return nil, fault.New(fault.TransactionTooLarge, "the Bags API returned a transaction over %d bytes", solana.MaxTransactionSize)
	}
	raw, err := base58.Decode(text)
	if err != nil || len(raw) == 0 {
		return nil, errEnvelope
	}
	if len(raw) > solana.MaxTransactionSize {
		return nil, fault.New(fault.TransactionTooLarge, "the Bags API returned a transaction of %d bytes; %d is the limit", len(raw), solana.MaxTransactionSize)
	}
	return raw, nil
}
