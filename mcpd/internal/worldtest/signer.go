package worldtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
	"countersign/shared/solana"
)

// Signer is a signer that keeps state and signs nothing.
type Signer struct {
	signerv1.UnimplementedSignerServiceServer
	node *Node

	mu        sync.Mutex // guards the rest
	proposals []*proposal
	spent     uint64
	rules     Rules
	resume    chan struct{}
}

// Rules is how the signer behaves.
type Rules struct {
	Tier           signerv1.Tier
	Outcome        signerv1.Outcome
	Deny           *fault.Fault
	DenyRules      []string
	Cluster        string
	CappedToken    bool
	AllowUncapped  bool
	PerTransaction uint64
	// Recipients is the owner's address book.
	Recipients map[string]solana.PublicKey
	// Findings are told of every transaction.
	Findings []*signerv1.Finding
	// Largest, where set, is how many bytes a transaction may have to be guarded.
	Largest int
	// Hang makes Execute wait after "sent" until Resume.
	Hang bool
}

type proposal struct {
	id, code    string
	fingerprint [32]byte
	request     *signerv1.ProposeRequest
	state       signerv1.ProposalState
	receipt     *signerv1.Receipt
	executions  int
}

const (
	perSession = 1_000_000_000
	lifetime   = 5 * time.Minute
)

func newSigner(node *Node) *Signer {
	return &Signer{node: node, resume: make(chan struct{}), rules: Rules{
		Tier: signerv1.Tier_TIER_CONFIRM, Outcome: signerv1.Outcome_OUTCOME_LANDED, Cluster: "local", PerTransaction: 100_000_000,
		DenyRules: []string{"test-rule"}, Findings: []*signerv1.Finding{{Code: "note", Text: "a note of the signer"}},
	}}
}

// Set changes the rules.
func (s *Signer) Set(change func(*Rules)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.rules)
}

// Resume lets hanging executions go on.
func (s *Signer) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.resume:
	default:
		close(s.resume)
	}
}

// Executions is how often anything was executed.
func (s *Signer) Executions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for _, p := range s.proposals {
		sum += p.executions
	}
	return sum
}

// Proposed returns every proposal that was asked for.
func (s *Signer) Proposed() []*signerv1.ProposeRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	var requests []*signerv1.ProposeRequest
	for _, p := range s.proposals {
		requests = append(requests, p.request)
	}
	return requests
}

func (s *Signer) network() *signerv1.Network {
	return &signerv1.Network{Cluster: s.rules.Cluster, GenesisHash: Genesis[:]}
}

func (s *Signer) limits() *signerv1.Limits {
	left := perSession - min(s.spent, perSession)
	limits := &signerv1.Limits{AsOf: timestamppb.Now(), Windows: []*signerv1.Window{
		{Name: "transaction", Decimals: amount.SOLDecimals, Cap: s.rules.PerTransaction, Left: s.rules.PerTransaction},
		{Name: "session", Decimals: amount.SOLDecimals, Cap: perSession, Used: s.spent, Left: left},
		{Name: "transactions_per_hour", Cap: 100, Left: 100},
	}}
	if s.rules.CappedToken {
		limits.Windows = append(limits.Windows, &signerv1.Window{Name: "transaction", Mint: Token[:], Decimals: TokenDecimals, Cap: 50_000_000, Left: 50_000_000})
	}
	return limits
}

// Describe implements the service.
func (s *Signer) Describe(context.Context, *signerv1.DescribeRequest) (*signerv1.DescribeResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &signerv1.DescribeResponse{
		Wallet: Wallet[:], Network: s.network(), PolicyVersion: "policy-1", SignerVersion: "test", AllowUncappedTokens: s.rules.AllowUncapped,
	}
	if s.rules.CappedToken {
		answer.CappedMints = []*signerv1.CappedMint{{Mint: Token[:], Decimals: TokenDecimals, Name: "TOK"}}
	}
	return answer, nil
}

