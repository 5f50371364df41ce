package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"countersign/scripts/stack"
)

// serverEntry is how Claude Desktop, Cursor and VS Code describe a stdio server.
type serverEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// clientLines says how common MCP clients start this mcpd.
func clientLines(s *stack.Stack) string {
	command := s.MCPCommand()
	entry := serverEntry{Command: command[0], Args: command[1:]}
	typed := entry
	typed.Type = "stdio"
	var text strings.Builder
	fmt.Fprintf(&text, "Claude Code:\n  claude mcp add countersign -- %s\n\n", strings.Join(quoted(command), " "))
	fmt.Fprintf(&text, "Claude Desktop (claude_desktop_config.json):\n%s\n\n", indented(map[string]any{"mcpServers": map[string]any{"countersign": entry}}))
	fmt.Fprintf(&text, "Cursor (.cursor/mcp.json):\n%s\n\n", indented(map[string]any{"mcpServers": map[string]any{"countersign": typed}}))
	fmt.Fprintf(&text, "VS Code (.vscode/mcp.json):\n%s\n", indented(map[string]any{"servers": map[string]any{"countersign": typed}}))
	return text.String()
}

func indented(value any) string {
	raw, err := json.MarshalIndent(value, "  ", "  ")
	if err != nil {
		panic(err) // Strings and maps always encode.
	}
	return "  " + string(raw)
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return out
}
