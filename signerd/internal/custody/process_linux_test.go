package custody

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/signerd/internal/custody/internal/keyring"
)

// These variables make the test binary another process.
const (
	roleVariable  = "CUSTODY_TEST_ROLE"
	stateVariable = "CUSTODY_TEST_STATE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "start":
		return // Importing the keyring library was all.
	case "harden":
		exitWith(hardened())
	case "secret service":
		exitWith(useSecretService(os.Getenv(stateVariable)))
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// plantLauncher makes a PATH whose dbus-launch leaves a mark.
func plantLauncher(t *testing.T) (path, mark string) {
	t.Helper()
	folder := t.TempDir()
	mark = filepath.Join(folder, "mark")
	script := "#!/bin/sh\necho ran > '" + mark + "'\n"
	if err := os.WriteFile(filepath.Join(folder, "dbus-launch"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder, mark
}

func start(t *testing.T, binary string, environment ...string) {
	t.Helper()
	child := exec.Command(binary, "-test.run=^$")
	child.Env = append([]string{roleVariable + "=start", "HOME=" + t.TempDir()}, environment...)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func ran(mark string) bool {
	_, err := os.Stat(mark)
	return err == nil
}

func TestStartRunsNoProgram(t *testing.T) {
	for _, address := range []string{"", "DBUS_SESSION_BUS_ADDRESS=", "DBUS_SESSION_BUS_ADDRESS=autolaunch:"} {
		path, mark := plantLauncher(t)
		start(t, os.Args[0], "PATH="+path, address)
		if ran(mark) {
			t.Errorf("with %q the binary ran the dbus-launch that it found", address)
		}
	}
}

// TestStartWouldRunProgramWithoutNobus is the control of the test above: the
// same binary without nobus does run what it finds.
func TestStartWouldRunProgramWithoutNobus(t *testing.T) {
	folder := t.TempDir()
	nobus, err := filepath.Abs("internal/nobus/nobus.go")
	if err != nil {
		t.Fatal(err)
	}
	empty, overlay := filepath.Join(folder, "empty.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{nobus: empty}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{empty: []byte("package nobus\n"), overlay: replace} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(folder, "without")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, "./internal/keyring")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path, mark := plantLauncher(t)
	start(t, binary, "PATH="+path)
	if !ran(mark) {
		t.Skip("a session bus is found without a launcher on this machine, so there is nothing to prevent")
	}
}

// hardened reports whether HardenProcess and a seed's page keep what they promise.
func hardened() error {
	if err := HardenProcess(); err != nil {
		return err
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		return fmt.Errorf("dumpable is %d, %w", dumpable, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max != 0 {
		return fmt.Errorf("core limit is %+v, %w", limit, err)
	}
	page, err := newPage(canary())
	if err != nil {
		return err
	}
	defer page.close()
	flags, err := flagsOf(page.memory)
	if err != nil {
		return err
	}
	for _, flag := range []string{"lo", "dd", "dc"} { // locked, not dumped, not copied on fork
		if !strings.Contains(" "+flags+" ", " "+flag+" ") {
			return fmt.Errorf("the seed's page has flags %q, without %q", flags, flag)
		}
	}
	return nil
}

// flagsOf reads what the kernel says of the mapping that begins at memory.
func flagsOf(memory []byte) (string, error) {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return "", err
	}
	begin, within := fmt.Sprintf("%x-", &memory[0]), false
	begin = strings.TrimPrefix(begin, "0x")
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), begin) {
			within = true
		}
		if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); within && ok {
			return flags, nil
		}
	}
	return "", fmt.Errorf("no mapping begins at %s", begin)
}

func TestHardenProcess(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), roleVariable+"=harden")
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// useSecretService runs inside a private session bus.
func useSecretService(state string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	options := Options{Backend: keyring.SecretService, StateDir: state, Timeout: 10 * time.Second}
	if err := Prepare(options, false); err != nil {
		return err
	}
	vault, err := Open(options)
	if err != nil {
		return err
	}
	public, err := vault.Create(ctx, "main")
	if err != nil {
		return err
	}
	again, err := Open(options)
	if err != nil {
		return err
	}
	signer, err := again.Unlock(ctx, "main")
	if err != nil {
		return err
	}
	defer signer.Close()
	keys, err := again.List(ctx)
	if err != nil || len(keys) != 1 || keys[0] != (Key{"main", public}) || signer.PublicKey() != public {
		return fmt.Errorf("stored %s, found %v, %w", public, keys, err)
	}
	if err := again.Remove(ctx, "main"); err != nil {
		return err
	}
	if keys, err := again.List(ctx); err != nil || len(keys) != 0 {
		return fmt.Errorf("after removal: %v, %w", keys, err)
	}
	return nil
}

// TestUseSecretService keeps a key in a real Secret Service: gnome-keyring in
// a bus of its own, without a desktop.
func TestUseSecretService(t *testing.T) {
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "" {
				t.Skipf("%s is not installed; CI has it", program)
			}
			t.Fatalf("%s must be installed in CI", program)
		}
	}
	home := t.TempDir()
	runtimeDir := filepath.Join(home, "run")
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	// The daemon unlocks its login collection with what it reads, and the
	// binary follows once it has answered.
	script := `printf %s "$PASSWORD" | gnome-keyring-daemon --unlock --components=secrets >/dev/null && sleep 1 && exec "$0" -test.run='^$'`
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	child := exec.CommandContext(ctx, "dbus-run-session", "--", "sh", "-c", script, os.Args[0])
	child.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + runtimeDir, "XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"PASSWORD=" + rand.Text(), roleVariable + "=secret service", stateVariable + "=" + filepath.Join(home, "state"),
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
