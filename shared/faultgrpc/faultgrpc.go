// Package faultgrpc carries faults over gRPC: a status whose details hold the
// fault, and back. It is the only place where the two vocabularies meet. The
// signer's servers and mcpd's client import it.
//
// It promises that whatever is not a fault crosses as Internal without its
// text, and that a fault that crosses keeps its code, message and wait.
package faultgrpc

import (
	"errors"
	"math"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	signerv1 "countersign/proto/signer/v1"
	"countersign/shared/fault"
)

// ToStatus makes the gRPC error for err, or nil.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	if !f.Code.Known() {
		f = fault.From(errors.New("unlisted code"))
	}
	made := status.New(grpcCode(f.Code), f.Message)
	detailed, err := made.WithDetails(protoadapt.MessageV1Of(&signerv1.Fault{
		Code: string(f.Code), Message: f.Message, RetryAfterSeconds: wholeSeconds(f.RetryAfter),
	}))
	if err != nil {
		// Only a status without an error can refuse details.
		return made.Err()
	}
	return detailed.Err()
}

// wholeSeconds rounds up: a caller that waits as told must not come too early.
func wholeSeconds(wait time.Duration) uint32 {
	if wait <= 0 {
		return 0
	}
	seconds := (wait + time.Second - 1) / time.Second
	return uint32(min(seconds, math.MaxUint32))
}

// exactly holds the codes that gRPC can say more exactly than their class.
var exactly = map[fault.Code]codes.Code{
	fault.NotFound:            codes.NotFound,
	fault.RecipientUnknown:    codes.NotFound,
	fault.UpstreamRateLimited: codes.ResourceExhausted,
	fault.Overloaded:          codes.ResourceExhausted,
	fault.Internal:            codes.Internal,
}

// grpcCode gives each code its one gRPC code.
func grpcCode(code fault.Code) codes.Code {
	if exact, ok := exactly[code]; ok {
		return exact
	}
	switch code.Advice().Class {
	case fault.Validation:
		return codes.InvalidArgument
	case fault.Authentication:
		return codes.Unauthenticated
	case fault.AuthorizationRejected:
		return codes.PermissionDenied
	case fault.Conflict:
		return codes.FailedPrecondition
	case fault.Operational:
		return codes.Unavailable
	case fault.UnknownOutcome:
		return codes.Unknown
	}
	return codes.Internal
}

// FromStatus reads what a call to the signer returned. Where the signer itself
// did not answer (it is not there, it fell silent, the caller's time ran out),
// lost says what that means: fault.SignerUnavailable for a call that changes
// nothing, fault.OutcomeUnknown for one that may have.
func FromStatus(err error, lost fault.Code) *fault.Fault {
	if err == nil {
		return nil
	}
	got, ok := status.FromError(err)
	if !ok {
		if f := new(fault.Fault); errors.As(err, &f) {
			return f
		}
		got = status.FromContextError(err)
	}
	if f := told(got); f != nil {
		return f.Because(err)
	}
	switch got.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return fault.New(lost, "%s", lostText(lost)).Because(err)
	case codes.ResourceExhausted:
		return fault.New(fault.InvalidArguments, "the request is larger than the signer accepts").Because(err)
	case codes.Unimplemented:
		return fault.New(fault.SignerUnavailable, "the signer is of another version and does not know this call").Because(err)
	default:
		return fault.From(err)
	}
}

func lostText(lost fault.Code) string {
	if lost == fault.OutcomeUnknown {
		return "the signer fell silent after it was asked; what it did is not known"
	}
	return "the signer cannot be reached or does not answer"
}

// told is the fault in a status's details. One with a code that this build
// does not know, or with another message than a signer writes, is not believed.
func told(got *status.Status) *fault.Fault {
	for _, detail := range got.Details() {
		sent, ok := detail.(*signerv1.Fault)
		if !ok {
			continue
		}
		return FromWire(sent)
	}
	return nil
}

// maxMessage is longer than any message a signer writes.
const maxMessage = 1000

// FromWire reads a fault that travelled as a message, or returns nil if there
// is none. An unlisted code becomes Internal.
func FromWire(sent *signerv1.Fault) *fault.Fault {
	if sent == nil {
		return nil
	}
	code := fault.Code(sent.GetCode())
	message := sent.GetMessage()
	if !code.Known() || len(message) > maxMessage || strings.ContainsFunc(message, unicode.IsControl) {
		return fault.From(errors.New("the signer sent a fault that cannot be read"))
	}
	return fault.New(code, "%s", message).After(time.Duration(sent.GetRetryAfterSeconds()) * time.Second)
}

// ToWire writes a fault as a message, for answers that hold one.
func ToWire(f *fault.Fault) *signerv1.Fault {
	if f == nil {
		return nil
	}
	return &signerv1.Fault{Code: string(f.Code), Message: f.Message, RetryAfterSeconds: wholeSeconds(f.RetryAfter)}
}
