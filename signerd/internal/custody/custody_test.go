package custody

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/shared/fault"
	"countersign/shared/logging"
	"countersign/shared/solana"
	"countersign/signerd/internal/custody/internal/keyring"
	"countersign/signerd/internal/ledger"
)

// canary is the seed that must never be seen.
func canary() []byte {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(37*i + 11)
	}
	return seed
}

func pair() []byte { return ed25519.NewKeyFromSeed(canary()) }

func fileOptions(t testing.TB) Options {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	options := Options{Backend: keyring.File, StateDir: state, PassphraseFile: filepath.Join(state, "passphrase"), Timeout: 20 * time.Second}
	if err := Prepare(options, false); err != nil {
		t.Fatal(err)
	}
	return options
}

func open(t testing.TB, options Options) *Vault {
	t.Helper()
	vault, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	return vault
}

func expectCustodyFault(t testing.TB, err error, words string) {
	t.Helper()
	if !fault.Is(err, fault.CustodyUnavailable) || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want a custody fault with %q", err, words)
	}
}

func TestKeepKeysInFiles(t *testing.T) {
	options := fileOptions(t)
	vault := open(t, options)
	first, err := vault.Create(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	imported, err := vault.Import(t.Context(), "other", []byte(base58.Encode(pair())))
	if err != nil {
		t.Fatal(err)
	}
	if want := publicOf(canary()); imported != want {
		t.Errorf("imported %s, want %s", imported, want)
	}
	again := open(t, options)
	keys, err := again.List(t.Context())
	if diff := cmp.Diff([]Key{{"main", first}, {"other", imported}}, keys); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	signer, err := again.Unlock(t.Context(), "other")
	if err != nil || signer.PublicKey() != imported {
		t.Fatalf("unlock: %v", err)
	}
	defer signer.Close()
	if _, err := again.Create(t.Context(), "main"); !fault.Is(err, fault.InvalidArguments) {
		t.Errorf("an existing key was overwritten: %v", err)
	}
	if err := again.Remove(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	_, err = again.Unlock(t.Context(), "main")
	expectCustodyFault(t, err, "no key named")
	expectCustodyFault(t, again.Remove(t.Context(), "main"), "no key named")
	if _, err := os.Lstat(filepath.Join(options.StateDir, keysFolder+".new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the staging folder was left behind: %v", err)
	}
	for _, name := range []string{"", "Main", "a/b", "..", strings.Repeat("a", 33), "-a"} {
		if _, err := again.Create(t.Context(), name); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestPrepareKeepsWhatExists(t *testing.T) {
	options := fileOptions(t)
	before, err := os.ReadFile(filepath.Join(options.StateDir, sealFile))
	if err != nil || len(before) != sealKeySize {
		t.Fatalf("%d bytes, %v", len(before), err)
	}
	if err := Prepare(options, false); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(options.StateDir, sealFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a second init made another sealing key (%v): every stored key would be lost", err)
	}
}

func TestSayWhatIsWrongWithTheStore(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(Options) (Options, error)
		words  string
	}{
		"no sealing key": {func(o Options) (Options, error) { return o, os.Remove(filepath.Join(o.StateDir, sealFile)) }, "sealing key"},
		"short sealing key": {func(o Options) (Options, error) {
			return o, os.Truncate(filepath.Join(o.StateDir, sealFile), 5)
		}, "sealing key"},
		"open sealing key": {func(o Options) (Options, error) {
			return o, os.Chmod(filepath.Join(o.StateDir, sealFile), 0o644)
		}, "sealing key"},
		"other sealing key": {func(o Options) (Options, error) {
			return o, os.WriteFile(filepath.Join(o.StateDir, sealFile), make([]byte, sealKeySize), 0o600)
		}, "another sealing key"},
		"open passphrase":  {func(o Options) (Options, error) { return o, os.Chmod(o.PassphraseFile, 0o644) }, "chmod 0600"},
		"no passphrase":    {func(o Options) (Options, error) { return o, os.Remove(o.PassphraseFile) }, "cannot be used"},
		"empty passphrase": {func(o Options) (Options, error) { return o, os.WriteFile(o.PassphraseFile, []byte("\n"), 0o600) }, "empty"},
		"wrong passphrase": {func(o Options) (Options, error) { return o, os.WriteFile(o.PassphraseFile, []byte("x"), 0o600) }, "another passphrase"},
		"damaged file": {func(o Options) (Options, error) {
			return o, os.WriteFile(filepath.Join(o.StateDir, keysFolder, "key.main"), []byte("x"), 0o600)
		}, "cannot be used"},
		"open folder": {func(o Options) (Options, error) { return o, os.Chmod(filepath.Join(o.StateDir, keysFolder), 0o755) }, "chmod 0700"},
		"unknown backend": {func(o Options) (Options, error) {
			o.Backend = "pass"
			return o, nil
		}, "choose one of"},
		"backend of another system": {func(o Options) (Options, error) {
			o.Backend = map[bool]string{true: keyring.Keychain, false: keyring.WinCred}[runtime.GOOS == "linux"]
			return o, nil
		}, "does not exist on this system"},
		"no credentials": {func(o Options) (Options, error) {
			o.Backend = Credential
			return o, nil
		}, "LoadCredentialEncrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			options := fileOptions(t)
			if _, err := open(t, options).Import(t.Context(), "main", []byte(base58.Encode(pair()))); err != nil {
				t.Fatal(err)
			}
			options, err := test.damage(options)
			if err != nil {
				t.Fatal(err)
			}
			vault, err := Open(options)
			if err == nil {
				_, err = vault.Unlock(t.Context(), "main")
			}
			expectCustodyFault(t, err, test.words)
			expectNoCanary(t, fmt.Sprintf("%v %+v", err, errors.Unwrap(err)))
		})
	}
}

// TestPrepareMakesNothingBesideOldKeys: with another sealing key or passphrase
// they would not open any more, and their owner would be told that all is ready.
func TestPrepareMakesNothingBesideOldKeys(t *testing.T) {
	for _, lost := range []string{"seal", "passphrase"} {
		options := fileOptions(t)
		if _, err := open(t, options).Import(t.Context(), "main", []byte(base58.Encode(pair()))); err != nil {
			t.Fatal(err)
		}
		path := map[string]string{"seal": filepath.Join(options.StateDir, sealFile), "passphrase": options.PassphraseFile}[lost]
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		expectCustodyFault(t, Prepare(options, false), "restore it from a backup")
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a new %s was made: %v", path, err)
		}
	}
	// Keys may lie elsewhere, in a keyring: then the ledger tells.
	expectCustodyFault(t, Prepare(Options{Backend: keyring.SecretService, StateDir: filepath.Join(t.TempDir(), "state")}, true), "restore it from a backup")
}

// expectNoCanary finds the secret in any form.
func expectNoCanary(t testing.TB, text string) {
	t.Helper()
	for form, secret := range secretForms(t) {
		if strings.Contains(text, strings.Trim(string(secret), "[]= \n")) {
			t.Errorf("the secret stands in clear (%s)", form)
		}
	}
}

func secretForms(t testing.TB) map[string][]byte {
	t.Helper()
	numbers := func(raw []byte) []byte {
		list := make([]int, len(raw))
		for i, b := range raw {
			list[i] = int(b)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return map[string][]byte{
		"solana-keygen": append(numbers(pair()), '\n'),
		"spaced list":   bytes.ReplaceAll(numbers(pair()), []byte(","), []byte(" , ")),
		"seed list":     numbers(canary()),
		"base58 pair":   []byte(base58.Encode(pair())),
		"base58 seed":   []byte(" " + base58.Encode(canary()) + "\n"),
		"base64 pair":   []byte(base64.StdEncoding.EncodeToString(pair())),
		"base64 seed":   []byte(base64.StdEncoding.EncodeToString(canary())),
	}
}

func TestParseEveryForm(t *testing.T) {
	for form, text := range secretForms(t) {
		t.Run(form, func(t *testing.T) {
			seed, err := parseSecret(text)
			if err != nil || !bytes.Equal(seed, canary()) {
				t.Errorf("got %d bytes, %v", len(seed), err)
			}
		})
	}
}

func TestRefuseOtherSecrets(t *testing.T) {
	mismatched := pair()
	mismatched[40] ^= 1
	for name, text := range map[string]string{
		"empty": "", "word": "hunter2", "two keys": base58.Encode(pair()) + " " + base58.Encode(pair()),
		"halves that differ": base58.Encode(mismatched),
		"63 numbers":         "[" + strings.TrimSuffix(strings.Repeat("1,", 63), ",") + "]",
		"65 numbers":         "[" + strings.TrimSuffix(strings.Repeat("1,", 65), ",") + "]",
		"256":                "[256" + strings.Repeat(",1", 63) + "]",
		"leading zero":       "[01" + strings.Repeat(",1", 63) + "]",
		"negative":           "[-1" + strings.Repeat(",1", 63) + "]",
		"open list":          "[1,2",
		"loose base64":       base64.StdEncoding.EncodeToString(canary())[:42] + "1=",
		"long":               strings.Repeat("1", 5000),
		"mnemonic":           "abandon abandon abandon abandon",
	} {
		t.Run(name, func(t *testing.T) {
			seed, err := parseSecret([]byte(text))
			if err == nil {
				t.Fatalf("took it for a seed of %d bytes", len(seed))
			}
			expectNoCanary(t, err.Error())
		})
	}
}

func TestWipeImportedSecret(t *testing.T) {
	secret := []byte(base58.Encode(pair()))
	if _, err := open(t, fileOptions(t)).Import(t.Context(), "main", secret); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(secret, make([]byte, len(secret))) {
		t.Error("the caller's copy of the secret was not wiped")
	}
}

func FuzzParseSecret(f *testing.F) {
	for _, text := range secretForms(f) {
		f.Add(text)
	}
	f.Add([]byte("[,,]"))
	f.Add([]byte("===="))
	f.Add([]byte("11111111111111111111111111111111"))
	f.Fuzz(func(t *testing.T, text []byte) {
		seed, err := parseSecret(bytes.Clone(text))
		if err == nil && len(seed) != ed25519.SeedSize {
			t.Errorf("%q gives a seed of %d bytes", text, len(seed))
		}
		// What parses as base58 is what the library says it is.
		trimmed := bytes.TrimSpace(text)
		if raw, ok := parseBase58(trimmed); ok && len(trimmed) > 0 {
			if want, err := base58.Decode(string(trimmed)); err != nil || !bytes.Equal(raw, want) {
				t.Errorf("%q: %x, the library says %x, %v", text, raw, want, err)
			}
		}
	})
}

func TestSealBindsNameAndKey(t *testing.T) {
	key := bytes.Repeat([]byte{7}, sealKeySize)
	blob, err := seal(key, "main", publicOf(canary()), canary())
	if err != nil {
		t.Fatal(err)
	}
	if public, seed, err := unseal(key, "main", blob); err != nil || public != publicOf(canary()) || !bytes.Equal(seed, canary()) {
		t.Fatalf("does not open: %v", err)
	}
	if bytes.Contains(blob, canary()) {
		t.Error("the seed stands in the blob")
	}
	if _, _, err := unseal(key, "other", blob); err == nil {
		t.Error("a blob opens under another name")
	}
	if _, _, err := unseal(bytes.Repeat([]byte{8}, sealKeySize), "main", blob); err == nil {
		t.Error("a blob opens with another sealing key")
	}
	for i := range blob {
		changed := bytes.Clone(blob)
		changed[i] ^= 1
		if _, _, err := unseal(key, "main", changed); err == nil {
			t.Errorf("a blob with byte %d changed opens", i)
		}
	}
	for n := range blob {
		if _, _, err := unseal(key, "main", blob[:n]); err == nil {
			t.Errorf("the first %d bytes of a blob open", n)
		}
	}
	lying, err := seal(key, "main", solana.PublicKey{1}, canary())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := unseal(key, "main", lying); !errors.Is(err, errNotPair) {
		t.Errorf("a seed under another public key: %v", err)
	}
}

func FuzzUnseal(f *testing.F) {
	key := bytes.Repeat([]byte{7}, sealKeySize)
	blob, err := seal(key, "main", publicOf(canary()), canary())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(blob)
	f.Add(blob[:nonceStart])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if public, seed, err := unseal(key, "main", raw); err == nil && (!bytes.Equal(raw[1:nonceStart], blob[1:nonceStart]) || publicOf(seed) != public) {
			t.Errorf("a forged blob opens: %x", raw)
		}
	})
}

func TestReadCredentials(t *testing.T) {
	source := fileOptions(t)
	vault := open(t, source)
	public, err := vault.Import(t.Context(), "main", []byte(base58.Encode(pair())))
	if err != nil {
		t.Fatal(err)
	}
	blob, err := vault.get(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string][]byte{
		credentialSeal: vault.sealKey, "countersign.key.main": []byte(base64.StdEncoding.EncodeToString(blob) + "\n"), "stranger": {1},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	server := open(t, Options{Backend: Credential, CredentialDir: folder})
	signer, err := server.Unlock(t.Context(), "main")
	if err != nil || signer.PublicKey() != public {
		t.Fatalf("unlock: %v", err)
	}
	signer.Close()
	if keys, err := server.List(t.Context()); err != nil || len(keys) != 1 || keys[0] != (Key{"main", public}) {
		t.Errorf("list: %v, %v", keys, err)
	}
	_, err = server.Unlock(t.Context(), "other")
	expectCustodyFault(t, err, "no key named")
	_, err = server.Create(t.Context(), "other")
	expectCustodyFault(t, err, "read only")
	expectCustodyFault(t, server.Remove(t.Context(), "main"), "read only")
}

// hangingStore stands for a key store whose prompt nobody answers.
type hangingStore struct{ store }

func (hangingStore) Get(context.Context, string) ([]byte, error) { return nil, keyring.ErrTimeout }

func TestSayThatStoreHangs(t *testing.T) {
	vault := open(t, fileOptions(t))
	vault.store = hangingStore{vault.store}
	_, err := vault.Unlock(t.Context(), "main")
	expectCustodyFault(t, err, "may be locked")
}

func TestShowNoSecret(t *testing.T) {
	vault := open(t, fileOptions(t))
	if _, err := vault.Import(t.Context(), "main", []byte(base58.Encode(pair()))); err != nil {
		t.Fatal(err)
	}
	signer, err := vault.Unlock(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	defer signer.Close()
	marshalled, err := json.Marshal(map[string]any{"signer": signer, "vault": vault})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	for _, logger := range []*slog.Logger{logging.New(&logged, slog.LevelDebug), slog.New(slog.NewJSONHandler(&logged, nil))} {
		logger.LogAttrs(t.Context(), slog.LevelInfo, "m", slog.Any("signer", signer), slog.Any("vault", vault))
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q %v %+v %#v %s", signer, signer, signer, signer, signer, vault, vault, vault, vault) + string(marshalled) + logged.String()
	expectNoCanary(t, shown)
	for _, sealing := range []string{fmt.Sprintf("%d", vault.sealKey), base64.StdEncoding.EncodeToString(vault.sealKey)} {
		if strings.Contains(shown, sealing) {
			t.Error("the sealing key stands in clear")
		}
	}
	if !strings.Contains(shown, signer.PublicKey().String()) {
		t.Errorf("the address is not shown: %s", shown)
	}
}

func TestRefuseWhatIsNotReserved(t *testing.T) {
	signer := unlocked(t)
	if signed, err := signer.Sign(ledger.Reservation{}); err == nil || signed.Stamped() {
		t.Error("a zero reservation was signed")
	}
}

func unlocked(t testing.TB) *Signer {
	t.Helper()
	page, err := newPage(canary())
	if err != nil {
		t.Fatal(err)
	}
	signer := &Signer{public: publicOf(canary()), page: page}
	t.Cleanup(signer.Close)
	return signer
}

func TestWipeOnClose(t *testing.T) {
	signer := unlocked(t)
	if signature, err := signer.signMessage([]byte("m")); err != nil || !signer.PublicKey().Verify([]byte("m"), signature) {
		t.Fatalf("does not sign: %v", err)
	}
	signer.Close()
	signer.Close()
	if _, err := signer.signMessage([]byte("m")); !fault.Is(err, fault.CustodyUnavailable) {
		t.Errorf("a closed signer: %v", err)
	}
}
