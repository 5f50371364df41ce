package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"countersign/shared/stricttoml"
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
	return group("policy", "Check the policy file", c.policyCheckCommand(), c.policyExplainCommand())
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

// problems are the faults of a policy file, each where it stands.
func problems(path string, err error) []policyProblem {
	found, ok := errors.AsType[policy.LoadErrors](err)
	if !ok {
		return []policyProblem{{File: path, Text: err.Error()}}
	}
	return placed(path, found)
}

func placed(path string, found []stricttoml.Error) []policyProblem {
	list := make([]policyProblem, 0, len(found))
	for _, e := range found {
		list = append(list, policyProblem{File: path, Line: e.Line, Column: e.Column, Text: e.Text})
	}
	return list
}

func (c *console) reportPolicyErrors(path string, err error) error {
	found := problems(path, err)
	if c.json {
		return errors.Join(json.NewEncoder(c.out).Encode(map[string]any{"ok": false, "problems": found}), errReported)
	}
	for _, p := range found {
		fmt.Fprintf(c.err, "%s:%d:%d: %s\n", p.File, p.Line, p.Column, p.Text)
	}
	return errReported
}

func (c *console) describePolicy(path string, rules *policy.Policy) error {
	cluster, genesis := rules.Network()
	warnings := placed(path, rules.Warnings())
	if c.json {
		return json.NewEncoder(c.out).Encode(map[string]any{
			"ok": true, "version": rules.Version(), "cluster": cluster, "genesis_hash": genesis.String(), "warnings": warnings,
		})
	}
	fmt.Fprintf(c.out, "%s: good\nversion %s, network %s (%s)\n", path, rules.Version(), cluster, genesis)
	for _, asset := range rules.Caps() {
		fmt.Fprintln(c.out, capsInWords(asset))
	}
	fmt.Fprintf(c.out, "consent: %s by default, %s for unguarded transactions, %s for new recipients\n", rules.Tier(), rules.Unguarded(), rules.NewRecipient())
	if names := rules.Rules(); len(names) > 0 {
		fmt.Fprintf(c.out, "rules of your own: %s\n", strings.Join(names, ", "))
	}
	if pinned := len(rules.Pins()); pinned > 0 {
		fmt.Fprintf(c.out, "programs pinned as they are deployed: %d\n", pinned)
	}
	if line, some := rules.Auto(); some {
		fmt.Fprintf(c.out, "AUTO: %s is signed on the first call, without a code\n", line)
	}
	if rules.AllowUncappedTokens() {
		fmt.Fprintln(c.out, "tokens without a cap of their own may be spent WITHOUT LIMIT")
	}
	for _, w := range warnings {
		fmt.Fprintf(c.err, "%s:%d:%d: warning: %s\n", w.File, w.Line, w.Column, w.Text)
	}
	return nil
}

// capsInWords says what may leave of one asset.
func capsInWords(asset policy.AssetCap) string {
	text := fmt.Sprintf("%s: at most %s per transaction, %s per session, %s in any 24 hours", asset.Name,
		asset.PerTransaction.Decimal(asset.Decimals), asset.PerSession.Decimal(asset.Decimals), asset.PerDay.Decimal(asset.Decimals))
	if most := asset.PerDestination; most != nil {
		text += ", " + most.Decimal(asset.Decimals) + " of it to one recipient"
	}
	return text
}
