// Package stack runs the whole of Countersign on this machine: local chain,
// Bags sandbox, signerd and mcpd as real processes, in one folder. The
// demonstration, the development setup and the end-to-end tests use it. It promises that nothing it started survives Close.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/localnet"
	"countersign/scripts/mcpclient"
	"countersign/scripts/observer"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/sandbox/world"
)

// APIKey is the key that the sandbox accepts. It looks like nothing real.
const APIKey = "stub_bags_key_no_network"

// RPCKey is the key in the node's address that the daemons are given where they
// are to be watched for secrets. The node asks for none.
const RPCKey = "stub_rpc_key_no_network"

// Funds is what the wallet starts with, in lamports.
const Funds = 10_000_000_000

// Options say what to run.
type Options struct {
	// Dir holds everything that is written. It must exist.
	Dir string
	// SocketDir holds the sockets, whose paths must be short; a folder in Dir if
	// empty.
	SocketDir string
	// Bin holds the binaries mcpd and signerd.
	Bin string
	// Chain adjusts the local chain.
	Chain localnet.Options
	// Policy edits the default policy before signerd starts.
	Policy []Replacement
	// CapTokens gives the world's tokens caps of their own, as TOKEN and
	// TOKEN2022, so that they can be spent.
	CapTokens bool
	// MCPD is appended to mcpd's configuration.
	MCPD string
	// StartSigner starts signerd's process in a way of its own.
	StartSigner func(*exec.Cmd) error
	// Debug has the daemons log all that they can, and reach the node by an
	// address that carries a key, as a hosted node's does.
	Debug bool
	// Log receives what the processes log.
	Log io.Writer
}

// Replacement replaces text in a generated file. Old must be there.
type Replacement struct{ Old, New string }

// Stack is what runs.
type Stack struct {
	options Options
	Chain   *localnet.Chain
	Bags    *bagsandbox.Sandbox
	World   world.World
	Wallet  string
	Eye     *observer.Observer

	SignerdConfig string
	PolicyFile    string
	MCPDConfig    string
	signer        *daemon
	clients       []*mcpclient.Client
}

