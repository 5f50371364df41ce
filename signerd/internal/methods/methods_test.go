package methods

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
)

const served = "/test/Served"

func call(g *Gate, ctx context.Context, method string, handler grpc.UnaryHandler) error {
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
	if err := call(g, as("a"), "/test/Other", answer); !fault.Is(err, fault.PeerRejected) {
		t.Errorf("a method outside the table: %v", err)
	}
	if err := call(g, context.Background(), served, answer); !fault.Is(err, fault.PeerRejected) {
		t.Errorf("a call without peer credentials: %v", err)
	}
	if err := call(g, as("a"), served, answer); fault.From(err) != nil {
		t.Errorf("an honest call: %v", err)
	}
}

func TestGateLimitsEachConnectionApart(t *testing.T) {
	g := gate(Rule{PerMinute: 3, Timeout: time.Second}, slog.New(slog.DiscardHandler))
	for range 3 {
		if err := call(g, as("a"), served, answer); fault.From(err) != nil {
			t.Fatal(err)
		}
	}
	if err := call(g, as("a"), served, answer); !fault.Is(err, fault.Overloaded) || fault.From(err).RetryAfter == 0 {
		t.Errorf("the fourth call: %v", err)
	}
	if err := call(g, as("b"), served, answer); fault.From(err) != nil {
		t.Errorf("another connection: %v", err)
	}
}

func TestGateContainsPanics(t *testing.T) {
	var log bytes.Buffer
	g := gate(Rule{PerMinute: 3, Timeout: time.Second}, slog.New(slog.NewTextHandler(&log, nil)))
	err := call(g, as("a"), served, func(context.Context, any) (any, error) { panic("planted text") })
	if !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "planted") {
		t.Errorf("a panic: %v", err)
	}
	if !strings.Contains(log.String(), "planted text") {
		t.Error("the panic is not in the log")
	}
}

func TestGateEndsSlowCalls(t *testing.T) {
	g := gate(Rule{PerMinute: 3, Timeout: time.Nanosecond}, slog.New(slog.DiscardHandler))
	err := call(g, as("a"), served, func(ctx context.Context, _ any) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if fault.From(err) == nil {
		t.Error("the call was not ended")
	}
}
