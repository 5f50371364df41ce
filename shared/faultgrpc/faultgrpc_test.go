package faultgrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
)

func TestCarryEveryCode(t *testing.T) {
	if len(fault.Codes()) < 40 {
		t.Fatalf("only %d codes; the list is not the real one", len(fault.Codes()))
	}
	for _, code := range fault.Codes() {
		t.Run(string(code), func(t *testing.T) {
			sent := fault.New(code, "a message with 100%% of its text").After(1500 * time.Millisecond).Because(errors.New("secret"))
			wire := ToStatus(fmt.Errorf("while testing: %w", sent))
			if got := status.Code(wire); got == codes.OK || got != grpcCode(code) {
				t.Errorf("gRPC code %v", got)
			}
			if strings.Contains(wire.Error(), "secret") || strings.Contains(wire.Error(), "while testing") {
				t.Errorf("cause crosses: %v", wire)
			}
			got := FromStatus(wire, fault.SignerUnavailable)
			if got.Code != code || got.Message != sent.Message || got.RetryAfter != 2*time.Second {
				t.Errorf("got %+v, want %+v with 2s", got, sent)
			}
			if back := FromWire(ToWire(sent)); back.Code != code || back.Message != sent.Message {
				t.Errorf("as a message: %+v", back)
			}
		})
	}
}

func TestHideWhatIsNoFault(t *testing.T) {
	wire := ToStatus(errors.New("open /home/somebody/seed: denied"))
	if status.Code(wire) != codes.Internal || strings.Contains(wire.Error(), "somebody") {
		t.Errorf("got %v", wire)
	}
	if got := FromStatus(wire, fault.SignerUnavailable); got.Code != fault.Internal {
		t.Errorf("came back as %v", got)
	}
	unlisted := ToStatus(fault.New("made_up", "x"))
	if status.Code(unlisted) != codes.Internal {
		t.Errorf("an unlisted code crosses as %v", unlisted)
	}
	if ToStatus(nil) != nil || FromStatus(nil, fault.Internal) != nil || FromWire(nil) != nil || ToWire(nil) != nil {
		t.Error("nothing must stay nothing")
	}
}

func TestReadSilence(t *testing.T) {
	detailed, err := status.New(codes.Unavailable, "x").WithDetails(&signerv1.Fault{Code: "made_up", Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	control, err := status.New(codes.Unavailable, "x").WithDetails(&signerv1.Fault{Code: "overloaded", Message: "a\x1b[31mb"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err  error
		lost fault.Code
		want fault.Code
	}{
		"not there, read only":  {status.Error(codes.Unavailable, "dial unix /run/x"), fault.SignerUnavailable, fault.SignerUnavailable},
		"not there, may spend":  {status.Error(codes.Unavailable, "EOF"), fault.OutcomeUnknown, fault.OutcomeUnknown},
		"deadline":              {status.Error(codes.DeadlineExceeded, ""), fault.OutcomeUnknown, fault.OutcomeUnknown},
		"bare context deadline": {context.DeadlineExceeded, fault.OutcomeUnknown, fault.OutcomeUnknown},
		"bare cancellation":     {context.Canceled, fault.SignerUnavailable, fault.SignerUnavailable},
		"too large":             {status.Error(codes.ResourceExhausted, "received message larger"), fault.OutcomeUnknown, fault.InvalidArguments},
		"other version":         {status.Error(codes.Unimplemented, ""), fault.OutcomeUnknown, fault.SignerUnavailable},
		"anything else":         {status.Error(codes.DataLoss, "text"), fault.SignerUnavailable, fault.Internal},
		"plain error":           {errors.New("text"), fault.SignerUnavailable, fault.Internal},
		"a fault already":       {fault.New(fault.CodeVoid, "m"), fault.SignerUnavailable, fault.CodeVoid},
		"code of another build": {detailed.Err(), fault.OutcomeUnknown, fault.Internal},
		"control characters":    {control.Err(), fault.OutcomeUnknown, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			got := FromStatus(test.err, test.lost)
			if got.Code != test.want {
				t.Errorf("got %v, want %v", got.Code, test.want)
			}
			if strings.Contains(got.Message, "/run") || strings.Contains(got.Message, "EOF") {
				t.Errorf("transport text shown: %q", got.Message)
			}
		})
	}
}