// Start brings everything up: chain, fixtures, a new key, signerd, sandbox, funds.
func Start(ctx context.Context, options Options) (*Stack, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	s := &Stack{
		options:       options,
		SignerdConfig: filepath.Join(options.Dir, "signerd.toml"),
		PolicyFile:    filepath.Join(options.Dir, "policy.toml"),
		MCPDConfig:    filepath.Join(options.Dir, "mcpd.toml"),
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	chainOptions := s.options.Chain
	chainOptions.Stderr = s.options.Log
	var err error
	if s.Chain, err = localnet.Start(ctx, chainOptions); err != nil {
		return fmt.Errorf("start the local chain: %w", err)
	}
	s.Eye = observer.New(s.Chain.RPCURL)
	if err := localnet.AddFixtures(ctx, s.Chain); err != nil {
		return fmt.Errorf("load the fixtures: %w", err)
	}
	if err := s.initSigner(ctx); err != nil {
		return err
	}
	if err := s.StartSigner(ctx); err != nil {
		return err
	}
	if err := s.Chain.Airdrop(ctx, s.Wallet, Funds); err != nil {
		return fmt.Errorf("fund the wallet: %w", err)
	}
	s.Bags, err = bagsandbox.Start(ctx, bagsandbox.Config{RPC: s.Chain.RPCURL, Wallet: s.Wallet, APIKey: APIKey})
	if err != nil {
		return fmt.Errorf("start the Bags sandbox: %w", err)
	}
	s.World = s.Bags.World()
	return s.writeMCPD()
}

// initSigner makes configuration, policy, state and a key, as a person would.
func (s *Stack) initSigner(ctx context.Context) error {
	if _, err := s.Signerd(ctx, "", "init", "--cluster", "local", "--genesis-hash", s.Chain.GenesisHash, "--rpc", s.nodeAddress(),
		"--backend", "file", "--passphrase-file", filepath.Join(s.options.Dir, "passphrase"),
		"--state-dir", s.StateDir(), "--socket-dir", s.socketDir()); err != nil {
		return fmt.Errorf("signerd init: %w", err)
	}
	if err := replaceInFile(s.PolicyFile, s.options.Policy); err != nil {
		return err
	}
	out, err := s.Signerd(ctx, "", "key", "new", "--json")
	if err != nil {
		return fmt.Errorf("signerd key new: %w", err)
	}
	var key struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal([]byte(out), &key); err != nil || key.Address == "" {
		return fmt.Errorf("signerd key new printed %q", out)
	}
	s.Wallet = key.Address
	if s.options.CapTokens {
		return s.capTokens()
	}
	return nil
}

// capTokens writes the caps that default.toml shows as an example.
func (s *Stack) capTokens() error {
	wallet, err := solana.PublicKeyFromBase58(s.Wallet)
	if err != nil {
		return err
	}
	w := world.New("", wallet).World()
	var text strings.Builder
	for _, mint := range []struct {
		name, address string
		decimals      uint8
	}{{"TOKEN", w.TokenMint, w.TokenDecimals}, {"TOKEN2022", w.Token2022Mint, w.Token2022Decimal}} {
		fmt.Fprintf(&text, "\n[[mint]]\naddress = %q\nname = %q\ndecimals = %d\nper_transaction = \"1000 %s\"\nper_session = \"5000 %s\"\nper_day = \"10000 %s\"\n",
			mint.address, mint.name, mint.decimals, mint.name, mint.name, mint.name)
	}
	raw, err := os.ReadFile(s.PolicyFile)
	if err != nil {
		return err
	}
	return os.WriteFile(s.PolicyFile, append(raw, text.String()...), 0o600)
}

// StartSigner starts signerd and waits until its socket answers.
func (s *Stack) StartSigner(ctx context.Context) error {
	start := (*exec.Cmd).Start
	if s.options.StartSigner != nil {
		start = s.options.StartSigner
	}
	d, err := startDaemon(start, s.options.Log, filepath.Join(s.options.Bin, "signerd"), s.Environment(), "--config", s.SignerdConfig, "serve")
	if err != nil {
		return fmt.Errorf("start signerd: %w", err)
	}
	s.signer = d
	return d.waitFor(ctx, func(ctx context.Context) error {
		_, err := s.Signerd(ctx, "", "status", "--json")
		return err
	})
}

// StopSigner stops signerd as a service manager would.
func (s *Stack) StopSigner() error { return s.signer.stop() }

// KillSigner kills signerd without warning.
func (s *Stack) KillSigner() error { return s.signer.kill() }

// SignerPID is signerd's process id.
func (s *Stack) SignerPID() int { return s.signer.command.Process.Pid }

// Signerd runs one command of signerd and returns what it printed.
func (s *Stack) Signerd(ctx context.Context, input string, args ...string) (string, error) {
	return run(ctx, input, s.Environment(), filepath.Join(s.options.Bin, "signerd"), append([]string{"--config", s.SignerdConfig}, args...)...)
}

// Environment is the whole environment of the daemons: no session bus, no
// secrets, nothing of the person who runs this.
func (s *Stack) Environment() []string {
	environment := []string{"HOME=" + s.options.Dir, "PATH=/usr/bin:/bin"}
	if s.options.Debug {
		environment = append(environment, "COUNTERSIGN_SIGNERD_LOG_LEVEL=debug", "COUNTERSIGN_MCPD_LOG_LEVEL=debug")
	}
	return environment
}

// nodeAddress is the chain's as the daemons are given it.
func (s *Stack) nodeAddress() string {
	if s.options.Debug {
		return s.Chain.RPCURL + "/?api-key=" + RPCKey
	}
	return s.Chain.RPCURL
}

// socketDir holds both sockets and nothing else.
func (s *Stack) socketDir() string {
	if s.options.SocketDir != "" {
		return s.options.SocketDir
	}
	return filepath.Join(s.options.Dir, "run")
}

// AgentSocket is where mcpd reaches signerd.
func (s *Stack) AgentSocket() string { return filepath.Join(s.socketDir(), "agent.sock") }

// OperatorSocket is where a person reaches signerd.
func (s *Stack) OperatorSocket() string { return filepath.Join(s.socketDir(), "operator.sock") }

// StateDir is signerd's state folder.
func (s *Stack) StateDir() string { return filepath.Join(s.options.Dir, "state") }

func (s *Stack) writeMCPD() error {
	keyFile := filepath.Join(s.options.Dir, "bags-api-key")
	if err := os.WriteFile(keyFile, []byte(APIKey+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the API key: %w", err)
	}
	text := fmt.Sprintf("%s\n[signer]\nsocket = %q\n\n[bags]\nbase_url = %q\napi_key = %q\n\n[rpc]\nurls = [%q]\n",
		s.options.MCPD, s.AgentSocket(), s.Bags.URL(), "file:"+keyFile, s.nodeAddress())
	if err := os.WriteFile(s.MCPDConfig, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write mcpd.toml: %w", err)
	}
	return nil
}

// MCPCommand is how an MCP client starts mcpd.
func (s *Stack) MCPCommand() []string {
	return []string{filepath.Join(s.options.Bin, "mcpd"), "--config", s.MCPDConfig, "serve", "--stdio"}
}

// Connect starts mcpd as an MCP client would and makes the handshake.
func (s *Stack) Connect(ctx context.Context, era mcpclient.Era) (*mcpclient.Client, error) {
	command := s.MCPCommand()
	client, err := mcpclient.Start(ctx, mcpclient.Options{
		Era: era, Env: s.Environment(), Stderr: s.options.Log, Timeout: 2 * time.Minute,
	}, command[0], command[1:]...)
	if err != nil {
		return nil, fmt.Errorf("start mcpd: %w", err)
	}
	s.clients = append(s.clients, client)
	if _, err := client.Open(ctx); err != nil {
		return nil, fmt.Errorf("open the MCP connection: %w", err)
	}
	return client, nil
}

// Close stops everything, clients first.
func (s *Stack) Close() error {
	var all []error
	for _, client := range s.clients {
		_, err := client.Close()
		all = append(all, err)
	}
	if s.signer != nil {
		all = append(all, s.signer.stop())
	}
	if s.Bags != nil {
		all = append(all, s.Bags.Close())
	}
	if s.Chain != nil {
		s.Chain.Stop()
	}
	return errors.Join(all...)
}

func replaceInFile(path string, replacements []Replacement) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(raw)
	for _, r := range replacements {
		if !strings.Contains(text, r.Old) {
			return fmt.Errorf("%s does not contain %q", filepath.Base(path), r.Old)
		}
		text = strings.Replace(text, r.Old, r.New, 1)
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
