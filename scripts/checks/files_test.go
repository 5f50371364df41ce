package checks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestModulesReplaceNothing(t *testing.T) {
	for _, name := range tracked(t) {
		if filepath.Base(name) != "go.mod" {
			continue
		}
		out, err := output(nil, "go", "mod", "edit", "-json", name)
		if err != nil {
			t.Fatal(err)
		}
		var mod struct{ Replace, Exclude []any }
		if err := json.Unmarshal(out, &mod); err != nil {
			t.Fatal(err)
		}
		if len(mod.Replace)+len(mod.Exclude) != 0 {
			t.Errorf("%s replaces or excludes: who builds from it as a dependency gets something else", name)
		}
	}
}

// Where packages come from is the business of the machine that fetches them,
// and where its folders are too.
func TestNoRegistryHostAndNoMachinePath(t *testing.T) {
	// Spelt in halves, or this file would name them.
	banned := regexp.MustCompile(strings.Join([]string{
		`registry\.npm` + `js\.org`, `registry\.yarn` + `pkg\.com`, `proxy\.go` + `lang\.org`, `sum\.go` + `lang\.org`,
		`pypi\.` + `org`, `deb\.deb` + `ian\.org`, `(^|[^\w.])/ro` + `ot/`, `(^|[^\w.])/wo` + `rk/`,
	}, "|"))
	for _, name := range tracked(t) {
		content := read(t, name)
		if !text(content) {
			continue
		}
		for i, line := range strings.Split(content, "\n") {
			if hit := banned.FindString(line); hit != "" {
				t.Errorf("%s:%d names a registry or a path of one machine: %s", name, i+1, hit)
			}
		}
	}
}

func TestLockFilesPinByHashAndNameNoHost(t *testing.T) {
	locks := 0
	for _, name := range tracked(t) {
		if filepath.Base(name) != "package-lock.json" {
			continue
		}
		locks++
		var lock struct {
			Packages map[string]struct {
				Resolved  string
				Integrity string
				Link      bool
			}
		}
		if err := json.Unmarshal([]byte(read(t, name)), &lock); err != nil {
			t.Fatal(err)
		}
		for path, entry := range lock.Packages {
			if entry.Resolved != "" {
				t.Errorf("%s: %s says where it comes from: set omit-lockfile-registry-resolved in .npmrc and install again", name, path)
			}
			if path != "" && entry.Integrity == "" && !entry.Link {
				t.Errorf("%s: %s has no hash", name, path)
			}
		}
		if npmrc := filepath.Join(root, filepath.Dir(name), ".npmrc"); !strings.Contains(readIfThere(npmrc), "omit-lockfile-registry-resolved=true") {
			t.Errorf("%s has no .npmrc beside it that keeps hosts out of it", name)
		}
	}
	if locks == 0 {
		t.Error("no package-lock.json found")
	}
}

func readIfThere(name string) string {
	raw, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(raw)
}

func TestCIScriptIsExecutable(t *testing.T) {
	info, err := os.Stat(filepath.Join(root, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&0o111 == 0 {
		t.Error(".ci/run is not executable")
	}
}
