package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/jsonrpc"
)

// secret stands for the key that many RPC addresses carry.
const secret = "stub_rpc_key_canary"

// serve starts a server and returns a client of it whose address holds the
// secret.
func serve(t *testing.T, options jsonrpc.Options, handler http.HandlerFunc) *jsonrpc.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return dial(t, server.URL, options)
}

func dial(t *testing.T, address string, options jsonrpc.Options) *jsonrpc.Client {
	t.Helper()
	client, err := jsonrpc.New(address+"/"+secret+"?api-key="+secret, options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answer writes a JSON body; %d in it becomes the id of the request.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct{ ID int }
		_ = json.NewDecoder(r.Body).Decode(&request) // a malformed request shows as a wrong id
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "%d", fmt.Sprint(request.ID)))
	}
}

// checkSilent fails where an error, however it is printed, shows the address.
func checkSilent(t *testing.T, err error) {
	t.Helper()
	for _, shown := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("wrapped: %v", fmt.Errorf("%w", err))} {
		if strings.Contains(shown, secret) || strings.Contains(shown, "127.0.0.1") || strings.Contains(shown, "http") && strings.Contains(shown, "//") {
			t.Errorf("the error shows the address: %s", shown)
		}
	}
}

func TestCallSendsOneRequestAndReadsItsResult(t *testing.T) {
	var body []byte
	var header http.Header
	client := serve(t, jsonrpc.Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header = r.Header
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(http.StatusOK, `{"jsonrpc":"2.0","result":{"slot":18446744073709551615},"id":%d}`)(w, r)
	})
	var result struct{ Slot uint64 }
	if err := client.Call(t.Context(), "getThing", []any{"x", map[string]any{"deep": true}}, &result); err != nil {
		t.Fatal(err)
	}
	if result.Slot != 18446744073709551615 {
		t.Errorf("slot = %d, want all 64 bits", result.Slot)
	}
	if diff := cmp.Diff(`{"jsonrpc":"2.0","id":1,"method":"getThing","params":["x",{"deep":true}]}`, string(body)); diff != "" {
		t.Error(diff)
	}
	if header.Get("Content-Type") != "application/json" {
		t.Errorf("content type %q", header.Get("Content-Type"))
	}
}

