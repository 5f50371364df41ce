//go:build unix

package uds

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shortFolder is a temporary folder whose path leaves room for a socket's name.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "uds")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestListenPrivately(t *testing.T) {
	// The most careless umask must not show.
	before := unix.Umask(0)
	defer unix.Umask(before)
	for access, want := range map[Access]struct{ folder, socket os.FileMode }{
		OwnerOnly: {0o700, 0o600}, WithGroup: {0o750, 0o660},
	} {
		path := filepath.Join(shortFolder(t), "run", "agent.sock")
		listener, err := Listen(path, access)
		if err != nil {
			t.Fatal(err)
		}
		if got := mode(t, filepath.Dir(path)); got != want.folder {
			t.Errorf("folder has mode %o, want %o", got, want.folder)
		}
		if got := mode(t, path); got != want.socket {
			t.Errorf("socket has mode %o, want %o", got, want.socket)
		}
		if err := errors.Join(listener.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket outlives its listener: %v", err)
		}
	}
	if restored := unix.Umask(0); restored != 0 {
		t.Errorf("umask is %o after listening, want 0 as before", restored)
	}
}

func TestKnowPeer(t *testing.T) {
	path := filepath.Join(shortFolder(t), "run", "agent.sock")
	listener, err := Listen(path, OwnerOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for side, connection := range map[string]net.Conn{"server": server, "client": client} {
		got, err := PeerOf(connection)
		if err != nil {
			t.Fatal(err)
		}
		if int(got.UID) != os.Geteuid() || int(got.PID) != os.Getpid() {
			t.Errorf("the %s sees uid %d, pid %d; want %d, %d", side, got.UID, got.PID, os.Geteuid(), os.Getpid())
		}
		if own, err := os.Executable(); runtime.GOOS == "linux" && (err != nil || got.Executable != own && got.Executable != "") {
			t.Errorf("the %s sees %q, want %q (%v)", side, got.Executable, own, err)
		}
	}
	plain, other := net.Pipe()
	defer plain.Close()
	defer other.Close()
	if _, err := PeerOf(plain); err == nil {
		t.Error("a pipe has peer credentials")
	}
}

func TestRefuseUnfitPlaces(t *testing.T) {
	folder := shortFolder(t)
	for name, test := range map[string]struct {
		path    string
		prepare func(path string) error
		want    string
	}{
		"relative path": {"agent.sock", nil, "absolute"},
		"long path":     {filepath.Join(folder, strings.Repeat("x", 110)), nil, "bytes"},
		"open folder": {filepath.Join(folder, "open", "s"), func(path string) error {
			return errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.Chmod(filepath.Dir(path), 0o711))
		}, "chmod 0700"},
		"folder is a link": {filepath.Join(folder, "link", "s"), func(path string) error {
			return errors.Join(os.Mkdir(filepath.Join(folder, "real"), 0o700), os.Symlink("real", filepath.Dir(path)))
		}, "not a folder"},
		"file in the way": {filepath.Join(folder, "file", "s"), func(path string) error {
			return errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("precious"), 0o600))
		}, "not a socket"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.prepare != nil {
				if err := test.prepare(test.path); err != nil {
					t.Fatal(err)
				}
			}
			listener, err := Listen(test.path, OwnerOnly)
			if err == nil {
				_ = listener.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	if content, err := os.ReadFile(filepath.Join(folder, "file", "s")); err != nil || string(content) != "precious" {
		t.Errorf("the file in the way holds %q, %v", content, err)
	}
}

func TestRefuseForeignFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can give a folder away; the owner check is then tried on a folder of root's")
		if err := PrepareFolder("/usr", OwnerOnly); err == nil || !strings.Contains(err.Error(), "belongs to uid 0") {
			t.Errorf("a folder of root's: %v", err)
		}
		return
	}
	folder := filepath.Join(shortFolder(t), "theirs")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Chown(folder, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if err := PrepareFolder(folder, OwnerOnly); err == nil || !strings.Contains(err.Error(), "belongs to uid 12345") {
		t.Errorf("a foreign folder: %v", err)
	}
}

func TestReplaceOnlyStaleSocket(t *testing.T) {
	path := filepath.Join(shortFolder(t), "run", "agent.sock")
	if err := PrepareFolder(filepath.Dir(path), OwnerOnly); err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	// It answers, though nobody holds our lock: it is not ours to remove.
	if _, err := Listen(path, OwnerOnly); err == nil || !strings.Contains(err.Error(), "answers") {
		t.Errorf("a live socket: %v", err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := Listen(path, OwnerOnly)
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	defer first.Close()
	if _, err := Listen(path, OwnerOnly); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a second listener: %v", err)
	}
}

func TestCheckSecretFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "secret")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckSecretFile(path); err != nil {
		t.Errorf("a private file: %v", err)
	}
	for _, lax := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(path, lax); err != nil {
			t.Fatal(err)
		}
		if err := CheckSecretFile(path); err == nil || !strings.Contains(err.Error(), "chmod 0600") {
			t.Errorf("mode %o: %v", lax, err)
		}
	}
	link := filepath.Join(folder, "link")
	if err := errors.Join(os.Chmod(path, 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{link, folder, filepath.Join(folder, "missing")} {
		if err := CheckSecretFile(wrong); err == nil {
			t.Errorf("%s passed for a secret file", wrong)
		}
	}
}
