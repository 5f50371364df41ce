package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

type counts struct{ passed, failed, skipped int }

func (c *counts) add(other counts) {
	c.passed += other.passed
	c.failed += other.failed
	c.skipped += other.skipped
}

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// maxEvent bounds one event; a test's output is split into lines anyway.
const maxEvent = 16 << 20

// report prints and counts events. Output of a test is kept until the test has
// failed, as plain go test keeps it.
func report(events io.Reader, out io.Writer) (counts, error) {
	r := reporter{out: out, kept: map[string][]string{}, failedIn: map[string]int{}}
	lines := bufio.NewScanner(events)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			// The go command itself complains in plain text.
			fmt.Fprintln(out, lines.Text())
			continue
		}
		r.take(e)
	}
	if err := lines.Err(); err != nil {
		return counts{}, fmt.Errorf("read the test events: %w", err)
	}
	if !r.seen {
		return counts{}, errors.New("go test reported no package")
	}
	return r.total, nil
}

type reporter struct {
	out      io.Writer
	total    counts
	seen     bool                // a package was reported
	kept     map[string][]string // output of running tests, by package and test
	failedIn map[string]int      // failed tests by package
}

func (r *reporter) take(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
	}
}

func (r *reporter) output(e event) {
	if e.Test != "" {
		key := e.Package + " " + e.Test
		r.kept[key] = append(r.kept[key], e.Output)
		return
	}
	// A verbose run says PASS before each verdict; the verdict is enough.
	if e.Output != "PASS\n" {
		fmt.Fprint(r.out, e.Output)
	}
}

func (r *reporter) endTest(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "pass":
		r.total.passed++
	case "skip":
		r.total.skipped++
	case "fail":
		r.total.failed++
		r.failedIn[e.Package]++
		for _, line := range r.kept[key] {
			if !strings.HasPrefix(line, "=== ") {
				fmt.Fprint(r.out, line)
			}
		}
	}
	delete(r.kept, key)
}

func (r *reporter) endPackage(e event) {
	r.seen = true
	if e.Action == "fail" && r.failedIn[e.Package] == 0 {
		// It did not build, or broke outside a test: what still ran is shown.
		r.total.failed++
		for key, lines := range r.kept {
			if strings.HasPrefix(key, e.Package+" ") {
				fmt.Fprint(r.out, strings.Join(lines, ""))
			}
		}
	}
}

// countTAP reads the closing lines of node's TAP output.
func countTAP(tap io.Reader) (counts, error) {
	found := map[string]int{}
	lines := bufio.NewScanner(tap)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[0] != "#" {
			continue
		}
		if n, err := strconv.Atoi(fields[2]); err == nil {
			found[fields[1]] = n
		}
	}
	if err := lines.Err(); err != nil {
		return counts{}, fmt.Errorf("read: %w", err)
	}
	for _, name := range []string{"pass", "fail"} {
		if _, ok := found[name]; !ok {
			return counts{}, fmt.Errorf("no %q line: the run was cut short", "# "+name)
		}
	}
	return counts{
		passed: found["pass"], failed: found["fail"] + found["cancelled"], skipped: found["skipped"] + found["todo"],
	}, nil
}