func TestCallWithoutParamsOrResult(t *testing.T) {
	client := serve(t, jsonrpc.Options{}, answer(http.StatusOK, `{"jsonrpc":"2.0","result":"ok","id":%d}`))
	if err := client.Call(t.Context(), "getHealth", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestRPCErrorKeepsCodeAndData(t *testing.T) {
	client := serve(t, jsonrpc.Options{}, answer(http.StatusOK,
		`{"jsonrpc":"2.0","error":{"code":-32002,"message":"failed at `+secret+`","data":{"err":"AccountNotFound"}},"id":%d}`))
	err := client.Call(t.Context(), "sendTransaction", nil, nil)
	rpc, ok := errors.AsType[*jsonrpc.RPCError](err)
	if !ok || rpc.Code != -32002 || string(rpc.Data) != `{"err":"AccountNotFound"}` || rpc.Message == "" {
		t.Fatalf("error = %#v, want the node's own", err)
	}
	checkSilent(t, err) // the node's text is there to be read, not to be printed
}

func TestHTTPErrorKeepsStatusAndRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  string
		body   string
		want   time.Duration
	}{
		"rate limited":          {http.StatusTooManyRequests, "7", `slow down`, 7 * time.Second},
		"no wait named":         {http.StatusTooManyRequests, "", `{}`, 0},
		"wait is a date":        {http.StatusServiceUnavailable, "Wed, 21 Oct 2026 07:28:00 GMT", ``, 0},
		"wait is absurd":        {http.StatusServiceUnavailable, "4000000000", ``, 5 * time.Minute},
		"wait is negative":      {http.StatusServiceUnavailable, "-5", ``, 0},
		"500 with a result":     {http.StatusInternalServerError, "", `{"jsonrpc":"2.0","result":1,"id":%d}`, 0},
		"429 with an RPC error": {http.StatusTooManyRequests, "1", `{"jsonrpc":"2.0","error":{"code":429,"message":"x"},"id":%d}`, time.Second},
		"created":               {http.StatusCreated, "", `{"jsonrpc":"2.0","result":1,"id":%d}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, jsonrpc.Options{}, func(w http.ResponseWriter, r *http.Request) {
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				answer(c.status, c.body)(w, r)
			})
			var result int
			err := client.Call(t.Context(), "getSlot", nil, &result)
			status, ok := errors.AsType[*jsonrpc.HTTPError](err)
			if !ok || status.Status != c.status || status.RetryAfter != c.want {
				t.Fatalf("error = %#v, want status %d and wait %s", err, c.status, c.want)
			}
			if result != 0 {
				t.Errorf("a result was taken from status %d", c.status)
			}
			checkSilent(t, err)
		})
	}
}

func TestRedirectIsRefused(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var followed atomic.Bool
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			followed.Store(true)
			answer(http.StatusOK, `{"jsonrpc":"2.0","result":1,"id":%d}`)(w, r)
		}))
		client := serve(t, jsonrpc.Options{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, status)
		})
		err := client.Call(t.Context(), "getSlot", nil, nil)
		if got, ok := errors.AsType[*jsonrpc.HTTPError](err); !ok || got.Status != status {
			t.Errorf("%d: error = %v, want that status", status, err)
		}
		if followed.Load() {
			t.Errorf("%d: the request went to another server", status)
		}
		elsewhere.Close()
	}
}

func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	var proxied atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Store(true) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	// A name that is not local, or the proxy would be passed over anyway.
	client := dial(t, "http://rpc.invalid", jsonrpc.Options{Timeout: 5 * time.Second})
	if err := client.Call(t.Context(), "getSlot", nil, nil); err == nil {
		t.Error("a name that does not exist answered")
	}
	if proxied.Load() {
		t.Error("the request went through the proxy of the environment")
	}
}

func TestUnreadableAnswerIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"another id":           `{"jsonrpc":"2.0","result":1,"id":999}`,
		"id as text":           `{"jsonrpc":"2.0","result":1,"id":"%d"}`,
		"id null":              `{"jsonrpc":"2.0","result":1,"id":null}`,
		"no id":                `{"jsonrpc":"2.0","result":1}`,
		"no version":           `{"result":1,"id":%d}`,
		"old version":          `{"jsonrpc":"1.0","result":1,"id":%d}`,
		"neither":              `{"jsonrpc":"2.0","id":%d}`,
		"cut short":            `{"jsonrpc":"2.0","result":1,"id":%d`,
		"trailing text":        `{"jsonrpc":"2.0","result":1,"id":%d}{"more":true}`,
		"batch":                `[{"jsonrpc":"2.0","result":1,"id":%d}]`,
		"empty":                ``,
		"HTML":                 `<html>`,
		"result of other type": `{"jsonrpc":"2.0","result":"one","id":%d}`,
		"result too large":     `{"jsonrpc":"2.0","result":18446744073709551616,"id":%d}`,
		"result negative":      `{"jsonrpc":"2.0","result":-1,"id":%d}`,
		"result fractional":    `{"jsonrpc":"2.0","result":1.5,"id":%d}`,
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, jsonrpc.Options{}, answer(http.StatusOK, body))
			var result uint64
			err := client.Call(t.Context(), "getSlot", nil, &result)
			if !errors.Is(err, jsonrpc.ErrBadAnswer) {
				t.Fatalf("error = %v (result %d), want a bad answer", err, result)
			}
			checkSilent(t, err)
		})
	}
}

// A null that decodes to zero would be a slot, a balance or a rent of nothing.
func TestNullIsNoNumber(t *testing.T) {
	client := serve(t, jsonrpc.Options{}, answer(http.StatusOK, `{"jsonrpc":"2.0","result":null,"id":%d}`))
	for name, result := range map[string]any{"number": new(uint64), "text": new(string), "object": &struct{ Slot uint64 }{}} {
		if err := client.Call(t.Context(), "getSlot", nil, result); !errors.Is(err, jsonrpc.ErrBadAnswer) {
			t.Errorf("%s: error = %v, want a bad answer", name, err)
		}
	}
	found := &struct{ Slot uint64 }{1}
	if err := client.Call(t.Context(), "getTransaction", nil, &found); err != nil || found != nil {
		t.Errorf("where absence can be told: %v, %v; want nil without an error", found, err)
	}
	if err := client.Call(t.Context(), "ping", nil, nil); err != nil {
		t.Errorf("where the result is not wanted: %v", err)
	}
}

func TestAnswerThatIsNotJSONIsRefused(t *testing.T) {
	for _, media := range []string{"text/html", "", "application/jsonp", ";;"} {
		client := serve(t, jsonrpc.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{media}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":1,"id":1}`)
		})
		if err := client.Call(t.Context(), "getSlot", nil, nil); !errors.Is(err, jsonrpc.ErrBadAnswer) {
			t.Errorf("content type %q: error = %v, want a bad answer", media, err)
		}
	}
}

