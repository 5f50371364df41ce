package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"countersign/shared/uds"
)

// variableOf names the variable that overrides a key.
func variableOf(key string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// override puts the environment over the file and returns, by key, which
// variable set it. A variable with our prefix that names no key is an error: it
// is a misspelt limit as likely as not.
func (f *file) override(environment []string) (map[string]string, error) {
	byVariable := make(map[string]string, len(keys))
	for key := range keys {
		byVariable[variableOf(key)] = key
	}
	overridden := make(map[string]string)
	var problems []error
	for _, entry := range environment {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, EnvironmentPrefix) {
			continue
		}
		key, known := byVariable[name]
		if !known {
			problems = append(problems, &Error{Source: "environment", Text: "there is no key for a variable that starts with " + EnvironmentPrefix + "; check its spelling"})
			continue
		}
		if err := keys[key](f, text); err != nil {
			problems = append(problems, &Error{Source: name, Text: key + ": " + err.Error()})
		}
		overridden[key] = name
	}
	return overridden, errors.Join(problems...)
}

// The kinds of reference.
const (
	refFile    = "file:"
	refEnv     = "env:"
	refSystemd = "systemd:"
	refKeyring = "keyring:"
)

func isReference(text string) bool {
	for _, prefix := range []string{refFile, refEnv, refSystemd, refKeyring} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// maxSecret bounds a secret.
const maxSecret = 8 << 10

var errReference = errors.New("must be a reference to the secret and not the secret: file:/path (mode 0600), systemd:NAME or env:NAME")

// resolve follows a reference. keyring: is not one of them here: opening a
// keyring takes a library that stays out of the process that faces the model.
func resolve(reference string, environment []string) (Secret, error) {
	switch {
	case strings.HasPrefix(reference, refFile):
		return fromFile(strings.TrimPrefix(reference, refFile), true)
	case strings.HasPrefix(reference, refSystemd):
		return fromCredential(strings.TrimPrefix(reference, refSystemd), environment)
	case strings.HasPrefix(reference, refEnv):
		if text := lookUp(environment, strings.TrimPrefix(reference, refEnv)); text != "" {
			return checked(text)
		}
		return Secret{}, errors.New("the environment variable it refers to is not set")
	case strings.HasPrefix(reference, refKeyring):
		return Secret{}, errors.New("mcpd opens no keyring, because the keyring library stays out of this process; use file:/path (mode 0600), systemd:NAME or env:NAME")
	}
	return Secret{}, errReference
}

func lookUp(environment []string, name string) string {
	for _, entry := range environment {
		if key, text, _ := strings.Cut(entry, "="); key == name {
			return text
		}
	}
	return ""
}

func fromFile(path string, private bool) (Secret, error) {
	if !filepath.IsAbs(path) {
		return Secret{}, errors.New("file: needs an absolute path")
	}
	if private {
		if err := uds.CheckSecretFile(path); err != nil {
			return Secret{}, fmt.Errorf("the file it refers to cannot be used: %w", err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return Secret{}, errors.New("the file it refers to cannot be read")
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil || len(raw) > maxSecret {
		return Secret{}, errors.New("the file it refers to cannot be read, or is too large")
	}
	return checked(strings.TrimRight(string(raw), "\r\n"))
}

// fromCredential reads what systemd put into the service's credential folder,
// which is its own and open to nobody else.
func fromCredential(name string, environment []string) (Secret, error) {
	folder := lookUp(environment, "CREDENTIALS_DIRECTORY")
	if folder == "" {
		return Secret{}, errors.New("systemd passes no credentials to this process (LoadCredential= in the unit)")
	}
	if name == "" || strings.ContainsAny(name, `/\`) || name == ".." {
		return Secret{}, errors.New("systemd: needs the plain name of a credential")
	}
	return fromFile(filepath.Join(folder, name), false)
}

// checked refuses what cannot travel in a header.
func checked(text string) (Secret, error) {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return Secret{}, errors.New("the secret it refers to has characters that no key or address has")
		}
	}
	if text == "" {
		return Secret{}, errors.New("the secret it refers to is empty")
	}
	return Secret{value: text}, nil
}
