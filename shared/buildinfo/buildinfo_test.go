package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestNameBuildFromSettings(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for name, test := range map[string]struct {
		settings []debug.BuildSetting
		want     string
	}{
		"no commit":     {nil, "devel"},
		"clean commit":  {[]debug.BuildSetting{commit, {Key: "vcs.modified", Value: "false"}}, "devel-0123456789ab"},
		"changed files": {[]debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}, "devel-0123456789ab+changed"},
		"short commit":  {[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}, "devel-abc"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fromSettings(test.settings); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if Version() == "" {
		t.Error("the version of this build is empty")
	}
}
