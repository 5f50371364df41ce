// Package jsonrpc makes one JSON-RPC call over HTTP: with a deadline, a size
// limit, no redirects, no proxy from the environment, and errors that say
// whether the request can have reached the server and never hold its address
// (which may carry an API key). It knows no Solana method and never retries:
// whether a repeat is safe is the caller's to know.
package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"countersign/shared/fault"
)

// Client calls one endpoint. It is safe for concurrent use.
type Client struct {
	address  string
	http     *http.Client
	maxBytes int64
	timeout  time.Duration
	nextID   atomic.Uint64
}

// Options adjust a client; zero values mean the defaults.
type Options struct {
	// Timeout bounds one call, 10 s by default. A shorter context wins.
	Timeout time.Duration
	// MaxResponse bounds one answer in bytes, 8 MiB by default.
	MaxResponse int64
	// Transport carries the calls; over the network by default.
	Transport http.RoundTripper
}

const (
	defaultTimeout  = 10 * time.Second
	defaultMaxBytes = 8 << 20
)

// New makes a client of an http or https address.
func New(address string, options Options) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, errors.New("RPC address must be an http or https URL")
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.MaxResponse == 0 {
		options.MaxResponse = defaultMaxBytes
	}
	if options.Transport == nil {
		options.Transport = &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout:   5 * time.Second,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: options.Timeout,
			ForceAttemptHTTP2:     true,
		}
	}
	return &Client{
		address: address,
		http: &http.Client{
			Transport:     options.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		maxBytes: options.MaxResponse,
		timeout:  options.Timeout,
	}, nil
}

// RPCError is the server's own refusal.
type RPCError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *RPCError) Error() string { return fmt.Sprintf("RPC error %d", e.Code) }

// HTTPError is an HTTP status that carried no JSON-RPC answer.
type HTTPError struct {
	Status int
	// RetryAfter is what the server asked for, or zero.
	RetryAfter time.Duration
}

func (e *HTTPError) Error() string { return fmt.Sprintf("RPC node answered HTTP status %d", e.Status) }

// TransportError is a call without an answer.
type TransportError struct {
	// Sent is false only when the request provably never left: the server
	// cannot have acted on it.
	Sent    bool
	Timeout bool
	cause   error
}

func (e *TransportError) Error() string {
	switch {
	case !e.Sent:
		return "RPC node cannot be reached"
	case e.Timeout:
		return "RPC node did not answer in time"
	default:
		return "connection to the RPC node broke"
	}
}

// Unwrap gives context errors to errors.Is. The text of the cause holds the
// address; do not print it.
func (e *TransportError) Unwrap() error { return e.cause }

// ErrBadAnswer is an answer that is not the JSON-RPC answer to this call, or
// is larger than the limit.
var ErrBadAnswer = errors.New("RPC node sent an answer that cannot be read")

// unreadable is why an answer cannot be read, in our words.
type unreadable string

func (u unreadable) Error() string { return ErrBadAnswer.Error() + ": " + string(u) }

func (unreadable) Is(target error) bool { return target == ErrBadAnswer }

// NodeUnhealthy is the code of a node that knows that it is behind the network
// (RPC_NODE_UNHEALTHY in Agave's rpc-client-api).
const NodeUnhealthy = -32005

// FaultOf words an error of Call for a user. It names neither the node nor what
// the node said.
func FaultOf(method string, err error) *fault.Fault {
	if status, ok := errors.AsType[*HTTPError](err); ok {
		if status.Status == http.StatusTooManyRequests {
			return fault.New(fault.RPCUnavailable, "the RPC node asks to slow down").After(status.RetryAfter).Because(err)
		}
		return fault.New(fault.RPCUnavailable, "the RPC node answered HTTP %d", status.Status).After(status.RetryAfter).Because(err)
	}
	if refused, ok := errors.AsType[*RPCError](err); ok {
		if refused.Code == NodeUnhealthy {
			return fault.New(fault.RPCUnavailable, "the RPC node is behind the network (%s)", refused.behind()).Because(err)
		}
		return fault.New(fault.RPCUnavailable, "the RPC node refused %s with error %d", method, refused.Code).Because(err)
	}
	if transport, ok := errors.AsType[*TransportError](err); ok {
		switch {
		case transport.Timeout && transport.Sent:
			return fault.New(fault.RPCUnavailable, "the RPC node did not answer in time").Because(err)
		case transport.Sent:
			return fault.New(fault.RPCUnavailable, "the connection to the RPC node broke before it answered").Because(err)
		}
		return fault.New(fault.RPCUnavailable, "the RPC node cannot be reached").Because(err)
	}
	return BadAnswer(method, err)
}

