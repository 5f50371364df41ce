// Package propose is the only place that speaks to signerd: it turns domain
// values into the messages of proto/signer/v1 and back. simulate comes before
// it, flow calls it. It promises that bytes go only to a server that the kernel
// says runs under the expected account, that an answer which cannot be read is
// a fault, and that a call that may have executed is never reported as failed.
package propose

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/simulate"
	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
	"countersign/shared/solana"
	"countersign/shared/udsgrpc"
)

const (
	readTimeout    = 5 * time.Second
	proposeTimeout = 30 * time.Second
)

// Client speaks to one signerd over one connection, which is the session. It
// is safe for concurrent use.
type Client struct {
	connection *grpc.ClientConn
	signer     signerv1.SignerServiceClient
}

// New makes a client of the socket at path. It connects at the first call.
func New(path string, serverUIDs []uint32) (*Client, error) {
	// The session is the connection, so it is never dropped for being idle.
	connection, err := udsgrpc.NewClient(path, serverUIDs, grpc.WithIdleTimeout(0))
	if err != nil {
		return nil, err
	}
	return &Client{connection: connection, signer: signerv1.NewSignerServiceClient(connection)}, nil
}

// Close ends the session.
func (c *Client) Close() error { return c.connection.Close() }

// unavailable is the fault for a call that changes nothing and got no answer.
func unavailable(err error) error {
	return faultgrpc.FromStatus(err, fault.SignerUnavailable)
}

// Describe asks for whom and under which rules the signer works, with the
// limits of the moment.
func (c *Client) Describe(ctx context.Context) (caps.Signer, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := c.signer.Describe(ctx, &signerv1.DescribeRequest{})
	if err != nil {
		return caps.Signer{}, unavailable(err)
	}
	limits, err := c.signer.GetLimits(ctx, &signerv1.GetLimitsRequest{})
	if err != nil {
		return caps.Signer{}, unavailable(err)
	}
	read := reader{}
	signer := caps.Signer{
		Wallet:        read.key(answer.GetWallet()),
		Cluster:       read.text(answer.GetNetwork().GetCluster()),
		Genesis:       read.hash(answer.GetNetwork().GetGenesisHash()),
		PolicyVersion: read.text(answer.GetPolicyVersion()),
		Version:       read.text(answer.GetSignerVersion()),
		AllowUncapped: answer.GetAllowUncappedTokens(),
		Limits:        read.limits(limits.GetLimits()),
	}
	for _, mint := range answer.GetCappedMints() {
		signer.Capped = append(signer.Capped, caps.Mint{Address: read.asset(mint.GetMint()), Decimals: read.decimals(mint.GetDecimals()), Name: read.text(mint.GetName())})
	}
	if signer.Wallet.IsZero() || signer.Genesis.IsZero() {
		read.fail()
	}
	return signer, read.err
}

// Propose has a simulated batch judged. Exactly one of proposal and denial is
// set where there is no error.
func (c *Client) Propose(ctx context.Context, simulated simulate.Simulated, clientName, correlation string) (Answer, error) {
	if !simulated.Stamped() {
		return Answer{}, fault.New(fault.Internal, "a batch was not simulated")
	}
	ctx, cancel := context.WithTimeout(ctx, proposeTimeout)
	defer cancel()
	unsigned := simulated.Unsigned()
	meant := unsigned.Admitted().Intent()
	request := &signerv1.ProposeRequest{
		Intent:        wireIntent(meant),
		Flow:          wireFlow(unsigned.Flow()),
		Bounds:        wireBounds(unsigned.Bounds()),
		ClientName:    clientName,
		CorrelationId: correlation,

		IdempotencyKey: meant.Key(),
	}
	request.Transactions = unsigned.Batch()
	answer, err := c.signer.Propose(ctx, request)
	if err != nil {
		return Answer{}, unavailable(err)
	}
	read := reader{}
	if denied := answer.GetDenied(); denied != nil {
		denial := read.denial(denied)
		return Answer{Denial: &denial}, read.err
	}
	if earlier := answer.GetReceipt(); earlier != nil {
		receipt := read.receipt(earlier)
		return Answer{Earlier: &receipt}, read.err
	}
	proposal := read.proposal(answer.GetProposal())
	return Answer{Proposal: &proposal}, read.err
}

// Answer is what became of a proposal: one of them is set.
type Answer struct {
	Proposal *Proposal
	Denial   *Denial
	// Earlier is the receipt of this very action, which has been executed, or is
	// being executed, already.
	Earlier *Receipt
}

func wireIntent(meant intent.Intent) *signerv1.Intent {
	fingerprint := meant.Fingerprint()
	return &signerv1.Intent{Tool: meant.Tool(), ArgumentsJson: meant.Canonical(), Fingerprint: fingerprint[:]}
}

