package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"countersign/mcpd/internal/tools"
	"countersign/shared/fault"
)

func textContent(text string) []mcp.Content {
	return []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: text}}
}

// failed is a failed result: the fault, beside whatever else is known.
func failed(structured any, f *fault.Fault) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: textContent(tools.FaultText(f)), StructuredContent: withError(structured, f), IsError: true}
}

func withError(structured any, f *fault.Fault) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	if structured != nil {
		raw, err := json.Marshal(structured)
		if err == nil {
			err = json.Unmarshal(raw, &members)
		}
		if err != nil {
			panic(err) // Our own types always encode to objects.
		}
	}
	raw, err := json.Marshal(tools.ViewFault(f))
	if err != nil {
		panic(err)
	}
	members["error"] = raw
	return members
}

// rewriteForeignError replaces what mcp-go says by itself about arguments that
// do not fit a schema: its words repeat what the caller sent.
func rewriteForeignError(_ context.Context, _ any, _ *mcp.CallToolRequest, result any) {
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || !answer.IsError || answer.StructuredContent != nil {
		return
	}
	f := fault.New(fault.InvalidArguments, "the arguments do not fit the tool's schema")
	*answer = *failed(nil, f)
}

// Codes of JSON-RPC and their only words.
var protocolWords = map[int]string{
	mcp.PARSE_ERROR:      "parse error",
	mcp.INVALID_REQUEST:  "invalid request",
	mcp.METHOD_NOT_FOUND: "method not found",
	mcp.INVALID_PARAMS:   "invalid params",
	mcp.INTERNAL_ERROR:   "internal error",
}

type protocolError struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   errorObject     `json:"error"`
}

type errorObject struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func protocolFault(id json.RawMessage, code int, message string) protocolError {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return protocolError{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: errorObject{Code: code, Message: message}}
}

type toolAnswer struct {
	JSONRPC string              `json:"jsonrpc"`
	ID      json.RawMessage     `json:"id"`
	Result  *mcp.CallToolResult `json:"result"`
}

func toolFault(id json.RawMessage, f *fault.Fault) toolAnswer {
	return toolAnswer{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: failed(nil, f)}
}

// codeUnsupportedVersion is the one protocol error whose data a client needs:
// it lists the versions to choose from.
const codeUnsupportedVersion = -32022

// reply is an answer of the library under the caller's own id: the library reads
// numbers as floats, and would send 1e+26 back for a long one.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

// scrub gives an answer of the library the id that was asked under, and its
// errors fixed words: its own may quote the caller or a Go error.
func scrub(id json.RawMessage, response mcp.JSONRPCMessage) any {
	switch answer := response.(type) {
	case mcp.JSONRPCResponse:
		return reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: answer.Result}
	case mcp.JSONRPCError:
		words, known := protocolWords[answer.Error.Code]
		if !known {
			words = "request refused"
		}
		failure := protocolFault(id, answer.Error.Code, words)
		if answer.Error.Code == codeUnsupportedVersion {
			failure.Error.Data = answer.Error.Data
		}
		return failure
	}
	return response
}
