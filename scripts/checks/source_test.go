package checks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every package says once what it is for. Generated code speaks through its
// .proto.
func TestEachPackageHasOneComment(t *testing.T) {
	for _, p := range tree(t) {
		if strings.HasPrefix(p.short(), "proto/") {
			continue
		}
		comments := 0
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if file.Doc != nil {
				comments++
			}
		}
		if comments != 1 {
			t.Errorf("%s has %d package comments, want one", p.short(), comments)
		}
	}
}

// A file named x_test_linux.go looks like a test and is compiled into the
// program.
func TestTestFilesAreNamedAsTests(t *testing.T) {
	for _, name := range tracked(t) {
		if base := filepath.Base(name); strings.Contains(base, "_test_") && strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go") {
			t.Errorf("%s is not a test: end it in _test.go", name)
		}
	}
}

const longestMain = 30

func TestMainsDoNothing(t *testing.T) {
	for _, daemon := range []string{"mcpd", "signerd"} {
		source := read(t, daemon+"/main.go")
		if lines := strings.Count(source, "\n"); lines > longestMain {
			t.Errorf("%s/main.go has %d lines, want at most %d", daemon, lines, longestMain)
		}
		entries, err := os.ReadDir(filepath.Join(root, daemon))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if name := entry.Name(); strings.HasSuffix(name, ".go") && name != "main.go" {
				t.Errorf("%s/%s: everything but main.go is below internal", daemon, name)
			}
		}
	}
}

// The module's path is stated in go.mod. The language makes imports repeat it;
// nothing else does, so that it can be changed in one sweep of those.
func TestModulePathIsNotRepeated(t *testing.T) {
	allowed := func(name string) bool {
		return filepath.Base(name) == "go.mod" || strings.HasSuffix(name, ".proto") || strings.HasSuffix(name, ".pb.go") ||
			name == ".golangci.yml" // its rules and its import grouping name packages
	}
	path := regexp.MustCompile(`\b` + regexp.QuoteMeta(module()) + `/(mcpd|signerd|shared|scripts|proto)\b`)
	for _, name := range tracked(t) {
		content := read(t, name)
		if allowed(name) || !text(content) {
			continue
		}
		for i, line := range strings.Split(content, "\n") {
			imports := strings.HasSuffix(name, ".go") && importLine.MatchString(line)
			if path.MatchString(line) && !imports {
				t.Errorf("%s:%d repeats the module's path outside an import", name, i+1)
			}
		}
	}
}

var importLine = regexp.MustCompile(`^\s*(import )?([\w.]+ )?"[^"]+"(\s*//.*)?$`)

func TestNoUnfinishedMarks(t *testing.T) {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, name := range tracked(t) {
		if !slices.Contains([]string{".go", ".mjs", ".js", ".proto", ".sh", ".c", ".h", ".md", ".yml", ".yaml"}, filepath.Ext(name)) {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			if marks.MatchString(line) {
				t.Errorf("%s:%d: unfinished: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// A fuzz target that starts from nothing finds nothing in the seconds it is
// given.
func TestFuzzTargetsHaveSeeds(t *testing.T) {
	targets := 0
	for name, function := range testFunctions(t) {
		if !strings.HasPrefix(name, "Fuzz") {
			continue
		}
		targets++
		seeded := false
		ast.Inspect(function.node, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && mentionsSeed(call) {
				seeded = true
			}
			return !seeded
		})
		corpus, err := filepath.Glob(filepath.Join(root, filepath.Dir(function.file), "testdata", "fuzz", name, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if !seeded && len(corpus) == 0 {
			t.Errorf("%s: %s has no seed", function.file, name)
		}
	}
	if targets == 0 {
		t.Error("no fuzz target found")
	}
}

// mentionsSeed reports a call of f.Add, or one that hands f to a helper.
func mentionsSeed(call *ast.CallExpr) bool {
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Add" {
		return true
	}
	return slices.ContainsFunc(call.Args, func(argument ast.Expr) bool {
		name, ok := argument.(*ast.Ident)
		return ok && name.Name == "f"
	})
}

// testFunction is one function of a test file.
type testFunction struct {
	file string
	node *ast.FuncDecl
}

// testFunctions is every Test, Fuzz, Benchmark and Example function by name.
func testFunctions(t *testing.T) map[string]testFunction {
	t.Helper()
	found := map[string]testFunction{}
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && testName.MatchString(function.Name.Name) {
				found[function.Name.Name] = testFunction{name, function}
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("no test function found")
	}
	return found
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)[A-Z]`)

func TestTestNamesHaveNoUnderscore(t *testing.T) {
	for name, function := range testFunctions(t) {
		if strings.Contains(name, "_") && !strings.HasPrefix(name, "Example") {
			t.Errorf("%s: %s: write TestVerbCase", function.file, name)
		}
	}
}
