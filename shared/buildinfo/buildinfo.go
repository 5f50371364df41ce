// Package buildinfo says which build this is, in one line. Any package may
// import it. It promises a non-empty version even for an untagged build.
package buildinfo

import (
	"runtime/debug"
	"sync"
)

// release is set by the linker for a tagged build.
var release string

// Version is the release, or the commit of an untagged build, or "devel".
var Version = sync.OnceValue(func() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return fromSettings(info.Settings)
})

// shownCommit is how much of a commit's name is shown.
const shownCommit = 12

func fromSettings(settings []debug.BuildSetting) string {
	var commit, changed string
	for _, setting := range settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				changed = "+changed"
			}
		}
	}
	if commit == "" {
		return "devel"
	}
	return "devel-" + commit[:min(shownCommit, len(commit))] + changed
}
