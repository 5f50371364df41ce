package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
)

// row is one line of the table. A row without a target is there to be watched.
type row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Floor is what the least possible program needs, measured in this call.
	Floor *float64 `json:"floor"`
	Ratio *float64 `json:"ratio"`
	// Target is the most that Ratio may be, or Value where there is no floor.
	Target *float64 `json:"target"`
	Holds  *bool    `json:"holds"`
}

// over makes a row of the ratio to its floor.
func (r row) over(floor float64) row {
	ratio := r.Value / floor
	r.Floor, r.Ratio = &floor, &ratio
	return r
}

// judged makes a row of whether it holds.
func (r row) judged(target float64) row {
	judged := r.Value
	if r.Ratio != nil {
		judged = *r.Ratio
	}
	holds := judged <= target
	r.Target, r.Holds = &target, &holds
	return r
}

func printTable(out io.Writer, table []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tvalue\tunit\tfloor\tratio\ttarget\tholds")
	for _, r := range table {
		target, holds := "", ""
		if r.Target != nil {
			target = "<= " + number(r.Target)
			if r.Ratio != nil {
				target += " x floor"
			}
		}
		if r.Holds != nil {
			holds = map[bool]string{true: "yes", false: "no"}[*r.Holds]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, number(&r.Value), r.Unit, number(r.Floor), number(r.Ratio), target, holds)
	}
	_ = w.Flush() // the terminal has gone
}

// number writes what three significant places of everyday sizes need.
func number(value *float64) string {
	switch {
	case value == nil:
		return ""
	case *value >= 1000:
		return strconv.FormatFloat(*value, 'f', 0, 64)
	default:
		return strconv.FormatFloat(*value, 'g', 3, 64)
	}
}

func writeTable(name string, table []row) error {
	raw, err := json.MarshalIndent(table, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the table: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of the table: %w", err)
	}
	if err := os.WriteFile(name, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}
