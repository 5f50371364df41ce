package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

const canary = "stub_bags_key_no_network"

func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

const least = "[signer]\nsocket = \"/run/a.sock\"\n[rpc]\nurls = [\"http://127.0.0.1:8899\"]\n"

func TestLoadReadsEveryKey(t *testing.T) {
	key := write(t, "key", canary+"\n", 0o600)
	path := write(t, FileName, `allow_uncapped_token_swaps = true
[signer]
socket = "/run/a.sock"
uids = [7, 8] # signerd's account
[bags]
base_url = "https://example.test/api"
api_key = "file:`+key+`"
[rpc]
urls = ["https://rpc.example.test/?api-key=x", "http://127.0.0.1:8899"]
[caps]
per_transaction = "0.05 SOL"
per_session = "0.5 SOL"
[gate]
mint = "SOL"
minimum = "1.50"
[log]
level = "warn"
`, 0o600)
	got, err := load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Socket != "/run/a.sock" || fmt.Sprint(got.ServerUIDs) != "[7 8]" || got.BagsURL != "https://example.test/api" || got.BagsKey.Reveal() != canary ||
		got.Own.PerTransaction != 50_000_000 || got.Own.PerSession != 500_000_000 || !got.Own.AllowUncappedSwaps ||
		got.Gate.Mint != amount.SOL || got.Gate.Minimum != "1.5" || got.Level != slog.LevelWarn {
		t.Errorf("got %+v", got)
	}
	for _, shown := range []string{fmt.Sprint(got), fmt.Sprintf("%+v %#v", got.BagsKey, got.BagsKey), fmt.Sprintf("%#v %v", got.RPCURLs, got.RPCURLs)} {
		if strings.Contains(shown, canary) || strings.Contains(shown, "api-key") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

func TestLoadRefusesWithThePlace(t *testing.T) {
	cases := []struct{ name, text, says string }{
		{"unknown key", least + "[caps]\nper_week = \"1 SOL\"\n", ":6:1: unknown key \"caps.per_week\""},
		{"other case", "[signer]\nSocket = \"/run/a.sock\"\n", ":2:1: unknown key \"Socket\" (keys are written in lower case)"},
		{"table in other case", least + "[CAPS]\nper_session = \"1 SOL\"\n", ":5:2: unknown key \"CAPS\""},
		{"unknown table", least + "[cap]\n", ":5:2: unknown key \"cap\""},
		{"duplicate key", least + "[caps]\nper_session = \"1 SOL\"\nper_session = \"2 SOL\"\n", ":7:1: key per_session is already defined"},
		{"array of tables", least + "[[caps]]\nper_session = \"1 SOL\"\n", ":5:3: cannot store an array table"},
		{"inline table", "caps = { per_week = \"1 SOL\" }\n" + least, ":1:10: unknown key \"per_week\""},
		{"not TOML", least + "oops\n", ":5:5: expected '='"},
		{"no text", least + "[caps]\nper_session = \"\"\n", ":6:1: caps.per_session: must be an amount with its unit"},
		{"a secret without quotes", least + "[bags]\napi_key = " + canary + "\n", ":6:11: "},
		{"half a secret in quotes", least + "[bags]\napi_key = \"" + canary + "\n", ":6:"},
		{"no accounts", strings.Replace(least, "[rpc]", "uids = []\n[rpc]", 1), ":3:1: signer.uids: must be a list of numbers"},
		{"no account number", strings.Replace(least, "[rpc]", "uids = [-1]\n[rpc]", 1), ":3:9: "},
		{"an empty gate", least + "[gate]\nmint = \"\"\nminimum = \"\"\n", ":6:1: gate.mint: must be the address"},
		{"an empty socket", "[signer]\nsocket = \"\"\n[rpc]\nurls = [\"http://x\"]\n", ":2:1: signer.socket: is missing"},
		{"no unit", least + "[caps]\nper_session = \"1\"\n", ":6:1: caps.per_session: must be an amount with its unit"},
		{"number", least + "[caps]\nper_session = 1\n", ":6:15: the value has the wrong type: it is a TOML integer"},
		{"zero", least + "[caps]\nper_session = \"0 SOL\"\n", ":6:1: caps.per_session: amount must be greater than zero"},
		{"excess digits", least + "[caps]\nper_session = \"0.0000000001 SOL\"\n", ":6:1: caps.per_session: amount has more digits"},
		{"flag in quotes", "allow_uncapped_token_swaps = \"true\"\n" + least, ":1:30: the value has the wrong type: it is a TOML string"},
		{"uids", strings.Replace(least, "[rpc]", "uids = [\"x\"]\n[rpc]", 1), ":3:9: the value has the wrong type: it is a TOML string"},
		{"half a gate", least + "[gate]\nmint = \"SOL\"\n", ":6:1: gate.mint: [gate] needs both"},
		{"gate mint", least + "[gate]\nmint = \"x\"\nminimum = \"1\"\n", ":6:1: gate.mint: must be the address"},
		{"gate minimum", least + "[gate]\nmint = \"SOL\"\nminimum = \"-1\"\n", ":7:1: gate.minimum"},
		{"log level", least + "[log]\nlevel = \"loud\"\n", ":6:1: log.level"},
		{"no socket", "[rpc]\nurls = [\"http://x\"]\n", "signer.socket: is missing"},
		{"no node", "[signer]\nsocket = \"/x\"\n", "rpc.urls: is missing"},
		{"node without scheme", "[signer]\nsocket = \"/x\"\n[rpc]\nurls = [\"localhost\"]\n", ":4:1: rpc.urls: must be http"},
		{"a secret itself", least + "[bags]\napi_key = \"" + canary + "\"\n", ":6:1: bags.api_key: must be a reference"},
		{"keyring", least + "[bags]\napi_key = \"keyring:bags-api-key\"\n", ":6:1: bags.api_key: mcpd opens no keyring"},
		{"missing file", least + "[bags]\napi_key = \"file:/nonexistent\"\n", ":6:1: bags.api_key: the file it refers to cannot be used"},
		{"relative file", least + "[bags]\napi_key = \"file:key\"\n", ":6:1: bags.api_key: file: needs an absolute path"},
		{"unset variable", least + "[bags]\napi_key = \"env:NOPE\"\n", ":6:1: bags.api_key: the environment variable it refers to is not set"},
		{"no credentials", least + "[bags]\napi_key = \"systemd:bags\"\n", ":6:1: bags.api_key: systemd passes no credentials"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(write(t, FileName, c.text, 0o600), nil)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error = %v, want one that says %q", err, c.says)
			}
			if strings.Contains(err.Error(), canary) {
				t.Error("the error repeats the secret")
			}
		})
	}
}

