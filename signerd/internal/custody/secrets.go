package custody

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"countersign/shared/durable"
	"countersign/shared/fault"
	"countersign/shared/uds"
	"countersign/signerd/internal/custody/internal/keyring"
)

// Prepare makes what Open needs and init may create: the sealing key and, for
// the file backend, a random passphrase. What exists is kept. used says that
// there may be keys already: then nothing new is made, with which they would not
// open.
func Prepare(options Options, used bool) error {
	if options.Backend == Credential {
		return nil
	}
	if err := uds.PrepareFolder(options.StateDir, uds.OwnerOnly); err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(options.StateDir, keysFolder))
	used = used || err == nil && len(files) > 0
	needed := []string{filepath.Join(options.StateDir, sealFile)}
	if options.Backend == keyring.File && options.PassphraseFile != "" {
		needed = append(needed, options.PassphraseFile)
	}
	for _, path := range needed {
		if _, err := os.Stat(path); used && errors.Is(err, os.ErrNotExist) {
			return fault.New(fault.CustodyUnavailable, "there may be keys in this state folder already, and %s, without which none of them opens, is missing: restore it from a backup; "+
				"or, if there is no key that you need, move the whole state folder away first", path)
		}
	}
	if err := createSecret(needed[0], randomBytes(sealKeySize)); err != nil {
		return err
	}
	if options.Backend == keyring.File && options.PassphraseFile != "" {
		return createSecret(options.PassphraseFile, []byte(rand.Text()+rand.Text()+"\n"))
	}
	return nil
}

func createSecret(path string, content []byte) error {
	err := durable.WriteNewFile(path, content)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

func randomBytes(n int) []byte {
	out := make([]byte, n)
	rand.Read(out) // never fails: it would end the process
	return out
}

// readSealKey reads the key that seals blobs, from a file or a credential that
// only we can read.
func readSealKey(options Options) ([]byte, error) {
	path := filepath.Join(options.StateDir, sealFile)
	if options.Backend == Credential {
		if options.CredentialDir == "" {
			return nil, fault.New(fault.CustodyUnavailable, "systemd has given this service no credentials; add LoadCredentialEncrypted= to its unit")
		}
		path = filepath.Join(options.CredentialDir, credentialSeal)
	}
	if err := uds.CheckSecretFile(path); err != nil {
		return nil, fault.New(fault.CustodyUnavailable, "the sealing key %s cannot be used: restore it from a backup; if there is no key yet, run signerd init", path).Because(err)
	}
	key, err := readBounded(path, sealKeySize)
	if err != nil || len(key) != sealKeySize {
		return nil, fault.New(fault.CustodyUnavailable, "the sealing key cannot be read or has another length than %d bytes", sealKeySize)
	}
	return key, nil
}

// readBounded reads a file of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return content, err
}

// maxPassphrase bounds what is read of a passphrase file.
const maxPassphrase = 4096

func readPassphrase(path string) (string, error) {
	if path == "" {
		return "", errors.New("the file backend needs [keyring] passphrase_file")
	}
	if err := uds.CheckSecretFile(path); err != nil {
		return "", err
	}
	content, err := readBounded(path, maxPassphrase)
	if err != nil {
		return "", errors.New("the passphrase file cannot be read")
	}
	passphrase := strings.TrimRight(string(content), "\r\n")
	if passphrase == "" {
		return "", errors.New("the passphrase file is empty")
	}
	return passphrase, nil
}
