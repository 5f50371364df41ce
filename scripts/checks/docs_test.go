package checks

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const longestReadme = 200

func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > longestReadme {
		t.Errorf("README.md has %d lines, want at most %d: the rest belongs in docs", lines, longestReadme)
	}
}

func markdown(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatal("no Markdown found")
	}
	return names
}

var (
	fence = regexp.MustCompile("(?ms)^```.*?^```")
	link  = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)`)
)

func TestLinksInDocumentsResolve(t *testing.T) {
	for _, name := range markdown(t) {
		prose := fence.ReplaceAllString(read(t, name), "")
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			if problem := broken(t, name, match[1]); problem != "" {
				t.Errorf("%s: link to %s: %s", name, match[1], problem)
			}
		}
	}
}

// broken says what is wrong with a link, or nothing. Links to other sites are
// not followed.
func broken(t *testing.T, from, target string) string {
	t.Helper()
	parsed, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if parsed.Scheme != "" {
		return ""
	}
	to := from
	if parsed.Path != "" {
		to = filepath.Join(filepath.Dir(from), parsed.Path)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "no such file"
	}
	if parsed.Fragment != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(read(t, to)), parsed.Fragment) {
		return "no such heading"
	}
	return ""
}

var heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)

// anchors are the names by which the headings of a document can be linked.
func anchors(document string) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		var name strings.Builder
		for _, r := range strings.ToLower(match[1]) {
			switch {
			case r == ' ':
				name.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				name.WriteRune(r)
			}
		}
		names = append(names, name.String())
	}
	return names
}

var (
	namedTest   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)")
	namedScript = regexp.MustCompile("`([\\w./-]+\\.txtar)`")
)

// A claim that names its proof is worth as much as the proof is there.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	functions := testFunctions(t)
	files := tracked(t)
	for _, name := range markdown(t) {
		document := read(t, name)
		for _, match := range namedTest.FindAllStringSubmatch(document, -1) {
			if _, ok := functions[match[1]]; !ok {
				t.Errorf("%s names %s, which does not exist", name, match[1])
			}
		}
		for _, match := range namedScript.FindAllStringSubmatch(document, -1) {
			if !slices.ContainsFunc(files, func(file string) bool { return file == match[1] || strings.HasSuffix(file, "/"+match[1]) }) {
				t.Errorf("%s names %s, which does not exist", name, match[1])
			}
		}
	}
	if model := read(t, "docs/threat-model.md"); !namedTest.MatchString(model) {
		t.Error("docs/threat-model.md names no test: each claim names the one that proves it")
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	for target, ok := range map[string]bool{
		"../../LICENSE": true, "../../no-such-file": false, "https://example.org/nothing": true,
		"doc.go": true, "#nowhere": true, // this file is no Markdown: its headings are not looked for
	} {
		if got := broken(t, "scripts/checks/doc.go", target) == ""; got != ok {
			t.Errorf("%s: resolves = %t, want %t", target, got, ok)
		}
	}
	if got := anchors("# One & Two-3\n```\n# not me\n```\n"); !slices.Equal(got, []string{"one--two-3"}) {
		t.Errorf("anchors = %q", got)
	}
}
