// Package tools is what a tool of mcpd is: its definition with schemas and
// annotations, a check of its arguments that asks nobody, its handler, and the
// shapes that results share. The toolsets below it fill it, mcpserver serves
// it. It promises one way of writing amounts, times, networks and faults.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/shared/fault"
)

// Tool is one tool as a value.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       Schema
	Output      Schema
	Hints       Hints
	// Writes marks tools that can move funds: the holding gate withholds them.
	Writes bool
	// Check refuses bad arguments without asking anybody.
	Check func(arguments json.RawMessage) error
	// Handle runs the call. An error becomes a failed result by its fault.
	Handle func(ctx context.Context, call Call) (Result, error)
}

// CheckNothing is the check of a tool without arguments.
func CheckNothing(arguments json.RawMessage) error { return intent.Decode(arguments, &struct{}{}) }

// Hints are the four annotations. All are always sent.
type Hints struct {
	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool
}

// Call is one call of a tool.
type Call struct {
	Arguments json.RawMessage
	// ClientName is what the client calls itself.
	ClientName string
	// Progress tells the client how far an execution is; it may be nil.
	Progress func(propose.Progress)
}

// Result is what a tool answers.
type Result struct {
	Text       string
	Structured any
	// Fault marks the result as an error, with Structured beside it.
	Fault *fault.Fault
}

// ErrorView is a fault as results carry it.
type ErrorView struct {
	Class       string `json:"class"`
	Code        string `json:"code"`
	Message     string `json:"message"`
	Hint        string `json:"hint"`
	RetryAfterS *int64 `json:"retry_after_s,omitempty"`
	SafeToRetry bool   `json:"safe_to_retry"`
}

// ViewFault writes a fault for a result.
func ViewFault(f *fault.Fault) *ErrorView {
	advice := f.Code.Advice()
	view := &ErrorView{Class: string(advice.Class), Code: string(f.Code), Message: f.Message, Hint: advice.Hint, SafeToRetry: advice.SafeToRetry}
	if f.RetryAfter > 0 {
		seconds := int64((f.RetryAfter + time.Second - 1) / time.Second)
		view.RetryAfterS = &seconds
	}
	return view
}

// FaultText is the text of a failed result. It starts with the class.
func FaultText(f *fault.Fault) string {
	view := ViewFault(f)
	return view.Class + " (" + view.Code + "): " + view.Message + ". " + view.Hint
}

// Timestamp is RFC 3339 in UTC, or empty for no time.
func Timestamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
