package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// prefix begins every variable that overrides a key.
const prefix = "COUNTERSIGN_SIGNERD_"

// variables says which key each variable overrides, and how its text is read.
// Lists are separated by commas.
var variables = map[string]struct {
	key string
	set func(*file, string) error
}{
	"STATE_DIR":               {"state_dir", text(func(f *file) **string { return &f.StateDir })},
	"POLICY_FILE":             {"policy_file", text(func(f *file) **string { return &f.PolicyFile })},
	"KEY_NAME":                {"key.name", text(func(f *file) **string { return &f.Key.Name })},
	"KEYRING_BACKEND":         {"keyring.backend", text(func(f *file) **string { return &f.Keyring.Backend })},
	"KEYRING_PASSPHRASE_FILE": {"keyring.passphrase_file", text(func(f *file) **string { return &f.Keyring.PassphraseFile })},
	"KEYRING_TIMEOUT":         {"keyring.timeout", text(func(f *file) **string { return &f.Keyring.Timeout })},
	"NETWORK_RPC":             {"network.rpc", texts(func(f *file) **[]string { return &f.Network.RPC })},
	"NETWORK_MUST_ANSWER":     {"network.must_answer", number(func(f *file) **int { return &f.Network.MustAnswer })},
	"SOCKETS_DIR":             {"sockets.dir", text(func(f *file) **string { return &f.Sockets.Dir })},
	"SOCKETS_AGENT_UIDS":      {"sockets.agent_uids", uids(func(f *file) **[]uint32 { return &f.Sockets.AgentUIDs })},
	"SOCKETS_OPERATOR_UIDS":   {"sockets.operator_uids", uids(func(f *file) **[]uint32 { return &f.Sockets.OperatorUIDs })},
	"LOG_LEVEL":               {"log.level", text(func(f *file) **string { return &f.Log.Level })},
}

func text(field func(*file) **string) func(*file, string) error {
	return func(f *file, value string) error {
		*field(f) = &value
		return nil
	}
}

func texts(field func(*file) **[]string) func(*file, string) error {
	return func(f *file, value string) error {
		list := strings.Split(value, ",")
		*field(f) = &list
		return nil
	}
}

func number(field func(*file) **int) func(*file, string) error {
	return func(f *file, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New("must be a whole number")
		}
		*field(f) = &n
		return nil
	}
}

func uids(field func(*file) **[]uint32) func(*file, string) error {
	return func(f *file, value string) error {
		list := make([]uint32, 0, 1)
		for each := range strings.SplitSeq(value, ",") {
			uid, err := strconv.ParseUint(each, 10, 32)
			if err != nil {
				return fmt.Errorf("must be account numbers with commas between them")
			}
			list = append(list, uint32(uid))
		}
		*field(f) = &list
		return nil
	}
}

// override applies the environment and returns, by key, which variable set it.
func (f *file) override(environment []string) (map[string]string, error) {
	overridden := make(map[string]string)
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		short, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		variable, known := variables[short]
		if !known {
			return nil, fmt.Errorf("environment variable %s overrides no key; these do: %s", name, strings.Join(variableNames(), ", "))
		}
		if err := variable.set(f, value); err != nil {
			return nil, fmt.Errorf("environment variable %s %w", name, err)
		}
		overridden[variable.key] = name
	}
	return overridden, nil
}

func variableNames() []string {
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, prefix+name)
	}
	slices.Sort(names)
	return names
}

// lookup finds a variable in an environment.
func lookup(environment []string, name string) string {
	for _, entry := range environment {
		if found, value, ok := strings.Cut(entry, "="); ok && found == name {
			return value
		}
	}
	return ""
}

const application = "countersign"

// DefaultPath is signerd.toml in the platform's configuration folder.
func DefaultPath() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		folder = "."
	}
	return filepath.Join(folder, application, "signerd.toml")
}

// defaultStateDir is where the platform keeps what programs remember.
func defaultStateDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", application, "state")
	case "windows":
		return filepath.Join(orElse(os.Getenv("LocalAppData"), home), application, "state")
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, application)
	}
	return filepath.Join(home, ".local", "state", application)
}

// DefaultBackend is the key store that a person's session has.
func DefaultBackend() string {
	switch runtime.GOOS {
	case "darwin":
		return "keychain"
	case "windows":
		return "wincred"
	}
	return "secret-service"
}

// backends are the key stores that custody knows.
var backends = []string{"file", "secret-service", "kwallet", "keychain", "wincred", "systemd-credential"}

// Backends lists the key stores that can be named.
func Backends() string { return strings.Join(backends, ", ") }

// ownUIDs is our own account, where the system numbers accounts.
func ownUIDs() []uint32 {
	uid := os.Geteuid()
	if uid < 0 || int64(uid) > math.MaxUint32 {
		return nil
	}
	return []uint32{uint32(uid)}
}
