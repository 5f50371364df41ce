package server

import (
	"testing"

	"google.golang.org/protobuf/proto"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/peer"
)

func honestRequest() *signerv1.ProposeRequest {
	key := make([]byte, 32)
	key[0] = 1
	return &signerv1.ProposeRequest{
		Intent: &signerv1.Intent{Tool: "solana_transfer", ArgumentsJson: "{}", Fingerprint: make([]byte, 32)},
		Flow:   signerv1.Flow_FLOW_TRANSFER,
		Bounds: &signerv1.Bounds{
			MaxOut: []*signerv1.AssetAmount{{Amount: 5}}, MinIn: []*signerv1.AssetAmount{{Mint: key, Amount: 7}},
			MaxFee: 1, MaxRent: 2, Programs: [][]byte{key}, Recipients: [][]byte{key},
		},
		Transactions: [][]byte{{1, 2, 3}},
	}
}

func TestProposedFromWireKeepsEverything(t *testing.T) {
	got, err := proposedFromWire(peer.Identity{Session: "s"}, honestRequest())
	if err != nil {
		t.Fatal(err)
	}
	if diff := boundsToWire(got.Bounds); !proto.Equal(diff, honestRequest().GetBounds()) {
		t.Errorf("bounds came back as %v", diff)
	}
	if got.Session != "s" || got.Tool != "solana_transfer" || len(got.Transactions) != 1 {
		t.Errorf("proposed: %+v", got)
	}
}

// TestConfirmedFromWireRefuses fails without the limit on the correlation id.
func TestConfirmedFromWireRefuses(t *testing.T) {
	honest := func() *signerv1.ExecuteRequest {
		return &signerv1.ExecuteRequest{Code: "c", Fingerprint: make([]byte, 32), CorrelationId: "r_1", Transactions: [][]byte{{1}}}
	}
	if got, err := confirmedFromWire(peer.Identity{Session: "s"}, honest()); err != nil || got.Session != "s" || got.Correlation != "r_1" || got.Code != "c" {
		t.Errorf("confirmed: %+v, %v", got, err)
	}
	long, short := honest(), honest()
	long.CorrelationId, short.Fingerprint = string(make([]byte, maxLabel+1)), []byte{1}
	for _, request := range []*signerv1.ExecuteRequest{long, short} {
		if _, err := confirmedFromWire(peer.Identity{}, request); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%v: %v", request, err)
		}
	}
}

func TestProposedFromWireRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*signerv1.ProposeRequest){
		"no flow":                 func(r *signerv1.ProposeRequest) { r.Flow = 0 },
		"an unknown flow":         func(r *signerv1.ProposeRequest) { r.Flow = 99 },
		"no bounds":               func(r *signerv1.ProposeRequest) { r.Bounds = nil },
		"a short fingerprint":     func(r *signerv1.ProposeRequest) { r.Intent.Fingerprint = []byte{1} },
		"a mint named twice":      func(r *signerv1.ProposeRequest) { r.Bounds.MaxOut = append(r.Bounds.MaxOut, r.Bounds.MaxOut[0]) },
		"SOL under two names":     func(r *signerv1.ProposeRequest) { r.Bounds.MaxOut[0].Mint = solana.WrappedSOL[:] },
		"SOL as the zero key":     func(r *signerv1.ProposeRequest) { r.Bounds.MaxOut[0].Mint = make([]byte, 32) },
		"a short mint":            func(r *signerv1.ProposeRequest) { r.Bounds.MinIn[0].Mint = []byte{1} },
		"a short program":         func(r *signerv1.ProposeRequest) { r.Bounds.Programs[0] = []byte{1} },
		"too many recipients":     func(r *signerv1.ProposeRequest) { r.Bounds.Recipients = make([][]byte, maxListed+1) },
		"a very long client name": func(r *signerv1.ProposeRequest) { r.ClientName = string(make([]byte, maxLabel+1)) },
	} {
		request := honestRequest()
		spoil(request)
		if _, err := proposedFromWire(peer.Identity{}, request); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever decodes as a request is read or refused as invalid, without a panic.
func FuzzProposedFromWire(f *testing.F) {
	seed, err := proto.Marshal(honestRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var request signerv1.ProposeRequest
		if proto.Unmarshal(raw, &request) != nil {
			return
		}
		proposed, err := proposedFromWire(peer.Identity{}, &request)
		switch {
		case err != nil && !fault.Is(err, fault.InvalidArguments):
			t.Errorf("refused with %v", err)
		case err == nil && proposed.Flow == 0:
			t.Error("a proposal without a flow")
		}
	})
}
