package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"countersign/mcpd/internal/plan"
	"countersign/shared/amount"
	"countersign/shared/solana"
)

// Run is what the node says a transaction would do now.
type Run struct {
	// Err is the runtime's error as JSON, nil where it would succeed.
	Err  json.RawMessage
	Logs []string
	// After holds the watched accounts as they would be, missing ones absent.
	After map[solana.PublicKey]plan.Account
}

// maxLogs bounds what is kept of a run's log.
const maxLogs = 400

// Simulate runs raw without checking signatures and with a fresh blockhash:
// whether its own blockhash is good is for the signer to judge.
func (c *Client) Simulate(ctx context.Context, raw []byte, watch []solana.PublicKey) (Run, error) {
	var answer struct {
		Value *struct {
			Err      json.RawMessage `json:"err"`
			Logs     []string        `json:"logs"`
			Accounts []*wireAccount  `json:"accounts"`
		} `json:"value"`
	}
	options := map[string]any{
		"encoding": "base64", "commitment": commitment, "sigVerify": false, "replaceRecentBlockhash": true,
		"accounts": map[string]any{"encoding": "base64", "addresses": watch},
	}
	if err := c.call(ctx, "simulateTransaction", []any{base64.StdEncoding.EncodeToString(raw), options}, &answer); err != nil {
		return Run{}, err
	}
	if answer.Value == nil {
		return Run{}, errShape
	}
	run := Run{Logs: answer.Value.Logs[:min(len(answer.Value.Logs), maxLogs)], After: map[solana.PublicKey]plan.Account{}}
	if string(answer.Value.Err) != "null" && len(answer.Value.Err) > 0 {
		run.Err = answer.Value.Err
		return run, nil
	}
	if len(answer.Value.Accounts) != len(watch) {
		return Run{}, errShape
	}
	for i, wire := range answer.Value.Accounts {
		if wire == nil || amount.Units(wire.Lamports) == 0 {
			continue
		}
		account, err := wire.account()
		if err != nil {
			return Run{}, err
		}
		run.After[watch[i]] = account
	}
	return run, nil
}
