package faultgrpc_test

import (
	"testing"
	"unicode"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
)

// Whatever status arrives, what is told is a fault of the closed list, in words
// without commands to a terminal, and never that a thing which may have
// happened has not.
func FuzzFromStatus(f *testing.F) {
	for _, each := range []*fault.Fault{
		fault.New(fault.CapExceeded, "over the cap"), fault.New(fault.OutcomeUnknown, "who knows"), fault.New(fault.Overloaded, "later"),
	} {
		raw, err := proto.Marshal(status.Convert(faultgrpc.ToStatus(each)).Proto())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)-1])
	}
	f.Add([]byte("\x08\x0e\x12\x04lost"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		wire := status.New(0, "").Proto()
		if proto.Unmarshal(raw, wire) != nil || wire.GetCode() == 0 {
			return
		}
		err := status.FromProto(wire).Err()
		for _, lost := range []fault.Code{fault.OutcomeUnknown, fault.SignerUnavailable} {
			got := faultgrpc.FromStatus(err, lost)
			if got == nil || !got.Code.Known() || got.Message == "" && len(wire.GetDetails()) == 0 {
				t.Fatalf("%v was read as %+v", wire, got)
			}
			for _, r := range got.Message {
				if unicode.IsControl(r) {
					t.Fatalf("%q is told", got.Message)
				}
			}
			if wire.GetCode() == 14 && len(wire.GetDetails()) == 0 && got.Code != lost {
				t.Fatalf("a signer that fell silent is told as %s, want %s", got.Code, lost)
			}
		}
	})
}
