package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"countersign/shared/logging"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/ledger/sqlite"
)

// keepInterval is how often, at most, the key store is told how far the audit log
// has come.
const keepInterval = time.Second

// keepTime bounds telling it once more when the signer stops.
const keepTime = 3 * time.Second

// outside remembers the head of the audit log where a backup of the state folder
// does not reach.
type outside interface {
	Outside() bool
	Head(ctx context.Context) (audit.Head, error)
	KeepHead(ctx context.Context, head audit.Head) error
}

// checkAnchors refuses an audit log that has lost what the ledger remembers of
// it, or what the key store does: the former may come from the same backup.
func checkAnchors(ctx context.Context, db *sqlite.Store, kept outside, log *audit.Log) error {
	inside, err := ledgerHead(ctx, db)
	if err != nil {
		return err
	}
	heads, err := outsideHeads(ctx, kept)
	if err != nil {
		return err
	}
	return log.Check(append(heads, inside)...)
}

// ledgerHead is how far the audit log had come as the ledger remembers it.
func ledgerHead(ctx context.Context, db *sqlite.Store) (audit.Head, error) {
	seq, hash, err := db.Anchor(ctx)
	return audit.Head{Seq: seq, Hash: hash}, err
}

// outsideHeads is the same as the key store remembers it, if it can.
func outsideHeads(ctx context.Context, kept outside) ([]audit.Head, error) {
	if !kept.Outside() {
		return nil, nil
	}
	head, err := kept.Head(ctx)
	return []audit.Head{head}, err
}

// headKeeper tells the key store, in the background, how far the audit log has
// come. It may lag: what it was told last, the log must still contain.
type headKeeper struct {
	log    *audit.Log
	kept   outside
	logger *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
	last   audit.Head // only the goroutine uses it, and stop after it
	failed bool
}

func keepHead(ctx context.Context, log *audit.Log, kept outside, logger *slog.Logger) *headKeeper {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &headKeeper{log: log, kept: kept, logger: logger, cancel: cancel}
	if kept.Outside() {
		k.done.Go(func() { k.untilStopped(ctx) })
	}
	return k
}

func (k *headKeeper) untilStopped(ctx context.Context) {
	tick := time.NewTicker(keepInterval)
	defer tick.Stop()
	for {
		k.keep(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// keep tells the key store what is new. A key store that fails for a while costs
// nothing but how old its memory is, so it is said once and tried again.
func (k *headKeeper) keep(ctx context.Context) {
	head := k.log.Head()
	if head.Seq <= k.last.Seq {
		return
	}
	err := k.kept.KeepHead(ctx, head)
	if err == nil {
		k.last, k.failed = head, false
		return
	}
	if !k.failed && ctx.Err() == nil {
		k.logger.LogAttrs(ctx, slog.LevelWarn, "the key store does not remember how far the audit log has come", logging.Error(err))
	}
	k.failed = true
}

// stop tells the key store for the last time. The log is still open.
func (k *headKeeper) stop() {
	k.cancel()
	k.done.Wait()
	if k.kept.Outside() {
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		defer cancel()
		k.keep(ctx)
	}
}
