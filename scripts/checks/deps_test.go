package checks

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateDeps = flag.Bool("update-deps", false, "write the lists of dependencies instead of comparing them")

// Each daemon's whole closure is committed, so that a new dependency is a line
// that a reviewer sees.
func TestDependencyListsAreCommitted(t *testing.T) {
	for _, daemon := range []string{"mcpd", "signerd"} {
		t.Run(daemon, func(t *testing.T) {
			want := dependencies(t, daemon)
			name := filepath.Join(root, daemon, "deps.txt")
			if *updateDeps {
				if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v: run make deps-update and review what it writes", err)
			}
			if diff := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(want, "\n")); diff != "" {
				t.Errorf("%s/deps.txt is not what the daemon links: run make deps-update and review the difference\n%s", daemon, diff)
			}
		})
	}
}

// dependencies lists what a daemon links besides the standard library, with the
// systems that need it: L, D and W.
func dependencies(t *testing.T, daemon string) string {
	t.Helper()
	on := map[string]string{}
	for _, system := range systems {
		for _, p := range list(t, system, "-deps", "./"+daemon) {
			if !p.Standard {
				on[short(p.ImportPath)] += strings.ToUpper(system[:1])
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# What %s links besides the standard library, and on which of Linux, Darwin and Windows.\n", daemon)
	text.WriteString("# Written by make deps-update; a test compares.\n")
	for _, path := range slices.Sorted(maps.Keys(on)) {
		fmt.Fprintf(&text, "%-3s %s\n", on[path], path)
	}
	return text.String()
}
