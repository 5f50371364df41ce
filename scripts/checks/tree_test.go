package checks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the top of the repository, seen from this folder.
const root = "../.."

// The systems that releases are built for.
var systems = []string{"linux", "darwin", "windows"}

// module is the module's path, which only go.mod states.
var module = sync.OnceValue(func() string {
	out, err := output(nil, "go", "list", "-m")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

func output(env []string, name string, args ...string) ([]byte, error) {
	command := exec.Command(name, args...)
	command.Dir = root
	command.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return out, nil
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath   string
	Dir          string
	Name         string
	Standard     bool
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
}

// short is the path below the module: "signerd/internal/decode".
func (p listed) short() string { return short(p.ImportPath) }

func short(importPath string) string {
	if importPath == module() {
		return "."
	}
	return strings.TrimPrefix(importPath, module()+"/")
}

func ours(importPath string) bool { return strings.HasPrefix(importPath, module()+"/") }

// list runs go list as a release build for one system would see the tree.
func list(t *testing.T, system string, args ...string) []listed {
	t.Helper()
	fields := "-json=ImportPath,Dir,Name,Standard,GoFiles,TestGoFiles,XTestGoFiles,Imports"
	env := []string{"GOOS=" + system, "GOARCH=amd64", "CGO_ENABLED=0"}
	out, err := output(env, "go", append([]string{"list", fields}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var packages []listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var next listed
		err := decoder.Decode(&next)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		packages = append(packages, next)
	}
	if len(packages) == 0 {
		t.Fatalf("go list %v found nothing", args)
	}
	return packages
}

// tree is every package of the module, on linux. It lists also what does not
// build, since it tells where things stand and the compiler tells the rest.
func tree(t *testing.T) []listed {
	t.Helper()
	return list(t, "linux", "-e", "./...")
}

// parsed is one source file.
type parsed struct {
	name string // below the top of the repository
	file *ast.File
	set  *token.FileSet
}

func (p parsed) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", p.name, p.set.Position(node.Pos()).Line)
}

// sources parses the non-test Go files below the given folders, whatever system
// they are for, and fails where it finds none.
func sources(t *testing.T, folders ...string) []parsed {
	t.Helper()
	var files []parsed
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !under(name, folders) {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parsed{name, file, set})
	}
	if len(files) == 0 {
		t.Fatalf("no Go files below %v", folders)
	}
	return files
}

func under(name string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// tracked is every file that is, or is about to be, in the repository.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := output(nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatal("git lists no file")
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// text reports whether content can be judged line by line.
func text(content string) bool { return !strings.Contains(content, "\x00") }
