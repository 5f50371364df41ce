// Package operator is operator.sock: operator.v1 in terms of flow, for the
// person who owns the wallet. app imports it.
package operator

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/shared/amount"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/recipients"
)

// About is what GetStatus tells beside the flow's own state.
type About struct {
	KeyName string
	Backend string
	Version string
	// Signed and Anchored are what protects the audit log beside its own chain.
	Signed, Anchored bool
}

// Server answers operator.v1.
type Server struct {
	operatorv1.UnimplementedOperatorServiceServer
	flow  *flow.Flow
	book  *recipients.Book
	about About
}

// New makes a server over a flow and the owner's address book.
func New(f *flow.Flow, book *recipients.Book, about About) *Server {
	return &Server{flow: f, book: book, about: about}
}

// Register adds the service to a gRPC server.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	operatorv1.RegisterOperatorServiceServer(registrar, s)
}

// GetStatus implements operator.v1.
func (s *Server) GetStatus(context.Context, *operatorv1.GetStatusRequest) (*operatorv1.GetStatusResponse, error) {
	wallet := s.flow.Wallet()
	cluster, genesis := s.flow.Policy().Network()
	return &operatorv1.GetStatusResponse{
		Wallet: wallet[:], KeyName: s.about.KeyName, CustodyBackend: s.about.Backend,
		Cluster: cluster, GenesisHash: genesis[:], PolicyVersion: s.flow.Policy().Version(),
		SignerVersion: s.about.Version, StartedAt: timestamppb.New(s.flow.Started()),
		UnresolvedTransactions: s.flow.Unresolved(), Sessions: s.flow.Sessions(),
		AuditSigned: s.about.Signed, AuditAnchored: s.about.Anchored,
	}, nil
}

// GetLimits implements operator.v1.
func (s *Server) GetLimits(ctx context.Context, _ *operatorv1.GetLimitsRequest) (*operatorv1.GetLimitsResponse, error) {
	windows, _, err := s.flow.Limits(ctx, "")
	if err != nil {
		return nil, err
	}
	response := &operatorv1.GetLimitsResponse{}
	for _, w := range windows {
		wire := &operatorv1.Window{
			Name: w.Name, Decimals: uint32(w.Decimals), Cap: uint64(w.Cap),
			Used: uint64(w.Used), Reserved: uint64(w.Reserved), Left: uint64(w.Left),
		}
		if w.Mint != amount.SOL {
			wire.Mint = w.Mint[:]
		}
		response.Windows = append(response.Windows, wire)
	}
	return response, nil
}
