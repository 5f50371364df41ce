// Package config reads signerd.toml and the environment, and nothing else of
// signerd reads either. Only app imports it. It promises that nothing in the
// file or under our prefix in the environment is ignored: what it does not
// know, it refuses. No secret is ever a value here: keys and passphrases are
// named by where they lie.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/shared/stricttoml"
	"countersign/shared/uds"
)

// Config is the daemon's configuration. Every path in it is absolute.
type Config struct {
	StateDir   string
	PolicyFile string
	Key        Key
	Keyring    Keyring
	Network    Network
	Sockets    Sockets
	Log        Log
}

// Key names the key that signs.
type Key struct{ Name string }

// Keyring names the one key store that is used.
type Keyring struct {
	Backend        string
	PassphraseFile string
	// CredentialDir is where systemd put credentials, if it did.
	CredentialDir string
	Timeout       time.Duration
}

// Network lists the RPC nodes. Which network they must serve is the policy's.
type Network struct {
	RPC []string
	// MustAnswer is how many of them must answer where money rests on it; 0
	// means all.
	MustAnswer int
}

// Sockets says where we listen and who may connect.
type Sockets struct {
	Dir          string
	AgentUIDs    []uint32
	OperatorUIDs []uint32
}

// Log says what is logged.
type Log struct{ Level slog.Level }

// LedgerPath is the database.
func (c Config) LedgerPath() string { return filepath.Join(c.StateDir, "ledger.db") }

// AuditPath is the journal.
func (c Config) AuditPath() string { return filepath.Join(c.StateDir, "audit.jsonl") }

// AgentSocket is where mcpd connects.
func (c Config) AgentSocket() string { return filepath.Join(c.Sockets.Dir, "agent.sock") }

// OperatorSocket is where a person's commands connect.
func (c Config) OperatorSocket() string { return filepath.Join(c.Sockets.Dir, "operator.sock") }

// SocketAccess is what the socket folder must admit: the group, where other
// accounts than ours may connect.
func (c Config) SocketAccess() uds.Access {
	own := ownUIDs()
	for _, uid := range slices.Concat(c.Sockets.AgentUIDs, c.Sockets.OperatorUIDs) {
		if !slices.Contains(own, uid) {
			return uds.WithGroup
		}
	}
	return uds.OwnerOnly
}

// file mirrors signerd.toml. A pointer is nil where the file is silent.
type file struct {
	StateDir   *string `toml:"state_dir"`
	PolicyFile *string `toml:"policy_file"`
	Key        struct {
		Name *string `toml:"name"`
	} `toml:"key"`
	Keyring struct {
		Backend        *string `toml:"backend"`
		PassphraseFile *string `toml:"passphrase_file"`
		Timeout        *string `toml:"timeout"`
	} `toml:"keyring"`
	Network struct {
		RPC        *[]string `toml:"rpc"`
		MustAnswer *int      `toml:"must_answer"`
	} `toml:"network"`
	Sockets struct {
		Dir          *string   `toml:"dir"`
		AgentUIDs    *[]uint32 `toml:"agent_uids"`
		OperatorUIDs *[]uint32 `toml:"operator_uids"`
	} `toml:"sockets"`
	Log struct {
		Level *string `toml:"level"`
	} `toml:"log"`
}

// maxFile bounds the file.
const maxFile = 64 << 10

// Check checks the text of a file that would stand at path.
func Check(raw []byte, path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("configuration path: %w", err)
	}
	_, err = parse(raw, filepath.Dir(absolute), os.Environ())
	return err
}

// Load reads the file at path, then the environment, and checks the whole.
func Load(path string) (Config, error) {
	raw, err := read(path)
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("there is no configuration at %s; run signerd init, or name one with --config", path)
	}
	if err != nil {
		return Config{}, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Config{}, fmt.Errorf("configuration path: %w", err)
	}
	cfg, err := parse(raw, filepath.Dir(absolute), os.Environ())
	if err != nil {
		return Config{}, fmt.Errorf("%s:\n%w", path, err)
	}
	return cfg, nil
}

func read(path string) ([]byte, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open configuration: %w", err)
	}
	defer opened.Close()
	if err := uds.CheckUnsharedFile(path); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return raw, nil
}

// parse is Load without the disk. folder is the file's own, from which
// relative paths count.
func parse(raw []byte, folder string, environment []string) (Config, error) {
	var f file
	positions, err := stricttoml.Decode(raw, &f)
	if err != nil {
		return Config{}, err
	}
	overridden, err := f.override(environment)
	if err != nil {
		return Config{}, err
	}
	c := checker{folder: folder, positions: positions, overridden: overridden, environment: environment}
	cfg := c.config(f)
	if len(c.found) > 0 {
		return Config{}, c.found
	}
	return cfg, nil
}

// Template is what init asks for.
type Template struct {
	StateDir       string
	Backend        string
	PassphraseFile string
	RPC            []string
	SocketDir      string
}

// Default is a commented file. An empty field of the template is left to its
// default.
func Default(t Template) []byte {
	var out bytes.Buffer
	line := func(set bool, key, value string) {
		if !set {
			out.WriteString("# ")
		}
		fmt.Fprintf(&out, "%s = %s\n", key, value)
	}
	out.WriteString("# signerd: where things are. What may be signed stands in the policy file.\n" +
		"# Each key can be overridden by COUNTERSIGN_SIGNERD_<SECTION>_<KEY>.\n\n")
	line(t.StateDir != "", "state_dir", quote(orElse(t.StateDir, defaultStateDir())))
	line(false, "policy_file", quote("policy.toml"))
	out.WriteString("\n[key]\n")
	line(true, "name", quote(defaultKey))
	out.WriteString("\n[keyring]\n# One of: " + Backends() + "\n")
	line(true, "backend", quote(orElse(t.Backend, DefaultBackend())))
	line(t.PassphraseFile != "", "passphrase_file", quote(orElse(t.PassphraseFile, defaultPassphrase)))
	line(false, "timeout", quote(defaultTimeout.String()))
	out.WriteString("\n[network]\n# All are asked, and where they differ the strictest counts. must_answer is how\n" +
		"# many of them must answer, all by default: one less than that may lie.\n")
	quoted := make([]string, 0, len(t.RPC))
	for _, address := range t.RPC {
		quoted = append(quoted, quote(address))
	}
	line(true, "rpc", "["+strings.Join(quoted, ", ")+"]")
	line(false, "must_answer", strconv.Itoa(len(t.RPC)))
	out.WriteString("\n[sockets]\n# Accounts that may connect; our own if not set.\n")
	line(t.SocketDir != "", "dir", quote(orElse(t.SocketDir, "/run/countersign")))
	line(false, "agent_uids", "[1000]")
	line(false, "operator_uids", "[1000]")
	out.WriteString("\n[log]\n")
	line(true, "level", quote("info"))
	return out.Bytes()
}

// quote writes a TOML basic string.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
