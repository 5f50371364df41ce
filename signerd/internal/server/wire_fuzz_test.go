package server

import (
	"testing"

	"google.golang.org/protobuf/proto"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/alloctest"
	"countersign/shared/fault"
	"countersign/signerd/internal/peer"
)

// agentMessages are the messages that agent.sock takes.
func agentMessages() []proto.Message {
	return []proto.Message{
		&signerv1.ProposeRequest{}, &signerv1.CheckConfirmationRequest{}, &signerv1.ExecuteRequest{}, &signerv1.CancelProposalRequest{},
		&signerv1.GetReceiptRequest{}, &signerv1.ListActivityRequest{}, &signerv1.GetLimitsRequest{}, &signerv1.DescribeRequest{},
	}
}

// Whatever arrives as a message costs memory by its length, and what is read
// from it reads the same when it is written out again: no field is taken for
// another, none is lost.
func FuzzAgentMessages(f *testing.F) {
	honest, err := proto.Marshal(honestRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0), honest)
	f.Add(byte(0), append(honest, honest...))
	f.Add(byte(1), []byte("\x0a\x04code\x12\x02\x01\x02"))
	f.Add(byte(2), []byte("\x0a\x04code\x12\x20________________________________\x1a\x01\x80"))
	f.Add(byte(4), []byte("\x1a\x40________________________________________________________________"))
	f.Add(byte(5), []byte("\x08\xff\xff\xff\xff\x0f"))
	f.Add(byte(3), []byte("\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, kind byte, raw []byte) {
		messages := agentMessages()
		message := messages[int(kind)%len(messages)]
		if wrong := alloctest.Excess(len(raw), 200, 64<<10, func() { err = proto.Unmarshal(raw, message) }); wrong != "" {
			t.Error(wrong)
		}
		if err != nil {
			return
		}
		switch request := message.(type) {
		case *signerv1.ProposeRequest:
			checkProposal(t, request)
		case *signerv1.ExecuteRequest:
			checkFingerprint(t, request.GetFingerprint())
		case *signerv1.CheckConfirmationRequest:
			checkFingerprint(t, request.GetFingerprint())
		}
	})
}

func checkProposal(t *testing.T, request *signerv1.ProposeRequest) {
	t.Helper()
	proposed, err := proposedFromWire(peer.Identity{Session: "s"}, request)
	if err != nil {
		if !fault.Is(err, fault.InvalidArguments) {
			t.Fatalf("refused with %v", err)
		}
		return
	}
	again, err := boundsFromWire(boundsToWire(proposed.Bounds))
	if err != nil {
		t.Fatalf("bounds that were read cannot be read again: %v", err)
	}
	if !proto.Equal(boundsToWire(again), boundsToWire(proposed.Bounds)) {
		t.Fatalf("bounds %+v became %+v", proposed.Bounds, again)
	}
	if proposed.Session != "s" || len(proposed.Bounds.MaxOut) != len(request.GetBounds().GetMaxOut()) || len(proposed.Bounds.Recipients) != len(request.GetBounds().GetRecipients()) {
		t.Fatalf("%+v was read as %+v", request, proposed)
	}
	for _, entry := range request.GetBounds().GetMaxOut() {
		found := false
		for mint, units := range proposed.Bounds.MaxOut {
			found = found || (string(mintToWire(mint)) == string(entry.GetMint()) && uint64(units) == entry.GetAmount())
		}
		if !found {
			t.Fatalf("%v is not in %v", entry, proposed.Bounds.MaxOut)
		}
	}
}

func checkFingerprint(t *testing.T, raw []byte) {
	t.Helper()
	fingerprint, err := fingerprintFromWire(raw)
	if (err == nil) != (len(raw) == 32) || (err == nil && string(fingerprint[:]) != string(raw)) {
		t.Fatalf("fingerprint %x was read as %x, %v", raw, fingerprint, err)
	}
}