func TestSecretFilesMustBePrivate(t *testing.T) {
	open := write(t, "key", canary, 0o644)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := load(write(t, FileName, least+"[bags]\napi_key = \"file:"+open+"\"\n", 0o600), nil)
	if err == nil || !strings.Contains(err.Error(), "chmod 0600") {
		t.Errorf("error = %v", err)
	}
}

func TestReferencesResolve(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "bags"), []byte(canary), 0o400); err != nil {
		t.Fatal(err)
	}
	environment := []string{"CREDENTIALS_DIRECTORY=" + folder, "KEY=" + canary, "NODE=https://rpc.example.test/?k=" + canary}
	for _, reference := range []string{"env:KEY", "systemd:bags"} {
		got, err := load(write(t, FileName, least+"[bags]\napi_key = \""+reference+"\"\n", 0o600), environment)
		if err != nil || got.BagsKey.Reveal() != canary {
			t.Errorf("%s: %v", reference, err)
		}
	}
	if _, err := resolve("systemd:../bags", environment); err == nil {
		t.Error("a credential's name may leave its folder")
	}
	got, err := load(write(t, FileName, strings.Replace(least, "http://127.0.0.1:8899", "env:NODE", 1), 0o600), environment)
	if err != nil || len(got.RPCURLs) != 1 || got.RPCURLs[0].Reveal() != "https://rpc.example.test/?k="+canary {
		t.Errorf("rpc.urls as a reference: %v", err)
	}
}