// GetLimits implements the service.
func (s *Signer) GetLimits(context.Context, *signerv1.GetLimitsRequest) (*signerv1.GetLimitsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &signerv1.GetLimitsResponse{Limits: s.limits()}, nil
}

// Propose implements the service.
func (s *Signer) Propose(_ context.Context, request *signerv1.ProposeRequest) (*signerv1.ProposeResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := sha256.Sum256([]byte(request.GetIntent().GetTool() + "\x00" + request.GetIntent().GetArgumentsJson()))
	if [32]byte(request.GetIntent().GetFingerprint()) != want {
		return nil, faultgrpc.ToStatus(fault.New(fault.IntentMismatch, "the fingerprint is not of the arguments"))
	}
	for _, raw := range request.GetTransactions() {
		if _, err := solana.ParseTransaction(raw); err != nil {
			return nil, faultgrpc.ToStatus(fault.New(fault.TransactionMalformed, "the transaction cannot be read"))
		}
	}
	p := &proposal{id: fmt.Sprintf("P%d", len(s.proposals)+1), fingerprint: want, request: request, state: signerv1.ProposalState_PROPOSAL_STATE_OPEN}
	s.proposals = append(s.proposals, p)
	refusal := s.rules.Deny
	if s.rules.Largest > 0 && len(request.GetTransactions()[0]) > s.rules.Largest {
		refusal = fault.New(fault.GuardImpossible, "the guard does not fit")
	}
	if refusal != nil {
		p.state = signerv1.ProposalState_PROPOSAL_STATE_DENIED
		return &signerv1.ProposeResponse{Outcome: &signerv1.ProposeResponse_Denied{Denied: &signerv1.Denial{
			Fault: faultgrpc.ToWire(refusal), Rules: s.rules.DenyRules, Limits: s.limits(), ProposalId: p.id,
		}}}, nil
	}
	p.code = fmt.Sprintf("CODE%08d", len(s.proposals))
	answer := &signerv1.Proposal{
		Id: p.id, Tier: s.rules.Tier, ConfirmationCode: p.code, ExpiresAt: timestamppb.New(time.Now().Add(lifetime)),
		Bounds: request.GetBounds(), Limits: s.limits(), Network: s.network(), Rules: []string{"default"}, Charge: request.GetBounds().GetMaxOut(),
	}
	for i := range request.GetTransactions() {
		answer.Effects = append(answer.Effects, &signerv1.Effects{
			Class: signerv1.Class_CLASS_GUARDED, Simulated: i == 0, BaseFee: solana.LamportsPerSignature, Changes: changes(request.GetBounds()),
			Rent: request.GetBounds().GetMaxRent(), Payments: s.payments(request.GetBounds()), Findings: s.rules.Findings,
		})
	}
	return &signerv1.ProposeResponse{Outcome: &signerv1.ProposeResponse_Proposal{Proposal: answer}}, nil
}

func changes(bounds *signerv1.Bounds) []*signerv1.AssetChange {
	var out []*signerv1.AssetChange
	decimals := func(mint []byte) uint32 {
		if len(mint) == 0 {
			return amount.SOLDecimals
		}
		return TokenDecimals
	}
	for _, asset := range bounds.GetMaxOut() {
		out = append(out, &signerv1.AssetChange{Mint: asset.GetMint(), Decimals: decimals(asset.GetMint()), Out: asset.GetAmount()})
	}
	for _, asset := range bounds.GetMinIn() {
		out = append(out, &signerv1.AssetChange{Mint: asset.GetMint(), Decimals: decimals(asset.GetMint()), In: asset.GetAmount()})
	}
	return out
}

