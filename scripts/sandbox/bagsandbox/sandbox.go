// Package bagsandbox is the Bags API on loopback: strict where a client could
// be sloppy, honest until told otherwise, and backed by a local chain on which
// its transactions really execute. Tests, the demo and scripts/sandbox may
// import it; neither daemon may. It promises to record every request before it
// is answered, to answer with what the chain holds at that moment, and to
// misbehave only on request, through this package or the control port, never
// through the API itself.
//
// It has a file for each family of the API's endpoints.
package bagsandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/scripts/sandbox/internal/build"
	"countersign/scripts/sandbox/internal/chain"
	"countersign/scripts/sandbox/world"
)

// Config is what a sandbox needs. RPC, Wallet and APIKey are required.
type Config struct {
	// RPC is the address of the local chain, started with its development
	// methods. Programs of the fixtures that it lacks are installed.
	RPC string
	// Wallet is the base58 address that has something to claim.
	Wallet string
	// APIKey is the only key the service accepts.
	APIKey string
	// Label chooses the world's addresses; two sandboxes on one chain need two.
	Label string
	// Port and ControlPort are free ports if zero.
	Port, ControlPort int
}

// Sandbox is a running service.
type Sandbox struct {
	apiKey  string
	layout  world.Layout
	chain   *chain.Client
	origin  string
	control string

	requests recorder
	plan     plan
	quotes   quoteBook

	mu        sync.Mutex // guards behaviour
	behaviour Behaviour

	servers []*http.Server
	running errgroup.Group
}

// Behaviour is how an honest service answers, where it has a choice.
type Behaviour struct {
	// SwapVersion is the message format of swaps.
	SwapVersion build.Version `json:"swap_version"`
	// ClaimStyle is how claims are made up.
	ClaimStyle ClaimStyle `json:"claim_style"`
	// ClaimTransactions is how many transactions a claim takes, 1 to 3.
	ClaimTransactions int `json:"claim_transactions"`
}

// Versions of Behaviour.SwapVersion.
const (
	Legacy = build.Legacy
	V0     = build.V0
)

// usual is what a new or reset sandbox does.
var usual = Behaviour{SwapVersion: V0, ClaimStyle: LegacyClaims, ClaimTransactions: 2}

func (b Behaviour) check() error {
	if b.SwapVersion != Legacy && b.SwapVersion != V0 {
		return fmt.Errorf("swap_version %q is neither legacy nor v0", b.SwapVersion)
	}
	if b.ClaimStyle != LegacyClaims && b.ClaimStyle != SponsoredClaims && b.ClaimStyle != MixedClaims {
		return fmt.Errorf("claim_style %q is none of legacy, sponsored, mixed", b.ClaimStyle)
	}
	if b.ClaimTransactions < 1 || b.ClaimTransactions > maxClaimTransactions {
		return fmt.Errorf("claim_transactions %d is not from 1 to %d", b.ClaimTransactions, maxClaimTransactions)
	}
	return nil
}

// Start seeds the chain and serves until Close.
func Start(ctx context.Context, config Config) (*Sandbox, error) {
	if config.APIKey == "" {
		return nil, errors.New("an API key is required")
	}
	wallet, err := address(config.Wallet)
	if err != nil {
		return nil, errors.New("wallet must be a base58 address of 32 bytes")
	}
	client, err := chain.New(config.RPC)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{apiKey: config.APIKey, layout: world.New(config.Label, wallet), chain: client, behaviour: usual}
	s.quotes.quotes = map[string]issued{}
	if err := client.InstallPrograms(ctx); err != nil {
		return nil, fmt.Errorf("install the programs: %w", err)
	}
	if err := world.Seed(ctx, client, s.layout); err != nil {
		return nil, err
	}
	if s.origin, err = s.serve(ctx, config.Port, s); err != nil {
		return nil, err
	}
	if s.control, err = s.serve(ctx, config.ControlPort, s.controlHandler()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// serve listens on loopback alone and returns the origin.
func (s *Sandbox) serve(ctx context.Context, port int, handler http.Handler) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	s.servers = append(s.servers, server)
	s.running.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return "http://" + listener.Addr().String(), nil
}

// Close stops serving at once, slow answers included.
func (s *Sandbox) Close() error {
	var all []error
	for _, server := range s.servers {
		all = append(all, server.Close())
	}
	return errors.Join(append(all, s.running.Wait())...)
}

// URL is the API's base address, to be configured in place of the real one.
func (s *Sandbox) URL() string { return s.origin + basePath }

// ControlURL is the control port's address.
func (s *Sandbox) ControlURL() string { return s.control }

// World is every address a test may need.
func (s *Sandbox) World() world.World { return s.layout.World() }

// Requests are the recorded requests, oldest first.
func (s *Sandbox) Requests() []Request { return s.requests.list() }

// Reset forgets requests, pending misbehaviour and behaviour. Quotes that are
// out stay good, and the chain stays as it is.
func (s *Sandbox) Reset() {
	s.requests.reset()
	s.plan.clear()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = usual
}

// Misbehave asks for a mode in the next requests that can serve it. Pending
// modes are served in the order they were asked for, one to a request.
func (s *Sandbox) Misbehave(m Misbehaviour) error { return s.plan.add(m) }

// Pending is the misbehaviour that has not been served yet.
func (s *Sandbox) Pending() []Misbehaviour { return s.plan.list() }

// Behaviour is how the service answers at present.
func (s *Sandbox) Behaviour() Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behaviour
}

// SetBehaviour changes how an honest service answers.
func (s *Sandbox) SetBehaviour(b Behaviour) error {
	if err := b.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = b
	return nil
}

// Endow makes the wallet hold exactly amount of one of the world's mints in
// its associated account.
func (s *Sandbox) Endow(ctx context.Context, mint string, amount uint64) error {
	for _, known := range append(s.layout.Mints(), s.layout.WSOL) {
		if known.Address.String() == mint {
			return world.Endow(ctx, s.chain, s.layout, known, amount)
		}
	}
	return fmt.Errorf("mint %q is none of the world's", mint)
}

// Accrue makes each vault of each fee ledger hold lamports to claim.
func (s *Sandbox) Accrue(ctx context.Context, lamports uint64) error {
	return world.Accrue(ctx, s.chain, s.layout, lamports)
}

// Trigger pulls the trigger that bait_and_switch waits for, or puts it back.
func (s *Sandbox) Trigger(ctx context.Context, pulled bool) error {
	return world.Pull(ctx, s.chain, s.layout, pulled)
}
