// Package worldtest is a small working world for tests of mcpd: a signer on a
// Unix socket that keeps proposals, codes and receipts, a node that keeps
// balances, and a Bags API that builds transactions. Only tests import it. What
// the signer executes changes what the node says, so a test can look at the
// outcome instead of at the calls. The real signer is proved against the same
// contract in scripts/e2e.
package worldtest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/solana"
)

// Addresses of the world.
var (
	Wallet    = solana.MustPublicKey("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	Recipient = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")
	Token     = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	Token2022 = solana.MustPublicKey("7gPgyD2iC73EUXc9eF9cBdemkUYfpKGLBuvLPPEwccQA")
	Genesis   = solana.Hash{1, 2, 3}
)

// TokenDecimals are those of Token.
const TokenDecimals = 6

// APIKey is the key that the Bags API wants.
const APIKey = "stub_bags_key_no_network"

// World is everything outside mcpd.
type World struct {
	Signer *Signer
	Node   *Node
	Bags   *Bags
	// Socket is the signer's.
	Socket string
}

// New starts a world that ends with the test.
func New(t testing.TB) *World {
	t.Helper()
	node := newNode(t)
	world := &World{Node: node, Bags: newBags(t, node), Signer: newSigner(node)}
	// t.TempDir can pass the 107 bytes that a socket's path may have.
	folder, err := os.MkdirTemp("", "cs")
	if err != nil {
		t.Fatal(err)
	}
	world.Socket = filepath.Join(folder, "agent.sock")
	listener, err := net.Listen("unix", world.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	signerv1.RegisterSignerServiceServer(server, world.Signer)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		world.Signer.Resume()
		server.Stop()
		<-done
		_ = os.RemoveAll(folder)
	})
	return world
}

// Requests counts what reached the node and the Bags API.
func (w *World) Requests() int { return w.Node.Requests() + w.Bags.Requests() }
