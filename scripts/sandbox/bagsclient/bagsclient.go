// Package bagsclient asks the sandbox for transactions as mcpd asks the Bags
// API, so that tests can judge what the API builds without running mcpd. It
// shares no code with mcpd's client or with the sandbox. Only tests, and helpers
// of tests, import it.
package bagsclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client asks for transactions of one wallet.
type Client struct {
	URL    string
	Key    string
	Wallet string
}

// Trade is what the API built for a trade, and what it said of it.
type Trade struct {
	// Transaction is in base58.
	Transaction string
	// Minimum is the least that arrives, in base units.
	Minimum uint64
	// Priority is the priority fee in lamports.
	Priority uint64
}

// maxAnswer bounds an answer.
const maxAnswer = 1 << 20

// slippage of every trade, in hundredths of a percent.
const slippage = "100"

// Trade asks for a quote, and for a transaction that carries it out.
func (c Client) Trade(ctx context.Context, in, out string, units uint64) (Trade, error) {
	var quoted json.RawMessage
	if err := c.call(ctx, http.MethodGet, "/trade/quote?"+url.Values{
		"inputMint": {in}, "outputMint": {out}, "amount": {strconv.FormatUint(units, 10)},
		"slippageMode": {"manual"}, "slippageBps": {slippage},
	}.Encode(), "", &quoted); err != nil {
		return Trade{}, err
	}
	var quote struct{ MinOutAmount string }
	if err := json.Unmarshal(quoted, &quote); err != nil {
		return Trade{}, fmt.Errorf("read the quote: %w", err)
	}
	minimum, err := strconv.ParseUint(quote.MinOutAmount, 10, 64)
	if err != nil {
		return Trade{}, fmt.Errorf("read the quote: %w", err)
	}
	var swap struct {
		SwapTransaction           string
		PrioritizationFeeLamports uint64
	}
	err = c.call(ctx, http.MethodPost, "/trade/swap", `{"quoteResponse":`+string(quoted)+`,"userPublicKey":"`+c.Wallet+`"}`, &swap)
	return Trade{Transaction: swap.SwapTransaction, Minimum: minimum, Priority: swap.PrioritizationFeeLamports}, err
}

// Claim asks for the transactions that claim the fees of a token, in base58 and
// in order.
func (c Client) Claim(ctx context.Context, token string) ([]string, error) {
	var answers []struct{ Tx string }
	err := c.call(ctx, http.MethodPost, "/token-launch/claim-txs/v3", `{"feeClaimer":"`+c.Wallet+`","tokenMint":"`+token+`"}`, &answers)
	list := make([]string, 0, len(answers))
	for _, answer := range answers {
		list = append(list, answer.Tx)
	}
	return list, err
}

func (c Client) call(ctx context.Context, method, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("x-api-key", c.Key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	var envelope struct {
		Success  bool
		Response json.RawMessage
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || !envelope.Success {
		return fmt.Errorf("%s %s: %.300s", method, path, raw)
	}
	return json.Unmarshal(envelope.Response, into)
}
