//go:build unix

package operator_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/shared/solana"
	"countersign/shared/uds"
	"countersign/shared/udsgrpc"
	"countersign/signerd/internal/methods"
	"countersign/signerd/internal/operator"
	"countersign/signerd/internal/peer"
	"countersign/signerd/internal/recipients"
	"countersign/signerd/internal/recipients/recipientstest"
)

// bytesAsTheyAre puts a message's bytes on the wire as they are.
type bytesAsTheyAre struct{}

func (bytesAsTheyAre) Name() string { return "proto" }

func (bytesAsTheyAre) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(*[]byte); ok {
		return *raw, nil
	}
	return nil, errors.New("not bytes")
}

func (bytesAsTheyAre) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*[]byte); ok {
		*raw = slices.Clone(data)
		return nil
	}
	return errors.New("not bytes")
}

// serveShelf serves an address book on a socket of its own, behind the gate
// that app puts before it, but for the limit of calls.
func serveShelf(f *testing.F, kept *recipientstest.Shelf) *grpc.ClientConn {
	f.Helper()
	dir, err := os.MkdirTemp("", "cs-") // Sockets need short paths.
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, own := filepath.Join(dir, "o.sock"), []uint32{uint32(os.Geteuid())}
	listener, err := uds.Listen(path, uds.OwnerOnly)
	if err != nil {
		f.Fatal(err)
	}
	table := methods.Table{}
	for name := range operator.Table {
		table[name] = methods.Rule{PerMinute: 1 << 30, Timeout: 5 * time.Second}
	}
	quiet := slog.New(slog.DiscardHandler)
	server := grpc.NewServer(append(peer.ServerOptions(own, quiet, nil), methods.New(table, quiet).ServerOptions()...)...)
	operator.New(nil, recipients.New(kept, recipientstest.Nowhere{}, solana.PublicKey{1, 2, 3}), operator.About{}).Register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	connection, err := udsgrpc.NewClient(path, own)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = connection.Close()
		server.Stop()
		if err := <-done; err != nil {
			f.Log(err)
		}
	})
	return connection
}

// Whatever bytes arrive as a request, the address book holds only addresses
// that have been checked, each under one name; and a refusal says more than
// that something failed.
func FuzzOperatorMessages(f *testing.F) {
	kept := &recipientstest.Shelf{}
	connection := serveShelf(f, kept)
	wallet := solana.MustPublicKey("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	for _, request := range []proto.Message{
		&operatorv1.AddRecipientRequest{Recipient: &operatorv1.Recipient{Name: "mother", Address: wallet[:]}, Insist: true},
		&operatorv1.AddRecipientRequest{Recipient: &operatorv1.Recipient{Name: "\u202erehtom", Address: wallet[:31]}},
		&operatorv1.AddRecipientRequest{}, &operatorv1.RemoveRecipientRequest{Name: "mother"},
	} {
		raw, err := proto.Marshal(request)
		if err != nil {
			f.Fatal(err)
		}
		for kind := range byte(3) {
			f.Add(kind, raw)
		}
	}
	f.Add(byte(0), []byte("\x0a\xff\xff\xff\xff\x0f"))
	names := []string{
		operatorv1.OperatorService_AddRecipient_FullMethodName, operatorv1.OperatorService_RemoveRecipient_FullMethodName,
		operatorv1.OperatorService_ListRecipients_FullMethodName,
	}
	f.Fuzz(func(t *testing.T, kind byte, raw []byte) {
		kept.Entries = kept.Entries[:min(len(kept.Entries), 8)]
		var answer []byte
		err := connection.Invoke(t.Context(), names[int(kind)%len(names)], &raw, &answer, grpc.ForceCodec(bytesAsTheyAre{}))
		if code := status.Code(err); code == codes.Unknown || code == codes.Unavailable {
			t.Fatalf("refused with %v", err)
		}
		seen := map[string]bool{}
		for _, entry := range kept.Entries {
			name := strings.ToLower(entry.Name)
			if seen[name] || seen[entry.Address.String()] || name == "" || entry.Address.IsZero() || !entry.Address.OnCurve() {
				t.Fatalf("the book holds %+v", kept.Entries)
			}
			seen[name], seen[entry.Address.String()] = true, true
		}
	})
}
