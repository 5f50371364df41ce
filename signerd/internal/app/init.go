package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
		RunE: func(cmd *cobra.Command, _ []string) error { return c.init(cmd.Context(), flags) },
	}
	cmd.Flags().StringVar(&flags.cluster, "cluster", "devnet", "mainnet, devnet, testnet, or your own name for another network")
	cmd.Flags().StringVar(&flags.genesis, "genesis-hash", "", "genesis hash of a network that is none of the public ones")
	cmd.Flags().StringSliceVar(&flags.rpc, "rpc", nil, "address of an RPC node; may be given several times")
	cmd.Flags().StringVar(&flags.backend, "backend", config.DefaultBackend(), "key store: "+config.Backends())
	cmd.Flags().StringVar(&flags.passphrase, "passphrase-file", "", "file with the passphrase of the file backend (created with a random one if missing)")
	cmd.Flags().StringVar(&flags.stateDir, "state-dir", "", "state folder (default: the platform's)")
	cmd.Flags().StringVar(&flags.socketDir, "socket-dir", "", "folder of the two sockets (default: run, in the state folder)")
	return cmd
}

// Genesis hashes of the public clusters, from docs.solana.com/clusters.
var publicGenesis = map[string]string{
	"mainnet": "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
	"devnet":  "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
	"testnet": "4uhcVJyU9pJkvQyS88uRDiswHXSGkY3zQawwpjk2NsNY",
}

func (f initFlags) genesisHash() (solana.Hash, error) {
	text, public := publicGenesis[f.cluster]
	switch {
	case public && f.genesis != "" && f.genesis != text:
		return solana.Hash{}, usageError{fmt.Errorf("%s has another genesis hash: %s", f.cluster, text)}
	case !public && f.genesis == "":
		return solana.Hash{}, usageError{fmt.Errorf("network %q is not a public one: give its --genesis-hash", f.cluster)}
	case !public:
		text = f.genesis
	}
	hash, err := solana.ParseHash(text)
	if err != nil {
		return solana.Hash{}, usageError{fmt.Errorf("--genesis-hash: %w", err)}
	}
	return hash, nil
}

func (c *console) init(ctx context.Context, flags initFlags) error {
	genesis, err := flags.genesisHash()
	if err != nil {
		return err
	}
	if len(flags.rpc) == 0 {
		return usageError{errors.New("give the address of at least one RPC node with --rpc")}
	}
	path := c.configPath()
	if err := c.writeConfig(path, flags); err != nil {
		return err
	}
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	if err := c.keepOrWrite(cfg.PolicyFile, policy.Default(flags.cluster, genesis)); err != nil {
		return err
	}
	if _, err := loadPolicy(cfg); err != nil {
		return err
	}
	if err := createState(ctx, cfg); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "state folder %s is ready\n\nNext:\n  signerd --config %s key new\n  signerd --config %s serve\n", cfg.StateDir, path, path)
	if os.Getuid() == 0 || sameUserWarning(cfg) {
		fmt.Fprint(c.out, sameUserText)
	}
	return nil
}

// sameUserText is the plain truth about the simplest installation.
const sameUserText = `
Note: mcpd and signerd run under one account here. The key is safe from the
model, but not from other programs of that account: they can read the key store
and speak to the operator socket. Give signerd an account of its own to change
that, and name the accounts in [sockets] agent_uids and operator_uids.
`

// sameUserWarning reports whether the agent may run as the signer's own user.
func sameUserWarning(cfg config.Config) bool {
	for _, uid := range cfg.Sockets.AgentUIDs {
		if int(uid) == os.Getuid() {
			return true
		}
	}
	return false
}

func (c *console) writeConfig(path string, flags initFlags) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create configuration folder: %w", err)
	}
	return c.keepOrWrite(path, config.Default(config.Template{
		StateDir: flags.stateDir, Backend: flags.backend, PassphraseFile: flags.passphrase, RPC: flags.rpc, SocketDir: flags.socketDir,
	}))
}

// keepOrWrite writes a private file unless it exists.
func (c *console) keepOrWrite(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // G304: the operator names the file.
	if errors.Is(err, os.ErrExist) {
		fmt.Fprintf(c.out, "kept    %s\n", path)
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	fmt.Fprintf(c.out, "created %s\n", path)
	return nil
}

// createState makes what serve refuses to make by itself: state that is
// missing later was lost, and must not silently start from zero.
func createState(ctx context.Context, cfg config.Config) error {
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("create state folder: %w", err)
	}
	if err := custody.Prepare(vaultOptions(cfg)); err != nil {
		return err
	}
	if _, err := os.Stat(cfg.LedgerPath()); err == nil {
		return nil
	}
	store, err := sqlite.Create(ctx, cfg.LedgerPath())
	if err != nil {
		return err
	}
	journal, err := audit.Open(cfg.AuditPath())
	if err != nil {
		return errors.Join(err, store.Close())
	}
	_, err = journal.Append(ctx, audit.Record{Kind: "initialised"})
	return errors.Join(err, journal.Close(), store.Close())
}
