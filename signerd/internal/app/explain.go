package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/config"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/explain"
	"countersign/signerd/internal/policy"
)

// explainFlags are what the caller says about a transaction.
type explainFlags struct {
	tx, policy, wallet, flow string
	out, in, to              []string
	maxFee                   string
}

const explainHelp = `Say what signerd would decide about a transaction, by which rules, and what the
transaction does. Nothing is signed or sent, and no key is needed.

The file of --tx holds the transaction as raw bytes, or as text in base64 or
base58; - is standard input. Amounts are written as in the policy, "0.1 SOL" or
"5 USDC", or as an amount and the address of a mint.

What is not given is taken from the transaction itself: then a refusal still
means what it says, and "allowed" means no more than that nothing is worse than
what the transaction shows. The output says what was assumed.

Exit code 0 means that the transaction was explained, whatever the decision:
scripts read .decision of --json, which is allowed, needs_person or refused.
Exit code 1 means that there is no transaction to explain, 2 wrong usage.`

func (c *console) policyExplainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain --tx FILE",
		Short: "Say what would be decided about a transaction, and what it does",
		Long:  explainHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.explain(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tx, "tx", "", "the transaction; - for standard input")
	flags.StringVar(&f.policy, "policy", "", "decide by this policy file instead of the configured one")
	flags.StringVar(&f.wallet, "wallet", "", "explain for this address instead of the configured key's")
	flags.StringVar(&f.flow, "flow", "", "what it is meant to be: transfer, swap or claim")
	flags.StringArrayVar(&f.out, "out", nil, "what may leave at most, such as \"0.1 SOL\"; may be repeated")
	flags.StringArrayVar(&f.in, "in", nil, "what must arrive at least, such as \"5 USDC\"; may be repeated")
	flags.StringArrayVar(&f.to, "to", nil, "an address that may be paid; may be repeated")
	flags.StringVar(&f.maxFee, "max-fee", "", "what network fees and tips may come to, such as \"0.001 SOL\"")
	return c.jsonFlag(cmd)
}

func (c *console) explain(ctx context.Context, f explainFlags) error {
	if f.tx == "" {
		return usageError{errors.New("name the transaction's file with --tx, or - for standard input")}
	}
	cfg, err := c.load()
	if err != nil {
		return err
	}
	if f.policy != "" {
		cfg.PolicyFile = f.policy
	}
	rules, err := loadPolicy(cfg)
	if err != nil {
		return err
	}
	request, err := f.request(rules)
	if err != nil {
		return usageError{err}
	}
	if request.Wallet, err = c.explainedWallet(ctx, cfg, f.wallet); err != nil {
		return err
	}
	file, err := c.readTransaction(f.tx)
	if err != nil {
		return err
	}
	client, err := chain.New(cfg.Network.RPC, chain.Options{Timeout: rpcTimeout, MustAnswer: cfg.Network.MustAnswer})
	if err != nil {
		return err
	}
	request.Book = c.addressBook(ctx)
	if request.Input, err = explain.ReadInput(file); err != nil {
		return c.unexplained(err, nil)
	}
	report, err := explain.Explain(ctx, client, request)
	if err != nil {
		return c.unexplained(err, request.Input.Raw)
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(report)
	}
	return explain.WriteText(c.out, report)
}

// request turns flags into what is asked. An error is wrong usage.
func (f explainFlags) request(rules *policy.Policy) (explain.Request, error) {
	r := explain.Request{Policy: rules, Now: time.Now()}
	switch f.flow {
	case "":
	case "transfer":
		r.Flow = effects.Transfer
	case "swap":
		r.Flow = effects.Swap
	case "claim":
		r.Flow = effects.Claim
	default:
		return r, fmt.Errorf("--flow must be transfer, swap or claim, not %q", f.flow)
	}
	var err error
	if r.Out, err = wanted("--out", f.out, rules); err != nil {
		return r, err
	}
	if r.In, err = wanted("--in", f.in, rules); err != nil {
		return r, err
	}
	for _, text := range f.to {
		key, err := solana.ParsePublicKey(text)
		if err != nil {
			return r, fmt.Errorf("--to: %w", err)
		}
		r.To = append(r.To, key)
	}
	if f.maxFee != "" {
		if r.MaxFee, err = explain.ParseFee(f.maxFee); err != nil {
			return r, fmt.Errorf("--max-fee: %w", err)
		}
	}
	return r, nil
}

func wanted(flag string, texts []string, rules *policy.Policy) ([]explain.Wanted, error) {
	var list []explain.Wanted
	for _, text := range texts {
		each, err := explain.ParseWanted(text, rules)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		for _, earlier := range list {
			if earlier.Mint == each.Mint {
				return nil, fmt.Errorf("%s names the same asset twice", flag)
			}
		}
		list = append(list, each)
	}
	return list, nil
}

// explainedWallet is the address given, or the public half of the configured
// key, which the vault tells without opening it.
func (c *console) explainedWallet(ctx context.Context, cfg config.Config, given string) (solana.PublicKey, error) {
	if given != "" {
		key, err := solana.ParsePublicKey(given)
		if err != nil || key == amount.SOL {
			return solana.PublicKey{}, usageError{errors.New("--wallet must be an address in base58")}
		}
		return key, nil
	}
	vault, _, err := c.vault()
	if err != nil {
		return solana.PublicKey{}, err
	}
	keys, err := vault.List(ctx)
	if err != nil {
		return solana.PublicKey{}, err
	}
	for _, key := range keys {
		if key.Name == cfg.Key.Name {
			return key.PublicKey, nil
		}
	}
	return solana.PublicKey{}, fmt.Errorf("there is no key %q yet; give an address with --wallet, or create one with 'signerd key new'", cfg.Key.Name)
}

// addressBook asks a running signerd for the owner's names. The ledger's file
// is not opened for them: it belongs to the daemon.
func (c *console) addressBook(ctx context.Context) []effects.Recipient {
	book := []effects.Recipient{}
	err := c.askOperator(ctx, func(ctx context.Context, client operatorv1.OperatorServiceClient) error {
		answer, err := client.ListRecipients(ctx, &operatorv1.ListRecipientsRequest{})
		if err != nil {
			return err
		}
		for _, each := range answer.GetRecipients() {
			key, err := solana.PublicKeyFromBytes(each.GetAddress())
			if err != nil {
				return err
			}
			book = append(book, effects.Recipient{Name: each.GetName(), Address: key})
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return book
}

func (c *console) readTransaction(path string) ([]byte, error) {
	source := c.in
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("the transaction in %s cannot be read", path)
		}
		defer opened.Close()
		source = opened
	}
	file, err := io.ReadAll(io.LimitReader(source, explain.MaxInput+1))
	if err != nil {
		return nil, errors.New("the transaction cannot be read")
	}
	return file, nil
}

// noTransaction is what scripts read where there is nothing to explain.
type noTransaction struct {
	Decision string `json:"decision"`
	Code     string `json:"code"`
	Reason   string `json:"reason"`
	Where    string `json:"where,omitempty"`
}

// unexplained says what is wrong with bytes that are no transaction, and where.
func (c *console) unexplained(err error, raw []byte) error {
	found := fault.From(err)
	where, _ := explain.Locate(raw)
	if raw == nil {
		where = ""
	}
	if c.json {
		view := noTransaction{explain.Refused, string(found.Code), found.Message, where}
		return errors.Join(json.NewEncoder(c.out).Encode(view), errReported)
	}
	fmt.Fprintf(c.err, "signerd: %s\n", found.Message)
	if where != "" {
		fmt.Fprintf(c.err, "%s\n", where)
	}
	return errReported
}
