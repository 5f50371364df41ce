package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Message is one JSON-RPC message of the server.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`
}

// RPCError is a protocol error, as opposed to a tool's own refusal.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("protocol error %d: %s", e.Code, e.Message)
}

func parseMessage(line []byte) (Message, error) {
	var envelope struct {
		Version string `json:"jsonrpc"`
		Message
	}
	if err := json.Unmarshal(line, &envelope); err != nil {
		return Message{}, fmt.Errorf("not JSON: %w", err)
	}
	if envelope.Version != "2.0" {
		return Message{}, errors.New("not JSON-RPC 2.0")
	}
	message := envelope.Message
	if message.Method == "" && message.Result == nil && message.Error == nil {
		return Message{}, errors.New("neither request nor answer")
	}
	return message, nil
}

// Request sends one request and waits for its answer. Params may be nil, a
// map or a json.RawMessage object.
func (c *Client) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	id := c.takeID()
	full, err := c.withMeta(params, id)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": full})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	if err := c.SendRaw(line); err != nil {
		return nil, err
	}
	answer, err := c.WaitFor(ctx, func(m Message) bool { return m.Method == "" && bytes.Equal(m.ID, id) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Result, nil
}

// withMeta adds what every request carries: a progress token, and in the modern
// era who is asking.
func (c *Client) withMeta(params any, id json.RawMessage) (map[string]any, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode parameters: %w", err)
	}
	// Raw values keep duplicate keys and odd numbers as the caller wrote them.
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &raw); err != nil {
		return nil, fmt.Errorf("parameters are not an object: %w", err)
	}
	full := map[string]any{}
	for name, value := range raw {
		full[name] = value
	}
	meta := map[string]any{"progressToken": id}
	if c.era == Modern {
		maps.Copy(meta, map[string]any{
			"io.modelcontextprotocol/protocolVersion":    modernVersion,
			"io.modelcontextprotocol/clientInfo":         clientInfo(),
			"io.modelcontextprotocol/clientCapabilities": struct{}{},
		})
	}
	full["_meta"] = meta
	return full, nil
}

func clientInfo() map[string]string {
	return map[string]string{"name": "countersign-mcpclient", "version": "1"}
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	return c.SendRaw(line)
}

// Greeting is what a server says of itself.
type Greeting struct {
	Version      string
	Instructions string
	Raw          json.RawMessage
}

// Open makes the handshake of the client's era.
func (c *Client) Open(ctx context.Context) (Greeting, error) {
	if c.era == Modern {
		return c.discover(ctx)
	}
	result, err := c.Request(ctx, "initialize", map[string]any{
		"protocolVersion": legacyVersion,
		"capabilities":    struct{}{},
		"clientInfo":      clientInfo(),
	})
	if err != nil {
		return Greeting{}, err
	}
	var answer struct {
		ProtocolVersion string `json:"protocolVersion"`
		Instructions    string `json:"instructions"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return Greeting{}, fmt.Errorf("read the answer to initialize: %w", err)
	}
	if answer.ProtocolVersion != legacyVersion {
		return Greeting{}, fmt.Errorf("server speaks %q, asked for %s", answer.ProtocolVersion, legacyVersion)
	}
	greeting := Greeting{Version: answer.ProtocolVersion, Instructions: answer.Instructions, Raw: result}
	return greeting, c.Notify("notifications/initialized", struct{}{})
}

func (c *Client) discover(ctx context.Context) (Greeting, error) {
	result, err := c.Request(ctx, "server/discover", struct{}{})
	if err != nil {
		return Greeting{}, err
	}
	var answer struct {
		Versions     []string `json:"supportedVersions"`
		Instructions string   `json:"instructions"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return Greeting{}, fmt.Errorf("read the answer to server/discover: %w", err)
	}
	for _, version := range answer.Versions {
		if version == modernVersion {
			return Greeting{Version: version, Instructions: answer.Instructions, Raw: result}, nil
		}
	}
	return Greeting{}, fmt.Errorf("server speaks %s, not %s", strings.Join(answer.Versions, ", "), modernVersion)
}
