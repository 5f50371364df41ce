package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/config"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/ledger"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/rebuild"
)

func (c *console) ledgerCommand() *cobra.Command {
	return group("ledger", "Check and repair the ledger, and accept a clock that was set; signerd must not run",
		c.ledgerCheckCommand(), c.ledgerRepairCommand(), c.acceptClockCommand())
}

// mostNamed is how much of what a ledger lacks is named.
const mostNamed = 5

// offline is the state of a signer that does not run: the open audit log keeps
// one from starting.
type offline struct {
	cfg   config.Config
	audit *audit.Log
	plan  *rebuild.Plan
}

func (c *console) offline(ctx context.Context) (*offline, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	if err := custody.HardenProcess(); err != nil {
		return nil, fmt.Errorf("protect the process's memory: %w", err)
	}
	log, err := audit.Open(cfg.AuditPath())
	if err != nil {
		return nil, err
	}
	o := &offline{cfg: cfg, audit: log}
	if err := o.checkLog(ctx); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	wallet, err := walletNow(ctx, cfg)
	if o.plan, err = rebuild.Read(audit.Records(cfg.AuditPath()), wallet, err); err != nil {
		return nil, errors.Join(fault.New(fault.StateLocked, "the audit log cannot be gone by: %v; restore it from a backup first", err).Because(err), log.Close())
	}
	return o, nil
}

// checkLog refuses an audit log that has lost what the key store remembers of it:
// a ledger that is made from it would have lost as much.
func (o *offline) checkLog(ctx context.Context) error {
	vault, err := custody.Open(vaultOptions(o.cfg))
	if err != nil {
		return err
	}
	heads, err := outsideHeads(ctx, vault)
	if err != nil {
		return err
	}
	err = o.audit.Check(heads...)
	if fault.Is(err, fault.StateLocked) {
		return fault.New(fault.StateLocked, "%s; restore the audit log first: the ledger is held against it, and made from it", fault.From(err).Message).Because(err)
	}
	return err
}

// walletNow is whom signerd signs for as it is configured.
func walletNow(ctx context.Context, cfg config.Config) (rebuild.Wallet, error) {
	rules, err := loadPolicy(cfg)
	if err != nil {
		return rebuild.Wallet{}, err
	}
	vault, err := custody.Open(vaultOptions(cfg))
	if err != nil {
		return rebuild.Wallet{}, err
	}
	keys, err := vault.List(ctx)
	if err != nil {
		return rebuild.Wallet{}, err
	}
	_, genesis := rules.Network()
	for _, key := range keys {
		if key.Name == cfg.Key.Name {
			return rebuild.Wallet{Address: key.PublicKey, Genesis: genesis}, nil
		}
	}
	return rebuild.Wallet{}, fmt.Errorf("the key store has no key %q", cfg.Key.Name)
}

// health is what a check finds. Reason is empty for a sound ledger.
type health struct {
	Sound  bool   `json:"sound"`
	Reason string `json:"reason,omitempty"`
	// Missing is how much of what the audit log tells of the ledger lacks, and
	// Names some of it.
	Missing int             `json:"missing"`
	Names   []string        `json:"missing_names,omitempty"`
	Log     rebuild.Summary `json:"audit_log"`
	// lost reports that the log is what is wrong: it ends before the ledger says.
	lost bool
}