func TestEnvironmentOverridesEveryKey(t *testing.T) {
	texts := map[string]string{
		"signer.socket": "/run/b.sock", "signer.uids": "5, 6", "bags.base_url": "http://b", "bags.api_key": "env:KEY", "rpc.urls": "http://c, http://d",
		"caps.per_transaction": "0.1 SOL", "caps.per_session": "0.2 SOL", "allow_uncapped_token_swaps": "true",
		"gate.mint": solana.TokenProgram.String(), "gate.minimum": "3", "log.level": "error",
	}
	environment := []string{"KEY=" + canary, "OTHER=1"}
	for key := range keys {
		text, there := texts[key]
		if !there {
			t.Fatalf("no text for %s", key)
		}
		environment = append(environment, variableOf(key)+"="+text)
	}
	got, err := load(write(t, FileName, least, 0o600), environment)
	if err != nil {
		t.Fatal(err)
	}
	if got.Socket != "/run/b.sock" || fmt.Sprint(got.ServerUIDs) != "[5 6]" || got.BagsURL != "http://b" || got.BagsKey.Reveal() != canary || len(got.RPCURLs) != 2 || got.RPCURLs[0].Reveal() != "http://c" || got.RPCURLs[1].Reveal() != "http://d" ||
		got.Own.PerTransaction != 100_000_000 || got.Own.PerSession != 200_000_000 || !got.Own.AllowUncappedSwaps || got.Gate.Mint != solana.TokenProgram || got.Level != slog.LevelError {
		t.Errorf("got %+v", got)
	}
	for entry, says := range map[string]string{
		"CAPS_PER_SESSION=":              "CAPS_PER_SESSION: caps.per_session: must be an amount with its unit",
		"ALLOW_UNCAPPED_TOKEN_SWAPS=yes": "ALLOW_UNCAPPED_TOKEN_SWAPS: allow_uncapped_token_swaps: must be true or false",
		"SIGNER_UIDS=5,root":             "SIGNER_UIDS: signer.uids: must be account numbers",
	} {
		capped := write(t, FileName, least+"[caps]\nper_session = \"1 SOL\"\n", 0o600)
		if _, err := load(capped, []string{EnvironmentPrefix + entry}); err == nil || !strings.Contains(err.Error(), EnvironmentPrefix+says) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if _, err := load(write(t, FileName, least, 0o600), []string{EnvironmentPrefix + "CAPS_PER_SESION=1 SOL"}); err == nil || !strings.Contains(err.Error(), "check its spelling") {
		t.Errorf("a misspelt variable: %v", err)
	}
}

func TestSocketDefaultsToTheRuntimeFolder(t *testing.T) {
	got, err := load(write(t, FileName, "[rpc]\nurls = [\"http://x\"]\n", 0o600), []string{"XDG_RUNTIME_DIR=/run/user/7"})
	if err != nil || got.Socket != "/run/user/7/countersign/agent.sock" {
		t.Errorf("socket = %q, %v", got.Socket, err)
	}
}

// Whatever a file says, a limit in it is in force.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(least))
	f.Add([]byte("[caps]\nper_session = \"1 SOL\"\n[[x]]\n"))
	f.Add([]byte("rpc.urls = [\"http://x\"]\nsigner = { socket = \"/x\", uids = [1, 2] }\n[caps]\nper_session = \"\"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		stated, _, err := parse("f", raw)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := load(path, nil)
		if err != nil {
			return
		}
		if (stated.Caps.PerSession != nil) != (got.Own.PerSession > 0) || (stated.Caps.PerTransaction != nil) != (got.Own.PerTransaction > 0) ||
			(stated.Gate.Mint != nil) != (got.Gate.Minimum != "") {
			t.Fatalf("%q: got %+v", raw, got)
		}
	})
}
