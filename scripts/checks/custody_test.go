package checks

import (
	"go/ast"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const custody = "signerd/internal/custody"

// The words that only code which holds a private key needs. Those of
// crypto/ed25519 count wherever that package is named; a name that says
// "private key" counts wherever it stands.
var ed25519Words = []string{"Sign", "NewKeyFromSeed", "GenerateKey", "PrivateKey", "PrivateKeySize", "SeedSize"}

// keyWords are the places of a file that speak of private keys.
func keyWords(file parsed) []string {
	named := importedAs(file.file, "crypto/ed25519")
	var found []string
	ast.Inspect(file.file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && named != "" && pkg.Name == named && slices.Contains(ed25519Words, n.Sel.Name) {
				found = append(found, file.at(n)+": "+pkg.Name+"."+n.Sel.Name)
				return false
			}
		case *ast.Ident:
			if strings.Contains(strings.ToLower(n.Name), "privatekey") {
				found = append(found, file.at(n)+": "+n.Name)
			}
		}
		return true
	})
	return found
}

// importedAs is the name under which a file imports a package, or nothing.
func importedAs(file *ast.File, path string) string {
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err != nil || imported != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

func TestPrivateKeysAreSpokenOfInCustodyOnly(t *testing.T) {
	inCustody := 0
	for _, file := range sources(t, "mcpd", "signerd", "shared", "proto") {
		words := keyWords(file)
		if under(file.name, []string{custody}) {
			inCustody += len(words)
			continue
		}
		for _, word := range words {
			t.Errorf("%s: private keys live in %s", word, custody)
		}
	}
	if inCustody == 0 {
		t.Errorf("%s never names a private key: this census looks in the wrong place", custody)
	}
}

func TestKeyringIsOpenedByOnePackage(t *testing.T) {
	var importers []string
	for _, file := range sources(t, "mcpd", "signerd", "shared", "scripts") {
		if importedAs(file.file, keyring) != "" {
			importers = append(importers, filepath.Dir(file.name))
		}
	}
	importers = slices.Compact(slices.Sorted(slices.Values(importers)))
	if len(importers) != 1 || !under(importers[0]+"/", []string{custody}) {
		t.Errorf("the keyring is imported by %v; want exactly one package, %s or one inside it", importers, custody)
	}
}

// Imports can be clean and the linker still be given something: the binary of
// the daemon that faces the model is looked at as well.
func TestMcpdBinaryHoldsNoKeyCode(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "mcpd")
	if _, err := output([]string{"CGO_ENABLED=0"}, "go", "build", "-o", binary, "./mcpd"); err != nil {
		t.Fatal(err)
	}
	symbols, err := exec.Command("go", "tool", "nm", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(symbols), "main.main") {
		t.Fatal("the binary has no symbols to look at")
	}
	// A method of the library's transaction takes a private key, so the linker
	// keeps that type; what makes or reads a key must not be there.
	for _, banned := range []string{
		module() + "/signerd/", keyring,
		builder + ".NewRandomPrivateKey", builder + ".NewWallet", builder + ".PrivateKeyFrom", builder + ".WalletFrom",
		"crypto/ed25519.GenerateKey",
	} {
		for line := range strings.Lines(string(symbols)) {
			if strings.Contains(line, banned) {
				t.Errorf("mcpd holds %s, and maybe more", strings.TrimSpace(line))
				break
			}
		}
	}
	modules, err := output(nil, "go", "version", "-m", binary)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(modules), keyring) {
		t.Error("mcpd links the keyring's module")
	}
}

func TestKeyWordsAreFound(t *testing.T) {
	file := parse(t, `package p
import e "crypto/ed25519"
type holder struct{ k e.PrivateKey }
func f(privateKeyBytes []byte) { e.Sign(nil, nil); e.Verify(nil, nil, nil) }`)
	if got := len(keyWords(file)); got != 3 {
		t.Errorf("%d key words, want PrivateKey, privateKeyBytes and Sign: %v", got, keyWords(file))
	}
}
