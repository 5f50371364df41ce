package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"countersign/shared/buildinfo"
	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/shared/uds"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/config"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/methods"
	"countersign/signerd/internal/operator"
	"countersign/signerd/internal/peer"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/recipients"
	"countersign/signerd/internal/server"
	"countersign/signerd/internal/submit"
)

// stopTime is how long calls under way may take to end once a stop is asked for.
const stopTime = 5 * time.Second

// rpcTimeout bounds one call to an RPC node.
const rpcTimeout = 10 * time.Second

func (c *console) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve agent.sock and operator.sock until stopped",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			return c.serve(cmd.Context(), cfg)
		},
	}
}

func (c *console) serve(ctx context.Context, cfg config.Config) error {
	if err := custody.HardenProcess(); err != nil {
		return fmt.Errorf("protect the process's memory: %w", err)
	}
	logger := logging.New(c.err, cfg.Log.Level)
	rules, err := loadPolicy(cfg)
	if err != nil {
		return err
	}
	state, err := openState(ctx, cfg, logger)
	if err != nil {
		return err
	}
	defer state.close(logger)
	warnAbout(ctx, logger, rules)
	nodes, err := chain.New(cfg.Network.RPC, chain.Options{Timeout: rpcTimeout, MustAnswer: cfg.Network.MustAnswer})
	if err != nil {
		return err
	}
	if err := checkNetwork(ctx, nodes, rules, logger); err != nil {
		return err
	}
	_, genesis := rules.Network()
	wallet := state.signer.PublicKey()
	sender, err := submit.New(cfg.Network.RPC, submit.Options{Genesis: genesis, Wallet: wallet, Timeout: rpcTimeout, MustAnswer: cfg.Network.MustAnswer})
	if err != nil {
		return err
	}
	f, err := flow.New(ctx, flow.Stages{
		Chain: nodes, Judge: judge.New(nodes, wallet), Policy: policy.NewLive(rules), Recipients: state.book,
		Book: approval.NewBook(state.db), Ledger: ledger.New(state.db, wallet, genesis).WatchClock(clock.Read),
		Signer: state.signer, Sender: sender, Audit: state.audit, Anchor: state.db.NoteAnchor, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer f.Close()
	defer c.reloadOnHangup(ctx, cfg, f, logger)()
	return c.listen(ctx, cfg, f, state, logger)
}

// checkNetwork refuses to start against another network than the policy's. A
// node that cannot be reached now is checked again before every write.
func checkNetwork(ctx context.Context, nodes *chain.Client, rules *policy.Policy, logger *slog.Logger) error {
	_, genesis := rules.Network()
	err := nodes.CheckGenesis(ctx, genesis)
	if err == nil || fault.Is(err, fault.NetworkMismatch) {
		return err
	}
	logger.LogAttrs(ctx, slog.LevelWarn, "network not checked yet: no RPC node answers", slog.String(logging.KeyCode, string(fault.From(err).Code)), logging.Error(err))
	return nil
}

// state is what signerd holds open while it serves.
type state struct {
	audit  *audit.Log
	db     *sqlite.Store
	vault  *custody.Vault
	signer *custody.Signer
	book   *recipients.Book
	// auditKey is nil where the key store holds none and cannot be written.
	auditKey *custody.AuditKey
	keeper   *headKeeper
}

func openState(ctx context.Context, cfg config.Config, logger *slog.Logger) (*state, error) {
	s := &state{}
	var err error
	if s.audit, err = audit.Open(cfg.AuditPath()); err != nil {
		return nil, err
	}
	if s.db, err = sqlite.Open(ctx, cfg.LedgerPath()); err != nil {
		return nil, errors.Join(err, s.audit.Close())
	}
	if s.vault, err = custody.Open(vaultOptions(cfg)); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.audit.Close())
	}
	if err := errors.Join(checkAnchors(ctx, s.db, s.vault, s.audit), s.checkClock(ctx)); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.audit.Close())
	}
	if s.signer, err = s.vault.Unlock(ctx, cfg.Key.Name); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.audit.Close())
	}
	if s.auditKey, err = attest(ctx, s.vault, s.audit, logger); err != nil {
		s.signer.Close()
		return nil, errors.Join(err, s.db.Close(), s.audit.Close())
	}
	s.keeper = keepHead(ctx, s.audit, s.vault, logger)
	s.book = recipients.New(s.db, s.audit, s.signer.PublicKey())
	return s, nil
}

