package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"countersign/scripts/localnet"
	"countersign/scripts/stack"
)

// bin holds the daemons' binaries, built once for all scripts.
var bin string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "countersign-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-o", dir+string(filepath.Separator), "../../mcpd", "../../signerd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the daemons: %v\n%s", err, out)
		return 1
	}
	bin = dir
	return m.Run()
}

// scriptTime bounds one script.
const scriptTime = 3 * time.Minute

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Cmds:                commands,
		Setup:               setup,
	})
}

// setup gives each script a world of its own, which ends with it.
func setup(env *testscript.Env) error {
	// Sockets need short paths, and the script's own folder is a long one.
	dir, err := os.MkdirTemp("", "cs-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptTime)
	w := &scriptWorld{dir: dir, ctx: ctx, views: make(map[string]stack.View)}
	env.Values[worldKey] = w
	env.Defer(func() {
		w.close()
		cancel()
		_ = os.RemoveAll(dir)
	})
	return nil
}

// quick is a chain on which finality does not take long.
var quick = localnet.Options{SlotMS: 50, FinalizedLag: 8}
