package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
)

// outcome is how a proposal ends.
func (v Verdict) outcome() string {
	if v.Refused != nil {
		return "refused"
	}
	return "proposed"
}

// hash is the SHA-256 of what a proposal was answered with, as JSON: its id, the
// digests of its transactions, the tier and the rules, the refusal, and the worst
// case of each asset. The code is not in it.
func (v Verdict) hash() (string, error) {
	answer := struct {
		Proposal string            `json:"proposal"`
		Digests  []string          `json:"digests"`
		Tier     string            `json:"tier"`
		Rules    []string          `json:"rules"`
		Refused  fault.Code        `json:"refused,omitempty"`
		Message  string            `json:"message,omitempty"`
		Charge   map[string]string `json:"charge"`
	}{Proposal: v.Proposal.ID, Tier: v.Tier.String(), Rules: v.Rules, Charge: make(map[string]string, len(v.Charge))}
	for _, digest := range v.Proposal.Digests {
		answer.Digests = append(answer.Digests, hex.EncodeToString(digest[:]))
	}
	if v.Refused != nil {
		answer.Refused, answer.Message = v.Refused.Code, v.Refused.Message
	}
	for mint, units := range v.Charge {
		answer.Charge[assetName(mint)] = units.String()
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return "", fmt.Errorf("encode answer: %w", err)
	}
	return hashOf(raw), nil
}

// asked is what the records of an execution repeat of what was asked for, so that
// each can be read by itself.
func asked(p approval.Proposal) map[string]string {
	return map[string]string{
		FieldFingerprint: hex.EncodeToString(p.Fingerprint[:]), "tier": p.Tier.String(), "client_claimed": p.Client,
	}
}

func hashOf(raw []byte) string {
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:])
}
