package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/mcpd/internal/config"
	"countersign/mcpd/internal/worldtest"
	"countersign/shared/logging"
)

// client is an MCP client of a mcpd that runs in this process.
type client struct {
	t     *testing.T
	world *worldtest.World
	in    *io.PipeWriter
	lines chan []byte
	ended chan error
	logs  *lockedBuffer
	// all is everything that mcpd wrote.
	all    bytes.Buffer
	nextID int
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs mcpd in world, with more TOML after the usual tables.
func start(t *testing.T, world *worldtest.World, head, tail string) *client {
	t.Helper()
	folder := t.TempDir()
	key := filepath.Join(folder, "key")
	if err := os.WriteFile(key, []byte(worldtest.APIKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "mcpd.toml")
	text := fmt.Sprintf("%s\n[signer]\nsocket = %q\n[bags]\nbase_url = %q\napi_key = \"file:%s\"\n[rpc]\nurls = [%q]\n[log]\nlevel = \"debug\"\n%s\n",
		head, world.Socket, world.Bags.URL, key, world.Node.URL, tail)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	input, in := io.Pipe()
	output, out := io.Pipe()
	c := &client{t: t, world: world, in: in, lines: make(chan []byte, 100), ended: make(chan error, 1), logs: &lockedBuffer{}}
	go func() {
		err := serve(context.Background(), loaded, logging.New(c.logs, loaded.Level), input, out)
		_ = out.Close()
		c.ended <- err
	}()
	go func() {
		defer close(c.lines)
		scanner := bufio.NewScanner(output)
		scanner.Buffer(nil, 8<<20)
		for scanner.Scan() {
			c.lines <- bytes.Clone(scanner.Bytes())
		}
	}()
	t.Cleanup(func() {
		world.Signer.Resume()
		_ = in.Close()
		select {
		case err := <-c.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Error("mcpd did not end")
		}
	})
	c.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// reply is what came back, and the notifications before it.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *client) receive() (reply, bool) {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if !open {
			return reply{}, false
		}
		c.all.Write(line)
		c.all.WriteByte('\n')
		var got reply
		if err := json.Unmarshal(line, &got); err != nil || !bytes.Contains(line, []byte(`"jsonrpc":"2.0"`)) {
			c.t.Fatalf("not JSON-RPC: %s", line)
		}
		return got, true
	case <-time.After(10 * time.Second):
		c.t.Fatal("no answer")
		return reply{}, false
	}
}

func (c *client) request(method, params string) reply {
	c.t.Helper()
	c.nextID++
	c.send(fmt.Sprintf(`{"method":%q,"params":%s,"jsonrpc":"2.0","id":%d}`, method, params, c.nextID))
	got, open := c.receive()
	if !open {
		c.t.Fatal("mcpd ended")
	}
	if string(got.ID) != fmt.Sprint(c.nextID) {
		c.t.Fatalf("answer has id %s, want %d", got.ID, c.nextID)
	}
	return got
}

// answer is a tool's result.
type answer struct {
	IsError    bool           `json:"isError"`
	Structured map[string]any `json:"structuredContent"`
	Content    []struct {
		Text string `json:"text"`
	} `json:"content"`
	raw json.RawMessage
}

func (a answer) text() string { return a.Content[0].Text }

// at walks into the structured content by keys and list indexes.
func (a answer) at(path ...any) any {
	var value any = a.Structured
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[key]
		case int:
			list, _ := value.([]any)
			if key >= len(list) {
				return nil
			}
			value = list[key]
		}
	}
	return value
}

func readAnswer(t *testing.T, got reply) answer {
	t.Helper()
	if got.Error != nil {
		t.Fatalf("protocol error: %+v", got.Error)
	}
	read := answer{raw: got.Result}
	if err := json.Unmarshal(got.Result, &read); err != nil || len(read.Content) == 0 || read.Structured == nil {
		t.Fatalf("not a tool result: %s", got.Result)
	}
	return read
}

func (c *client) call(tool, arguments string) answer {
	c.t.Helper()
	got := readAnswer(c.t, c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)))
	checkOutput(c.t, tool, got)
	return got
}

// fails calls a tool and expects a fault.
func (c *client) fails(tool, arguments, class, code string) answer {
	c.t.Helper()
	got := c.call(tool, arguments)
	if !got.IsError || got.at("error", "class") != class || got.at("error", "code") != code {
		c.t.Fatalf("%s %s = %s, want %s (%s)", tool, arguments, got.raw, class, code)
	}
	if !strings.HasPrefix(got.text(), class) {
		c.t.Errorf("text %q does not start with the class", got.text())
	}
	if got.at("error", "hint") == "" || got.at("error", "message") == "" {
		c.t.Error("no hint or message")
	}
	return got
}

// proposed calls a writing tool and expects a proposal with a code.
func (c *client) proposed(tool, arguments string) (answer, string) {
	c.t.Helper()
	got := c.call(tool, arguments)
	code, _ := got.at("proposal", "confirmation_code").(string)
	if got.IsError || got.at("status") != "preview" || code == "" {
		c.t.Fatalf("no proposal: %s", got.raw)
	}
	return got, code
}

// confirmed puts a code into arguments.
func confirmed(arguments, code string) string {
	return strings.TrimSuffix(arguments, "}") + fmt.Sprintf(`,"confirm":%q}`, code)
}
