package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"countersign/shared/logging"
	"countersign/signerd/internal/config"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/policy"
)

// reloadTime bounds one change of policy.
const reloadTime = 30 * time.Second

// reloadOnHangup reads the policy file again at every SIGHUP, until the
// returned function is called; that waits for a change under way.
func (c *console) reloadOnHangup(ctx context.Context, cfg config.Config, f *flow.Flow, logger *slog.Logger) (stop func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		for {
			select {
			case <-asked:
				reload(ctx, cfg, f, logger)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		cancel()
		<-ended
	}
}

// reload puts the policy file in force as it stands now. One that cannot be
// read, has a mistake or names another network changes nothing.
func reload(ctx context.Context, cfg config.Config, f *flow.Flow, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	before := f.Policy().Version()
	rules, err := loadPolicy(cfg)
	if err == nil {
		var voided int
		voided, err = f.Reload(ctx, rules)
		if f.Policy().Version() == rules.Version() {
			logger.LogAttrs(ctx, slog.LevelInfo, "policy read again", slog.String(logging.KeyPolicy, rules.Version()),
				slog.String(logging.KeyPolicyBefore, before), slog.Int(logging.KeyVoided, voided))
			warnAbout(ctx, logger, rules)
			if err != nil {
				logger.LogAttrs(ctx, slog.LevelError, "the new policy is in force, and what follows it could not be written down", logging.Error(err))
			}
			return
		}
	}
	for _, problem := range problems(cfg.PolicyFile, err) {
		logger.LogAttrs(ctx, slog.LevelError, "the new policy is refused; the one before stays in force",
			slog.String(logging.KeyPolicy, before), slog.String(logging.KeyPath, problem.File),
			slog.Int(logging.KeyLine, problem.Line), slog.Int(logging.KeyColumn, problem.Column), slog.String(logging.KeyReason, problem.Text))
	}
	if err := f.KeepPolicy(ctx, refusedPolicy(err)); err != nil {
		logger.LogAttrs(ctx, slog.LevelError, "the refused policy could not be recorded", logging.Error(err))
	}
}

// refusedPolicy is what is wrong in the file, without the file's path: the audit
// log may leave this computer. Why a file cannot be read is told with its path.
func refusedPolicy(err error) error {
	if found, ok := errors.AsType[policy.LoadErrors](err); ok {
		return found
	}
	return err
}

func warnAbout(ctx context.Context, logger *slog.Logger, rules *policy.Policy) {
	for _, warning := range rules.Warnings() {
		logger.LogAttrs(ctx, slog.LevelWarn, "the policy says something that is hardly meant",
			slog.Int(logging.KeyLine, warning.Line), slog.Int(logging.KeyColumn, warning.Column), slog.String(logging.KeyReason, warning.Text))
	}
}
