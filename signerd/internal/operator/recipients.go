package operator

import (
	"context"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/peer"
	"countersign/signerd/internal/recipients"
)

// AddRecipient implements operator.v1.
func (s *Server) AddRecipient(ctx context.Context, request *operatorv1.AddRecipientRequest) (*operatorv1.AddRecipientResponse, error) {
	author, err := authorOf(ctx)
	if err != nil {
		return nil, err
	}
	address, err := solana.PublicKeyFromBytes(request.GetRecipient().GetAddress())
	if err != nil {
		return nil, fault.New(fault.InvalidArguments, "an address has 32 bytes")
	}
	err = s.book.Add(ctx, recipients.Addition{
		Name: request.GetRecipient().GetName(), Address: address, Insist: request.GetInsist(), By: author,
	})
	return &operatorv1.AddRecipientResponse{}, err
}

// ListRecipients implements operator.v1.
func (s *Server) ListRecipients(ctx context.Context, _ *operatorv1.ListRecipientsRequest) (*operatorv1.ListRecipientsResponse, error) {
	entries, err := s.book.List(ctx)
	if err != nil {
		return nil, err
	}
	response := &operatorv1.ListRecipientsResponse{}
	for _, entry := range entries {
		response.Recipients = append(response.Recipients, recipientToWire(entry))
	}
	return response, nil
}

// RemoveRecipient implements operator.v1.
func (s *Server) RemoveRecipient(ctx context.Context, request *operatorv1.RemoveRecipientRequest) (*operatorv1.RemoveRecipientResponse, error) {
	author, err := authorOf(ctx)
	if err != nil {
		return nil, err
	}
	removed, err := s.book.Remove(ctx, request.GetName(), author)
	if err != nil {
		return nil, err
	}
	return &operatorv1.RemoveRecipientResponse{Recipient: recipientToWire(removed)}, nil
}

func recipientToWire(entry effects.Recipient) *operatorv1.Recipient {
	return &operatorv1.Recipient{Name: entry.Name, Address: entry.Address[:]}
}

// authorOf is the kernel's word about who asks. Without it nothing is changed.
func authorOf(ctx context.Context) (recipients.Author, error) {
	identity, ok := peer.FromContext(ctx)
	if !ok {
		return recipients.Author{}, fault.New(fault.PeerRejected, "the connection carries no peer credentials")
	}
	return recipients.Author{UID: identity.UID, PID: identity.PID}, nil
}