// behind is how far a node is behind, as far as it says so.
func (e *RPCError) behind() string {
	var data struct {
		Slots *uint64 `json:"numSlotsBehind"`
	}
	if json.Unmarshal(e.Data, &data) != nil || data.Slots == nil {
		return "it does not say how far"
	}
	return strconv.FormatUint(*data.Slots, 10) + " slots"
}

// BadAnswer words an answer that is no answer to the method.
func BadAnswer(method string, cause error) *fault.Fault {
	if why, ok := errors.AsType[unreadable](cause); ok {
		return fault.New(fault.RPCBadAnswer, "the RPC node's answer to %s cannot be used: %s", method, string(why)).Because(cause)
	}
	return fault.New(fault.RPCBadAnswer, "the RPC node's answer to %s cannot be used", method).Because(cause)
}

type request struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params,omitempty"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// Call makes one call and decodes its result into the variable that result
// points to; a null result needs a variable that can be nil. Errors are
// *RPCError, *HTTPError, *TransportError or ErrBadAnswer.
func (c *Client) Call(ctx context.Context, method string, params []any, result any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	id := c.nextID.Add(1)
	body, err := json.Marshal(request{Version: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	answer, err := c.post(ctx, body)
	if err != nil {
		return err
	}
	return decode(answer, id, result)
}

func (c *Client) post(ctx context.Context, body []byte) ([]byte, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// From here on bytes may be on their way.
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return nil, &TransportError{cause: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(ctx, sent.Load(), err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, c.maxBytes+1))
	if err != nil {
		return nil, c.transportError(ctx, true, err)
	}
	if int64(len(answer)) > c.maxBytes {
		return nil, unreadable(fmt.Sprintf("it is larger than %d bytes", c.maxBytes))
	}
	if res.StatusCode != http.StatusOK {
		return nil, &HTTPError{Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
	}
	if media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, unreadable("it is not of the content type of JSON")
	}
	return answer, nil
}

func (c *Client) transportError(ctx context.Context, sent bool, cause error) error {
	var timeout net.Error
	timedOut := errors.As(cause, &timeout) && timeout.Timeout() || ctx.Err() != nil
	return &TransportError{Sent: sent, Timeout: timedOut, cause: cause}
}

// maxRetryAfter bounds how long a server can make us wait.
const maxRetryAfter = 5 * time.Minute

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

func decode(answer []byte, id uint64, result any) error {
	var res response
	if err := json.Unmarshal(answer, &res); err != nil {
		return unreadable("it is malformed JSON")
	}
	if res.Version != "2.0" || string(res.ID) != strconv.FormatUint(id, 10) {
		return unreadable("it belongs to another call")
	}
	if res.Error != nil {
		return &RPCError{Code: res.Error.Code, Message: res.Error.Message, Data: res.Error.Data}
	}
	if len(res.Result) == 0 {
		return unreadable("it holds neither result nor error")
	}
	if result == nil {
		return nil
	}
	if string(res.Result) == "null" && !canBeAbsent(result) {
		return unreadable("it holds no result")
	}
	if err := json.Unmarshal(res.Result, result); err != nil {
		return unreadable("its result has another shape")
	}
	return nil
}

// canBeAbsent reports whether the target of a result can hold a null apart
// from a zero: json.Unmarshal makes of null a zero number without an error.
func canBeAbsent(result any) bool {
	switch reflect.TypeOf(result).Elem().Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	default:
		return false
	}
}