func TestOversizedAnswerIsRefused(t *testing.T) {
	const limit = 1000
	sized := func(size int) string {
		frame := `{"jsonrpc":"2.0","result":"","id":1}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	for _, c := range []struct {
		size int
		ok   bool
	}{{limit, true}, {limit + 1, false}, {64 << 20, false}} {
		client := serve(t, jsonrpc.Options{MaxResponse: limit}, answer(http.StatusOK, sized(c.size)))
		var result string
		err := client.Call(t.Context(), "getBlob", nil, &result)
		if c.ok != (err == nil) || (!c.ok && !errors.Is(err, jsonrpc.ErrBadAnswer)) {
			t.Errorf("%d bytes: error = %v, want success %t", c.size, err, c.ok)
		}
	}
}

func TestEndlessAnswerIsCutOff(t *testing.T) {
	client := serve(t, jsonrpc.Options{MaxResponse: 1 << 20}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return
			}
		}
	})
	if err := client.Call(t.Context(), "getBlob", nil, nil); !errors.Is(err, jsonrpc.ErrBadAnswer) {
		t.Errorf("error = %v, want a bad answer", err)
	}
}

func TestTransportErrorTellsWhetherItWasSent(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server cannot notice that we left
		<-r.Context().Done()
	}
	t.Run("nobody listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		_ = listener.Close()
		check(t, dial(t, "http://"+address, jsonrpc.Options{}).Call(t.Context(), "m", nil, nil), false, false)
	})
	t.Run("context has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := serve(t, jsonrpc.Options{}, hang).Call(ctx, "m", nil, nil)
		check(t, err, false, true)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the cause is lost: %v", err)
		}
	})
	t.Run("no answer in time", func(t *testing.T) {
		check(t, serve(t, jsonrpc.Options{Timeout: 50 * time.Millisecond}, hang).Call(t.Context(), "m", nil, nil), true, true)
	})
	t.Run("no answer before the caller's deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		check(t, serve(t, jsonrpc.Options{}, hang).Call(ctx, "m", nil, nil), true, true)
	})
	t.Run("connection dropped", func(t *testing.T) {
		err := serve(t, jsonrpc.Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }).Call(t.Context(), "m", nil, nil)
		check(t, err, true, false)
	})
	t.Run("answer cut short", func(t *testing.T) {
		err := serve(t, jsonrpc.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"jsonrpc":`)
		}).Call(t.Context(), "m", nil, nil)
		check(t, err, true, false)
	})
}

func check(t *testing.T, err error, sent, timeout bool) {
	t.Helper()
	transport, ok := errors.AsType[*jsonrpc.TransportError](err)
	if !ok {
		t.Fatalf("error = %#v, want a transport error", err)
	}
	if transport.Sent != sent || transport.Timeout != timeout {
		t.Errorf("sent %t, timeout %t; want %t, %t", transport.Sent, transport.Timeout, sent, timeout)
	}
	checkSilent(t, err)
}

func TestNewRefusesOtherAddresses(t *testing.T) {
	for _, address := range []string{
		"", "127.0.0.1:8899", "/socket", "unix:///socket", "file:///etc/passwd", "ws://node/" + secret,
		"http://", "http://no de/" + secret, "://" + secret, "http://%zz/" + secret,
	} {
		_, err := jsonrpc.New(address, jsonrpc.Options{})
		if err == nil {
			t.Errorf("%q accepted", address)
			continue
		}
		checkSilent(t, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), "http or https URL", ""))) // its own words are no address
	}
}

func TestParametersThatCannotBeEncodedAreNotSent(t *testing.T) {
	var called atomic.Bool
	client := serve(t, jsonrpc.Options{}, func(http.ResponseWriter, *http.Request) { called.Store(true) })
	if err := client.Call(t.Context(), "m", []any{make(chan int)}, nil); err == nil {
		t.Error("a channel was encoded")
	}
	if called.Load() {
		t.Error("something was sent")
	}
}

func TestCallsAtOnceGetTheirOwnAnswers(t *testing.T) {
	client := serve(t, jsonrpc.Options{}, func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Params []int
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","result":%d,"id":%s}`, request.Params[0], request.ID)
	})
	const calls = 32
	results := make(chan error, calls)
	for i := range calls {
		go func() {
			var got int
			err := client.Call(t.Context(), "echo", []any{i}, &got)
			if err == nil && got != i {
				err = fmt.Errorf("call %d got the answer of %d", i, got)
			}
			results <- err
		}()
	}
	for range calls {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
