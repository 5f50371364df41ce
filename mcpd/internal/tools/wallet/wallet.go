// Package wallet is the toolset that looks at the signer's wallet and at what
// was proposed and done. app puts it into the catalogue. Nothing here moves
// funds.
package wallet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/tools"
	"countersign/shared/fault"
)

// Tools returns the toolset. withheld says why the writing tools are not
// there, or is nil.
func Tools(engine *flow.Engine, withheld *fault.Fault) []tools.Tool {
	return []tools.Tool{overviewTool(engine, withheld), limitsTool(engine), receiptTool(engine), activityTool(engine), cancelTool(engine)}
}

// maxShownTokens bounds a listing; a wallet can be flooded with tokens.
const maxShownTokens = 100

type holding struct {
	Amount       tools.AmountView `json:"amount"`
	Account      string           `json:"account"`
	TokenProgram string           `json:"token_program"`
}

type overview struct {
	Network       *tools.NetworkView `json:"network"`
	Wallet        string             `json:"wallet"`
	SOL           tools.AmountView   `json:"sol"`
	Tokens        []holding          `json:"tokens"`
	Truncated     bool               `json:"truncated"`
	PolicyVersion string             `json:"policy_version"`
	SignerVersion string             `json:"signer_version"`
	WriteTools    string             `json:"write_tools"`
	Limits        *tools.LimitsView  `json:"limits,omitempty"`
}

func overviewTool(engine *flow.Engine, withheld *fault.Fault) tools.Tool {
	return tools.Tool{
		Name:  "wallet_overview",
		Title: "Look at the wallet",
		Description: "Shows the signer's wallet: its address, network, SOL, tokens, and what its limits leave. " +
			"Tokens are named by their mint, because names are written by strangers. It also says whether the writing tools are available, and why not.",
		Input: tools.Object(tools.Properties{}),
		Output: tools.Output(tools.Properties{
			"network": tools.NetworkRef,
			"wallet":  tools.Text("The wallet's address."),
			"sol":     tools.AmountRef,
			"tokens": tools.List("Token accounts that hold something.", tools.Object(tools.Properties{
				"amount": tools.AmountRef, "account": tools.Text("The token account."), "token_program": tools.Text("The mint's program."),
			}, "amount", "account", "token_program")),
			"truncated":      tools.Flag("Whether there are more tokens than are shown."),
			"policy_version": tools.Text("The signer's policy."),
			"signer_version": tools.Text("The signer's build."),
			"write_tools":    tools.Text("available, or why the writing tools are withheld."),
			"limits":         tools.LimitsRef,
		}, "amount", "network", "limits"),
		Hints: tools.Hints{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Check: tools.CheckNothing,
		Handle: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			return showOverview(ctx, engine, withheld)
		},
	}
}

func showOverview(ctx context.Context, engine *flow.Engine, withheld *fault.Fault) (tools.Result, error) {
	signer, err := engine.Signer.Describe(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	if err := engine.Chain.CheckNetwork(ctx, signer.Genesis); err != nil {
		return tools.Result{}, err
	}
	lamports, err := engine.Chain.Balance(ctx, signer.Wallet)
	if err != nil {
		return tools.Result{}, err
	}
	found, err := engine.Chain.Holdings(ctx, signer.Wallet)
	if err != nil {
		return tools.Result{}, err
	}
	view := overview{
		Network: tools.ViewNetwork(signer.Cluster, signer.Genesis), Wallet: signer.Wallet.String(), SOL: tools.ViewSOL(lamports), Tokens: []holding{},
		Truncated: len(found) > maxShownTokens, PolicyVersion: signer.PolicyVersion, SignerVersion: signer.Version,
		WriteTools: "available", Limits: tools.ViewLimits(signer.Limits),
	}
	if withheld != nil {
		view.WriteTools = "withheld: " + withheld.Message
	}
	lines := []string{"Wallet " + view.Wallet, "Network: " + view.Network.Label, "SOL: " + view.SOL.Amount}
	for _, entry := range found[:min(len(found), maxShownTokens)] {
		token := holding{Amount: tools.ViewAmount(entry.Amount, entry.Decimals, entry.Mint), Account: entry.Account.String(), TokenProgram: entry.Program.String()}
		view.Tokens = append(view.Tokens, token)
		lines = append(lines, "Token "+token.Amount.Mint+": "+token.Amount.Amount)
	}
	lines = append(lines, "Writing tools: "+view.WriteTools)
	return tools.Result{Text: strings.Join(lines, "\n"), Structured: view}, nil
}

type ownCaps struct {
	PerTransaction *tools.AmountView `json:"per_transaction,omitempty"`
	PerSession     *tools.AmountView `json:"per_session,omitempty"`
	UsedInSession  tools.AmountView  `json:"used_in_session"`
}

type limitsResult struct {
	Network        *tools.NetworkView `json:"network"`
	Limits         *tools.LimitsView  `json:"limits,omitempty"`
	OwnCaps        ownCaps            `json:"own_caps"`
	CappedMints    []cappedMint       `json:"capped_mints"`
	UncappedTokens bool               `json:"uncapped_tokens_allowed"`
}

type cappedMint struct {
	Mint     string `json:"mint"`
	Name     string `json:"name"`
	Decimals uint8  `json:"decimals"`
}

func limitsTool(engine *flow.Engine) tools.Tool {
	return tools.Tool{
		Name:  "get_spending_limits",
		Title: "Show the spending limits",
		Description: "Shows every cap of the signer and of mcpd, and what is left of each now. Held amounts of transactions under way or of unknown outcome count as reserved. " +
			"Only the owner can change a cap.",
		Input: tools.Object(tools.Properties{}),
		Output: tools.Output(tools.Properties{
			"network": tools.NetworkRef,
			"limits":  tools.LimitsRef,
			"own_caps": tools.Object(tools.Properties{
				"per_transaction": tools.AmountRef, "per_session": tools.AmountRef, "used_in_session": tools.AmountRef,
			}, "used_in_session"),
			"capped_mints": tools.List("Tokens with a cap of their own.", tools.Object(tools.Properties{
				"mint": tools.Text("The mint."), "name": tools.Text("The owner's name for it."), "decimals": tools.Count("Digits behind the point."),
			}, "mint", "name", "decimals")),
			"uncapped_tokens_allowed": tools.Flag("Whether tokens without a cap may leave; then no limit applies to them."),
		}, "amount", "network", "limits"),
		Hints: tools.Hints{ReadOnly: true, Idempotent: true},
		Check: tools.CheckNothing,
		Handle: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			return showLimits(ctx, engine)
		},
	}
}

