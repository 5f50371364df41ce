package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/uds"
)

const minimal = "[network]\nrpc = [\"http://127.0.0.1:8899\"]\n"

// folder is an absolute path on every system.
var folder = filepath.Join(os.TempDir(), "etc")

func TestReadWholeFile(t *testing.T) {
	text := `state_dir = "state"
policy_file = "/p/policy.toml"
[key]
name = "hot"
[keyring]
backend = "file"
passphrase_file = "pass"
timeout = "1500ms"
[network]
rpc = ["https://rpc.example.org/?api-key=k", "http://[::1]:8899"]
[sockets]
dir = "/run/c"
agent_uids = [1, 2]
operator_uids = [3]
[log]
level = "debug"
`
	got, err := parse([]byte(text), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		StateDir: filepath.Join(folder, "state"), PolicyFile: "/p/policy.toml", Key: Key{"hot"},
		Keyring: Keyring{Backend: "file", PassphraseFile: filepath.Join(folder, "pass"), Timeout: 1500 * time.Millisecond},
		Network: Network{RPC: []string{"https://rpc.example.org/?api-key=k", "http://[::1]:8899"}},
		Sockets: Sockets{Dir: "/run/c", AgentUIDs: []uint32{1, 2}, OperatorUIDs: []uint32{3}},
		Log:     Log{Level: slog.LevelDebug},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if got.AgentSocket() != "/run/c/agent.sock" || got.SocketAccess() != uds.WithGroup {
		t.Errorf("socket %s, access %d", got.AgentSocket(), got.SocketAccess())
	}
}

func TestDefault(t *testing.T) {
	got, err := parse([]byte(minimal), folder, []string{"XDG_RUNTIME_DIR=/run/user/7", "CREDENTIALS_DIRECTORY=/c", "PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		StateDir: defaultStateDir(), PolicyFile: filepath.Join(folder, "policy.toml"), Key: Key{"main"},
		Keyring: Keyring{Backend: DefaultBackend(), CredentialDir: "/c", Timeout: 3 * time.Second},
		Network: Network{RPC: []string{"http://127.0.0.1:8899"}},
		Sockets: Sockets{Dir: "/run/user/7/countersign", AgentUIDs: ownUIDs(), OperatorUIDs: ownUIDs()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if got.SocketAccess() != uds.OwnerOnly {
		t.Error("our own account alone needs no group")
	}
}

func TestRefuseFaultsWithTheirPlace(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown key":          {minimal + "[key]\nnam = \"x\"\n", "line 4, column 1: unknown key"},
		"unknown section":      {minimal + "[keys]\n", "line 3, column 2: unknown key"},
		"look-alike":           {minimal + "[key]\nName = \"x\"\n", "line 4, column 1: unknown key \"Name\""},
		"secret as a value":    {minimal + "[keyring]\npassphrase = \"x\"\n", "line 4, column 1: unknown key"},
		"twice":                {minimal + "[key]\nname = \"x\"\nname = \"y\"\n", "line 5"},
		"another type":         {"state_dir = 1\n" + minimal, "line 1"},
		"no node":              {"state_dir = \"/s\"\n", "network.rpc"},
		"empty list":           {"[network]\nrpc = []\n", "line 2, column 1: network.rpc"},
		"plain http abroad":    {"[network]\nrpc = [\"http://rpc.example.org\"]\n", "must be https"},
		"user in address":      {"[network]\nrpc = [\"https://u:CANARY@rpc.example.org\"]\n", "user or password"},
		"other scheme":         {"[network]\nrpc = [\"ws://CANARY\"]\n", "http or https"},
		"same node twice":      {"[network]\nrpc = [\"https://a\", \"https://a\"]\n", "address 2 is of the same server as address 1"},
		"backend":              {minimal + "[keyring]\nbackend = \"pass\"\n", "line 4, column 1: keyring.backend"},
		"passphrase of none":   {minimal + "[keyring]\nbackend = \"wincred\"\npassphrase_file = \"x\"\n", "only for the backend file"},
		"timeout":              {minimal + "[keyring]\ntimeout = \"2h\"\n", "line 4, column 1: keyring.timeout"},
		"timeout without unit": {minimal + "[keyring]\ntimeout = \"3\"\n", "keyring.timeout"},
		"no account":           {minimal + "[sockets]\nagent_uids = []\n", "sockets.agent_uids"},
		"negative account":     {minimal + "[sockets]\nagent_uids = [-1]\n", "line 4"},
		"long folder":          {minimal + "[sockets]\ndir = \"/" + strings.Repeat("x", 120) + "\"\n", "choose a shorter folder"},
		"level":                {minimal + "[log]\nlevel = \"INFO\"\n", "log.level"},
		"empty path":           {"state_dir = \"\"\n" + minimal, "line 1, column 1: state_dir"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(test.text), folder, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "CANARY") {
				t.Errorf("the address is shown: %v", err)
			}
		})
	}
}