// attest has the audit log's checkpoints signed, with a key that is made when
// there is none. Where the key store only reads, they are not signed without.
func attest(ctx context.Context, vault *custody.Vault, log *audit.Log, logger *slog.Logger) (*custody.AuditKey, error) {
	create := vault.CreateAuditKey
	if vault.Backend() == custody.Credential {
		create = vault.AuditKey
	}
	key, err := create(ctx)
	if errors.Is(err, custody.ErrNoAuditKey) {
		logger.LogAttrs(ctx, slog.LevelWarn, "checkpoints of the audit log are not signed: the key store cannot be written and holds no audit key",
			slog.String(logging.KeyBackend, vault.Backend()))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := log.Attest(ctx, key); err != nil {
		key.Close()
		return nil, err
	}
	return key, nil
}

func (s *state) close(logger *slog.Logger) {
	s.signer.Close()
	s.keeper.stop()
	err := errors.Join(s.db.Close(), s.audit.Close())
	if s.auditKey != nil {
		s.auditKey.Close() // The log's last checkpoint has needed it.
	}
	if err != nil {
		logger.LogAttrs(context.Background(), slog.LevelError, "state did not close cleanly", logging.Error(err))
	}
}

// listen serves both sockets until ctx ends, then lets calls finish.
func (c *console) listen(ctx context.Context, cfg config.Config, f *flow.Flow, s *state, logger *slog.Logger) error {
	agent, err := uds.Listen(cfg.AgentSocket(), cfg.SocketAccess())
	if err != nil {
		return err
	}
	person, err := uds.Listen(cfg.OperatorSocket(), cfg.SocketAccess())
	if err != nil {
		return errors.Join(err, agent.Close())
	}
	version := buildinfo.Version()
	agentServer := newServer(cfg.Sockets.AgentUIDs, server.Table, logger, f.EndSession)
	server.New(f, s.book, version).Register(agentServer)
	operatorServer := newServer(cfg.Sockets.OperatorUIDs, operator.Table, logger, nil)
	operator.New(f, s.book, operator.About{
		KeyName: cfg.Key.Name, Backend: s.vault.Backend(), Version: version, Signed: s.auditKey != nil, Anchored: s.vault.Outside(),
	}).Register(operatorServer)

	cluster, genesis := f.Policy().Network()
	logger.LogAttrs(ctx, slog.LevelInfo, "signerd is ready",
		slog.String(logging.KeyWallet, f.Wallet().String()), slog.String(logging.KeyCluster, cluster), slog.String(logging.KeyGenesis, genesis.String()),
		slog.String(logging.KeyBackend, s.vault.Backend()), slog.String(logging.KeyAgentSocket, cfg.AgentSocket()),
		slog.String(logging.KeyOperatorSocket, cfg.OperatorSocket()), slog.Int(logging.KeyPID, os.Getpid()))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveUntil(ctx, agentServer, agent) })
	group.Go(func() error { return serveUntil(ctx, operatorServer, person) })
	return group.Wait()
}

func newServer(uids []uint32, table methods.Table, logger *slog.Logger, ended func(session string)) *grpc.Server {
	return grpc.NewServer(append(methods.New(table, logger).ServerOptions(), peer.ServerOptions(uids, logger, ended)...)...)
}

// serveUntil serves until ctx ends, then stops: gracefully at first, by force
// after stopTime. Executions under way belong to the flow, not to a call.
func serveUntil(ctx context.Context, s *grpc.Server, listener net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	force := time.AfterFunc(stopTime, s.Stop)
	defer force.Stop()
	s.GracefulStop()
	return <-served
}
