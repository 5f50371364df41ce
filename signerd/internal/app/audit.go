package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"countersign/signerd/internal/audit"
)

func (c *console) auditCommand() *cobra.Command {
	return group("audit", "Check, read and export the audit log",
		c.auditVerifyCommand(), c.auditKeyCommand(), c.auditTailCommand(), c.auditTraceCommand(), c.auditExportCommand())
}

// verifyFlags are what audit verify takes.
type verifyFlags struct {
	keys  []string
	proof string
}

func (c *console) auditVerifyCommand() *cobra.Command {
	var flags verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that no record of the audit log was changed, removed or reordered",
		Long: `Check that no record of the audit log was changed, removed or reordered, and that
each signed checkpoint beside it is one of this log.

Needs only the files: no running signer, and no secret. The log of the configuration
is also held against what the ledger and the key store remember of it, as far as they
can be asked, which is told. Without --key, signatures
are checked by the keys that the log itself names, and whoever can write the log
can name his own: keep what signerd audit key prints somewhere else, and give it
with --key. Records missing from the end are found by a checkpoint that covers
them, such as that of a receipt's proof: give it with --proof.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := c.auditPath(args)
			if err != nil {
				return err
			}
			// A copy of the log alone, such as an export, has no checkpoints.
			against := audit.Against{Keys: flags.keys, Checkpointed: len(args) == 0 || len(flags.keys) > 0}
			known := memories{}
			if len(args) == 0 {
				known = c.remembered(cmd.Context())
				against.Anchors = known.heads
			}
			if flags.proof != "" {
				if against.Proof, err = readProof(flags.proof); err != nil {
					return err
				}
			}
			return c.verify(path, against, known)
		},
	}
	cmd.Flags().StringArrayVar(&flags.keys, "key", nil, "verifier key whose signatures count; may be given several times")
	cmd.Flags().StringVar(&flags.proof, "proof", "", "file with a receipt's audit_proof, or the answer that has it, to check against this log")
	return c.jsonFlag(cmd)
}

// longestProofFile bounds what is read as a proof.
const longestProofFile = 256 << 10

// proofInAnswer is a proof as it stands in the answer of a tool.
var proofInAnswer = regexp.MustCompile(`"audit_proof"\s*:\s*("(?:[^"\\]|\\.)*")`)

func readProof(path string) (*audit.Proof, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open proof: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestProofFile))
	if err != nil {
		return nil, fmt.Errorf("read proof: %w", err)
	}
	if found := proofInAnswer.FindSubmatch(text); found != nil {
		var proof string
		if err := json.Unmarshal(found[1], &proof); err != nil {
			return nil, fmt.Errorf("%s: read audit_proof: %w", path, err)
		}
		text = []byte(proof)
	}
	proof, err := audit.ParseProof(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &proof, nil
}

func (c *console) verify(path string, against audit.Against, known memories) error {
	progress, done := c.progress()
	against.Progress = progress
	summary, err := audit.VerifyAgainst(path, against)
	done()
	if err != nil {
		return err
	}
	if summary.Records == 0 {
		return fmt.Errorf("%s holds no records; signerd init writes the first one", path)
	}
	signedBy := against.Keys
	if len(signedBy) == 0 {
		signedBy = summary.Keys
	}
	if c.json {
		return c.printJSON(map[string]any{
			"ok": true, "records": summary.Records, "head": summary.Head, "torn_bytes": summary.Torn,
			"checkpoints": summary.Checkpoints, "checkpointed_records": summary.Covered, "unsigned_records": summary.Records - summary.Covered, "keys": signedBy, "key_given": len(against.Keys) > 0,
			"compared_with": known.told, "not_compared_with": known.silent,
		})
	}
	fmt.Fprintf(c.out, "%s: good\n%d records, head %s\n", path, summary.Records, summary.Head)
	switch {
	case summary.Checkpoints == 0:
		fmt.Fprintln(c.out, "no checkpoints lie beside it")
	case len(against.Keys) > 0:
		fmt.Fprintf(c.out, "%d checkpoints, the newest of %d records, signed with the given key\n", summary.Checkpoints, summary.Covered)
	default:
		fmt.Fprintf(c.out, "%d checkpoints, the newest of %d records, signed with the key that the log names: %s\n",
			summary.Checkpoints, summary.Covered, shown(signedBy[len(signedBy)-1]))
	}
	if rest := summary.Records - summary.Covered; summary.Checkpoints > 0 && rest > 0 {
		fmt.Fprintf(c.out, "the last %d records are under no signature yet: whoever can write the file could have written them\n", rest)
	}
	if proof := against.Proof; proof != nil {
		fmt.Fprintf(c.out, "the proof is good: record %d is in this log, as it was when it had %d records\n", proof.Index+1, proof.Size())
	}
	if again := len(summary.Keys) - 1; again > 0 {
		fmt.Fprintf(c.out, "checkpoints began anew %d times, where the log names a key again\n", again)
	}
	known.show(c.out)
	if summary.Torn > 0 {
		fmt.Fprintf(c.out, "%d bytes of an incomplete record follow, as a crash leaves them; the next start cuts them off\n", summary.Torn)
	}
	return nil
}

// progress shows on a terminal how far a long file has been read, and elsewhere
// nothing.
func (c *console) progress() (show func(done, all int64), end func()) {
	terminal, ok := c.err.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return nil, func() {}
	}
	var bar *progressbar.ProgressBar
	return func(done, all int64) {
			if bar == nil {
				bar = progressbar.NewOptions64(all, progressbar.OptionSetWriter(terminal), progressbar.OptionSetDescription("reading"),
					progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
			}
			_ = bar.Set64(done) // Not seeing it changes nothing.
		}, func() {
			if bar != nil {
				_ = bar.Clear()
			}
		}
}

func (c *console) auditKeyCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "key",
		Short: "Print the key by which checkpoints and proofs of the audit log are verified",
		Long: `Print the key by which checkpoints and proofs of the audit log are verified.

It is no secret. Keep it where whoever may change the log cannot change it too, and
give it to signerd audit verify --key, or to any tool that reads C2SP checkpoints.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			vault, _, err := c.vault()
			if err != nil {
				return err
			}
			key, err := vault.AuditKey(cmd.Context())
			if err != nil {
				return err
			}
			defer key.Close()
			if c.json {
				return c.printJSON(map[string]string{"key": key.Key(), "backend": vault.Backend()})
			}
			fmt.Fprintln(c.out, key.Key())
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
