// Package config reads mcpd.toml and the environment: the one door through
// which either enters mcpd. app uses it. It promises that an unknown key, a key
// in another case, a duplicate or a wrong value is an error with its place, that
// secrets are references and never values, and that no error repeats a value.
package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/shared/stricttoml"
)

// DefaultBagsURL is the public address of the Bags API.
const DefaultBagsURL = "https://public-api-v2.bags.fm/api/v1"

// FileName is the file's name in the configuration folder.
const FileName = "mcpd.toml"

// EnvironmentPrefix starts every variable that overrides a key.
const EnvironmentPrefix = "COUNTERSIGN_MCPD_"

// maxFile bounds the file.
const maxFile = 256 << 10

// Config is a checked configuration.
type Config struct {
	Socket     string
	ServerUIDs []uint32
	BagsURL    string
	// BagsKey is resolved; it is empty where no key is configured.
	BagsKey Secret
	// RPCURLs are asked in order until one answers.
	RPCURLs []Secret
	Own     caps.Own
	Gate    flow.Gate
	Level   slog.Level
}

// Secret is a resolved secret. It prints as redacted.
type Secret struct{ value string }

// Reveal returns the secret, for the one place that sends it.
func (s Secret) Reveal() string { return s.value }

func (Secret) String() string { return logging.Redacted }

// GoString keeps %#v from printing the secret.
func (Secret) GoString() string { return logging.Redacted }

// LogValue keeps the secret out of logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(logging.Redacted) }

// Error is what is wrong with the configuration.
type Error struct {
	// Source is the file, with the line where one is to blame, or the variable.
	Source string
	Text   string
}

func (e *Error) Error() string { return e.Source + ": " + e.Text }

// DefaultPath is mcpd.toml in the platform's configuration folder.
func DefaultPath() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", errors.New("the platform names no configuration folder; give --config FILE")
	}
	return filepath.Join(folder, "countersign", FileName), nil
}

// Load reads the file at path, or the default one if path is empty, and the
// environment over it. Only the default file may be missing.
func Load(path string) (Config, error) {
	return load(path, os.Environ())
}

func load(path string, environment []string) (Config, error) {
	named := path != ""
	if !named {
		var err error
		if path, err = DefaultPath(); err != nil {
			return Config{}, err
		}
	}
	raw, err := readFile(path)
	missing := errors.Is(err, os.ErrNotExist)
	if missing && named {
		return Config{}, noFile(path)
	}
	if err != nil && !missing {
		return Config{}, &Error{Source: path, Text: "cannot be read"}
	}
	f, positions, err := parse(path, raw)
	if err != nil {
		return Config{}, err
	}
	overridden, err := f.override(environment)
	if err != nil {
		return Config{}, err
	}
	b := &builder{path: path, positions: positions, overridden: overridden, environment: environment}
	config, err := b.build(f)
	if err != nil && missing {
		err = errors.Join(noFile(path), err)
	}
	return config, err
}

func noFile(path string) error {
	return fmt.Errorf("there is no file %s; README.md shows one", path)
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = errors.New("too large")
	}
	return raw, err
}

// builder reads values and remembers every complaint.
type builder struct {
	path        string
	positions   *stricttoml.Positions
	overridden  map[string]string
	environment []string
	problems    []error
}

func (b *builder) build(f file) (Config, error) {
	config := Config{
		Socket:     b.socket("signer.socket", f.Signer.Socket),
		ServerUIDs: b.uids("signer.uids", f.Signer.UIDs),
		BagsURL:    orElse(f.Bags.BaseURL, DefaultBagsURL),
		BagsKey:    b.secret("bags.api_key", orElse(f.Bags.APIKey, "")),
		RPCURLs:    b.addresses("rpc.urls", f.RPC.URLs),
		Own: caps.Own{
			PerTransaction:     b.money("caps.per_transaction", f.Caps.PerTransaction),
			PerSession:         b.money("caps.per_session", f.Caps.PerSession),
			AllowUncappedSwaps: orElse(f.AllowUncappedSwaps, false),
		},
		Gate: b.gate(f.Gate.Mint, f.Gate.Minimum),
	}
	level, err := logging.ParseLevel(orElse(f.Log.Level, "info"))
	if err != nil {
		b.complain("log.level", err.Error())
	}
	config.Level = level
	return config, errors.Join(b.problems...)
}

