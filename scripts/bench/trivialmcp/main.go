// Command trivialmcp is the least MCP server that the library allows: one tool
// that answers with a constant. The benchmark measures mcpd against it, since
// what the library costs is not ours to win or lose. Nobody imports it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("trivialmcp", "1")
	s.AddTool(mcp.NewTool("ping", mcp.WithDescription("Answers pong.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("pong"), nil
		})
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
