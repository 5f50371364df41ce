// Package mcpserver serves a catalogue of tools over MCP. It stands between
// mcp-go and the outside: what comes in is bounded and read strictly before the
// library sees it, what goes out is one of our own results or a fixed sentence.
// app starts it. It promises that nothing but JSON-RPC is written, that no
// text of an error or a panic leaves, and that bad arguments are refused before
// any tool runs.
package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"countersign/mcpd/internal/propose"
	"countersign/mcpd/internal/tools"
	"countersign/shared/fault"
	"countersign/shared/logging"
)

// Name is what the server calls itself.
const Name = "countersign"

// Server serves one catalogue.
type Server struct {
	mcp      *server.MCPServer
	tools    map[string]tools.Tool
	withheld map[string]*fault.Fault
	logger   *slog.Logger
}

// Options say what to serve.
type Options struct {
	Version      string
	Instructions string
	Tools        []tools.Tool
	// Withheld, where set, keeps the writing tools away and says why.
	Withheld *fault.Fault
	Logger   *slog.Logger
}

// New builds the server.
func New(options Options) *Server {
	s := &Server{tools: map[string]tools.Tool{}, withheld: map[string]*fault.Fault{}, logger: options.Logger}
	hooks := &server.Hooks{}
	hooks.AddAfterCallTool(rewriteForeignError)
	s.mcp = server.NewMCPServer(Name, options.Version,
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithInstructions(options.Instructions),
		server.WithHooks(hooks),
		server.WithTitle("Countersign"),
	)
	for _, tool := range options.Tools {
		if tool.Writes && options.Withheld != nil {
			s.withheld[tool.Name] = options.Withheld
			continue
		}
		s.tools[tool.Name] = tool
		s.mcp.AddTool(Definition(tool), s.handler(tool))
	}
	return s
}

// Definition is a tool as tools/list shows it.
func Definition(tool tools.Tool) mcp.Tool {
	return mcp.Tool{
		Name:            tool.Name,
		Title:           tool.Title,
		Description:     tool.Description,
		RawInputSchema:  encodeSchema(tool.Input),
		RawOutputSchema: encodeSchema(tool.Output),
		Annotations: mcp.ToolAnnotation{
			Title:           tool.Title,
			ReadOnlyHint:    new(tool.Hints.ReadOnly),
			DestructiveHint: new(tool.Hints.Destructive),
			IdempotentHint:  new(tool.Hints.Idempotent),
			OpenWorldHint:   new(tool.Hints.OpenWorld),
		},
	}
}

func encodeSchema(schema tools.Schema) json.RawMessage {
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(err) // A schema is a constant of this program.
	}
	return raw
}

func (s *Server) handler(tool tools.Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if problem := recover(); problem != nil {
				s.logger.LogAttrs(ctx, slog.LevelError, "a tool panicked", slog.String(logging.KeyTool, tool.Name), slog.Any(logging.KeyError, problem))
				result, err = failed(nil, fault.New(fault.Internal, "something went wrong inside Countersign")), nil
			}
		}()
		call := tools.Call{Arguments: rawArguments(request), ClientName: clientName(ctx), Progress: progressFor(ctx, request)}
		answer, handleErr := tool.Handle(ctx, call)
		if handleErr != nil {
			f := fault.From(handleErr)
			s.logger.LogAttrs(ctx, slog.LevelInfo, "a tool refused or failed",
				slog.String(logging.KeyTool, tool.Name), slog.String(logging.KeyCode, string(f.Code)), logging.Error(f))
			return failed(nil, f), nil
		}
		if answer.Fault != nil {
			failure := failed(answer.Structured, answer.Fault)
			failure.Content = textContent(answer.Text)
			return failure, nil
		}
		return &mcp.CallToolResult{Content: textContent(answer.Text), StructuredContent: answer.Structured}, nil
	}
}

func rawArguments(request mcp.CallToolRequest) json.RawMessage {
	if raw, ok := request.GetRawArguments().(json.RawMessage); ok {
		return raw
	}
	return nil
}

func clientName(ctx context.Context) string {
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return session.GetClientInfo().Name
	}
	return ""
}

type notifierKey struct{}

// notifier writes a notification at once, so that it precedes the result.
type notifier func(method string, params map[string]any)

// progressFor reports an execution's steps, if the client asked to hear them.
func progressFor(ctx context.Context, request mcp.CallToolRequest) func(propose.Progress) {
	notify, ok := ctx.Value(notifierKey{}).(notifier)
	if !ok || request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return nil
	}
	token, steps := request.Params.Meta.ProgressToken, 0
	return func(step propose.Progress) {
		steps++
		notify("notifications/progress", map[string]any{
			"progressToken": token, "progress": steps, "message": progressWords(step),
		})
	}
}

// progressWords says of a batch which transaction it is about.
func progressWords(step propose.Progress) string {
	if step.Transactions > 1 {
		return fmt.Sprintf("transaction %d of %d: %s", step.Transaction, step.Transactions, stageWords(step))
	}
	return stageWords(step)
}

// stageWords words a stage. The list is closed: the signer's text is not passed on.
func stageWords(step propose.Progress) string {
	switch step.Stage {
	case "judged":
		return "the signer has judged the transaction"
	case "reserved":
		return "the amount is reserved"
	case "signed":
		return "signed, not sent yet"
	case "sent":
		return "sent, waiting for the chain"
	case "landed":
		return "landed"
	}
	return "under way"
}
