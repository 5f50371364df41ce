package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const wallet = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"

func TestMainRefusesWrongUsage(t *testing.T) {
	good := []string{"--rpc", "http://127.0.0.1:1", "--wallet", wallet}
	empty := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		arguments []string
		code      int
		want      string
	}{
		{"help", []string{"--help"}, done, "--api-key-file"},
		{"nothing", nil, usage, "--rpc and --wallet are required"},
		{"unknown flag", append(good, "--bogus"), usage, "bogus"},
		{"argument", append(good, "--api-key", "stub_x", "more"), usage, `unexpected argument "more"`},
		{"no key", good, usage, "give one of"},
		{"two keys", append(good, "--api-key", "stub_x", "--api-key-file", empty), usage, "give one of"},
		{"real key in the open", append(good, "--api-key", "bags_prod_x"), usage, "stub_"},
		{"no such file", append(good, "--api-key-file", empty+"x"), usage, "read the API key"},
		{"empty file", append(good, "--api-key-file", empty), usage, "is empty"},
		{"no chain", append(good, "--api-key", "stub_x"), failed, "install the programs"},
		{"parent gone", append(good, "--api-key", "stub_x", "--exit-with-stdin"), done, ""},
		{"no wallet", []string{"--rpc", "http://127.0.0.1:1", "--wallet", "me", "--api-key", "stub_x"}, failed, "wallet must be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := Main(test.arguments, strings.NewReader(""), &stdout, &stderr)
			if code != test.code || !strings.Contains(strings.ReplaceAll(stderr.String(), "  -", "  --"), test.want) {
				t.Errorf("code %d: %s", code, stderr.String())
			}
			if stdout.Len() > 0 || strings.Contains(stderr.String(), "bags_prod_x") {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}
