package config

import (
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/shared/logging"
	"countersign/shared/stricttoml"
	"countersign/shared/uds"
)

const (
	defaultKey        = "main"
	defaultPassphrase = "signerd.passphrase"
	defaultTimeout    = 3 * time.Second
	maxTimeout        = time.Minute
	maxNodes          = 8
)

// checker turns a file into a Config and collects every fault on the way.
type checker struct {
	folder      string
	positions   *stricttoml.Positions
	overridden  map[string]string
	environment []string
	found       stricttoml.Errors
}

// blame points at the key's place, or at the variable that set it.
func (c *checker) blame(key, format string, args ...any) {
	e := c.positions.Error(key, format, args...)
	if variable, ok := c.overridden[key]; ok {
		e.Line, e.Column = 0, 0
		e.Text = "environment variable " + variable + " sets " + e.Text
	}
	c.found = append(c.found, e)
}

func (c *checker) config(f file) Config {
	cfg := Config{
		StateDir:   c.path("state_dir", f.StateDir, defaultStateDir()),
		PolicyFile: c.path("policy_file", f.PolicyFile, "policy.toml"),
		Key:        Key{Name: c.keyName(f.Key.Name)},
		Network:    Network{RPC: c.nodes(f.Network.RPC), MustAnswer: c.mustAnswer(f.Network.RPC, f.Network.MustAnswer)},
		Log:        c.log(f.Log.Level),
	}
	cfg.Keyring = c.keyring(f)
	cfg.Sockets = c.sockets(f, cfg.StateDir)
	return cfg
}

func (c *checker) path(key string, value *string, otherwise string) string {
	if value == nil {
		return c.absolute(otherwise)
	}
	if *value == "" {
		c.blame(key, "must not be empty")
	}
	return c.absolute(*value)
}

// absolute reads relative paths from the file's own folder.
func (c *checker) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.folder, path)
}

func (c *checker) keyName(value *string) string {
	if value == nil {
		return defaultKey
	}
	if *value == "" {
		c.blame("key.name", "must not be empty")
	}
	return *value
}

func (c *checker) keyring(f file) Keyring {
	k := Keyring{Backend: DefaultBackend(), Timeout: defaultTimeout, CredentialDir: lookup(c.environment, "CREDENTIALS_DIRECTORY")}
	if value := f.Keyring.Backend; value != nil {
		k.Backend = *value
		if !slices.Contains(backends, k.Backend) {
			c.blame("keyring.backend", "must be one of: %s", Backends())
		}
	}
	if k.Backend == "file" {
		k.PassphraseFile = c.path("keyring.passphrase_file", f.Keyring.PassphraseFile, defaultPassphrase)
	} else if f.Keyring.PassphraseFile != nil {
		c.blame("keyring.passphrase_file", "is only for the backend file")
	}
	if value := f.Keyring.Timeout; value != nil {
		timeout, err := time.ParseDuration(*value)
		if err != nil || timeout <= 0 || timeout > maxTimeout {
			c.blame("keyring.timeout", `must be a time such as "3s", at most %s`, maxTimeout)
		}
		k.Timeout = timeout
	}
	return k
}

// mustAnswer is 0 where the file is silent, which means all.
func (c *checker) mustAnswer(nodes *[]string, value *int) int {
	if value == nil || nodes == nil {
		return 0
	}
	if *value < 1 || *value > len(*nodes) {
		c.blame("network.must_answer", "must be from 1 to %d, the number of addresses in rpc", len(*nodes))
	}
	return *value
}

func (c *checker) nodes(value *[]string) []string {
	if value == nil || len(*value) == 0 || len(*value) > maxNodes {
		c.blame("network.rpc", "must list 1 to %d addresses of RPC nodes", maxNodes)
		return nil
	}
	servers := make(map[string]int, len(*value))
	for i, address := range *value {
		if first, twice := servers[server(address)]; twice {
			c.blame("network.rpc", "address %d is of the same server as address %d: a node cannot vouch for itself", i+1, first)
		}
		servers[server(address)] = i + 1
		if reason := badAddress(address); reason != "" {
			// The address is not repeated: it may hold an API key.
			c.blame("network.rpc", "address %d %s", i+1, reason)
		}
	}
	return *value
}

// server is whom an address leads to, however it is spelled.
func server(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return address
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(parsed.Hostname()), "."), port)
}

// badAddress says what is wrong with an RPC address.
func badAddress(address string) string {
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https":
		return "must be an http or https URL"
	case parsed.User != nil:
		return "must not hold a user or password"
	case parsed.Fragment != "":
		return "must not have a fragment"
	case parsed.Scheme == "http" && !loopback(parsed.Hostname()):
		return "must be https: on the way, plain http could be changed by others (http is for this computer only)"
	}
	return ""
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (c *checker) sockets(f file, stateDir string) Sockets {
	s := Sockets{AgentUIDs: ownUIDs(), OperatorUIDs: ownUIDs()}
	otherwise := filepath.Join(stateDir, "run")
	if folder := lookup(c.environment, "XDG_RUNTIME_DIR"); filepath.IsAbs(folder) {
		otherwise = filepath.Join(folder, application)
	}
	s.Dir = c.path("sockets.dir", f.Sockets.Dir, otherwise)
	for key, list := range map[string]struct {
		from *[]uint32
		to   *[]uint32
	}{
		"sockets.agent_uids":    {f.Sockets.AgentUIDs, &s.AgentUIDs},
		"sockets.operator_uids": {f.Sockets.OperatorUIDs, &s.OperatorUIDs},
	} {
		if list.from == nil {
			continue
		}
		*list.to = *list.from
		if len(*list.from) == 0 {
			c.blame(key, "must name at least one account")
		}
	}
	for _, name := range []string{"agent.sock", "operator.sock"} {
		if err := uds.CheckPath(filepath.Join(s.Dir, name)); err != nil {
			c.blame("sockets.dir", "%v", err)
			break
		}
	}
	return s
}

func (c *checker) log(value *string) Log {
	if value == nil {
		return Log{}
	}
	level, err := logging.ParseLevel(*value)
	if err != nil {
		c.blame("log.level", "%v", err)
	}
	return Log{Level: level}
}
