package permissions

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/signerd/internal/decode"
)

var update = flag.Bool("update", false, "write docs/permissions.md anew")

const document = "../../../../docs/permissions.md"

// pair is the verdict in a transfer and in a swap.
type pair [2]string

// row is one instruction in one role, by format.
type row struct {
	instruction instruction
	role        string
	found       map[string]pair
}

// groups are the formats that have the same verdict, in order.
func (r row) groups() (names []string, texts []pair) {
	for _, format := range formats {
		text, ok := r.found[format]
		if !ok {
			continue
		}
		if at := slices.Index(texts, text); at >= 0 {
			names[at] += ", " + format
			continue
		}
		names, texts = append(names, format), append(texts, text)
	}
	if len(names) == 1 {
		names[0] = "all"
	}
	return names, texts
}

// line is one line of the document: uses of one instruction that are judged
// alike in some roles.
type line struct {
	name, roles, formats, transfer, swap string
	// plain is the one use that needs no words; it shares a line with no other.
	plain bool
}

// render writes the document: rows of one instruction that say the same are
// one line.
func render(rows []row) string {
	var out strings.Builder
	out.WriteString(preamble)
	for len(rows) > 0 {
		program := rows[0].instruction.program
		end := slices.IndexFunc(rows, func(r row) bool { return r.instruction.program != program })
		if end < 0 {
			end = len(rows)
		}
		fmt.Fprintf(&out, heading, decode.ProgramName(program))
		ways := make(map[line][]string)
		var order []line
		for _, each := range linesOf(rows[:end]) {
			if _, seen := ways[each.line]; !seen {
				order = append(order, each.line)
			}
			ways[each.line] = append(ways[each.line], each.way)
		}
		for _, l := range order {
			title := l.name
			if joined := strings.Join(ways[l], ", "); joined != "" {
				title += ": " + joined
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", title, l.roles, l.formats, l.transfer, l.swap)
		}
		rows = rows[end:]
	}
	return out.String()
}

const heading = `
## %s

| instruction | the wallet as | formats | beside an agreed payment | beside an agreed trade |
| --- | --- | --- | --- | --- |
`

type wayLine struct {
	way  string
	line line
}

// linesOf joins the roles of each use that are judged alike.
func linesOf(rows []row) []wayLine {
	roles := make(map[wayLine][]string)
	var order []wayLine
	for _, r := range rows {
		names, texts := r.groups()
		for i := range names {
			l := wayLine{r.instruction.way, line{plain: r.instruction.way == "", name: r.instruction.name, formats: names[i], transfer: texts[i][0], swap: texts[i][1]}}
			if l.line.swap == l.line.transfer {
				l.line.swap = "the same"
			}
			if _, seen := roles[l]; !seen {
				order = append(order, l)
			}
			roles[l] = append(roles[l], r.role)
		}
	}
	list := make([]wayLine, 0, len(order))
	for _, l := range order {
		joined := l
		joined.line.roles = strings.Join(roles[l], ", ")
		list = append(list, joined)
	}
	return list
}

func compareDocument(t *testing.T, text string) {
	t.Helper()
	path := filepath.FromSlash(document)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := difference(string(old), text); diff != "" {
		t.Errorf("docs/permissions.md differs from the code's verdicts; read why, then run with -update:\n%s", diff)
	}
}

// difference lists the lines that only one side has.
func difference(old, text string) string {
	var out strings.Builder
	before, after := lines(old), lines(text)
	for _, line := range slices.Sorted(maps.Keys(before)) {
		if !after[line] {
			out.WriteString("- " + line + "\n")
		}
	}
	for _, line := range slices.Sorted(maps.Keys(after)) {
		if !before[line] {
			out.WriteString("+ " + line + "\n")
		}
	}
	if out.Len() == 0 && old != text {
		return "the order of lines"
	}
	return out.String()
}

func lines(text string) map[string]bool {
	set := make(map[string]bool)
	for line := range strings.SplitSeq(text, "\n") {
		set[line] = true
	}
	return set
}