// CheckConfirmation asks what a code is good for, without using it.
func (c *Client) CheckConfirmation(ctx context.Context, code string, fingerprint [32]byte) (Confirmation, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := c.signer.CheckConfirmation(ctx, &signerv1.CheckConfirmationRequest{Code: code, Fingerprint: fingerprint[:]})
	if err != nil {
		return Confirmation{}, unavailable(err)
	}
	read := reader{}
	confirmation := Confirmation{
		ProposalID: read.text(answer.GetProposalId()),
		State:      read.state(answer.GetState()),
		Bounds:     read.bounds(answer.GetBounds()),
	}
	if answer.GetReceipt() != nil {
		receipt := read.receipt(answer.GetReceipt())
		confirmation.Receipt = &receipt
	}
	return confirmation, read.err
}

// Execute uses the code on a fresh batch and follows what happens. An error
// after the request has left is OutcomeUnknown unless the signer itself said
// otherwise: it goes on without us.
func (c *Client) Execute(ctx context.Context, code string, simulated simulate.Simulated, correlation string, progress func(Progress)) (Receipt, error) {
	if !simulated.Stamped() {
		return Receipt{}, fault.New(fault.Internal, "a batch was not simulated")
	}
	unsigned := simulated.Unsigned()
	fingerprint := unsigned.Admitted().Intent().Fingerprint()
	request := &signerv1.ExecuteRequest{Code: code, Fingerprint: fingerprint[:], CorrelationId: correlation}
	request.Transactions = unsigned.Batch()
	stream, err := c.signer.Execute(ctx, request)
	if err != nil {
		return Receipt{}, faultgrpc.FromStatus(err, fault.OutcomeUnknown)
	}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return Receipt{}, fault.New(fault.OutcomeUnknown, "the signer ended its report without a receipt")
		}
		if err != nil {
			return Receipt{}, faultgrpc.FromStatus(err, fault.OutcomeUnknown)
		}
		if receipt := event.GetReceipt(); receipt != nil {
			read := reader{lost: fault.OutcomeUnknown}
			return read.receipt(receipt), read.err
		}
		if step := event.GetProgress(); step != nil {
			progress(Progress{Stage: step.GetStage(), Transaction: step.GetTransaction(), Transactions: step.GetTransactions()})
		}
	}
}

// Resolve asks for the address that the owner gave to a name.
func (c *Client) Resolve(ctx context.Context, name string) (string, solana.PublicKey, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := c.signer.ResolveRecipient(ctx, &signerv1.ResolveRecipientRequest{Name: name})
	if err != nil {
		return "", solana.PublicKey{}, unavailable(err)
	}
	read := reader{}
	address := read.key(answer.GetAddress())
	if answer.GetName() == "" || address.IsZero() {
		read.fail()
	}
	return read.text(answer.GetName()), address, read.err
}

// Cancel voids an open proposal of this session.
func (c *Client) Cancel(ctx context.Context, proposalID string) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := c.signer.CancelProposal(ctx, &signerv1.CancelProposalRequest{ProposalId: proposalID})
	if err != nil {
		return "", unavailable(err)
	}
	read := reader{}
	return read.state(answer.GetState()), read.err
}

// ReceiptKey names a receipt in one of four ways.
type ReceiptKey struct {
	ProposalID  string
	Code        string
	Signature   solana.Signature
	Idempotency string
}

// Receipt finds a stored outcome.
func (c *Client) Receipt(ctx context.Context, key ReceiptKey) (Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	request := &signerv1.GetReceiptRequest{}
	switch {
	case key.ProposalID != "":
		request.Key = &signerv1.GetReceiptRequest_ProposalId{ProposalId: key.ProposalID}
	case key.Code != "":
		request.Key = &signerv1.GetReceiptRequest_Code{Code: key.Code}
	case key.Idempotency != "":
		request.Key = &signerv1.GetReceiptRequest_IdempotencyKey{IdempotencyKey: key.Idempotency}
	default:
		request.Key = &signerv1.GetReceiptRequest_Signature{Signature: key.Signature[:]}
	}
	answer, err := c.signer.GetReceipt(ctx, request)
	if err != nil {
		return Receipt{}, unavailable(err)
	}
	read := reader{}
	return read.receipt(answer.GetReceipt()), read.err
}

// Activities lists proposals, newest first.
func (c *Client) Activities(ctx context.Context, limit uint32, before string) ([]Activity, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := c.signer.ListActivity(ctx, &signerv1.ListActivityRequest{Limit: limit, BeforeProposalId: before})
	if err != nil {
		return nil, unavailable(err)
	}
	read := reader{}
	var activities []Activity
	for _, wire := range answer.GetActivities() {
		activities = append(activities, read.activity(wire))
	}
	return activities, read.err
}

// Bounds on the search of one proposal in the listing.
const (
	activityPage  = 100
	activityPages = 10
)

// Activity finds one proposal in the listing: a receipt says neither where a
// proposal stands nor what it was for.
func (c *Client) Activity(ctx context.Context, proposalID string) (Activity, error) {
	before := ""
	for range activityPages {
		page, err := c.Activities(ctx, activityPage, before)
		if err != nil {
			return Activity{}, err
		}
		for _, activity := range page {
			if activity.ProposalID == proposalID {
				return activity, nil
			}
		}
		if len(page) < activityPage {
			break
		}
		before = page[len(page)-1].ProposalID
	}
	return Activity{}, fault.New(fault.NotFound, "the proposal is not among the latest")
}
