package methods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
)

const served = "/test/Served"

func call(ctx context.Context, g *Gate, method string, handler grpc.UnaryHandler) error {
	_, err := g.unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, handler)
	return faultgrpc.FromStatus(err, fault.SignerUnavailable)
}

func answer(context.Context, any) (any, error) { return nil, nil }

type sessionKey struct{}

func as(session string) context.Context {
	return context.WithValue(context.Background(), sessionKey{}, session)
}

// gate is a gate for one method whose connections are named by the test.
func gate(rule Rule, log *slog.Logger) *Gate {
	g := New(Table{served: rule}, log)
	g.session = func(ctx context.Context) (string, bool) {
		session, ok := ctx.Value(sessionKey{}).(string)
		return session, ok
	}
	return g
}

func TestGateRefusesWhatNoTableNames(t *testing.T) {
	g := gate(Rule{PerMinute: 10, Timeout: time.Second}, slog.New(slog.DiscardHandler))
	if err := call(as("a"), g, "/test/Other", answer); !fault.Is(err, fault.PeerRejected) {
		t.Errorf("a method outside the table: %v", err)
	}
	if err := call(context.Background(), g, served, answer); !fault.Is(err, fault.PeerRejected) {
		t.Errorf("a call without peer credentials: %v", err)
	}
	if err := call(as("a"), g, served, answer); fault.From(err) != nil {
		t.Errorf("an honest call: %v", err)
	}
}

func TestGateLimitsEachConnectionApart(t *testing.T) {
	g := gate(Rule{PerMinute: 3, Timeout: time.Second}, slog.New(slog.DiscardHandler))
	for range 3 {
		if err := call(as("a"), g, served, answer); fault.From(err) != nil {
			t.Fatal(err)
		}
	}
	if err := call(as("a"), g, served, answer); !fault.Is(err, fault.Overloaded) || fault.From(err).RetryAfter == 0 {
		t.Errorf("the fourth call: %v", err)
	}
	if err := call(as("b"), g, served, answer); fault.From(err) != nil {
		t.Errorf("another connection: %v", err)
	}
}

func TestGateContainsPanics(t *testing.T) {
	var log bytes.Buffer
	g := gate(Rule{PerMinute: 3, Timeout: time.Second}, slog.New(slog.NewTextHandler(&log, nil)))
	err := call(as("a"), g, served, func(context.Context, any) (any, error) { panic("planted text") })
	if !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "planted") {
		t.Errorf("a panic: %v", err)
	}
	if !strings.Contains(log.String(), "planted text") {
		t.Error("the panic is not in the log")
	}
}

func TestGateLogsTheCauseAndTellsItNobody(t *testing.T) {
	var log bytes.Buffer
	g := gate(Rule{PerMinute: 3, Timeout: time.Second}, slog.New(slog.NewTextHandler(&log, nil)))
	planted := fault.New(fault.StateLocked, "it is locked").Because(errors.New("planted cause"))
	err := call(as("a"), g, served, func(context.Context, any) (any, error) { return nil, planted })
	if !fault.Is(err, fault.StateLocked) || strings.Contains(fault.From(err).Message, "planted") {
		t.Errorf("a fault: %v", err)
	}
	if !strings.Contains(log.String(), "planted cause") || !strings.Contains(log.String(), served) {
		t.Errorf("the log does not say why: %s", log.String())
	}
}

func TestGateEndsSlowCalls(t *testing.T) {
	g := gate(Rule{PerMinute: 3, Timeout: time.Nanosecond}, slog.New(slog.DiscardHandler))
	err := call(as("a"), g, served, func(ctx context.Context, _ any) (any, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("read the ledger: %w", ctx.Err())
	})
	if !fault.Is(err, fault.TimedOut) || fault.From(err).Class() != fault.Operational {
		t.Errorf("the call ended with %v", err)
	}
	// What a stage has said already stays.
	err = call(as("a"), g, served, func(ctx context.Context, _ any) (any, error) {
		<-ctx.Done()
		return nil, fault.New(fault.WalletBusy, "busy").Because(ctx.Err())
	})
	if !fault.Is(err, fault.WalletBusy) {
		t.Errorf("a stage's own words became %v", err)
	}
	// A stream may have executed something.
	err = g.stream(nil, callerStream{ctx: as("a")}, &grpc.StreamServerInfo{FullMethod: served}, func(_ any, stream grpc.ServerStream) error {
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	if !fault.Is(faultgrpc.FromStatus(err, fault.SignerUnavailable), fault.OutcomeUnknown) {
		t.Errorf("the stream ended with %v", err)
	}
}

// callerStream is a stream of which only the context matters.
type callerStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s callerStream) Context() context.Context { return s.ctx }
