package mcpserver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"countersign/mcpd/internal/intent"
	"countersign/shared/fault"
)

const methodToolsCall = "tools/call"

// message is one checked line.
type message struct {
	raw    json.RawMessage
	id     json.RawMessage
	method string
}

func (m message) isCall() bool { return m.method == methodToolsCall && m.id != nil }

// Names that the library binds. It ignores case, so a look-alike could take
// the place of the one that was checked.
var bound = []string{"jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta", "task"}

// readMessage checks a line. The second value is the answer to a line that is
// refused.
func (s *Server) readMessage(line []byte) (message, any) {
	if err := intent.CheckJSON(line); err != nil {
		if errors.Is(err, intent.ErrNotJSON) {
			return message{}, protocolFault(nil, mcp.PARSE_ERROR, protocolWords[mcp.PARSE_ERROR])
		}
		scan := &topLevel{}
		scan.feed(line)
		return message{}, refuseUnread(*scan.result(), err.Error())
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return message{}, protocolFault(nil, mcp.INVALID_REQUEST, "a message must be one JSON object")
	}
	read := message{raw: slices.Clone(line)}
	if id := members["id"]; validID(id) {
		read.id = id
	}
	// A method that is no string stays empty.
	_ = json.Unmarshal(members["method"], &read.method)
	if id, present := members["id"]; present && !validID(id) || hasLookAlike(members) {
		return message{}, protocolFault(read.id, mcp.INVALID_REQUEST, protocolWords[mcp.INVALID_REQUEST])
	}
	if read.isCall() {
		if refusal := s.checkCall(read, members["params"]); refusal != nil {
			return message{}, refusal
		}
	}
	return read, nil
}

// refuseUnread answers a message that is not read in full: a tool call gets a
// result that a model can act on, anything else a protocol error.
func refuseUnread(known oversized, why string) any {
	if known.method == methodToolsCall && known.id != nil {
		return toolFault(known.id, fault.New(fault.InvalidArguments, "the call is refused: %s", why))
	}
	return protocolFault(known.id, mcp.INVALID_REQUEST, why)
}

func hasLookAlike(members map[string]json.RawMessage) bool {
	for name := range members {
		if !slices.Contains(bound, name) && slices.ContainsFunc(bound, func(known string) bool { return strings.EqualFold(known, name) }) {
			return true
		}
	}
	return false
}

// checkCall refuses a tool call that must not reach a tool.
func (s *Server) checkCall(read message, params json.RawMessage) any {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil || hasLookAlike(members) {
		return protocolFault(read.id, mcp.INVALID_PARAMS, protocolWords[mcp.INVALID_PARAMS])
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil {
		return protocolFault(read.id, mcp.INVALID_PARAMS, "params.name must name a tool")
	}
	if reason, withheld := s.withheld[name]; withheld {
		return toolFault(read.id, reason)
	}
	tool, known := s.tools[name]
	if !known {
		return protocolFault(read.id, mcp.INVALID_PARAMS, "there is no such tool; tools/list names them")
	}
	if err := tool.Check(members["arguments"]); err != nil {
		return toolFault(read.id, fault.From(err))
	}
	return nil
}
