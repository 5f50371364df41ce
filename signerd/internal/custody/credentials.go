package custody

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/shared/uds"
	"countersign/signerd/internal/custody/internal/keyring"
)

const (
	credentialSeal   = "countersign.seal"
	credentialPrefix = "countersign."
)

// maxCredential is well over a sealed blob in base64.
const maxCredential = 4096

// credentials reads the folder that systemd fills for a service.
type credentials struct{ dir string }

var errReadOnly = errors.New("systemd credentials are read only: make the key with the file backend and move it with systemd-creds encrypt")

func (c credentials) Get(_ context.Context, name string) ([]byte, error) {
	path := filepath.Join(c.dir, credentialPrefix+name)
	if err := uds.CheckSecretFile(path); errors.Is(err, os.ErrNotExist) {
		return nil, keyring.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	content, err := readBounded(path, maxCredential)
	if err != nil {
		return nil, errors.New("the credential cannot be read")
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, errors.New("the credential is not base64")
	}
	return blob, nil
}

func (credentials) Set(context.Context, string, []byte) error { return errReadOnly }

func (credentials) Remove(context.Context, string) error { return errReadOnly }

func (c credentials) Names(_ context.Context, prefix string) ([]string, error) {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, errors.New("the credential folder cannot be read")
	}
	var names []string
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.Name(), credentialPrefix); ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
