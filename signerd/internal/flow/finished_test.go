package flow_test

import (
	"context"
	"path/filepath"
	"testing"

	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/ledger/sqlite"
)

// finishing is a store that asks the audit log, before it keeps a receipt, whether the
// log tells of that.
type finishing struct {
	*sqlite.Store
	w *world
}

func (f finishing) ChangeProposal(ctx context.Context, key approval.Key, change func(*approval.Record) error) (approval.Record, error) {
	return f.Store.ChangeProposal(ctx, key, func(r *approval.Record) error {
		before := string(r.Receipt)
		err := change(r)
		if string(r.Receipt) == before {
			return err
		}
		if seq, lookErr := f.w.audit.Last(ctx, "finished", r.ID); lookErr != nil || seq == 0 {
			f.w.t.Errorf("a receipt is stored that the log does not tell of, %v", lookErr)
		}
		return err
	})
}

// TestReceiptIsRecordedBeforeItIsStored: a crash between the two must not leave a
// receipt without a record, and so without a proof for ever; and what is stored with
// the receipt is how far the log had come, so that not even its last record can be
// cut off after a crash. The order in storeReceipt keeps both.
func TestReceiptIsRecordedBeforeItIsStored(t *testing.T) {
	w := newWorld(t)
	w.flow.Close()
	w.book = approval.NewBook(finishing{w.store, w})
	w.start()
	w.pay(w.propose())
	seq, hash, err := sqlite.ReadAnchor(t.Context(), filepath.Join(w.dir, "ledger.db"))
	check(t, err)
	if head := w.audit.Head(); seq != head.Seq || hash != head.Hash {
		t.Errorf("the ledger on the disk remembers record %d, and the log ends with %d", seq, head.Seq)
	}
}
