package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Tool is one entry of tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// maxPages bounds a listing whose cursor never ends.
const maxPages = 100

// Tools lists every tool, over all pages.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	params := map[string]any{}
	for range maxPages {
		result, err := c.Request(ctx, "tools/list", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools  []Tool `json:"tools"`
			Cursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, fmt.Errorf("read the answer to tools/list: %w", err)
		}
		tools = append(tools, page.Tools...)
		if page.Cursor == "" {
			return tools, nil
		}
		params["cursor"] = page.Cursor
	}
	return nil, errors.New("the list of tools has no end")
}

// Result is the answer of a tool: its outcome or its own refusal.
type Result struct {
	IsError    bool
	Structured json.RawMessage
	Text       string
	Raw        json.RawMessage
}

// Call runs one tool. Arguments may be any value that encodes as an object, or
// a json.RawMessage, which is passed on as it is. A refusal by the tool is a
// Result; an error means that the protocol failed.
func (c *Client) Call(ctx context.Context, tool string, arguments any) (Result, error) {
	if arguments == nil {
		arguments = struct{}{}
	}
	raw, err := c.Request(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return Result{}, err
	}
	return parseResult(raw)
}

func parseResult(raw json.RawMessage) (Result, error) {
	var answer struct {
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return Result{}, fmt.Errorf("read the answer to tools/call: %w", err)
	}
	var texts []string
	for _, part := range answer.Content {
		if part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	return Result{
		IsError: answer.IsError, Structured: answer.Structured,
		Text: strings.Join(texts, "\n"), Raw: raw,
	}, nil
}

// Decode reads the structured content.
func (r Result) Decode(into any) error {
	if len(r.Structured) == 0 {
		return errors.New("the result has no structured content")
	}
	if err := json.Unmarshal(r.Structured, into); err != nil {
		return fmt.Errorf("read the structured content: %w", err)
	}
	return nil
}

// Refusal is what a tool says when it refuses or fails.
type Refusal struct {
	Class   string `json:"class"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Refusal reads structuredContent.error, or fails where the tool did not
// refuse or did not say why.
func (r Result) Refusal() (Refusal, error) {
	if !r.IsError {
		return Refusal{}, errors.New("the tool did not refuse")
	}
	var content struct {
		Error *Refusal `json:"error"`
	}
	if err := r.Decode(&content); err != nil {
		return Refusal{}, err
	}
	if content.Error == nil || content.Error.Class == "" {
		return Refusal{}, errors.New("the refusal names no class")
	}
	return *content.Error, nil
}
