package app

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"countersign/signerd/internal/audit"
)

// followInterval is how often a followed journal is looked at.
const followInterval = 200 * time.Millisecond

func (c *console) auditTailCommand() *cobra.Command {
	var last int
	var follow bool
	cmd := &cobra.Command{
		Use:   "tail [FILE]",
		Short: "Show the newest records, and with --follow those that come",
		Long: `Show the newest records, and with --follow those that come, until interrupted.

Each is checked against the one before it; what stands before the first is not.
With --json each line is a record as it stands in the file.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return usageError{errors.New("-n is 0 or more")}
			}
			reader, err := c.auditReader(args)
			if err != nil {
				return err
			}
			defer reader.Close()
			if err := reader.SkipToLast(last); err != nil {
				return err
			}
			return c.showUntilEnd(cmd.Context(), reader, follow)
		},
	}
	cmd.Flags().IntVarP(&last, "lines", "n", 10, "how many records to begin with")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the records that are written from now on")
	return c.jsonFlag(cmd)
}

// auditReader opens the named journal, or the configured one.
func (c *console) auditReader(args []string) (*audit.Reader, error) {
	path, err := c.auditPath(args)
	if err != nil {
		return nil, err
	}
	return audit.NewReader(path)
}

func (c *console) showUntilEnd(ctx context.Context, reader *audit.Reader, follow bool) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		entry, err := reader.Next()
		switch {
		case err == nil:
			if err := c.showEntry(c.out, entry); err != nil {
				return err
			}
			continue
		case !errors.Is(err, io.EOF):
			return err
		case !follow:
			return nil
		}
		if err := reader.Same(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// showEntry writes a record on a line of its own.
func (c *console) showEntry(w io.Writer, entry audit.Entry) error {
	if c.json {
		_, err := w.Write(entry.Line)
		return err
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s  %d  %s", entry.Time.Format(time.RFC3339Nano), entry.Seq, shown(entry.Kind))
	field := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&line, "  %s=%s", shown(key), shown(value))
		}
	}
	field("session", entry.Session)
	field("correlation", entry.Correlation)
	field("proposal", entry.Proposal)
	field("digest", entry.Digest)
	for _, key := range slices.Sorted(maps.Keys(entry.Data)) {
		field(key, entry.Data[key])
	}
	_, err := fmt.Fprintln(w, line.String())
	return err
}

// shown quotes a text that would be read wrongly, or obeyed by a terminal.
func shown(text string) string {
	misread := func(r rune) bool {
		return r == '"' || r == '=' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}
	if text == "" || strings.ContainsFunc(text, misread) || strings.ToValidUTF8(text, "") != text {
		return strconv.Quote(text)
	}
	return text
}

func (c *console) auditTraceCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "trace ID [FILE]",
		Short: "Show every record about one matter, from the first call to the receipt",
		Long: `Show every record about one matter, from the first call to the receipt.

ID is a proposal, a correlation id, a session, a reservation, a transaction's
signature or a message's digest: what a receipt, a log line or a block explorer
shows. The whole file is checked on the way, and last comes the signed checkpoint
that covers the last of the records.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "" {
				return usageError{errors.New("the ID to trace is empty")}
			}
			path, err := c.auditPath(args[1:])
			if err != nil {
				return err
			}
			return c.trace(path, args[0])
		},
	})
}

func (c *console) trace(path, id string) error {
	trace := audit.NewTrace(id)
	// A record may name what only a later one explains, so the file is read twice
	// before it is known what belongs.
	for range 2 {
		if err := eachEntry(path, func(entry audit.Entry) error { trace.Look(entry); return nil }); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(c.out)
	last := uint64(0)
	err := eachEntry(path, func(entry audit.Entry) error {
		if !trace.Belongs(entry) {
			return nil
		}
		last = entry.Seq
		return c.showEntry(out, entry)
	})
	if err := errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if last == 0 {
		return fmt.Errorf("no record names %s", shown(id))
	}
	return c.showCover(path, last)
}

// checkpointView is a checkpoint as scripts read it.
type checkpointView struct {
	Origin  string `json:"origin"`
	Records uint64 `json:"records"`
	Root    string `json:"root"`
	Covers  uint64 `json:"covers"`
}

// showCover writes the checkpoint that covers a record. Its signature is checked by
// the key that the log names; audit verify takes another.
func (c *console) showCover(path string, record uint64) error {
	summary, err := audit.VerifyAgainst(path, audit.Against{Cover: record})
	if err != nil {
		return err
	}
	cover := summary.Cover
	switch {
	case cover == nil && c.json:
		return c.printJSON(map[string]any{"checkpoint": nil})
	case cover == nil:
		fmt.Fprintf(c.out, "no checkpoint covers record %d yet: one is signed when its receipt is asked for, and when signerd stops\n", record)
		return nil
	}
	view := checkpointView{cover.Origin, cover.Size, base64.StdEncoding.EncodeToString(cover.Root[:]), record}
	if c.json {
		return c.printJSON(map[string]checkpointView{"checkpoint": view})
	}
	fmt.Fprintf(c.out, "checkpoint of %d records covers record %d: root %s, signed by %s\n", view.Records, record, view.Root, shown(view.Origin))
	return nil
}

// eachEntry reads a journal from its beginning.
func eachEntry(path string, use func(audit.Entry) error) error {
	reader, err := audit.NewReader(path)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := use(entry); err != nil {
			return err
		}
	}
}

// printJSON writes one document.
func (c *console) printJSON(value any) error { return json.NewEncoder(c.out).Encode(value) }
