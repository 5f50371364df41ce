// Package server is agent.sock: signer.v1 in terms of flow. It translates
// between wire and domain and decides nothing; who may call and how often
// stands in one table. app imports it.
package server

import (
	"context"

	"google.golang.org/grpc"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/peer"
	"countersign/signerd/internal/recipients"
)

// Server answers signer.v1.
type Server struct {
	signerv1.UnimplementedSignerServiceServer
	flow    *flow.Flow
	book    *recipients.Book
	version string
}

// New makes a server over a flow and the owner's address book. version is what
// Describe tells.
func New(f *flow.Flow, book *recipients.Book, version string) *Server {
	return &Server{flow: f, book: book, version: version}
}

// Register adds the service to a gRPC server whose interceptors come from
// Interceptors.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	signerv1.RegisterSignerServiceServer(registrar, s)
}

// Describe implements signer.v1.
func (s *Server) Describe(context.Context, *signerv1.DescribeRequest) (*signerv1.DescribeResponse, error) {
	wallet := s.flow.Wallet()
	policy := s.flow.Policy()
	response := &signerv1.DescribeResponse{
		Wallet: wallet[:], Network: s.network(), PolicyVersion: policy.Version(),
		SignerVersion: s.version, AllowUncappedTokens: policy.AllowUncappedTokens(),
	}
	for _, asset := range policy.Caps() {
		if !asset.Mint.IsZero() {
			response.CappedMints = append(response.CappedMints, &signerv1.CappedMint{
				Mint: asset.Mint[:], Decimals: uint32(asset.Decimals), Name: asset.Name,
			})
		}
	}
	return response, nil
}

// Propose implements signer.v1.
func (s *Server) Propose(ctx context.Context, request *signerv1.ProposeRequest) (*signerv1.ProposeResponse, error) {
	caller, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	proposed, err := proposedFromWire(caller, request)
	if err != nil {
		return nil, err
	}
	verdict, err := s.flow.Propose(ctx, proposed)
	if err != nil {
		return nil, err
	}
	if verdict.Earlier != nil {
		message, err := s.receipt(ctx, caller, *verdict.Earlier)
		return &signerv1.ProposeResponse{Outcome: &signerv1.ProposeResponse_Receipt{Receipt: message}}, err
	}
	return s.verdict(verdict), nil
}

// verdict writes a refusal or a proposal: either is an answer.
func (s *Server) verdict(v flow.Verdict) *signerv1.ProposeResponse {
	if v.Refused != nil {
		return &signerv1.ProposeResponse{Outcome: &signerv1.ProposeResponse_Denied{Denied: denial(v)}}
	}
	return &signerv1.ProposeResponse{Outcome: &signerv1.ProposeResponse_Proposal{Proposal: s.proposal(v)}}
}

// CheckConfirmation implements signer.v1.
func (s *Server) CheckConfirmation(ctx context.Context, request *signerv1.CheckConfirmationRequest) (*signerv1.CheckConfirmationResponse, error) {
	caller, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	fingerprint, err := fingerprintFromWire(request.GetFingerprint())
	if err != nil {
		return nil, err
	}
	proposal, err := s.flow.Peek(ctx, request.GetCode(), fingerprint, caller.Session)
	if err != nil {
		return nil, err
	}
	response := &signerv1.CheckConfirmationResponse{
		ProposalId: proposal.ID, State: stateToWire(proposal.State), Bounds: boundsToWire(proposal.Bounds),
	}
	if proposal.State == approval.Open {
		return response, nil
	}
	receipt, err := s.flow.ReceiptByProposal(ctx, proposal.ID)
	if err != nil {
		return nil, err
	}
	receipt.Replayed = true
	response.Receipt, err = s.receipt(ctx, caller, receipt)
	return response, err
}

// Execute implements signer.v1.
func (s *Server) Execute(request *signerv1.ExecuteRequest, stream grpc.ServerStreamingServer[signerv1.ExecuteResponse]) error {
	ctx := stream.Context()
	caller, err := callerOf(ctx)
	if err != nil {
		return err
	}
	confirmed, err := confirmedFromWire(caller, request)
	if err != nil {
		return err
	}
	receipt, err := s.flow.Execute(ctx, confirmed, func(p flow.Progress) {
		// A caller that is gone is noticed by ctx; the work does not depend on it.
		_ = stream.Send(&signerv1.ExecuteResponse{Event: &signerv1.ExecuteResponse_Progress{Progress: &signerv1.Progress{
			Stage: p.Stage, Transaction: p.Transaction, Transactions: p.Transactions,
		}}})
	})
	if err != nil {
		return err
	}
	message, err := s.receipt(ctx, caller, receipt)
	if err != nil {
		return err
	}
	return stream.Send(&signerv1.ExecuteResponse{Event: &signerv1.ExecuteResponse_Receipt{Receipt: message}})
}

