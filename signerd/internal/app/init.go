package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"countersign/shared/durable"
	"countersign/shared/solana"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/config"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
)

// initFlags are what a first configuration cannot do without.
type initFlags struct {
	cluster    string
	genesis    string
	rpc        []string
	backend    string
	passphrase string
	stateDir   string
	socketDir  string
}

func (c *console) initCommand() *cobra.Command {
	var flags initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create configuration, policy and state, all safe by default",
		Long: `Create the configuration file, a commented policy with safe caps, and the state
folder with its sealing key, ledger and audit log. Files that exist are kept.

The genesis hash pins the network: signerd never writes to another one. With
--cluster mainnet, devnet or testnet it is known; for any other network give it
with --genesis-hash.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var given []string
			cmd.Flags().Visit(func(flag *pflag.Flag) {
				if flag.Name != "config" {
					given = append(given, "--"+flag.Name)
				}
			})
			return c.init(cmd.Context(), flags, given)
		},
	}
	cmd.Flags().StringVar(&flags.cluster, "cluster", "devnet", "mainnet, devnet, testnet, or your own name for another network")
	cmd.Flags().StringVar(&flags.genesis, "genesis-hash", "", "genesis hash of a network that is none of the public ones")
	cmd.Flags().StringSliceVar(&flags.rpc, "rpc", nil, "address of an RPC node; may be given several times")
	cmd.Flags().StringVar(&flags.backend, "backend", config.DefaultBackend(), "key store: "+config.Backends())
	cmd.Flags().StringVar(&flags.passphrase, "passphrase-file", "", "file with the passphrase of the file backend (created with a random one if missing)")
	cmd.Flags().StringVar(&flags.stateDir, "state-dir", "", "state folder (default: the platform's)")
	cmd.Flags().StringVar(&flags.socketDir, "socket-dir", "", "folder of the two sockets (default: the session's runtime folder, or run in the state folder)")
	return cmd
}

func (f initFlags) genesisHash() (solana.Hash, error) {
	known, public := solana.PublicGenesis(f.cluster)
	switch {
	case public && f.genesis != "" && f.genesis != known.String():
		return solana.Hash{}, usageError{fmt.Errorf("%s has another genesis hash: %s", f.cluster, known)}
	case public:
		return known, nil
	case f.genesis == "":
		return solana.Hash{}, usageError{fmt.Errorf("network %q is not a public one: give its --genesis-hash", f.cluster)}
	}
	hash, err := solana.ParseHash(f.genesis)
	if err != nil {
		return solana.Hash{}, usageError{fmt.Errorf("--genesis-hash: %w", err)}
	}
	return hash, nil
}

func (c *console) init(ctx context.Context, flags initFlags, given []string) error {
	path := c.configPath()
	_, err := os.Stat(path)
	switch {
	case err == nil && len(given) > 0:
		return fmt.Errorf("%s exists, so %s cannot be applied; edit it, or move it and its policy file away and run init again",
			path, strings.Join(given, ", "))
	case err != nil:
		if err := c.writeFirst(path, flags); err != nil {
			return err
		}
	default:
		fmt.Fprintf(c.out, "kept    %s\n", path)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	if _, err := loadPolicy(cfg); err != nil {
		return err
	}
	if err := c.createState(ctx, cfg); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "state folder %s is ready\n\nNext:\n", cfg.StateDir)
	for _, next := range []string{"key new", "policy check", "serve"} {
		fmt.Fprintf(c.out, "  signerd --config %s %s\n", path, next)
	}
	if sharedAccount(cfg) {
		fmt.Fprint(c.out, sameUserText)
	}
	return nil
}

// writeFirst writes configuration and policy, after it has checked both, so
// that a mistake in a flag leaves nothing behind.
func (c *console) writeFirst(path string, flags initFlags) error {
	genesis, err := flags.genesisHash()
	if err != nil {
		return err
	}
	if len(flags.rpc) == 0 {
		return usageError{errors.New("give the address of at least one RPC node with --rpc")}
	}
	text := config.Default(config.Template{
		StateDir: flags.stateDir, Backend: flags.backend, PassphraseFile: flags.passphrase, RPC: flags.rpc, SocketDir: flags.socketDir,
	})
	if err := config.Check(text, path); err != nil {
		return usageError{fmt.Errorf("these flags make no good configuration:\n%w", err)}
	}
	rules := policy.Default(flags.cluster, genesis)
	if _, err := policy.Load(rules); err != nil {
		return usageError{fmt.Errorf("these flags make no good policy:\n%w", err)}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create configuration folder: %w", err)
	}
	if err := c.keepOrWrite(path, text); err != nil {
		return err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	return c.keepOrWrite(cfg.PolicyFile, rules)
}

// sameUserText is the plain truth about the simplest installation.
const sameUserText = `
Note: mcpd and signerd run under one account here. The key is safe from the
model, but not from other programs of that account: they can read the key store
and speak to the operator socket. Give signerd an account of its own to change
that, and name the accounts in [sockets] agent_uids and operator_uids.
`

// sharedAccount reports whether the agent may run as the signer's own user.
func sharedAccount(cfg config.Config) bool {
	for _, uid := range cfg.Sockets.AgentUIDs {
		if int(uid) == os.Getuid() {
			return true
		}
	}
	return false
}

// keepOrWrite writes a private file unless it exists.
func (c *console) keepOrWrite(path string, content []byte) error {
	err := durable.WriteNewFile(path, content)
	if errors.Is(err, os.ErrExist) {
		fmt.Fprintf(c.out, "kept    %s\n", path)
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	fmt.Fprintf(c.out, "created %s\n", path)
	return nil
}

// createState makes what serve refuses to make by itself. State of which one
// half is missing was lost, and must not silently start from zero: only an
// audit log that holds nothing but its first record is an earlier init cut
// short.
func (c *console) createState(ctx context.Context, cfg config.Config) error {
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("create state folder: %w", err)
	}
	passphrase := exists(cfg.Keyring.PassphraseFile)
	if err := custody.Prepare(vaultOptions(cfg), exists(cfg.LedgerPath()) || exists(cfg.AuditPath())); err != nil {
		return err
	}
	if !passphrase && exists(cfg.Keyring.PassphraseFile) {
		fmt.Fprintf(c.out, "created %s: keep a copy of it and of the state folder; without both the key is lost\n", cfg.Keyring.PassphraseFile)
	}
	switch hasLedger, hasAudit := exists(cfg.LedgerPath()), exists(cfg.AuditPath()); {
	case hasLedger && hasAudit:
		return nil
	case hasLedger:
		return fmt.Errorf("refused: there is a ledger but no audit log at %s. Restore it from a backup; %s", cfg.AuditPath(), fromZero)
	case hasAudit:
		summary, err := audit.Verify(cfg.AuditPath())
		if err != nil || summary.Records > 1 {
			return fmt.Errorf("refused: the audit log shows that this signer has worked (%d records), but %s is missing. Restore it from a backup; %s",
				summary.Records, cfg.LedgerPath(), fromZero)
		}
	default:
		if err := createAudit(ctx, cfg.AuditPath()); err != nil {
			return err
		}
	}
	store, err := sqlite.Create(ctx, cfg.LedgerPath())
	if err != nil {
		return err
	}
	return store.Close()
}

// fromZero is the only way to make a signer forget, and says what that means.
const fromZero = "to start from zero, with every cap reset, move the whole state folder away first"

func exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

func createAudit(ctx context.Context, path string) error {
	journal, err := audit.Create(path)
	if err != nil {
		return err
	}
	_, err = journal.Append(ctx, audit.Record{Time: time.Now(), Kind: "initialised"})
	return errors.Join(err, journal.Close())
}
