package flow

import (
	"context"
	"strconv"
	"time"

	"countersign/shared/fault"
	"countersign/shared/untrusted"
	"countersign/signerd/internal/policy"
)

// Reload puts another policy in force and voids what was proposed under the one
// before. The change is on record before it holds. What is being executed goes
// on by the policy that it began with. The count is of voided proposals.
func (f *Flow) Reload(ctx context.Context, next *policy.Policy) (int, error) {
	f.reload.Lock()
	defer f.reload.Unlock()
	current := f.Policy()
	if next.Version() == current.Version() {
		return 0, nil
	}
	if err := f.stages.Policy.Check(next); err != nil {
		return 0, err
	}
	if err := f.record(ctx, kindPolicyChanged, subject{}, map[string]string{
		"from": current.Version(), "to": next.Version(),
	}); err != nil {
		return 0, err
	}
	if err := f.stages.Policy.Replace(next); err != nil {
		return 0, err
	}
	// A proposal that slips in behind this carries the old version, and is
	// void when it is confirmed.
	voided, err := f.stages.Book.CancelOpen(ctx, time.Now())
	if err != nil {
		return voided, err
	}
	return voided, f.record(ctx, kindPolicyInForce, subject{}, map[string]string{
		"version": next.Version(), "voided": strconv.Itoa(voided),
	})
}

// KeepPolicy records that a new policy was refused, and that the one before
// stays in force.
func (f *Flow) KeepPolicy(ctx context.Context, why error) error {
	return f.record(ctx, kindPolicyKept, subject{}, map[string]string{
		"version": f.Policy().Version(), "why": reasonText(why.Error()),
	})
}

// reasonText is a reason as the audit log keeps it: short, and without anything
// that hides or turns text around. Reasons name what attackers have written.
func reasonText(message string) string { return untrusted.Clean(message, untrusted.Finding).Display() }

// reason is why a fault was answered.
func reason(refused *fault.Fault) string { return reasonText(refused.Message) }
