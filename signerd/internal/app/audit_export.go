package app

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/signerd/internal/audit"
)

// exportFlags are what audit export takes.
type exportFlags struct {
	format, since, until, out string
	filter                    audit.Filter
}

func (c *console) auditExportCommand() *cobra.Command {
	var flags exportFlags
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write records as JSON lines or CSV",
		Long: `Write records as JSON lines or CSV, to standard output or to --out.

JSON lines are the records as they stand: an export of all of them verifies as the
log itself does. In CSV, a cell that a spreadsheet would take for a formula begins
with an apostrophe, as does one that begins with an apostrophe by itself.

--since and --until take a time (2026-12-01T10:00:00Z), a day (2026-12-01, in UTC)
or how long ago (36h). A record of exactly --until is left out.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := flags.parse(time.Now()); err != nil {
				return usageError{err}
			}
			path, err := c.auditPath(args)
			if err != nil {
				return err
			}
			return c.export(path, flags)
		},
	}
	cmd.Flags().StringVar(&flags.format, "format", "jsonl", "jsonl or csv")
	cmd.Flags().StringVar(&flags.since, "since", "", "leave out what is older")
	cmd.Flags().StringVar(&flags.until, "until", "", "leave out this time and what is newer")
	cmd.Flags().StringArrayVar(&flags.filter.Kinds, "kind", nil, "only records of this kind; may be given several times")
	cmd.Flags().StringVar(&flags.filter.Session, "session", "", "only records of this session")
	cmd.Flags().StringVar(&flags.out, "out", "", "write to this new file, which only its owner can read")
	cmd.Flags().BoolVar(&c.json, "json", false, "with --out: say in JSON what was written")
	return cmd
}

func (f *exportFlags) parse(now time.Time) (err error) {
	if f.format != "jsonl" && f.format != "csv" {
		return fmt.Errorf("--format is jsonl or csv, not %s", shown(f.format))
	}
	if f.filter.Since, err = moment("--since", f.since, now); err != nil {
		return err
	}
	if f.filter.Until, err = moment("--until", f.until, now); err != nil {
		return err
	}
	if !f.filter.Since.IsZero() && !f.filter.Until.IsZero() && !f.filter.Since.Before(f.filter.Until) {
		return errors.New("--since must be before --until")
	}
	return nil
}

// moment reads a time as people write it.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%s is a time such as 2026-12-01T10:00:00Z, a day such as 2026-12-01, or how long ago, such as 36h; not %s", flag, shown(text))
}

func (c *console) export(path string, flags exportFlags) error {
	if flags.out == "" {
		_, _, err := exportTo(c.out, path, flags)
		return err
	}
	file, err := os.OpenFile(flags.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create export: %w", err)
	}
	written, read, err := exportTo(file, path, flags)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		// Half an export would be taken for a whole one.
		return errors.Join(err, os.Remove(flags.out))
	}
	if c.json {
		return c.printJSON(map[string]any{"file": flags.out, "format": flags.format, "records": written, "of": read})
	}
	fmt.Fprintf(c.out, "wrote %d of %d records to %s\n", written, read, flags.out)
	return nil
}

// exportTo writes what the filter picks, and says how many of how many.
func exportTo(w io.Writer, path string, flags exportFlags) (written, read int, err error) {
	out := bufio.NewWriter(w)
	row := func(entry audit.Entry) error {
		_, err := out.Write(entry.Line)
		return err
	}
	if flags.format == "csv" {
		row = func(entry audit.Entry) error { return csvRow(out, csvCells(entry)) }
		if err := csvRow(out, csvColumns); err != nil {
			return 0, 0, err
		}
	}
	err = eachEntry(path, func(entry audit.Entry) error {
		read++
		if !flags.filter.Picks(entry) {
			return nil
		}
		written++
		return row(entry)
	})
	return written, read, errors.Join(err, out.Flush())
}

// csvColumns are the fields of every record, those of its data that people look
// for, and all of its data as JSON.
var csvColumns = []string{
	"seq", "time", "kind", "session", "correlation", "proposal", "digest",
	"tool", "tier", "outcome", "reservation", "signature", "data", "hash",
}

func csvCells(entry audit.Entry) []string {
	data := "{}"
	if len(entry.Data) > 0 {
		if raw, err := json.Marshal(entry.Data); err == nil { // Text in a map always can.
			data = string(raw)
		}
	}
	return []string{
		strconv.FormatUint(entry.Seq, 10), entry.Time.Format(time.RFC3339Nano), entry.Kind, entry.Session, entry.Correlation, entry.Proposal, entry.Digest,
		entry.Data["tool"], entry.Data["tier"], entry.Data["outcome"], entry.Data[audit.ReservationField], entry.Data[audit.SignatureField],
		data, hex.EncodeToString(entry.Hash[:]),
	}
}

// csvRow writes one row by RFC 4180. Every cell is quoted: a spreadsheet that
// takes another character for the separator must not cut a cell in two, the
// second of which it would calculate.
func csvRow(w *bufio.Writer, cells []string) error {
	for i, cell := range cells {
		if i > 0 {
			_ = w.WriteByte(',') // A bufio.Writer keeps its first error.
		}
		_, _ = w.WriteString(`"` + strings.ReplaceAll(harmless(cell), `"`, `""`) + `"`)
	}
	_, err := w.WriteString("\r\n")
	return err
}

// formula begins what spreadsheets calculate; some take the wide forms too.
const formula = "=+-@|%\t\r\n'＝＋－＠"

// harmless puts an apostrophe before what a spreadsheet would calculate, and
// before an apostrophe, so that taking one off gives the text back.
func harmless(cell string) string {
	if start := strings.TrimLeft(cell, " "); start != "" && strings.ContainsRune(formula, []rune(start)[0]) {
		return "'" + cell
	}
	return cell
}
