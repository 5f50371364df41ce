package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// readme COUNT PREFIX WORD VALUE: the commands of the README that begin so, exactly
// as they stand there but for one word, in the script's folder. There must be as many.
func readme(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, len(args) == 4, "[!] readme COUNT PREFIX WORD VALUE")
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	ts.Check(err)
	var commands []string
	for line := range strings.Lines(string(text)) {
		if command, indented := strings.CutPrefix(line, "    "); indented && strings.HasPrefix(command, args[1]) {
			commands = append(commands, strings.ReplaceAll(command, args[2], args[3]))
		}
	}
	if strconv.Itoa(len(commands)) != args[0] {
		ts.Fatalf("the README has %d commands that begin with %q", len(commands), args[1])
	}
	w := worldOf(ts)
	// The README's reader has one configuration, and this script has its own.
	work := ts.MkAbs(".")
	ts.Check(os.MkdirAll(filepath.Join(work, "bin"), 0o700))
	wrapper := "#!/bin/sh\nexec '" + filepath.Join(bin, "signerd") + "' --config '" + w.stack.SignerdConfig + "' \"$@\"\n"
	ts.Check(os.WriteFile(filepath.Join(work, "bin", "signerd"), []byte(wrapper), 0o700))
	shell := exec.CommandContext(w.ctx, "/bin/sh", "-e", "-c", strings.Join(commands, ""))
	shell.Dir, shell.Env = work, w.stack.Environment()
	shell.Stdout, shell.Stderr = ts.Stdout(), ts.Stderr()
	if err := shell.Run(); (err != nil) != neg {
		ts.Fatalf("%s: %v", strings.Join(commands, ""), err)
	}
}
