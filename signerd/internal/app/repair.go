package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"countersign/shared/durable"
	"countersign/shared/fault"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/ledger/sqlite"
)

// kindRepaired is the record of a ledger that was made anew.
const kindRepaired = "ledger_repaired"

func (c *console) ledgerRepairCommand() *cobra.Command {
	var yes bool
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "repair",
		Short: "Make a lost or damaged ledger anew from the audit log",
		Long: `Make a lost or damaged ledger anew from the audit log.

A backup of the ledger that is as new as the audit log is better: restore that
where there is one. Otherwise every reservation of the log is put back. What landed
is charged with all that was reserved for it, which is more than it took; what was
signed and has no end in the log is held until the chain proves one. So limits may
have less left than they should for a day, and never more. Codes, idempotency keys
and outcomes are known again. The old files are kept beside the new one.

Without --yes it only says what it would do. What it does stands in the audit log
before it is done. It may be run again after it was cut short.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.repair(cmd.Context(), yes) },
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

func (c *console) repair(ctx context.Context, yes bool) (err error) {
	o, err := c.offline(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.audit.Close()) }()
	found, err := o.examine(ctx)
	switch {
	case err != nil:
		return err
	case found.lost:
		return fault.New(fault.StateLocked, "%s. The ledger is the newer of the two: restore the audit log, not the ledger", found.Reason)
	case found.Sound:
		return c.sayRepair(found, "", "the ledger is sound; there is nothing to repair")
	case !yes:
		return errors.Join(c.sayRepair(found, "", "nothing has been changed; to make the ledger anew, add --yes"), errReported)
	}
	kept := o.cfg.LedgerPath() + ".kept-" + time.Now().UTC().Format("20060102T150405Z")
	if err := o.make(ctx, found, kept); err != nil {
		return err
	}
	return c.sayRepair(found, kept, "the ledger was made anew; start signerd again")
}

// sayRepair tells what is wrong and what was, or would be, done about it.
func (c *console) sayRepair(found health, kept, end string) error {
	if c.json {
		return json.NewEncoder(c.out).Encode(struct {
			health
			Repaired bool   `json:"repaired"`
			Kept     string `json:"kept,omitempty"`
		}{found, kept != "", kept})
	}
	if found.Reason != "" {
		s := found.Log
		fmt.Fprintf(c.out, "%s\n", found.Reason)
		fmt.Fprintf(c.out, "the audit log tells of %d proposals and %d reservations:\n", s.Proposals, s.Reservations)
		fmt.Fprintf(c.out, "  %d landed, charged in full\n  %d signed without a known end, held until the chain proves one\n", s.Landed, s.Open)
		fmt.Fprintf(c.out, "  %d reserved and never signed, given back at the next start\n", s.Unsigned)
		if s.Unattributed > 0 {
			fmt.Fprintf(c.out, "  %d payments whose recipient is not told, counted against every limit but the recipient's\n", s.Unattributed)
		}
	}
	if kept != "" {
		fmt.Fprintf(c.out, "kept    %s (if there was a file)\n", kept)
	}
	fmt.Fprintln(c.out, end)
	return nil
}

// make records what is about to be done, writes the new ledger beside the old
// one, and puts it in its place. A crash in between leaves no ledger, which locks
// signing, or the old one; either way the command can be run again.
func (o *offline) make(ctx context.Context, found health, kept string) error {
	s := found.Log
	if _, err := o.audit.Append(ctx, audit.Record{Time: time.Now(), Kind: kindRepaired, Data: map[string]string{
		"why": found.Reason, "kept": filepath.Base(kept), "proposals": strconv.Itoa(s.Proposals), "reservations": strconv.Itoa(s.Reservations),
		"landed": strconv.Itoa(s.Landed), "open": strconv.Itoa(s.Open), "unsigned": strconv.Itoa(s.Unsigned),
	}}); err != nil {
		return err
	}
	path := o.cfg.LedgerPath()
	fresh := path + ".new"
	if err := removeLedger(fresh); err != nil {
		return err
	}
	if err := o.fill(ctx, fresh); err != nil {
		return errors.Join(err, removeLedger(fresh))
	}
	if exists(fresh + "-wal") {
		return errors.New("the new ledger could not be closed, so the old one stays where it is")
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep the old ledger: %w", err)
		}
	}
	// The old one must be out of the way for good before the new one has its name:
	// SQLite would take the old one's -wal file for the new one's.
	if err := durable.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("keep the old ledger: %w", err)
	}
	if err := errors.Join(os.Rename(fresh, path), durable.SyncFolder(filepath.Dir(path))); err != nil {
		return fmt.Errorf("put the new ledger in its place: %w", err)
	}
	return removeLedger(fresh)
}

// fill writes the whole plan in one transaction.
func (o *offline) fill(ctx context.Context, path string) (err error) {
	db, err := sqlite.Create(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	reading, err := clock.Read()
	if err != nil {
		return err
	}
	head := o.audit.Head()
	return errors.Join(
		db.Together(ctx, func(s *sqlite.Store) error {
			if err := o.plan.Write(ctx, s); err != nil {
				return err
			}
			return s.SetAnchor(ctx, head.Seq, head.Hash)
		}),
		db.StartClock(ctx, reading))
}

// removeLedger removes a ledger that was never in use, with what belongs to it.
func removeLedger(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove what an earlier repair left: %w", err)
		}
	}
	return nil
}