func (s *Signer) payments(bounds *signerv1.Bounds) []*signerv1.Payment {
	var out []*signerv1.Payment
	for _, recipient := range bounds.GetRecipients() {
		for _, asset := range bounds.GetMaxOut() {
			payment := &signerv1.Payment{Recipient: recipient, Mint: asset.GetMint(), Amount: asset.GetAmount()}
			for name, address := range s.rules.Recipients {
				if string(address[:]) == string(recipient) {
					payment.Name = name
				}
			}
			out = append(out, payment)
		}
	}
	return out
}

// ResolveRecipient implements the service.
func (s *Signer) ResolveRecipient(_ context.Context, request *signerv1.ResolveRecipientRequest) (*signerv1.ResolveRecipientResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, address := range s.rules.Recipients {
		if strings.EqualFold(name, request.GetName()) {
			return &signerv1.ResolveRecipientResponse{Name: name, Address: address[:]}, nil
		}
	}
	return nil, faultgrpc.ToStatus(fault.New(fault.RecipientUnknown, "no recipient called %s is in the owner's address book", request.GetName()))
}

// stored is the receipt of a proposal, which says little where none was made.
func (s *Signer) stored(p *proposal) *signerv1.Receipt {
	if p.receipt != nil {
		return proto.CloneOf(p.receipt)
	}
	return &signerv1.Receipt{
		ProposalId: p.id, Tool: p.request.GetIntent().GetTool(), Outcome: signerv1.Outcome_OUTCOME_NOTHING_SENT,
		Network: s.network(), Rules: []string{"builtin", "test-rule"},
	}
}

func (s *Signer) byCode(code string) *proposal {
	for _, p := range s.proposals {
		if code != "" && p.code == code {
			return p
		}
	}
	return nil
}

func (s *Signer) peek(code string, fingerprint []byte) (*proposal, error) {
	p := s.byCode(code)
	switch {
	case p == nil:
		return nil, faultgrpc.ToStatus(fault.New(fault.CodeUnknown, "no proposal has this code"))
	case [32]byte(fingerprint) != p.fingerprint:
		if p.state == signerv1.ProposalState_PROPOSAL_STATE_OPEN {
			p.state = signerv1.ProposalState_PROPOSAL_STATE_CANCELLED
		}
		return nil, faultgrpc.ToStatus(fault.New(fault.CodeOtherIntent, "the code is of another intent"))
	case p.state == signerv1.ProposalState_PROPOSAL_STATE_CANCELLED:
		return nil, faultgrpc.ToStatus(fault.New(fault.CodeVoid, "the code is void"))
	}
	return p, nil
}

// CheckConfirmation implements the service.
func (s *Signer) CheckConfirmation(_ context.Context, request *signerv1.CheckConfirmationRequest) (*signerv1.CheckConfirmationResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.peek(request.GetCode(), request.GetFingerprint())
	if err != nil {
		return nil, err
	}
	return &signerv1.CheckConfirmationResponse{ProposalId: p.id, State: p.state, Bounds: p.request.GetBounds(), Receipt: proto.CloneOf(p.receipt)}, nil
}

