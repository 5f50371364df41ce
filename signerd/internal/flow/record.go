package flow

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/signerd/internal/audit"
)

// The kinds of audit record, in the order in which one execution writes them.
const (
	kindSessionOpened = "session_opened"

	kindProposed  = "proposed"
	kindDecided   = "decided"
	kindCancelled = "cancelled"
	kindConfirmed = "confirmed"
	kindRefused   = "refused"
	kindReserved  = "reserved"
	kindSigned    = "signed"
	kindSettled   = "settled"
	kindFinished  = "finished"

	kindSessionClosed = "session_closed"
)

// The kinds about the policy itself.
const (
	kindPolicyChanged = "policy_changed"
	kindPolicyInForce = "policy_in_force"
	kindPolicyKept    = "policy_kept"
)

// Fields that name what a record is about.
const (
	reservationField = audit.ReservationField
	signatureField   = audit.SignatureField
)

// Fields of the records that a call ends with, beside FieldFingerprint, which is the
// hash of what it was asked with.
const (
	// fieldOutput is the SHA-256 of what was answered: of a receipt as the ledger
	// stores it, of a proposal as Verdict.hash says.
	fieldOutput   = "output_sha256"
	fieldDuration = "duration_ms"
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// subject says whose step a record is about.
type subject struct {
	session     string
	correlation string
	proposal    string
	digest      [32]byte
}

// anchor has the ledger remember the audit log's head, so that records cut off
// the log are missed when the signer starts again.
func (f *Flow) anchor(ctx context.Context) error {
	head := f.stages.Audit.Head()
	if err := f.stages.Anchor(ctx, head.Seq, head.Hash); err != nil {
		return fault.New(fault.StateLocked, "the ledger cannot be written, so nothing is signed").Because(err)
	}
	return nil
}

// record writes one audit record, durably, or fails the request.
func (f *Flow) record(ctx context.Context, kind string, about subject, data map[string]string) error {
	_, err := f.stages.Audit.Append(ctx, recordOf(kind, about, data))
	return unrecorded(err)
}

// note writes one that is on the disk as soon as the next one that is recorded. It
// is for steps that precede no effect.
func (f *Flow) note(ctx context.Context, kind string, about subject, data map[string]string) error {
	_, err := f.stages.Audit.Write(ctx, recordOf(kind, about, data))
	return unrecorded(err)
}

func unrecorded(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.StateLocked, "the audit log cannot be written, so nothing is signed").Because(err)
}

func recordOf(kind string, about subject, data map[string]string) audit.Record {
	record := audit.Record{
		Time: time.Now(), Kind: kind, Session: about.session,
		Correlation: about.correlation, Proposal: about.proposal, Data: data,
	}
	if about.digest != [32]byte{} {
		record.Digest = hex.EncodeToString(about.digest[:])
	}
	return record
}

// Proof shows that the record which ends an execution is in the audit log, as
// text. It is empty where there is none: a receipt is as true without.
func (f *Flow) Proof(ctx context.Context, r Receipt) string {
	if r.FinishedAt.IsZero() {
		return ""
	}
	seq, err := f.stages.Audit.Last(ctx, kindFinished, r.ProposalID)
	if err != nil || seq == 0 {
		return ""
	}
	proof, err := f.stages.Audit.Proof(seq)
	if errors.Is(err, audit.ErrNoProof) {
		return ""
	}
	if err != nil {
		f.stages.Logger.LogAttrs(ctx, slog.LevelError, "a receipt goes without its proof",
			slog.String(logging.KeyProposal, r.ProposalID), logging.Error(err))
		return ""
	}
	return proof.String()
}