// complain points at the key's place, or at the variable that set it.
func (b *builder) complain(key, text string) {
	found := b.positions.Error(key, "%s", text)
	problem := at(b.path, found)
	if variable, ok := b.overridden[key]; ok {
		problem.Source = variable
	}
	b.problems = append(b.problems, problem)
}

func orElse[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

func (b *builder) required(key string, value *string, advice string) string {
	text := orElse(value, "")
	if text == "" {
		b.complain(key, "is missing; "+advice+", or set "+variableOf(key))
	}
	return text
}

// socket is where signerd listens unless it is told otherwise.
func (b *builder) socket(key string, value *string) string {
	if folder := lookUp(b.environment, "XDG_RUNTIME_DIR"); value == nil && filepath.IsAbs(folder) {
		return filepath.Join(folder, "countersign", "agent.sock")
	}
	return b.required(key, value, "set it to the path of signerd's agent.sock")
}

// uids are the accounts that signerd may run under; our own unless set.
func (b *builder) uids(key string, value *[]uint32) []uint32 {
	if value == nil {
		return []uint32{uint32(max(os.Geteuid(), 0))} //nolint:gosec // an account number fits 32 bits
	}
	if len(*value) == 0 {
		b.complain(key, "must be a list of numbers, such as [1001]")
	}
	return *value
}

// money reads an amount with its unit. Zero is refused: it reads like "no
// limit" to one person and "nothing" to another.
func (b *builder) money(key string, value *string) amount.Units {
	if value == nil {
		return 0
	}
	number, unit, _ := strings.Cut(*value, " ")
	if unit != "SOL" {
		b.complain(key, `must be an amount with its unit, such as "0.05 SOL"`)
		return 0
	}
	units, err := amount.ParseDecimal(number, amount.SOLDecimals)
	if err != nil {
		b.complain(key, err.Error())
	}
	return units
}

func (b *builder) gate(mint, least *string) flow.Gate {
	if mint == nil && least == nil {
		return flow.Gate{}
	}
	if mint == nil || least == nil {
		b.complain("gate.mint", "[gate] needs both mint and minimum")
		return flow.Gate{}
	}
	asset, err := intent.ParseAsset("gate.mint", *mint)
	if err != nil {
		b.complain("gate.mint", "must be the address of a mint, or SOL")
		return flow.Gate{}
	}
	minimum, err := intent.NormaliseAmount(*least, asset)
	if err != nil {
		b.complain("gate.minimum", fault.From(err).Message)
	}
	return flow.Gate{Mint: asset, Minimum: minimum}
}

// addresses reads those of the RPC nodes. Each may carry a key and may therefore
// be a reference too.
func (b *builder) addresses(key string, values *[]string) []Secret {
	if values == nil || len(*values) == 0 {
		b.complain(key, `is missing; set it to the addresses of your Solana RPC nodes, such as ["https://…"], or set `+variableOf(key))
		return nil
	}
	var list []Secret
	for _, text := range *values {
		secret := Secret{value: text}
		switch {
		case isReference(text):
			secret = b.secret(key, text)
		case !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://"):
			b.complain(key, "must be http or https addresses, or references to them")
		}
		list = append(list, secret)
	}
	return list
}

func (b *builder) secret(key, text string) Secret {
	if text == "" {
		return Secret{}
	}
	secret, err := resolve(text, b.environment)
	if err != nil {
		b.complain(key, err.Error())
	}
	return secret
}

// String shows a configuration without its secrets.
func (c Config) String() string {
	key := "not set"
	if c.BagsKey.value != "" {
		key = "set"
	}
	return fmt.Sprintf("signer socket %s, Bags at %s (key %s), %d RPC nodes", c.Socket, c.BagsURL, key, len(c.RPCURLs))
}
