package app

import (
	"context"
	"time"

	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/ledger"
)

// checkClock refuses to start by a clock that stands before the audit log's last
// record, and gives later readings one to be compared with.
func (s *state) checkClock(ctx context.Context) error {
	last, err := s.audit.LastTime()
	if err != nil {
		return err
	}
	if err := ledger.CheckTime(last, time.Now()); err != nil {
		return err
	}
	reading, err := clock.Read()
	if err != nil {
		return err
	}
	return s.db.StartClock(ctx, reading)
}
