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

const least = "[signer]\nsocket = \"/run/a.sock\"\n[rpc]\nurl = \"http://127.0.0.1:8899\"\n"

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
url = "https://rpc.example.test/?api-key=x"
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
	for _, shown := range []string{fmt.Sprint(got), fmt.Sprintf("%+v %#v", got.BagsKey, got.BagsKey), fmt.Sprintf("%#v", got.RPCURL)} {
		if strings.Contains(shown, canary) || strings.Contains(shown, "api-key") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

func TestLoadRefusesWithTheLine(t *testing.T) {
	cases := []struct{ name, text, says string }{
		{"unknown key", least + "[caps]\nper_week = \"1 SOL\"\n", ":6: there is no key of this name"},
		{"other case", "[signer]\nSocket = \"/run/a.sock\"\n", ":2: keys are lower case: write signer.socket"},
		{"table in other case", least + "[CAPS]\nper_session = \"1 SOL\"\n", ":5: there is no table"},
		{"unknown table", least + "[cap]\n", ":5: there is no table"},
		{"duplicate key", least + "[caps]\nper_session = \"1 SOL\"\nper_session = \"2 SOL\"\n", "a key appears twice"},
		{"array of tables", least + "[[caps]]\nper_session = \"1 SOL\"\n", ":5: only plain tables"},
		{"inline table", "caps = { per_session = \"1 SOL\" }\n" + least, ":1: there is no key"},
		{"not TOML", least + "oops\n", ":5: not valid TOML"},
		{"no unit", least + "[caps]\nper_session = \"1\"\n", ":6: caps.per_session: must be an amount with its unit"},
		{"number", least + "[caps]\nper_session = 1\n", ":6: caps.per_session: must be a text in quotes"},
		{"zero", least + "[caps]\nper_session = \"0 SOL\"\n", ":6: caps.per_session: amount must be greater than zero"},
		{"excess digits", least + "[caps]\nper_session = \"0.0000000001 SOL\"\n", ":6: caps.per_session: amount has more digits"},
		{"flag in quotes", "allow_uncapped_token_swaps = \"true\"\n" + least, ":1: allow_uncapped_token_swaps: must be true or false"},
		{"uids", strings.Replace(least, "[rpc]", "uids = [\"x\"]\n[rpc]", 1), ":3: signer.uids: must be a list of numbers"},
		{"half a gate", least + "[gate]\nmint = \"SOL\"\n", ":6: gate.mint: [gate] needs both"},
		{"gate mint", least + "[gate]\nmint = \"x\"\nminimum = \"1\"\n", ":6: gate.mint: must be the address"},
		{"gate minimum", least + "[gate]\nmint = \"SOL\"\nminimum = \"-1\"\n", ":7: gate.minimum"},
		{"log level", least + "[log]\nlevel = \"loud\"\n", ":6: log.level"},
		{"no socket", "[rpc]\nurl = \"http://x\"\n", "signer.socket: is missing"},
		{"no node", "[signer]\nsocket = \"/x\"\n", "rpc.url: is missing"},
		{"node without scheme", "[signer]\nsocket = \"/x\"\n[rpc]\nurl = \"localhost\"\n", ":4: rpc.url: must be an http"},
		{"a secret itself", least + "[bags]\napi_key = \"" + canary + "\"\n", ":6: bags.api_key: must be a reference"},
		{"keyring", least + "[bags]\napi_key = \"keyring:bags-api-key\"\n", ":6: bags.api_key: mcpd opens no keyring"},
		{"missing file", least + "[bags]\napi_key = \"file:/nonexistent\"\n", ":6: bags.api_key: the file it refers to cannot be used"},
		{"relative file", least + "[bags]\napi_key = \"file:key\"\n", ":6: bags.api_key: file: needs an absolute path"},
		{"unset variable", least + "[bags]\napi_key = \"env:NOPE\"\n", ":6: bags.api_key: the environment variable it refers to is not set"},
		{"no credentials", least + "[bags]\napi_key = \"systemd:bags\"\n", ":6: bags.api_key: systemd passes no credentials"},
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
	if err != nil || got.RPCURL.Reveal() != "https://rpc.example.test/?k="+canary {
		t.Errorf("rpc.url as a reference: %v", err)
	}
}

func TestEnvironmentOverridesEveryKey(t *testing.T) {
	texts := map[string]string{
		"signer.socket": "/run/b.sock", "signer.uids": "5, 6", "bags.base_url": "http://b", "bags.api_key": "env:KEY", "rpc.url": "http://c",
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
	if got.Socket != "/run/b.sock" || fmt.Sprint(got.ServerUIDs) != "[5 6]" || got.BagsURL != "http://b" || got.BagsKey.Reveal() != canary || got.RPCURL.Reveal() != "http://c" ||
		got.Own.PerTransaction != 100_000_000 || got.Own.PerSession != 200_000_000 || !got.Own.AllowUncappedSwaps || got.Gate.Mint != solana.TokenProgram || got.Level != slog.LevelError {
		t.Errorf("got %+v", got)
	}
	if _, err := load(write(t, FileName, least, 0o600), []string{EnvironmentPrefix + "CAPS_PER_SESION=1 SOL"}); err == nil || !strings.Contains(err.Error(), "check its spelling") {
		t.Errorf("a misspelt variable: %v", err)
	}
}

func TestSocketDefaultsToTheRuntimeFolder(t *testing.T) {
	got, err := load(write(t, FileName, "[rpc]\nurl = \"http://x\"\n", 0o600), []string{"XDG_RUNTIME_DIR=/run/user/7"})
	if err != nil || got.Socket != "/run/user/7/countersign/agent.sock" {
		t.Errorf("socket = %q, %v", got.Socket, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(least))
	f.Add([]byte("[caps]\nper_session = \"1 SOL\"\n[[x]]\n"))
	f.Add([]byte("a.b = [1, # c\n2]\n'signer'.\"socket\" = 'x'\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		values, err := parse("f", raw)
		if err != nil {
			return
		}
		for name := range values {
			if _, known := keys[name]; !known {
				t.Fatalf("took the unknown key %q", name)
			}
		}
	})
}
