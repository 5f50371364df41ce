package localnet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	callTime  = 30 * time.Second
	maxAnswer = 32 << 20
)

// RPCError is a refusal by the chain.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

type client struct {
	url  string
	http *http.Client
	id   atomic.Uint64
}

// newClient never goes through a proxy: the chain is on this machine.
func newClient(url string) *client {
	// A kept connection can be closed by the chain at the moment it is used again.
	return &client{url: url, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: callTime}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// call makes one call. result may be nil where the answer does not matter.
func (c *client) call(ctx context.Context, result any, method string, params ...any) error {
	if err := c.try(ctx, result, method, params); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (c *client) try(ctx context.Context, result any, method string, params []any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id.Add(1), "method": method, "params": params})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(raw) > maxAnswer:
		return fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP status %d: %.200q", response.StatusCode, raw)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *RPCError       `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("the answer is no JSON-RPC: %w", err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}
