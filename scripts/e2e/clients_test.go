package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/scripts/stack"
)

// startStack brings everything up for a test that is not a script.
func startStack(t *testing.T) *stack.Stack {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptTime)
	s, err := stack.Start(ctx, stack.Options{Dir: dir, Bin: bin, Chain: quick})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		_ = os.RemoveAll(dir)
	})
	return s
}

// clientFolder holds the npm package with the official clients.
const clientFolder = "clients"

func needClients(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(clientFolder, "node_modules")); err != nil {
		t.Fatal("the official clients are not installed: run make test, or npm ci in scripts/e2e/clients")
	}
}

// observed demands that the chain has changed by exactly what the result says.
func observed(t *testing.T, s *stack.Stack, before stack.View, done stack.Write) {
	t.Helper()
	after, err := s.Observe(t.Context(), s.World.TokenMint)
	if err != nil {
		t.Fatal(err)
	}
	solOut, solIn, solErr := done.Told(s.World.WSOL)
	tokenOut, tokenIn, tokenErr := done.Told(s.World.TokenMint)
	if solErr != nil || tokenErr != nil {
		t.Fatal(solErr, tokenErr)
	}
	if before == after || after.Lamports+solOut != before.Lamports+solIn || after.Tokens+tokenOut != before.Tokens+tokenIn {
		t.Errorf("told -%d +%d lamports, -%d +%d tokens\nbefore %s\nafter  %s", solOut, solIn, tokenOut, tokenIn, before, after)
	}
}

func lookAt(t *testing.T, s *stack.Stack) stack.View {
	t.Helper()
	view, err := s.Observe(t.Context(), s.World.TokenMint)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// lasting is a context for processes that cleanups still talk to: the test's own
// is cancelled before they run.
func lasting(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), scriptTime)
	t.Cleanup(cancel)
	return ctx
}

// sdk is the official TypeScript client in a process of its own.
type sdk struct {
	t      *testing.T
	input  io.Writer
	output *bufio.Scanner
}

func startSDK(t *testing.T, s *stack.Stack, era string) *sdk {
	t.Helper()
	needClients(t)
	words := append([]string{"sdk-client.mjs", "--era", era, "--"}, s.MCPCommand()...)
	command := exec.CommandContext(lasting(t), "node", words...)
	command.Dir = clientFolder
	command.Env = s.Environment()
	command.Env[1] = "PATH=" + os.Getenv("PATH") // where node is
	input, inErr := command.StdinPipe()
	output, outErr := command.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the SDK client ended with %v", err)
		}
	})
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16<<20)
	return &sdk{t: t, input: input, output: lines}
}

func (c *sdk) read(into any) {
	c.t.Helper()
	if !c.output.Scan() {
		c.t.Fatalf("the SDK client said nothing: %v", c.output.Err())
	}
	if err := json.Unmarshal(c.output.Bytes(), into); err != nil {
		c.t.Fatalf("%v: %s", err, c.output.Bytes())
	}
}

func (c *sdk) call(tool string, arguments map[string]any) stack.Write {
	c.t.Helper()
	line, err := json.Marshal(map[string]any{"tool": tool, "arguments": arguments})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.input.Write(append(line, '\n')); err != nil {
		c.t.Fatal(err)
	}
	var answer struct {
		Result struct {
			IsError    bool        `json:"isError"`
			Structured stack.Write `json:"structuredContent"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	c.read(&answer)
	if answer.Error != nil {
		c.t.Fatalf("%s: %s", tool, answer.Error)
	}
	answer.Result.Structured.IsError = answer.Result.IsError
	return answer.Result.Structured
}

func TestOfficialSDKClientCompletesASwap(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s := startStack(t)
			client := startSDK(t, s, era)
			var listed struct {
				Tools []struct {
					Name string `json:"name"`
				} `json:"tools"`
			}
			client.read(&listed)
			if len(listed.Tools) != 10 {
				t.Errorf("%d tools listed, want 10", len(listed.Tools))
			}
			swap := map[string]any{"input_mint": "SOL", "output_mint": s.World.TokenMint, "amount": "0.05", "slippage_bps": 100}
			before := lookAt(t, s)
			proposed := client.call("bags_execute_trade", swap)
			if proposed.IsError || proposed.Proposal.ConfirmationCode == "" {
				t.Fatalf("no code was given: %+v", proposed)
			}
			if now := lookAt(t, s); now != before {
				t.Errorf("the proposal changed the chain:\n%s\n%s", before, now)
			}
			done := client.call("bags_execute_trade", stack.With(swap, "confirm", proposed.Proposal.ConfirmationCode))
			if done.IsError || done.Receipt.Outcome != "landed" {
				t.Fatalf("not landed: %+v", done)
			}
			observed(t, s, before, done)
		})
	}
}

// inspector runs one command of the Inspector's package.
func inspector(t *testing.T, environment []string, words ...string) []byte {
	t.Helper()
	command := exec.CommandContext(lasting(t), filepath.Join("node_modules", ".bin", words[0]), words[1:]...)
	command.Dir = clientFolder
	command.Env = environment
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(words[:2], " "), err, out, complaint.String())
	}
	return out
}

func TestInspectorListsAndCompletesASwap(t *testing.T) {
	t.Parallel()
	needClients(t)
	s := startStack(t)
	home := t.TempDir()
	environment := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "MCP_INSPECTOR_SECRET_STORE=memory"}
	server := append([]string{"--"}, s.MCPCommand()...)

	listed := inspector(t, environment, append([]string{"mcp-inspector", "--cli", "--method", "tools/list"}, server...)...)
	if !bytes.Contains(listed, []byte(`"bags_execute_trade"`)) {
		t.Fatalf("tools/list: %s", listed)
	}

	// One connection for both steps: a code is good only where it was given.
	environment = append(environment, private(t, environment)...)
	inspector(t, environment, append([]string{"mcpdo", "connect", "--connection", "swap"}, server...)...)
	t.Cleanup(func() { inspector(t, environment, "mcpdo", "disconnect", "swap") })
	call := func(arguments map[string]any) stack.Write {
		raw, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		out := inspector(t, environment, "mcpdo", "tools/call", "bags_execute_trade", "--connection", "swap", "--format", "json", "--tool-args-json", string(raw))
		var answer struct {
			Structured stack.Write `json:"structuredContent"`
		}
		if err := json.Unmarshal(out, &answer); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return answer.Structured
	}
	swap := map[string]any{"input_mint": "SOL", "output_mint": s.World.TokenMint, "amount": "0.05", "slippage_bps": 100}
	before := lookAt(t, s)
	proposed := call(swap)
	done := call(stack.With(swap, "confirm", proposed.Proposal.ConfirmationCode))
	if done.Receipt.Outcome != "landed" {
		t.Fatalf("not landed: %+v", done)
	}
	observed(t, s, before, done)
}

// private asks mcpdo for a session of its own, as eval would take it.
func private(t *testing.T, environment []string) []string {
	t.Helper()
	var set []string
	for line := range strings.Lines(string(inspector(t, environment, "mcpdo", "private"))) {
		if assignment, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			set = append(set, strings.NewReplacer(`"`, "", "'", "", ";", "").Replace(assignment))
		}
	}
	return set
}