// Execute implements the service.
func (s *Signer) Execute(request *signerv1.ExecuteRequest, stream grpc.ServerStreamingServer[signerv1.ExecuteResponse]) error {
	s.mu.Lock()
	p, err := s.peek(request.GetCode(), request.GetFingerprint())
	if err == nil && p.state != signerv1.ProposalState_PROPOSAL_STATE_OPEN {
		err = faultgrpc.ToStatus(fault.New(fault.CodeVoid, "the code is used"))
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	p.state = signerv1.ProposalState_PROPOSAL_STATE_EXECUTING
	p.executions++
	rules := s.rules
	p.receipt = &signerv1.Receipt{
		ProposalId: p.id, Tool: p.request.GetIntent().GetTool(), Outcome: signerv1.Outcome_OUTCOME_IN_PROGRESS, Network: s.network(),
		CreatedAt: timestamppb.Now(), ExpectedTransactions: uint32(len(request.GetTransactions())),
	}
	s.mu.Unlock()
	for _, stage := range []string{"judged", "reserved", "signed", "sent"} {
		// The caller may have left; the work goes on.
		_ = stream.Send(&signerv1.ExecuteResponse{Event: &signerv1.ExecuteResponse_Progress{Progress: &signerv1.Progress{Stage: stage, Transaction: 1, Transactions: 1}}})
	}
	if rules.Hang {
		<-s.resume
	}
	receipt := s.settle(p, request, rules)
	return stream.Send(&signerv1.ExecuteResponse{Event: &signerv1.ExecuteResponse_Receipt{Receipt: receipt}})
}

func (s *Signer) settle(p *proposal, request *signerv1.ExecuteRequest, rules Rules) *signerv1.Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	bounds := p.request.GetBounds()
	receipt := p.receipt
	receipt.Outcome, receipt.FinishedAt = rules.Outcome, timestamppb.Now()
	for i, raw := range request.GetTransactions() {
		digest := sha256.Sum256(raw)
		one := &signerv1.TransactionReceipt{Signature: append(digest[:], digest[:]...), Outcome: rules.Outcome, Slot: 7, Fee: solana.LamportsPerSignature}
		if rules.Outcome == signerv1.Outcome_OUTCOME_LANDED && i == len(request.GetTransactions())-1 {
			one.Changes = changes(bounds)
			s.node.apply(bounds)
			for _, out := range bounds.GetMaxOut() {
				if len(out.GetMint()) == 0 {
					s.spent += out.GetAmount()
				}
			}
		}
		receipt.Transactions = append(receipt.Transactions, one)
	}
	receipt.Limits = s.limits()
	p.state = signerv1.ProposalState_PROPOSAL_STATE_DONE
	return proto.CloneOf(receipt)
}

// CancelProposal implements the service.
func (s *Signer) CancelProposal(_ context.Context, request *signerv1.CancelProposalRequest) (*signerv1.CancelProposalResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.proposals {
		if p.id == request.GetProposalId() {
			if p.state == signerv1.ProposalState_PROPOSAL_STATE_OPEN {
				p.state = signerv1.ProposalState_PROPOSAL_STATE_CANCELLED
			}
			return &signerv1.CancelProposalResponse{State: p.state}, nil
		}
	}
	return nil, faultgrpc.ToStatus(fault.New(fault.NotFound, "there is no such proposal"))
}

// GetReceipt implements the service.
func (s *Signer) GetReceipt(_ context.Context, request *signerv1.GetReceiptRequest) (*signerv1.GetReceiptResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.proposals {
		signed := len(p.receipt.GetTransactions()) > 0 && string(p.receipt.GetTransactions()[0].GetSignature()) == string(request.GetSignature())
		if p.id == request.GetProposalId() || p.code == request.GetCode() || signed {
			return &signerv1.GetReceiptResponse{Receipt: s.stored(p)}, nil
		}
	}
	return nil, faultgrpc.ToStatus(fault.New(fault.NotFound, "there is no such receipt"))
}

// ListActivity implements the service.
func (s *Signer) ListActivity(_ context.Context, request *signerv1.ListActivityRequest) (*signerv1.ListActivityResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := &signerv1.ListActivityResponse{}
	skip := request.GetBeforeProposalId() != ""
	for i := len(s.proposals) - 1; i >= 0 && uint32(len(answer.Activities)) < request.GetLimit(); i-- {
		p := s.proposals[i]
		if skip {
			skip = p.id != request.GetBeforeProposalId()
			continue
		}
		answer.Activities = append(answer.Activities, &signerv1.Activity{
			ProposalId: p.id, Tool: p.request.GetIntent().GetTool(), ArgumentsJson: p.request.GetIntent().GetArgumentsJson(),
			State: p.state, Outcome: s.stored(p).GetOutcome(), CreatedAt: timestamppb.Now(),
		})
	}
	return answer, nil
}
