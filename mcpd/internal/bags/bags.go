// Package bags is the client of the Bags API: quotes, swap and claim
// transactions, claimable positions. flow uses it, and the reading tools. It
// promises that the API key goes to the configured address only, that nothing
// an answer says is shown as text, and that an answer which is not what was
// asked for is a fault: the bytes it returns are for others to judge.
package bags

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"countersign/mcpd/internal/fuse"
	"countersign/shared/fault"
	"countersign/shared/logging"
)

// Limits on what the API may do to us.
const (
	maxAnswer     = 1 << 20
	callTimeout   = 15 * time.Second
	maxRetryAfter = time.Hour
)

var server = fuse.Server{Name: "the Bags API", Down: fault.UpstreamUnavailable}

// Client calls one Bags API. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	key    Key
	http   *http.Client
	fuse   *fuse.Fuse
	logger *slog.Logger
}

// Key is an API key. It prints as redacted.
type Key struct{ secret string }

// NewKey holds a secret.
func NewKey(secret string) Key { return Key{secret: secret} }

// Empty reports that no key is configured.
func (k Key) Empty() bool { return k.secret == "" }

func (Key) String() string { return logging.Redacted }

// GoString keeps %#v from printing the secret.
func (Key) GoString() string { return logging.Redacted }

// LogValue keeps the secret out of logs.
func (Key) LogValue() slog.Value { return slog.StringValue(logging.Redacted) }

// MarshalText keeps the secret out of encodings.
func (Key) MarshalText() ([]byte, error) { return []byte(logging.Redacted), nil }

// New makes a client of the API at base.
func New(base string, key Key, logger *slog.Logger) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "https" && parsed.Scheme != "http") || parsed.RawQuery != "" || parsed.User != nil {
		return nil, errors.New("the Bags address must be an http or https URL without credentials or query")
	}
	parsed.Path = strings.TrimRight(parsed.Path, "/")
	return &Client{
		base: parsed,
		key:  key,
		http: &http.Client{
			Timeout: callTimeout,
			Transport: &http.Transport{
				DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
				TLSHandshakeTimeout:   5 * time.Second,
				ResponseHeaderTimeout: callTimeout,
				MaxIdleConnsPerHost:   4,
				IdleConnTimeout:       90 * time.Second,
				ForceAttemptHTTP2:     true,
			},
			// A redirect would carry the key to another address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		fuse:   fuse.New(server),
		logger: logger,
	}, nil
}

// call makes a request, again if it is worth it, and returns the `response`
// member of the envelope, its bytes untouched. refused is the fault for a plain
// 400 or 404. Nothing that is asked for here has an effect: what the API builds
// is sent by others.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body []byte, refused *fault.Fault) (json.RawMessage, error) {
	if c.key.Empty() {
		return nil, fault.New(fault.CredentialMissing, "no Bags API key is configured: set [bags] api_key in mcpd.toml")
	}
	var answer json.RawMessage
	err := c.fuse.Do(func() error {
		return fuse.Repeat(ctx, server, func() (err error) {
			answer, err = c.once(ctx, method, path, query, body, refused)
			return err
		})
	})
	return answer, err
}

// once makes one request and returns the `response` member of the envelope,
// its bytes untouched.
func (c *Client) once(ctx context.Context, method, path string, query url.Values, body []byte, refused *fault.Fault) (json.RawMessage, error) {
	target := *c.base
	target.Path += path
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.Internal, "a Bags request could not be made").Because(err)
	}
	req.Header.Set("x-api-key", c.key.secret)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, c.unreachable(ctx, path, err)
	}
	c.logger.LogAttrs(ctx, slog.LevelDebug, "bags answered",
		slog.String(logging.KeyPath, path), slog.Int(logging.KeyStatus, res.StatusCode), slog.Int(logging.KeyBytes, len(raw)))
	if len(raw) > maxAnswer {
		return nil, fault.New(fault.UpstreamBadAnswer, "the Bags API sent more than %d bytes", maxAnswer)
	}
	if err := statusFault(res, raw, refused); err != nil {
		return nil, err
	}
	return open(res.Header, raw)
}

// unreachable words a call without an answer. The cause holds the address, so
// it is not kept: an address may be private.
func (c *Client) unreachable(ctx context.Context, path string, err error) error {
	var timeout net.Error
	slow := errors.As(err, &timeout) && timeout.Timeout() || ctx.Err() != nil
	c.logger.LogAttrs(ctx, slog.LevelWarn, "bags did not answer", slog.String(logging.KeyPath, path), slog.Bool(logging.KeyTimeout, slow))
	if slow {
		return fault.New(fault.UpstreamUnavailable, "the Bags API did not answer in time").Because(fuse.ErrSlow)
	}
	return fault.New(fault.UpstreamUnavailable, "the Bags API cannot be reached")
}

func statusFault(res *http.Response, raw []byte, refused *fault.Fault) error {
	switch status := res.StatusCode; {
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.New(fault.CredentialRejected, "the Bags API refused the API key (HTTP %d)", status)
	case status == http.StatusTooManyRequests:
		return fault.New(fault.UpstreamRateLimited, "the Bags API asks to slow down").After(retryAfter(res.Header, raw, time.Now()))
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusUnprocessableEntity:
		return refused
	case status >= 300 && status < 400:
		return fault.New(fault.UpstreamBadAnswer, "the Bags API tried to redirect the call (HTTP %d), which is not followed", status)
	case status >= 500:
		return fault.New(fault.UpstreamUnavailable, "the Bags API failed (HTTP %d)", status)
	default:
		return fault.New(fault.UpstreamBadAnswer, "the Bags API answered HTTP %d", status)
	}
}

// retryAfter reads how long to wait, from Retry-After (seconds), or from the
// unix time in X-RateLimit-Reset or the body's resetTime.
func retryAfter(header http.Header, raw []byte, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	var body struct {
		ResetTime json.Number `json:"resetTime"`
	}
	_ = json.Unmarshal(raw, &body) // A 429 need not have a body.
	for _, text := range []string{header.Get("X-RateLimit-Reset"), body.ResetTime.String()} {
		reset, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			continue
		}
		wait := time.Unix(reset, 0).Sub(now)
		return max(time.Second, min(wait.Round(time.Second), maxRetryAfter))
	}
	return 0
}

var errEnvelope = fault.New(fault.UpstreamBadAnswer, "the Bags API sent an answer that cannot be read")

func open(header http.Header, raw []byte) (json.RawMessage, error) {
	if media, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, errEnvelope
	}
	var envelope struct {
		Success  *bool           `json:"success"`
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || envelope.Success == nil {
		return nil, errEnvelope
	}
	if !*envelope.Success {
		return nil, fault.New(fault.UpstreamBadAnswer, "the Bags API reported an error")
	}
	if len(envelope.Response) == 0 || bytes.Equal(envelope.Response, []byte("null")) {
		return nil, errEnvelope
	}
	return envelope.Response, nil
}
