package soak

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/judge"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
	"countersign/signerd/internal/submit"
)

var errCrashed = errors.New("the process has crashed")

// gate is what a process can do to the world: nothing any more once it is shut. A
// process whose gate shuts at a random moment leaves behind what a killed one
// does, as far as whole operations go; scripts/crash ends real ones in the middle.
type gate struct {
	mu   sync.Mutex
	shut bool
	// left is after how many more moments it shuts; never if 0.
	left    int
	onShut  func()
	reserve int // how many reservations were made
}

// before and after are moments around an operation.
func (g *gate) before() error { return g.moment() }
func (g *gate) after() error  { return g.moment() }

func (g *gate) moment() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left > 0 {
		if g.left--; g.left == 0 {
			g.close()
		}
	}
	if g.shut {
		return errCrashed
	}
	return nil
}

func (g *gate) close() {
	if !g.shut {
		g.shut = true
		g.onShut()
	}
}

func (g *gate) shutNow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.close()
}

func (g *gate) shutIn(moments int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = moments
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// guarded is a store behind a gate.
type guarded struct {
	*sqlite.Store
	gate *gate
}

func (s guarded) pass(do func() error) error {
	if err := s.gate.before(); err != nil {
		return err
	}
	return errors.Join(do(), s.gate.after())
}

func (s guarded) Reserve(ctx context.Context, entry ledger.Entry, window ledger.Window, check func(ledger.Totals) error) error {
	return s.pass(func() error {
		err := s.Store.Reserve(ctx, entry, window, check)
		if err == nil {
			s.gate.mu.Lock()
			s.gate.reserve++
			s.gate.mu.Unlock()
		}
		return err
	})
}

func (s guarded) Change(ctx context.Context, id string, change func(*ledger.Entry) error) error {
	return s.pass(func() error { return s.Store.Change(ctx, id, change) })
}

func (s guarded) InsertProposal(ctx context.Context, record approval.Record, earlier func(*approval.Record) error) error {
	return s.pass(func() error { return s.Store.InsertProposal(ctx, record, earlier) })
}

func (s guarded) ChangeProposal(ctx context.Context, key approval.Key, change func(*approval.Record) error) (record approval.Record, err error) {
	err = s.pass(func() (err error) {
		record, err = s.Store.ChangeProposal(ctx, key, change)
		return err
	})
	return record, err
}

func (s guarded) NoteAnchor(ctx context.Context, seq uint64, hash [32]byte) error {
	return s.pass(func() error { return s.Store.NoteAnchor(ctx, seq, hash) })
}

// nobody is an empty address book.
type nobody struct{}

func (nobody) List(context.Context) ([]effects.Recipient, error) { return nil, nil }

// process is one run of a signer over the files in its folder.
type process struct {
	gate  *gate
	nodes *nodes
	// transport is nodes, or something before them.
	transport http.RoundTripper
	store     *sqlite.Store
	audit     *audit.Log
	ledger    *ledger.Ledger
	flow      *flow.Flow
}

func ledgerFile(dir string) string { return filepath.Join(dir, "ledger.db") }
func auditFile(dir string) string  { return filepath.Join(dir, "audit.jsonl") }

// createState makes the files of a new signer.
func createState(dir string) error {
	store, err := sqlite.Create(context.Background(), ledgerFile(dir))
	if err != nil {
		return err
	}
	log, err := audit.Create(auditFile(dir))
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return errors.Join(store.Close(), log.Close())
}

// startProcess opens the files and recovers, as signerd does.
func startProcess(dir string, key *custody.Signer, rules *policy.Policy, rpc *nodes, mustAnswer int, read func() (clock.Reading, error)) (*process, error) {
	p, err := openProcess(dir, rpc)
	if err != nil {
		return nil, err
	}
	if err := p.serve(key, rules, []string{"http://" + firstNode, "http://" + secondNode}, mustAnswer, read); err != nil {
		p.gate.shutNow()
		return nil, errors.Join(err, p.store.Close())
	}
	return p, nil
}

func openProcess(dir string, rpc *nodes) (p *process, err error) {
	p = &process{gate: &gate{}}
	p.nodes = rpc.as(p.gate)
	p.transport = p.nodes
	if p.audit, err = audit.Open(auditFile(dir)); err != nil {
		return nil, err
	}
	p.gate.onShut = func() { _ = p.audit.Close() }
	if p.store, err = sqlite.Open(context.Background(), ledgerFile(dir)); err != nil {
		return nil, errors.Join(err, p.audit.Close())
	}
	return p, nil
}

func (p *process) serve(key *custody.Signer, rules *policy.Policy, addresses []string, mustAnswer int, read func() (clock.Reading, error)) error {
	ctx := context.Background()
	now, err := read()
	if err != nil {
		return err
	}
	if err := p.store.StartClock(ctx, now); err != nil {
		return err
	}
	reader, err := chain.New(addresses, chain.Options{MustAnswer: mustAnswer, Transport: p.transport})
	if err != nil {
		return err
	}
	sender, err := submit.New(addresses, submit.Options{Genesis: genesis, Wallet: key.PublicKey(), MustAnswer: mustAnswer, Transport: p.transport})
	if err != nil {
		return err
	}
	behind := guarded{p.store, p.gate}
	p.ledger = ledger.New(behind, key.PublicKey(), genesis).WatchClock(read)
	p.flow, err = flow.New(ctx, flow.Stages{
		Chain: reader, Judge: judge.New(reader, key.PublicKey()), Policy: policy.NewLive(rules), Recipients: nobody{},
		Book: approval.NewBook(behind), Ledger: p.ledger, Signer: key, Sender: sender, Audit: p.audit, Anchor: behind.NoteAnchor,
		Logger: slog.New(slog.DiscardHandler),
	})
	return err
}

// end stops the process, in good order unless its gate is shut.
func (p *process) end() error {
	p.flow.Close()
	err := p.store.Close()
	if p.gate.isShut() {
		return err // The log was closed with the gate.
	}
	return errors.Join(err, p.audit.Close())
}

// copyState copies the files of a new signer.
func copyState(from, to string) error {
	for _, file := range []func(string) string{ledgerFile, auditFile} {
		raw, err := os.ReadFile(file(from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(file(to), raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// pause lets time pass, and the chain with it.
func (c *blockchain) pause(slots int) {
	for range slots {
		time.Sleep(slotTime)
		c.advance(1)
	}
}