// examine compares the ledger with the audit log.
func (o *offline) examine(ctx context.Context) (h health, err error) {
	h.Log = o.plan.Summary()
	db, err := sqlite.Open(ctx, o.cfg.LedgerPath())
	if fault.Is(err, fault.StateLocked) {
		h.Reason = fault.From(err).Message
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	head, err := ledgerHead(ctx, db)
	if err != nil {
		return h, err
	}
	_, err = audit.VerifyAgainst(o.cfg.AuditPath(), audit.Against{Anchors: []audit.Head{head}})
	if bad, ok := errors.AsType[*audit.BadRecord](err); ok {
		h.Reason, h.lost = "the audit log is not the one that this ledger belongs to: "+bad.Error(), true
		return h, nil
	}
	if err != nil {
		return h, err
	}
	// Knows asks for every wallet's entries, so any wallet's ledger will do.
	h.Names, h.Missing, err = o.plan.Missing(ctx, approval.NewBook(db), ledger.New(db, solana.PublicKey{}, solana.Hash{}), mostNamed)
	if err != nil {
		return h, err
	}
	if h.Missing > 0 {
		h.Reason = fmt.Sprintf("the ledger lacks %d of the things that the audit log tells of: it is an older copy, or its -wal file is missing", h.Missing)
	}
	h.Sound = h.Reason == ""
	return h, nil
}

func (c *console) ledgerCheckCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "check",
		Short: "Check that the ledger is sound and knows everything that the audit log tells of",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := c.offline(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, o.audit.Close()) }()
			found, err := o.examine(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				if err := json.NewEncoder(c.out).Encode(found); err != nil {
					return err
				}
			} else {
				c.printHealth(o.cfg.LedgerPath(), found)
			}
			if !found.Sound {
				return errReported
			}
			return nil
		},
	})
}

func (c *console) printHealth(path string, found health) {
	if found.Sound {
		fmt.Fprintf(c.out, "%s: good\nit knows all %d proposals and %d reservations of the audit log\n", path, found.Log.Proposals, found.Log.Reservations)
		return
	}
	fmt.Fprintf(c.out, "%s: bad\n%s\n", path, unobeyed(found.Reason))
	for _, name := range found.Names {
		fmt.Fprintf(c.out, "  lacks %s\n", unobeyed(name))
	}
	if !found.lost {
		fmt.Fprintln(c.out, "restore it from a backup that is as new as the audit log, or make it anew with: signerd ledger repair")
	}
}

func (c *console) acceptClockCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "accept-clock",
		Short: "Go on by this computer's clock after it was set",
		Long: `Go on by this computer's clock after it was set.

signerd signs nothing once the clock was set by more than a minute while the system
ran, or stands before what was recorded: limits count hours and days, and a clock
that was set ahead would free them early. Set the clock right first. Where it is
right as it stands, this command says so in the audit log and has the ledger go on
by it. What the ledger holds with a later time counts from now on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.acceptClock(cmd.Context(), yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "the clock is right: go on by it")
	return cmd
}

func (c *console) acceptClock(ctx context.Context, yes bool) (err error) {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	log, err := audit.Open(cfg.AuditPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	db, err := sqlite.Open(ctx, cfg.LedgerPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	reading, err := clock.Read()
	if err != nil {
		return err
	}
	totals, err := db.Totals(ctx, ledger.Window{})
	if err != nil {
		return err
	}
	step, _ := totals.Clock.Step(reading)
	now := reading.Wall.UTC()
	fmt.Fprintf(c.out, "the clock stands at      %s\n", now.Format(time.RFC3339))
	if !totals.Newest.IsZero() {
		fmt.Fprintf(c.out, "newest entry of ledger   %s\n", totals.Newest.Format(time.RFC3339))
	}
	fmt.Fprintf(c.out, "set while the system ran %s\n", step.Round(time.Second))
	if !yes {
		return usageError{errors.New("a clock that stands ahead frees limits early; compare it with another one, then add --yes")}
	}
	if _, err := log.Append(ctx, audit.Record{Time: now, Kind: rebuild.KindClockAccepted, Data: map[string]string{
		"newest": totals.Newest.UTC().Format(time.RFC3339Nano), "step_seconds": strconv.FormatInt(int64(step/time.Second), 10),
	}}); err != nil {
		return err
	}
	if err := db.AcceptClock(ctx, reading, step); err != nil {
		return err
	}
	fmt.Fprintln(c.out, "accepted; start signerd again")
	return nil
}
