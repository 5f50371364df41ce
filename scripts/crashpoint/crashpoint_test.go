//go:build linux

package crashpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/scripts/crashpoint"
)

// TestGiveEachFate has a shell write three words, one call each, and gives the
// second a fate. The file tells what happened.
func TestGiveEachFate(t *testing.T) {
	launcher := filepath.Join(t.TempDir(), "launch")
	if out, err := exec.Command("go", "build", "-o", launcher, "./launch").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, test := range map[string]struct {
		fate   crashpoint.Fate
		want   string
		killed bool
	}{
		"pass":       {crashpoint.Pass, "one two three ", false},
		"kill":       {crashpoint.Kill, "one ", true},
		"kill after": {crashpoint.KillAfter, "one two ", true},
		"tear":       {crashpoint.Tear, "one tw", true},
		"fail":       {crashpoint.Fail(unix.ENOSPC), "one three ", false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			var met []crashpoint.Point
			command := exec.Command("/bin/sh", "-c", `for word in one two three; do printf "$word "; done >`+file)
			process, err := crashpoint.Start(command, launcher, func(p crashpoint.Point) crashpoint.Fate {
				if p.Target != file {
					return crashpoint.Pass
				}
				met = append(met, p)
				if len(met) == 2 {
					return test.fate
				}
				return crashpoint.Pass
			})
			if err != nil {
				t.Fatal(err)
			}
			_ = command.Wait() // Its end is looked at below.
			if err := process.Err(); err != nil {
				t.Error(err)
			}
			content, err := os.ReadFile(file)
			if err != nil || string(content) != test.want {
				t.Errorf("the file holds %q, %v; want %q", content, err, test.want)
			}
			status := command.ProcessState.Sys().(interface{ Signaled() bool })
			if status.Signaled() != test.killed {
				t.Errorf("%v", command.ProcessState)
			}
			if len(met) < 2 || met[1].Call != "write" || met[1].Bytes != 4 || string(met[1].Start) != "two " {
				t.Errorf("the calls told of are %v", met)
			}
		})
	}
}
