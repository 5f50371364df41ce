package observer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	callTime  = 15 * time.Second
	maxAnswer = 32 << 20
)

type client struct {
	url  string
	http *http.Client
}

// newClient never goes through a proxy: the chain is on this machine.
func newClient(url string) *client {
	// A kept connection can be closed by the chain at the moment it is used again.
	return &client{url: url, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: callTime}}
}

func (c *client) call(ctx context.Context, result any, method string, params ...any) error {
	if err := c.try(ctx, result, method, params); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (c *client) try(ctx context.Context, result any, method string, params []any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
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
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("the answer is no JSON-RPC: %w", err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s (%d)", answer.Error.Message, answer.Error.Code)
	}
	if len(answer.Result) == 0 {
		return fmt.Errorf("the answer has no result")
	}
	return json.Unmarshal(answer.Result, result)
}
