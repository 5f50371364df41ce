package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"countersign/shared/uds"
	"countersign/signerd/internal/config"
	"countersign/signerd/internal/policy"
)

// maxPolicy bounds the policy file.
const maxPolicy = 1 << 20

func loadPolicy(cfg config.Config) (*policy.Policy, error) {
	raw, err := readPolicy(cfg.PolicyFile)
	if err != nil {
		return nil, err
	}
	rules, err := policy.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.PolicyFile, err)
	}
	return rules, nil
}

func readPolicy(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("policy file %s cannot be read; 'signerd init' writes a safe one", path)
	}
	defer file.Close()
	if err := uds.CheckUnsharedFile(path); err != nil {
		return nil, fmt.Errorf("the policy decides what may be spent: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxPolicy+1))
	if err != nil {
		return nil, fmt.Errorf("policy file %s cannot be read", path)
	}
	if len(raw) > maxPolicy {
		return nil, fmt.Errorf("policy file %s is larger than %d bytes", path, maxPolicy)
	}
	return raw, nil
}

func (c *console) policyCommand() *cobra.Command {
	return group("policy", "Check the policy file", c.policyCheckCommand())
}

func (c *console) policyCheckCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a policy file without starting, and say what it means",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := c.policyPath(args)
			if err != nil {
				return err
			}
			raw, err := readPolicy(path)
			if err != nil {
				return err
			}
			rules, err := policy.Load(raw)
			if err != nil {
				return c.reportPolicyErrors(path, err)
			}
			return c.describePolicy(path, rules)
		},
	})
}

func (c *console) policyPath(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	cfg, err := c.load()
	return cfg.PolicyFile, err
}

// policyProblem is one error of a policy file as scripts read it.
type policyProblem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

func (c *console) reportPolicyErrors(path string, err error) error {
	problems := []policyProblem{{File: path, Text: err.Error()}}
	if found, ok := errors.AsType[policy.LoadErrors](err); ok {
		problems = problems[:0]
		for _, e := range found {
			problems = append(problems, policyProblem{File: path, Line: e.Line, Column: e.Column, Text: e.Text})
		}
	}
	if c.json {
		return errors.Join(json.NewEncoder(c.out).Encode(map[string]any{"ok": false, "problems": problems}), errReported)
	}
	for _, p := range problems {
		fmt.Fprintf(c.err, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.Text)
	}
	return errReported
}

func (c *console) describePolicy(path string, rules *policy.Policy) error {
	cluster, genesis := rules.Network()
	if c.json {
		return json.NewEncoder(c.out).Encode(map[string]any{
			"ok": true, "version": rules.Version(), "cluster": cluster, "genesis_hash": genesis.String(),
		})
	}
	fmt.Fprintf(c.out, "%s: good\nversion %s, network %s (%s)\n", path, rules.Version(), cluster, genesis)
	for _, asset := range rules.Caps() {
		fmt.Fprintf(c.out, "%s: at most %s per transaction, %s per session, %s in any 24 hours\n", asset.Name,
			asset.PerTransaction.Decimal(asset.Decimals), asset.PerSession.Decimal(asset.Decimals), asset.PerDay.Decimal(asset.Decimals))
	}
	fmt.Fprintf(c.out, "consent: %s by default, %s for unguarded transactions, %s for new recipients\n", rules.Tier(), rules.Unguarded(), rules.NewRecipient())
	if line, some := rules.Auto(); some {
		fmt.Fprintf(c.out, "AUTO: %s is signed on the first call, without a code\n", line)
	}
	if rules.AllowUncappedTokens() {
		fmt.Fprintln(c.out, "tokens without a cap of their own may be spent WITHOUT LIMIT")
	}
	return nil
}
