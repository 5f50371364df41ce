package mcpclient_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/scripts/mcpclient"
)

// The counterpart is the benchmark's trivial server: a real MCP server made of
// a library that shares no code with this client.
var trivial string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mcpclient")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	trivial = filepath.Join(dir, "trivialmcp")
	if out, err := exec.Command("go", "build", "-o", trivial, "../bench/trivialmcp").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

func start(t *testing.T, era mcpclient.Era, name string, args ...string) *mcpclient.Client {
	t.Helper()
	client, err := mcpclient.Start(t.Context(), mcpclient.Options{Era: era, Timeout: 20 * time.Second}, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close() })
	return client
}

func TestListAndCallInBothEras(t *testing.T) {
	for name, era := range map[string]mcpclient.Era{"legacy": mcpclient.Legacy, "modern": mcpclient.Modern} {
		t.Run(name, func(t *testing.T) {
			client := start(t, era, trivial)
			if _, err := client.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			tools, err := client.Tools(t.Context())
			if err != nil || len(tools) != 1 || tools[0].Name != "ping" {
				t.Fatalf("tools = %+v, %v; want the one tool ping", tools, err)
			}
			result, err := client.Call(t.Context(), "ping", nil)
			if err != nil || result.IsError || result.Text != "pong" {
				t.Errorf("call = %+v, %v; want pong", result, err)
			}
			if exit, err := client.Close(); err != nil || exit.Code != 0 {
				t.Errorf("close = %+v, %v; want exit code 0", exit, err)
			}
			if strays := client.Strays(); len(strays) != 0 {
				t.Errorf("stray lines: %q", strays)
			}
		})
	}
}

func TestCallReportsProtocolError(t *testing.T) {
	client := start(t, mcpclient.Legacy, trivial)
	if _, err := client.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := client.Call(t.Context(), "no_such_tool", nil)
	var protocol *mcpclient.RPCError
	if !errors.As(err, &protocol) || protocol.Code == 0 {
		t.Errorf("error = %v, want a protocol error", err)
	}
}

func TestSendRawReachesServer(t *testing.T) {
	client := start(t, mcpclient.Legacy, trivial)
	if err := client.SendRaw([]byte(`{"jsonrpc":"2.0","id":"mine","method":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	answer, err := client.WaitFor(t.Context(), func(m mcpclient.Message) bool { return string(m.ID) == `"mine"` })
	if err != nil || answer.Result == nil {
		t.Errorf("answer = %+v, %v; want a result", answer, err)
	}
}

func TestStrayLinesAndNotificationsAreKept(t *testing.T) {
	script := `echo hello; echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'; echo '{"id":1}'; cat >/dev/null`
	client := start(t, mcpclient.Legacy, "/bin/sh", "-c", script)
	if _, err := client.WaitFor(t.Context(), func(m mcpclient.Message) bool { return m.Method == "notifications/message" }); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(client.Strays(), "|"); got != `hello|{"id":1}` {
		t.Errorf("strays = %q", got)
	}
	if got := len(client.Notifications()); got != 1 {
		t.Errorf("%d notifications, want 1", got)
	}
}

func TestServerStartsWithGivenEnvironmentOnly(t *testing.T) {
	t.Setenv("MCPCLIENT_CANARY", "leaked")
	client, err := mcpclient.Start(t.Context(), mcpclient.Options{Env: []string{"GIVEN=yes"}}, "/bin/sh", "-c", `echo "$GIVEN/$MCPCLIENT_CANARY"`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(client.Strays(), "|"); got != "yes/" {
		t.Errorf("environment seen by the server: %q, want %q", got, "yes/")
	}
}

func TestRequestEnds(t *testing.T) {
	t.Run("when the server never answers", func(t *testing.T) {
		client := start(t, mcpclient.Legacy, "/bin/sh", "-c", "cat >/dev/null")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := client.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline", err)
		}
	})
	t.Run("when the server ends", func(t *testing.T) {
		client := start(t, mcpclient.Legacy, "/bin/sh", "-c", "read line; exit 3")
		if _, err := client.Open(t.Context()); err == nil {
			t.Error("a dead server answered")
		}
		if exit, err := client.Close(); err != nil || exit.Code != 3 {
			t.Errorf("exit = %+v, %v; want code 3", exit, err)
		}
	})
}

func TestArgumentsArePassedOnAsWritten(t *testing.T) {
	// The server echoes its first line on standard error's stead: a notification.
	script := `read line; printf '{"jsonrpc":"2.0","method":"echo","params":{"line":"%s"}}\n' "$(printf %s "$line" | od -An -tx1 | tr -d ' \n')"; cat >/dev/null`
	client := start(t, mcpclient.Legacy, "/bin/sh", "-c", script)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	const arguments = `{"amount":"1","amount":18446744073709551616}`
	_, _ = client.Call(ctx, "any", json.RawMessage(arguments)) // nobody answers; what was sent counts
	echo, err := client.WaitFor(t.Context(), func(m mcpclient.Message) bool { return m.Method == "echo" })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(echo.Params), hex.EncodeToString([]byte(arguments))) {
		t.Errorf("sent %s, want the arguments unchanged", echo.Params)
	}
}

func TestRefusalNeedsAClass(t *testing.T) {
	good := mcpclient.Result{IsError: true, Structured: json.RawMessage(`{"error":{"class":"validation","code":"amount_invalid"}}`)}
	if refusal, err := good.Refusal(); err != nil || refusal.Class != "validation" || refusal.Code != "amount_invalid" {
		t.Errorf("refusal = %+v, %v", refusal, err)
	}
	for name, result := range map[string]mcpclient.Result{
		"not refused":  {Structured: good.Structured},
		"no structure": {IsError: true},
		"no class":     {IsError: true, Structured: json.RawMessage(`{"error":{}}`)},
		"no error":     {IsError: true, Structured: json.RawMessage(`{}`)},
	} {
		if _, err := result.Refusal(); err == nil {
			t.Errorf("%s: accepted as a refusal", name)
		}
	}
}
