package e2e_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// holds ADDRESS LAMPORTS: what the observer sees there.
func holds(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 2, "holds ADDRESS LAMPORTS")
	want, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	w := worldOf(ts)
	account, _, err := w.stack.Eye.Account(w.ctx, args[0])
	ts.Check(err)
	if account.Lamports != want {
		ts.Fatalf("%s holds %d lamports, want %d", args[0], account.Lamports, want)
	}
}

// edit FILE OLD NEW: one replacement, as the owner would make it.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 3, "edit FILE OLD NEW")
	raw, err := os.ReadFile(args[0])
	ts.Check(err)
	if strings.Count(string(raw), args[1]) != 1 {
		ts.Fatalf("%q does not stand once in %s", args[1], args[0])
	}
	ts.Check(os.WriteFile(args[0], []byte(strings.Replace(string(raw), args[1], args[2], 1)), 0o600))
}

// hang-up: signerd gets SIGHUP, which asks it to read its policy again.
func hangUp(ts *testscript.TestScript, _ bool, _ []string) {
	process, err := os.FindProcess(worldOf(ts).stack.SignerPID())
	ts.Check(err)
	ts.Check(process.Signal(syscall.SIGHUP))
}

// await-log TEXT [COUNT]: the daemons come to log the text so many times.
func awaitLog(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, len(args) == 1 || len(args) == 2, "await-log TEXT [COUNT]")
	count := 1
	if len(args) == 2 {
		var err error
		count, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	w := worldOf(ts)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if strings.Count(w.log.String(), args[0]) >= count {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q is not logged; the log:\n%s", args[0], w.log.String())
		}
	}
}
