package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"countersign/shared/fault"
	"countersign/shared/logging"
)

const (
	// maxCalls bounds the tool calls that run at once.
	maxCalls = 16
	// After the input ends, answers that are nearly there get lastWords; then
	// everything is cancelled, and what still runs gets winding.
	lastWords = 40 * time.Millisecond
	winding   = 25 * time.Millisecond
)

// stdio is one connection. mcp-go has a transport of its own, which reads lines
// of any length, writes the text of panics, and may send a notification after
// the result it belongs to.
type stdio struct {
	server  *Server
	session *session

	writing sync.Mutex // guards out
	out     io.Writer

	running sync.WaitGroup
	calls   chan struct{}
}

// ServeStdio answers messages from in until it ends or ctx is done. Calls in
// flight are cancelled then.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	connection := &stdio{server: s, session: newSession(), out: out, calls: make(chan struct{}, maxCalls)}
	if err := s.mcp.RegisterSession(ctx, connection.session); err != nil {
		return fmt.Errorf("register the session: %w", err)
	}
	defer s.mcp.UnregisterSession(ctx, connection.session.SessionID())

	ctx, cancel := context.WithCancel(s.mcp.WithContext(ctx, connection.session))
	defer cancel()
	ctx = context.WithValue(ctx, notifierKey{}, notifier(connection.notify))
	go connection.passOn(ctx)

	ended := make(chan error, 1)
	// The reader is left behind if ctx ends first: a blocked read of a pipe
	// cannot be interrupted, and the process is about to exit.
	go func() { ended <- connection.read(ctx, in) }()
	var err error
	select {
	case err = <-ended:
		connection.waitFor(lastWords)
	case <-ctx.Done():
	}
	cancel()
	connection.waitFor(winding)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *stdio) waitFor(limit time.Duration) {
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

func (c *stdio) read(ctx context.Context, in io.Reader) error {
	lines := newLineReader(in)
	for {
		line, tooLong, err := lines.next()
		if err != nil {
			return err
		}
		if tooLong != nil {
			c.write(ctx, refuseUnread(*tooLong, fmt.Sprintf("it is longer than %d KiB", maxLine>>10)))
			continue
		}
		if len(bytes.TrimRight(line, " \r\n")) == 0 {
			continue
		}
		c.take(ctx, line)
	}
}

// take answers one message. Requests run beside each other; notifications, such
// as a cancellation, are handled in order.
func (c *stdio) take(ctx context.Context, line []byte) {
	read, refusal := c.server.readMessage(line)
	if refusal != nil {
		c.write(ctx, refusal)
		return
	}
	if read.id == nil {
		c.answer(ctx, read)
		return
	}
	if read.isCall() {
		select {
		case c.calls <- struct{}{}:
		default:
			c.write(ctx, toolFault(read.id, fault.New(fault.Overloaded, "%d calls are running already", maxCalls)))
			return
		}
	}
	c.running.Go(func() {
		if read.isCall() {
			defer func() { <-c.calls }()
		}
		c.answer(ctx, read)
	})
}

func (c *stdio) answer(ctx context.Context, read message) {
	defer func() {
		if problem := recover(); problem != nil {
			c.server.logger.LogAttrs(ctx, slog.LevelError, "a message panicked", slog.String(logging.KeyMethod, read.method), slog.Any(logging.KeyError, problem))
			if read.id != nil {
				c.write(ctx, protocolFault(read.id, mcp.INTERNAL_ERROR, protocolWords[mcp.INTERNAL_ERROR]))
			}
		}
	}()
	if response := c.server.mcp.HandleMessage(ctx, read.raw); response != nil {
		c.write(ctx, scrub(read.id, response))
	}
}

// write sends one message as one line.
func (c *stdio) write(ctx context.Context, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		c.server.logger.LogAttrs(ctx, slog.LevelError, "an answer could not be encoded", slog.Any(logging.KeyError, err))
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(raw, '\n')); err != nil {
		c.server.logger.LogAttrs(ctx, slog.LevelWarn, "the client does not take its answers", slog.Any(logging.KeyError, err))
	}
}

func (c *stdio) notify(method string, params map[string]any) {
	c.write(context.Background(), map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method, "params": params})
}

// passOn sends what the library itself wants to notify.
func (c *stdio) passOn(ctx context.Context) {
	for {
		select {
		case notification := <-c.session.notifications:
			c.write(ctx, notification)
		case <-ctx.Done():
			return
		}
	}
}

// session is the one client of a stdio connection, as mcp-go sees it.
type session struct {
	notifications chan mcp.JSONRPCNotification
	ready         atomic.Bool
	info          atomic.Pointer[mcp.Implementation]
	able          atomic.Pointer[mcp.ClientCapabilities]
}

var _ server.SessionWithClientInfo = (*session)(nil)

func newSession() *session { return &session{notifications: make(chan mcp.JSONRPCNotification, 16)} }

func (*session) SessionID() string { return "stdio" }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) Initialize() { s.ready.Store(true) }

func (s *session) Initialized() bool { return s.ready.Load() }

func (s *session) GetClientInfo() mcp.Implementation {
	if info := s.info.Load(); info != nil {
		return *info
	}
	return mcp.Implementation{}
}

func (s *session) SetClientInfo(info mcp.Implementation) { s.info.Store(&info) }

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	if able := s.able.Load(); able != nil {
		return *able
	}
	return mcp.ClientCapabilities{}
}

func (s *session) SetClientCapabilities(able mcp.ClientCapabilities) { s.able.Store(&able) }
