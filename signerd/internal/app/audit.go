package app

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"countersign/signerd/internal/audit"
)

func (c *console) auditCommand() *cobra.Command {
	return group("audit", "Check, read and export the audit log",
		c.auditVerifyCommand(), c.auditTailCommand(), c.auditTraceCommand(), c.auditExportCommand())
}

func (c *console) auditVerifyCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that no record of the audit log was changed, removed or reordered",
		Long: `Check that no record of the audit log was changed, removed or reordered.

Needs only the file: no key, no running signer. Records missing from the end are
found only by comparing the count and head printed here with an earlier run's.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := c.auditPath(args)
			if err != nil {
				return err
			}
			summary, err := audit.Verify(path)
			if err != nil {
				return err
			}
			if summary.Records == 0 {
				return fmt.Errorf("%s holds no records; signerd init writes the first one", path)
			}
			if c.json {
				return json.NewEncoder(c.out).Encode(map[string]any{"ok": true, "records": summary.Records, "head": summary.Head, "torn_bytes": summary.Torn})
			}
			fmt.Fprintf(c.out, "%s: good\n%d records, head %s\n", path, summary.Records, summary.Head)
			if summary.Torn > 0 {
				fmt.Fprintf(c.out, "%d bytes of an incomplete record follow, as a crash leaves them; the next start cuts them off\n", summary.Torn)
			}
			return nil
		},
	})
}

func (c *console) auditPath(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	cfg, err := c.load()
	if err != nil {
		return "", err
	}
	return cfg.AuditPath(), nil
}
