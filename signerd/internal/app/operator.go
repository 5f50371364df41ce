package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/faultgrpc"
	"countersign/shared/solana"
	"countersign/shared/uds"
	"countersign/shared/udsgrpc"
	"countersign/signerd/internal/config"
)

// operatorTime bounds one call to the running signer.
const operatorTime = 5 * time.Second

// askOperator calls the running signer over operator.sock.
func (c *console) askOperator(ctx context.Context, ask func(context.Context, operatorv1.OperatorServiceClient) error) error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, operatorTime)
	defer cancel()
	signer, err := uds.FolderOwner(cfg.OperatorSocket())
	if err != nil {
		return notRunning(cfg, err)
	}
	conn, err := udsgrpc.NewClient(cfg.OperatorSocket(), []uint32{signer})
	if err != nil {
		return notRunning(cfg, err)
	}
	defer conn.Close()
	if err := ask(ctx, operatorv1.NewOperatorServiceClient(conn)); err != nil {
		if err := faultgrpc.FromStatus(err, fault.SignerUnavailable); !fault.Is(err, fault.SignerUnavailable) {
			return err
		}
		return notRunning(cfg, err)
	}
	return nil
}

// notRunning is what a command says that needs a running signer.
func notRunning(cfg config.Config, cause error) error {
	return fmt.Errorf("no signerd answers on %s; start it with signerd serve (%w)", cfg.OperatorSocket(), cause)
}

func (c *console) statusCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "status",
		Short: "Say what the running signer is and for whom it signs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var status *operatorv1.GetStatusResponse
			err := c.askOperator(cmd.Context(), func(ctx context.Context, client operatorv1.OperatorServiceClient) (err error) {
				status, err = client.GetStatus(ctx, &operatorv1.GetStatusRequest{})
				return err
			})
			if err != nil {
				return err
			}
			return c.printStatus(status)
		},
	})
}

// statusView is a status as scripts read it.
type statusView struct {
	Wallet        string `json:"wallet"`
	Key           string `json:"key"`
	Backend       string `json:"backend"`
	Cluster       string `json:"cluster"`
	GenesisHash   string `json:"genesis_hash"`
	PolicyVersion string `json:"policy_version"`
	Version       string `json:"version"`
	StartedAt     string `json:"started_at"`
	Unresolved    uint32 `json:"unresolved_transactions"`
	Sessions      uint32 `json:"sessions"`
	AuditSigned   bool   `json:"audit_signed"`
	AuditAnchored bool   `json:"audit_anchored"`
}

func (c *console) printStatus(status *operatorv1.GetStatusResponse) error {
	view := statusView{
		Wallet: base58Of(status.GetWallet()), Key: status.GetKeyName(), Backend: status.GetCustodyBackend(),
		Cluster: status.GetCluster(), GenesisHash: base58Of(status.GetGenesisHash()), PolicyVersion: status.GetPolicyVersion(),
		Version: status.GetSignerVersion(), StartedAt: status.GetStartedAt().AsTime().Format(time.RFC3339),
		Unresolved: status.GetUnresolvedTransactions(), Sessions: status.GetSessions(),
		AuditSigned: status.GetAuditSigned(), AuditAnchored: status.GetAuditAnchored(),
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(view)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "wallet\t%s\nkey\t%s in %s\nnetwork\t%s (%s)\n", view.Wallet, view.Key, view.Backend, view.Cluster, view.GenesisHash)
	fmt.Fprintf(table, "policy\t%s\nversion\t%s\nserving since\t%s\n", view.PolicyVersion, view.Version, view.StartedAt)
	fmt.Fprintf(table, "unresolved\t%d transactions\nsessions\t%d since start\n", view.Unresolved, view.Sessions)
	fmt.Fprintf(table, "audit log\t%s\n", view.auditLimits())
	return table.Flush()
}

// auditLimits says what is noticed of an audit log that was tampered with.
func (v statusView) auditLimits() string {
	signed, anchored := "checkpoints are not signed: "+v.Backend+" holds no audit key", "an old copy of the whole state folder is not noticed: "+v.Backend+" remembers nothing outside it"
	if v.AuditSigned {
		signed = "checkpoints are signed"
	}
	if v.AuditAnchored {
		anchored = v.Backend + " remembers how far it has come"
	}
	return signed + "; " + anchored
}

// base58Of writes 32 bytes as base58, and anything else as hex rather than not at all.
func base58Of(raw []byte) string {
	key, err := solana.PublicKeyFromBytes(raw)
	if err != nil {
		return hex.EncodeToString(raw)
	}
	return key.String()
}

func (c *console) limitsCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "limits",
		Short: "Show the caps, what is used and held, and what is left",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var limits *operatorv1.GetLimitsResponse
			err := c.askOperator(cmd.Context(), func(ctx context.Context, client operatorv1.OperatorServiceClient) (err error) {
				limits, err = client.GetLimits(ctx, &operatorv1.GetLimitsRequest{})
				return err
			})
			if err != nil {
				return err
			}
			return c.printLimits(limits.GetWindows())
		},
	})
}

// windowView is one cap as scripts read it: integers of base units, as text.
type windowView struct {
	Window   string `json:"window"`
	Mint     string `json:"mint,omitempty"`
	Decimals uint32 `json:"decimals"`
	Cap      string `json:"cap_base_units"`
	Used     string `json:"used_base_units"`
	Reserved string `json:"reserved_base_units"`
	Left     string `json:"left_base_units"`
}

func (c *console) printLimits(windows []*operatorv1.Window) error {
	if c.json {
		views := make([]windowView, 0, len(windows))
		for _, w := range windows {
			view := windowView{
				Window: w.GetName(), Decimals: w.GetDecimals(), Cap: amount.Units(w.GetCap()).String(), Used: amount.Units(w.GetUsed()).String(),
				Reserved: amount.Units(w.GetReserved()).String(), Left: amount.Units(w.GetLeft()).String(),
			}
			if len(w.GetMint()) != 0 {
				view.Mint = base58Of(w.GetMint())
			}
			views = append(views, view)
		}
		return json.NewEncoder(c.out).Encode(views)
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "WINDOW\tASSET\tCAP\tUSED\tRESERVED\tLEFT")
	for _, w := range windows {
		decimals := uint8(min(w.GetDecimals(), math.MaxUint8))
		text := func(units uint64) string { return amount.Units(units).Decimal(decimals) }
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", w.GetName(), assetOf(w),
			text(w.GetCap()), text(w.GetUsed()), text(w.GetReserved()), text(w.GetLeft()))
	}
	return table.Flush()
}

// assetOf names what a window counts.
func assetOf(w *operatorv1.Window) string {
	switch {
	case len(w.GetMint()) != 0:
		return base58Of(w.GetMint())
	case w.GetName() == "transactions_per_hour":
		return "transactions"
	}
	return "SOL"
}