func showLimits(ctx context.Context, engine *flow.Engine) (tools.Result, error) {
	signer, err := engine.Signer.Describe(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	own := engine.Book.Own()
	view := limitsResult{
		Network: tools.ViewNetwork(signer.Cluster, signer.Genesis), Limits: tools.ViewLimits(signer.Limits),
		OwnCaps: ownCaps{UsedInSession: tools.ViewSOL(engine.Book.Used())}, CappedMints: []cappedMint{},
		UncappedTokens: signer.AllowUncapped && own.AllowUncappedSwaps,
	}
	if own.PerTransaction > 0 {
		view.OwnCaps.PerTransaction = new(tools.ViewSOL(own.PerTransaction))
	}
	if own.PerSession > 0 {
		view.OwnCaps.PerSession = new(tools.ViewSOL(own.PerSession))
	}
	for _, mint := range signer.Capped {
		view.CappedMints = append(view.CappedMints, cappedMint{Mint: intent.AssetText(mint.Address), Name: mint.Name, Decimals: mint.Decimals})
	}
	lines := append([]string{"Network: " + view.Network.Label}, tools.LimitLines(view.Limits, signer.Capped)...)
	if view.OwnCaps.PerTransaction != nil {
		lines = append(lines, "mcpd's own cap per transaction: "+view.OwnCaps.PerTransaction.Amount+" SOL")
	}
	if view.OwnCaps.PerSession != nil {
		lines = append(lines, "mcpd's own cap per session: "+view.OwnCaps.PerSession.Amount+" SOL, used "+view.OwnCaps.UsedInSession.Amount+" SOL")
	}
	return tools.Result{Text: strings.Join(lines, "\n"), Structured: view}, nil
}

type cancelArguments struct {
	ProposalID string `json:"proposal_id"`
}

type cancelResult struct {
	ProposalID string `json:"proposal_id"`
	State      string `json:"state"`
}

func cancelTool(engine *flow.Engine) tools.Tool {
	parse := func(raw json.RawMessage) (string, error) {
		var arguments cancelArguments
		if err := intent.Decode(raw, &arguments); err != nil {
			return "", err
		}
		return arguments.ProposalID, checkID(arguments.ProposalID)
	}
	return tools.Tool{
		Name:        "cancel_proposal",
		Title:       "Cancel a proposal",
		Description: "Voids an open proposal and its confirmation code. What is being executed or done already cannot be cancelled; the state in the result says which it is.",
		Input:       tools.Object(tools.Properties{"proposal_id": idSchema()}, "proposal_id"),
		Output: tools.Output(tools.Properties{
			"proposal_id": tools.Text("The proposal."),
			"state":       tools.Word("Where it stands now.", tools.States...),
		}),
		Hints: tools.Hints{Idempotent: true},
		Check: func(raw json.RawMessage) error { _, err := parse(raw); return err },
		Handle: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			id, err := parse(call.Arguments)
			if err != nil {
				return tools.Result{}, err
			}
			state, err := engine.Signer.Cancel(ctx, id)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Text: fmt.Sprintf("Proposal %s is %s.", id, state), Structured: cancelResult{ProposalID: id, State: string(state)}}, nil
		},
	}
}
