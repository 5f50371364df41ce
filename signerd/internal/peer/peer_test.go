//go:build unix

package peer_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/logging"
	"countersign/shared/uds"
	"countersign/shared/udsgrpc"
	"countersign/signerd/internal/peer"
)

// echo answers with what it knows of its caller.
type echo struct {
	signerv1.UnimplementedSignerServiceServer
}

func (echo) GetReceipt(ctx context.Context, _ *signerv1.GetReceiptRequest) (*signerv1.GetReceiptResponse, error) {
	who, ok := peer.FromContext(ctx)
	if !ok || int(who.UID) != os.Geteuid() || int(who.PID) != os.Getpid() {
		return nil, status.Errorf(codes.Unauthenticated, "%+v", who)
	}
	return &signerv1.GetReceiptResponse{Receipt: &signerv1.Receipt{ProposalId: who.Session}}, nil
}

// syncBuffer lets the server log while the test reads.
type syncBuffer struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

func serve(t *testing.T, allowed []uint32) (string, *syncBuffer) {
	t.Helper()
	return serveTelling(t, allowed, nil)
}

// serveTelling tells ended which session is over.
func serveTelling(t *testing.T, allowed []uint32, ended func(session string)) (string, *syncBuffer) {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "peer")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "run", "agent.sock")
	listener, err := uds.Listen(path, uds.OwnerOnly)
	if err != nil {
		t.Fatal(err)
	}
	logged := new(syncBuffer)
	server := grpc.NewServer(peer.ServerOptions(allowed, logging.New(logged, slog.LevelInfo), ended)...)
	signerv1.RegisterSignerServiceServer(server, echo{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return path, logged
}

func connect(t *testing.T, path string, servers []uint32) *grpc.ClientConn {
	t.Helper()
	connection, err := udsgrpc.NewClient(path, servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	})
	return connection
}

func session(t *testing.T, connection *grpc.ClientConn) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	answer, err := signerv1.NewSignerServiceClient(connection).GetReceipt(ctx, &signerv1.GetReceiptRequest{})
	return answer.GetReceipt().GetProposalId(), err
}

var (
	us   = []uint32{uint32(os.Geteuid())}
	them = []uint32{uint32(os.Geteuid()) + 1}
)

func TestGiveEachConnectionASession(t *testing.T) {
	path, _ := serve(t, us)
	first, second := connect(t, path, us), connect(t, path, us)
	a, errA := session(t, first)
	again, errAgain := session(t, first)
	b, errB := session(t, second)
	if errA != nil || errAgain != nil || errB != nil {
		t.Fatal(errA, errAgain, errB)
	}
	if a != again || a == b || len(a) < 22 {
		t.Errorf("sessions %q, %q, %q; want the same twice, then another", a, again, b)
	}
}

// TestTellWhichSessionIsOver fails without the line of watched.Close that tells.
func TestTellWhichSessionIsOver(t *testing.T) {
	over := make(chan string, 2)
	path, _ := serveTelling(t, us, func(session string) { over <- session })
	connection, err := udsgrpc.NewClient(path, us)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := session(t, connect(t, path, us))
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := session(t, connection)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-over; got != leaves || got == stays {
		t.Errorf("%q is over, want %q", got, leaves)
	}
}

func TestCutOffForeignCaller(t *testing.T) {
	path, logged := serve(t, them)
	if got, err := session(t, connect(t, path, us)); err == nil {
		t.Errorf("a caller that is not allowed got session %q", got)
	}
	if !strings.Contains(logged.String(), "connection refused") {
		t.Errorf("the refusal is not logged: %q", logged.String())
	}
	// Not one byte is read of what such a caller says.
	raw, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := raw.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the server answered %d bytes to a caller that is not allowed", n)
	}
}

func TestAdmitNobodyByDefault(t *testing.T) {
	path, _ := serve(t, nil)
	if _, err := session(t, connect(t, path, us)); err == nil {
		t.Error("a server without a list admitted somebody")
	}
}

func TestRefuseForeignServer(t *testing.T) {
	path, _ := serve(t, us)
	if _, err := session(t, connect(t, path, them)); err == nil || !strings.Contains(err.Error(), "another account") {
		t.Errorf("a server under another account: %v", err)
	}
}

func TestRefuseLargeRequest(t *testing.T) {
	path, _ := serve(t, us)
	client := signerv1.NewSignerServiceClient(connect(t, path, us))
	_, err := client.GetReceipt(t.Context(), &signerv1.GetReceiptRequest{Key: &signerv1.GetReceiptRequest_Code{Code: strings.Repeat("x", 256<<10)}})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
}

func TestKnowNobodyOutsideAConnection(t *testing.T) {
	if who, ok := peer.FromContext(t.Context()); ok {
		t.Errorf("a bare context has identity %+v", who)
	}
}
