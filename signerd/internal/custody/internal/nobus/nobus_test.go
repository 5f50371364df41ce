package nobus

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestNameBus(t *testing.T) {
	folder, err := os.MkdirTemp("/tmp", "bus")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if got := busAddress(folder); got != nowhere {
		t.Errorf("without a bus: %s", got)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got, want := busAddress(folder), "unix:path="+filepath.Join(folder, "bus"); got != want {
		t.Errorf("with a bus: %s, want %s", got, want)
	}
	for _, wrong := range []string{"", "relative"} {
		if got := busAddress(wrong); got != nowhere {
			t.Errorf("runtime folder %q: %s", wrong, got)
		}
	}
}
