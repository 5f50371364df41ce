package checks

import (
	"slices"
	"strings"
	"testing"
)

// ban forbids a package, or a whole folder of packages where it ends in "/...",
// to be reached by any chain of imports.
type ban struct {
	path   string
	reason string
	// except names packages whose own imports are not followed: they reach the
	// banned package and we live with it.
	except []string
}

func (b ban) matches(importPath string) bool { return matches(b.path, importPath) }

func (b ban) excepts(importPath string) bool {
	return slices.ContainsFunc(b.except, func(path string) bool { return matches(path, importPath) })
}

// matches compares an import path with one as it is written here: our own start
// with "./", whole folders end in "/...".
func matches(path, importPath string) bool {
	if after, own := strings.CutPrefix(path, "./"); own {
		path = module() + "/" + after
	}
	if folder, all := strings.CutSuffix(path, "/..."); all {
		return importPath == folder || strings.HasPrefix(importPath, folder+"/")
	}
	return importPath == path
}

const (
	keyring = "github.com/99designs/keyring"
	builder = "github.com/gagliardetto/solana-go"
)

var testCode = []ban{
	{path: "testing", reason: "test code is not linked into a daemon"},
	{path: "net/http/httptest", reason: "test code is not linked into a daemon"},
	{path: "pgregory.net/rapid", reason: "test code is not linked into a daemon"},
	{path: "github.com/google/go-cmp/...", reason: "test code is not linked into a daemon"},
	{path: "./scripts/...", reason: "the tools around a daemon are not part of it"},
}

// pure bans what a package that only computes must not reach, but through the
// packages it is excused for.
func pure(except ...string) []ban {
	return []ban{
		{path: "net", reason: "a pure package reaches no network", except: except},
		{path: "os/exec", reason: "a pure package starts nothing", except: except},
	}
}

// closures says what each package must never reach, on any system.
var closures = []struct {
	of   string
	bans []ban
}{
	{"mcpd", append([]ban{
		{path: "./signerd/...", reason: "the signer is reached over its socket only"},
		{path: "./proto/operator/...", reason: "nothing that faces the model can approve, or knows how to ask"},
		{path: keyring + "/...", reason: "the process that faces the model opens no keyring"},
		{path: builder + "/rpc/ws", reason: "it writes to standard output, which is the MCP stream"},
		{path: "modernc.org/sqlite/...", reason: "the ledger is the signer's"},
		{path: "github.com/mark3labs/mcp-go/client/...", reason: "its client follows redirects with credentials (GO-2026-6911)"},
	}, testCode...)},
	{"signerd", append([]ban{
		{path: "./mcpd/...", reason: "the signer takes bytes and nothing else"},
		{path: "github.com/mark3labs/mcp-go/...", reason: "the signer speaks no MCP"},
		{path: builder + "/...", reason: "the decoder that built the bytes must not be the one that judges them"},
	}, testCode...)},
	{"shared/solana", pure()},
	{"shared/amount", pure()},
	{"shared/untrusted", pure()},
	{"signerd/internal/decode", pure()},
	{"signerd/internal/guard", pure()},
	// It takes what judge has made, and calls nothing there; judge asks the chain.
	{"signerd/internal/policy", pure("./signerd/internal/judge", "./signerd/internal/effects")},
	{"mcpd/internal/intent", pure()},
	{"mcpd/internal/caps", pure()},
	// The library that builds transactions speaks HTTP in the same package.
	{"mcpd/internal/plan", pure(builder + "/...")},
}

// graph is a closure: who imports what, from one package on.
type graph map[string]listed

func closure(t *testing.T, system, of string) graph {
	t.Helper()
	reached := graph{}
	for _, p := range list(t, system, "-deps", "./"+of) {
		reached[p.ImportPath] = p
	}
	return reached
}

// chain is the shortest chain of imports from one package to a banned one, or
// nothing where there is none.
func (g graph) chain(from string, b ban) []string {
	cameFrom := map[string]string{from: ""}
	queue := []string{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at != from && b.matches(at) {
			var chain []string
			for ; at != ""; at = cameFrom[at] {
				chain = append(chain, at)
			}
			slices.Reverse(chain)
			return chain
		}
		if b.excepts(at) {
			continue
		}
		for _, next := range g[at].Imports {
			if _, seen := cameFrom[next]; !seen && next != "C" && next != "unsafe" {
				cameFrom[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func TestClosuresReachNothingBanned(t *testing.T) {
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			for _, c := range closures {
				reached := closure(t, system, c.of)
				for _, b := range c.bans {
					if chain := reached.chain(module()+"/"+c.of, b); chain != nil {
						t.Errorf("%s reaches %s: %s\n\t%s", c.of, b.path, b.reason, strings.Join(chain, "\n\t"))
					}
				}
			}
		})
	}
}

// A folder named ...test holds helpers of tests, whatever it imports.
func TestDaemonsLinkNoTestHelpers(t *testing.T) {
	for _, daemon := range []string{"mcpd", "signerd"} {
		for importPath := range closure(t, "linux", daemon) {
			if ours(importPath) && strings.HasSuffix(importPath, "test") {
				t.Errorf("%s links %s", daemon, short(importPath))
			}
		}
	}
}

// A ban of something that no longer exists, or was misspelt, bans nothing.
func TestBannedPackagesExist(t *testing.T) {
	checked := map[string]bool{}
	for _, c := range closures {
		for _, b := range c.bans {
			for _, path := range append([]string{b.path}, b.except...) {
				if checked[path] {
					continue
				}
				checked[path] = true
				found, err := output(nil, "go", "list", "-find", path)
				if err != nil || len(found) == 0 {
					t.Errorf("%s is banned or excepted and does not exist: %v", path, err)
				}
			}
		}
	}
}

func TestChainFollowsImportsAndExceptions(t *testing.T) {
	g := graph{
		"a": {Imports: []string{"b", "c"}}, "b": {Imports: []string{"d"}},
		"c": {Imports: []string{"c/in"}}, "c/in": {Imports: []string{"net"}}, "d": {Imports: []string{"net"}},
	}
	if got := strings.Join(g.chain("a", ban{path: "net"}), " "); got != "a b d net" {
		t.Errorf("chain = %q, want the shortest", got)
	}
	if got := strings.Join(g.chain("a", ban{path: "net", except: []string{"d"}}), " "); got != "a c c/in net" {
		t.Errorf("chain = %q, want the one past the exception", got)
	}
	if got := g.chain("a", ban{path: "net", except: []string{"c/...", "d"}}); got != nil {
		t.Errorf("chain = %q, want none", got)
	}
	if got := g.chain("a", ban{path: "c/..."}); len(got) != 2 {
		t.Errorf("chain = %q, want a folder to match its root", got)
	}
}