// CancelProposal implements signer.v1.
func (s *Server) CancelProposal(ctx context.Context, request *signerv1.CancelProposalRequest) (*signerv1.CancelProposalResponse, error) {
	caller, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	state, err := s.flow.Cancel(ctx, request.GetProposalId(), caller.Session)
	if err != nil {
		return nil, err
	}
	return &signerv1.CancelProposalResponse{State: stateToWire(state)}, nil
}

// GetReceipt implements signer.v1.
func (s *Server) GetReceipt(ctx context.Context, request *signerv1.GetReceiptRequest) (*signerv1.GetReceiptResponse, error) {
	caller, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	receipt, err := s.findReceipt(ctx, request)
	if err != nil {
		return nil, err
	}
	message, err := s.receipt(ctx, caller, receipt)
	return &signerv1.GetReceiptResponse{Receipt: message}, err
}

func (s *Server) findReceipt(ctx context.Context, request *signerv1.GetReceiptRequest) (flow.Receipt, error) {
	switch key := request.GetKey().(type) {
	case *signerv1.GetReceiptRequest_ProposalId:
		return s.flow.ReceiptByProposal(ctx, key.ProposalId)
	case *signerv1.GetReceiptRequest_Code:
		return s.flow.ReceiptByCode(ctx, key.Code)
	case *signerv1.GetReceiptRequest_Signature:
		signature, err := solana.SignatureFromBytes(key.Signature)
		if err != nil {
			return flow.Receipt{}, fault.New(fault.InvalidArguments, "a signature has 64 bytes")
		}
		return s.flow.ReceiptBySignature(ctx, signature)
	case *signerv1.GetReceiptRequest_IdempotencyKey:
		return s.flow.ReceiptByKey(ctx, key.IdempotencyKey)
	}
	return flow.Receipt{}, fault.New(fault.InvalidArguments, "name a proposal, a code, a signature or an idempotency key")
}

// activityLimit bounds one page of activity.
const activityLimit = 100

// ListActivity implements signer.v1.
func (s *Server) ListActivity(ctx context.Context, request *signerv1.ListActivityRequest) (*signerv1.ListActivityResponse, error) {
	limit := int(min(request.GetLimit(), activityLimit))
	if limit == 0 {
		limit = 20
	}
	activities, err := s.flow.Activities(ctx, limit, request.GetBeforeProposalId())
	if err != nil {
		return nil, err
	}
	response := &signerv1.ListActivityResponse{}
	for _, activity := range activities {
		response.Activities = append(response.Activities, activityToWire(activity.Proposal, activity.Receipt))
	}
	return response, nil
}

// GetLimits implements signer.v1.
func (s *Server) GetLimits(ctx context.Context, _ *signerv1.GetLimitsRequest) (*signerv1.GetLimitsResponse, error) {
	caller, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	limits, err := s.limits(ctx, caller.Session)
	if err != nil {
		return nil, err
	}
	return &signerv1.GetLimitsResponse{Limits: limits}, nil
}

// ResolveRecipient implements signer.v1.
func (s *Server) ResolveRecipient(ctx context.Context, request *signerv1.ResolveRecipientRequest) (*signerv1.ResolveRecipientResponse, error) {
	found, err := s.book.Resolve(ctx, request.GetName())
	if err != nil {
		return nil, err
	}
	return &signerv1.ResolveRecipientResponse{Name: found.Name, Address: found.Address[:]}, nil
}

func (s *Server) limits(ctx context.Context, session string) (*signerv1.Limits, error) {
	windows, now, err := s.flow.Limits(ctx, session)
	if err != nil {
		return nil, err
	}
	return limitsToWire(windows, now), nil
}

func (s *Server) network() *signerv1.Network {
	cluster, genesis := s.flow.Policy().Network()
	return &signerv1.Network{Cluster: cluster, GenesisHash: genesis[:]}
}

// callerOf is the kernel's word about the peer. Without it nothing is served.
func callerOf(ctx context.Context) (peer.Identity, error) {
	identity, ok := peer.FromContext(ctx)
	if !ok {
		return peer.Identity{}, fault.New(fault.PeerRejected, "the connection carries no peer credentials")
	}
	return identity, nil
}
