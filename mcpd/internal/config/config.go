// Package config reads mcpd.toml and the environment: the one door through
// which either enters mcpd. app uses it. It promises that an unknown key, a key
// in another case, a duplicate or a wrong value is an error with its line, that
// secrets are references and never values, and that no error repeats a value.
package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/logging"
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
	RPCURL  Secret
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
	values, err := parse(path, raw)
	if err != nil {
		return Config{}, err
	}
	if err := override(values, environment); err != nil {
		return Config{}, err
	}
	config, err := build(path, values, environment)
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
	values      map[string]value
	environment []string
	problems    []error
}

func build(path string, values map[string]value, environment []string) (Config, error) {
	b := &builder{path: path, values: values, environment: environment}
	config := Config{
		Socket:     b.socket("signer.socket"),
		ServerUIDs: b.uids("signer.uids"),
		BagsURL:    b.text("bags.base_url", DefaultBagsURL),
		BagsKey:    b.secret("bags.api_key"),
		RPCURL:     b.address("rpc.url"),
		Own: caps.Own{
			PerTransaction:     b.money("caps.per_transaction"),
			PerSession:         b.money("caps.per_session"),
			AllowUncappedSwaps: b.flag("allow_uncapped_token_swaps"),
		},
		Gate: b.gate(),
	}
	level, err := logging.ParseLevel(b.text("log.level", "info"))
	if err != nil {
		b.complain("log.level", err.Error())
	}
	config.Level = level
	return config, errors.Join(b.problems...)
}

func (b *builder) complain(key, text string) {
	source := b.path
	if found, ok := b.values[key]; ok {
		source = found.source
	}
	b.problems = append(b.problems, &Error{Source: source, Text: key + ": " + text})
}

func (b *builder) text(key, fallback string) string {
	found, ok := b.values[key]
	if !ok {
		return fallback
	}
	if found.kind != kindText {
		b.complain(key, "must be a text in quotes")
		return fallback
	}
	return found.text
}

func (b *builder) required(key, advice string) string {
	text := b.text(key, "")
	if text == "" {
		b.complain(key, "is missing; "+advice+", or set "+variableOf(key))
	}
	return text
}

// socket is where signerd listens unless it is told otherwise.
func (b *builder) socket(key string) string {
	if folder := lookUp(b.environment, "XDG_RUNTIME_DIR"); filepath.IsAbs(folder) {
		return b.text(key, filepath.Join(folder, "countersign", "agent.sock"))
	}
	return b.required(key, "set it to the path of signerd's agent.sock")
}

func (b *builder) flag(key string) bool {
	found, ok := b.values[key]
	if !ok {
		return false
	}
	if found.text != "true" && found.text != "false" || found.kind != kindFlag {
		b.complain(key, "must be true or false, without quotes")
	}
	return found.text == "true"
}

// uids are the accounts that signerd may run under; our own unless set.
func (b *builder) uids(key string) []uint32 {
	found, ok := b.values[key]
	if !ok {
		return []uint32{uint32(max(os.Geteuid(), 0))} //nolint:gosec // an account number fits 32 bits
	}
	if found.kind != kindList || len(found.list) == 0 {
		b.complain(key, "must be a list of numbers, such as [1001]")
		return nil
	}
	var uids []uint32
	for _, text := range found.list {
		uid, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			b.complain(key, "must be a list of numbers, such as [1001]")
			return nil
		}
		uids = append(uids, uint32(uid))
	}
	return uids
}

// money reads an amount with its unit. Zero is refused: it reads like "no
// limit" to one person and "nothing" to another.
func (b *builder) money(key string) amount.Units {
	text := b.text(key, "")
	if text == "" {
		return 0
	}
	number, unit, _ := strings.Cut(text, " ")
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

func (b *builder) gate() flow.Gate {
	mint, minimum := b.text("gate.mint", ""), b.text("gate.minimum", "")
	if mint == "" && minimum == "" {
		return flow.Gate{}
	}
	if mint == "" || minimum == "" {
		b.complain("gate.mint", "[gate] needs both mint and minimum")
		return flow.Gate{}
	}
	asset, err := intent.ParseAsset("gate.mint", mint)
	if err != nil {
		b.complain("gate.mint", "must be the address of a mint, or SOL")
		return flow.Gate{}
	}
	if minimum, err = intent.NormaliseAmount(minimum, asset); err != nil {
		b.complain("gate.minimum", fault.From(err).Message)
	}
	return flow.Gate{Mint: asset, Minimum: minimum}
}

// address reads the RPC node's address, which may carry a key and may
// therefore be a reference too.
func (b *builder) address(key string) Secret {
	text := b.required(key, "set it to the address of your Solana RPC node")
	if isReference(text) {
		return b.secret(key)
	}
	if text != "" && !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		b.complain(key, "must be an http or https address, or a reference to one")
	}
	return Secret{value: text}
}

func (b *builder) secret(key string) Secret {
	text := b.text(key, "")
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
	return fmt.Sprintf("signer socket %s, Bags at %s (key %s), RPC node set", c.Socket, c.BagsURL, key)
}
