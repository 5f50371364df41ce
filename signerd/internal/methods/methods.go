// Package methods is the gate in front of every gRPC method of signerd: one
// table says how often a connection may call it and how long a call may take.
// A method that is missing from the table is refused, so a new one cannot slip
// in ungoverned. Errors and panics end here: in the log with their cause, on
// the wire as a status without it. server, operator and app use it.
package methods

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
	"countersign/shared/logging"
	"countersign/signerd/internal/peer"
)

// Rule governs one method.
type Rule struct {
	// PerMinute is how often one connection may call it, with a burst of as many.
	PerMinute int
	// Timeout bounds one call.
	Timeout time.Duration
}

// Table maps full method names to rules.
type Table map[string]Rule

// Gate enforces a table.
type Gate struct {
	table  Table
	logger *slog.Logger
	// session names the connection of a call, by the kernel's word.
	session func(context.Context) (string, bool)

	mu       sync.Mutex // guards limiters
	limiters map[limiterKey]*rate.Limiter
}

type limiterKey struct{ session, method string }

// maxLimiters bounds what many short connections can make us remember. Past
// it everything is forgotten at once: a caller gains one burst and no memory.
const maxLimiters = 4096

// New makes a gate.
func New(table Table, logger *slog.Logger) *Gate {
	return &Gate{table: table, logger: logger, session: sessionOf, limiters: make(map[limiterKey]*rate.Limiter)}
}

func sessionOf(ctx context.Context) (string, bool) {
	identity, ok := peer.FromContext(ctx)
	return identity.Session, ok
}

// ServerOptions installs the gate in a gRPC server.
func (g *Gate) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream)}
}

func (g *Gate) admit(ctx context.Context, method string) (Rule, error) {
	rule, ok := g.table[method]
	if !ok {
		return Rule{}, fault.New(fault.PeerRejected, "this method is not served here")
	}
	session, ok := g.session(ctx)
	if !ok {
		return Rule{}, fault.New(fault.PeerRejected, "the connection carries no peer credentials")
	}
	if !g.limiter(session, method, rule).Allow() {
		return Rule{}, fault.New(fault.Overloaded, "too many calls on this connection").After(time.Minute / time.Duration(rule.PerMinute))
	}
	return rule, nil
}

func (g *Gate) limiter(session, method string, rule Rule) *rate.Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := limiterKey{session, method}
	if limiter, ok := g.limiters[key]; ok {
		return limiter
	}
	if len(g.limiters) >= maxLimiters {
		clear(g.limiters)
	}
	limiter := rate.NewLimiter(rate.Every(time.Minute/time.Duration(rule.PerMinute)), rule.PerMinute)
	g.limiters[key] = limiter
	return limiter
}

func (g *Gate) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (response any, err error) {
	defer g.contain(ctx, info.FullMethod, &err)
	rule, err := g.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, faultgrpc.ToStatus(err)
	}
	ctx, cancel := context.WithTimeout(ctx, rule.Timeout)
	defer cancel()
	response, err = next(ctx, request)
	return response, g.tell(ctx, info.FullMethod, timedOut(err, fault.TimedOut, "the signer did not finish in time"))
}

func (g *Gate) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer g.contain(stream.Context(), info.FullMethod, &err)
	rule, err := g.admit(stream.Context(), info.FullMethod)
	if err != nil {
		return faultgrpc.ToStatus(err)
	}
	ctx, cancel := context.WithTimeout(stream.Context(), rule.Timeout)
	defer cancel()
	err = next(server, timedStream{stream, ctx})
	return g.tell(ctx, info.FullMethod, timedOut(err, fault.OutcomeUnknown, "the signer did not finish in time; what it did is not known"))
}

// timedOut words a deadline that no stage has put into words: a unary method
// does all or nothing, a stream may have begun what it was asked for.
func timedOut(err error, code fault.Code, message string) error {
	if errors.Is(err, context.DeadlineExceeded) && fault.Is(fault.From(err), fault.Internal) {
		return fault.New(code, "%s", message).Because(err)
	}
	return err
}

// tell writes what went wrong to the log, with its cause, and makes of it the
// status that crosses the wire. A refusal stands in the audit log already.
func (g *Gate) tell(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	if _, ours := status.FromError(err); ours {
		return err // gRPC's own, of a caller that has gone.
	}
	level := slog.LevelDebug
	f := fault.From(err)
	switch f.Class() {
	case fault.Operational, fault.UnknownOutcome, fault.Authentication:
		level = slog.LevelWarn
	case fault.Validation, fault.AuthorizationRejected, fault.Conflict:
	}
	if (f.Code == fault.Internal || f.Code == fault.StateLocked) && !errors.Is(err, context.Canceled) {
		level = slog.LevelError
	}
	g.logger.LogAttrs(ctx, level, "a call failed", slog.String(logging.KeyMethod, method), slog.String(logging.KeyCode, string(f.Code)), logging.Error(f))
	return faultgrpc.ToStatus(f)
}

// contain turns a panic into an Internal fault. Its text goes to the log only.
func (g *Gate) contain(ctx context.Context, method string, err *error) {
	if thrown := recover(); thrown != nil {
		g.logger.LogAttrs(ctx, slog.LevelError, "panic in a method",
			slog.String(logging.KeyMethod, method), slog.Any(logging.KeyError, thrown), slog.String(logging.KeyStack, string(debug.Stack())))
		*err = faultgrpc.ToStatus(fault.New(fault.Internal, "something went wrong inside signerd"))
	}
}

// timedStream is a stream whose context ends at the method's timeout.
type timedStream struct {
	grpc.ServerStream
	ctx context.Context // grpc.ServerStream hands its context out by method.
}

// Context implements grpc.ServerStream.
func (s timedStream) Context() context.Context { return s.ctx }