func TestTellAllFaultsAtOnce(t *testing.T) {
	_, err := parse([]byte("[key]\nname = \"\"\n[log]\nlevel = \"x\"\n"), folder, nil)
	for _, want := range []string{"key.name", "log.level", "network.rpc"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
	}
}

func TestOverrideByEnvironment(t *testing.T) {
	environment := []string{
		"COUNTERSIGN_SIGNERD_STATE_DIR=/s", "COUNTERSIGN_SIGNERD_POLICY_FILE=/p", "COUNTERSIGN_SIGNERD_KEY_NAME=k",
		"COUNTERSIGN_SIGNERD_KEYRING_BACKEND=file", "COUNTERSIGN_SIGNERD_KEYRING_PASSPHRASE_FILE=/pass", "COUNTERSIGN_SIGNERD_KEYRING_TIMEOUT=9s",
		"COUNTERSIGN_SIGNERD_NETWORK_RPC=https://a,https://b", "COUNTERSIGN_SIGNERD_NETWORK_MUST_ANSWER=1", "COUNTERSIGN_SIGNERD_SOCKETS_DIR=/r",
		"COUNTERSIGN_SIGNERD_SOCKETS_AGENT_UIDS=1,2", "COUNTERSIGN_SIGNERD_SOCKETS_OPERATOR_UIDS=3", "COUNTERSIGN_SIGNERD_LOG_LEVEL=error",
		"COUNTERSIGN_MCPD_WHATEVER=x",
	}
	if len(environment)-1 != len(variables) {
		t.Errorf("%d variables tried of %d", len(environment)-1, len(variables))
	}
	got, err := parse([]byte(minimal+"[key]\nname = \"file\"\n"), folder, environment)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		StateDir: "/s", PolicyFile: "/p", Key: Key{"k"}, Keyring: Keyring{Backend: "file", PassphraseFile: "/pass", Timeout: 9 * time.Second},
		Network: Network{RPC: []string{"https://a", "https://b"}, MustAnswer: 1},
		Sockets: Sockets{Dir: "/r", AgentUIDs: []uint32{1, 2}, OperatorUIDs: []uint32{3}}, Log: Log{Level: slog.LevelError},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestRefuseWrongEnvironment(t *testing.T) {
	for entry, want := range map[string]string{
		"COUNTERSIGN_SIGNERD_KEY_NAM=x":              "overrides no key",
		"COUNTERSIGN_SIGNERD_=x":                     "overrides no key",
		"COUNTERSIGN_SIGNERD_key_name=x":             "overrides no key",
		"COUNTERSIGN_SIGNERD_SOCKETS_AGENT_UIDS=me":  "account numbers",
		"COUNTERSIGN_SIGNERD_SOCKETS_AGENT_UIDS=":    "account numbers",
		"COUNTERSIGN_SIGNERD_NETWORK_MUST_ANSWER=x":  "must be a whole number",
		"COUNTERSIGN_SIGNERD_NETWORK_MUST_ANSWER=0":  "must be from 1 to 1",
		"COUNTERSIGN_SIGNERD_NETWORK_MUST_ANSWER=2":  "must be from 1 to 1",
		"COUNTERSIGN_SIGNERD_LOG_LEVEL=loud":         "environment variable COUNTERSIGN_SIGNERD_LOG_LEVEL sets log.level",
		"COUNTERSIGN_SIGNERD_NETWORK_RPC=http://a.b": "environment variable COUNTERSIGN_SIGNERD_NETWORK_RPC sets network.rpc",
	} {
		t.Run(entry, func(t *testing.T) {
			if _, err := parse([]byte(minimal), folder, []string{entry}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		})
	}
}

func TestReadBackTemplate(t *testing.T) {
	for _, template := range []Template{
		{RPC: []string{"https://rpc.example.org"}},
		{StateDir: filepath.Join(folder, `odd "name"`), Backend: "file", PassphraseFile: filepath.Join(folder, "p"), RPC: []string{"https://a", "https://b"}},
	} {
		cfg, err := parse(Default(template), folder, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, Default(template))
		}
		if diff := cmp.Diff(template.RPC, cfg.Network.RPC); diff != "" {
			t.Error(diff)
		}
		if template.StateDir != "" && (cfg.StateDir != template.StateDir || cfg.Keyring.PassphraseFile != template.PassphraseFile) {
			t.Errorf("%+v from %+v", cfg, template)
		}
		// Every line that is commented out is a good one.
		commented := strings.NewReplacer("# dir", "dir", "# agent", "agent", "# operator", "operator", "# timeout", "timeout",
			"# policy_file", "policy_file", "# state_dir", "state_dir").Replace(string(Default(template)))
		if _, err := parse([]byte(commented), folder, nil); err != nil {
			t.Errorf("%v\n%s", err, commented)
		}
	}
}

func TestLoadFromDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signerd.toml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "signerd init") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(path)
	if err != nil || cfg.PolicyFile != filepath.Join(filepath.Dir(path), "policy.toml") {
		t.Errorf("%+v, %v", cfg, err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#", maxFile+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a huge file: %v", err)
	}
	if !filepath.IsAbs(DefaultPath()) && runtime.GOOS == "linux" && os.Getenv("HOME") != "" {
		t.Errorf("default path %s", DefaultPath())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal), "COUNTERSIGN_SIGNERD_LOG_LEVEL=info")
	f.Add(Default(Template{RPC: []string{"https://a"}}), "COUNTERSIGN_SIGNERD_NETWORK_RPC=https://a,https://b")
	f.Add([]byte("[network]\nrpc = [\"http://[::1\"]"), "=")
	f.Fuzz(func(t *testing.T, raw []byte, entry string) {
		cfg, err := parse(raw, folder, []string{entry})
		if err != nil {
			return
		}
		if !filepath.IsAbs(cfg.StateDir) || !filepath.IsAbs(cfg.PolicyFile) || len(cfg.Network.RPC) == 0 || uds.CheckPath(cfg.AgentSocket()) != nil {
			t.Errorf("accepted %s", fmt.Sprintf("%+v", cfg))
		}
	})
}

// TestOneServerIsOneNode: however it is spelled, it cannot vouch for itself.
func TestOneServerIsOneNode(t *testing.T) {
	for second, same := range map[string]bool{
		"https://rpc.example.org/": true, "https://RPC.example.org": true, "https://rpc.example.org:443": true, "https://rpc.example.org.": true,
		"HTTPS://rpc.example.org": true, "https://rpc.example.org?": true, "https://rpc.example.org/?api-key=other": true, "https://rpc.example.org/v2": true,
		"https://rpc2.example.org": false, "https://rpc.example.org:8443": false,
	} {
		_, err := parse(Default(Template{RPC: []string{"https://rpc.example.org", second}}), folder, nil)
		if refused := err != nil && strings.Contains(err.Error(), "same server"); refused != same || !same && err != nil {
			t.Errorf("%s beside https://rpc.example.org: %v", second, err)
		}
	}
}
