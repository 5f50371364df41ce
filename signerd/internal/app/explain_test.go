package app

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/scripts/localnet"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/explain"
)

// stand-in addresses; nothing on a chain belongs to them.
var (
	explainedWallet = solana.PublicKey(bytes.Repeat([]byte{7}, 32))
	explainedFriend = solana.PublicKey(bytes.Repeat([]byte{8}, 32))
)

const explainedGenesis = "HVTLj6rEoCT9xYLPjzxnnR1QDRT4xyzuWXoK3RGoytoG"

// nobody is an RPC address that nothing answers at.
const nobody = "http://127.0.0.1:1"

// command runs one command of signerd with a configuration of its own.
type command struct {
	t      *testing.T
	folder string
}

func newCommand(t *testing.T, rpc string) command {
	t.Helper()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c := command{t, folder}
	if code, _, errs := c.run("", "init", "--cluster", "local", "--genesis-hash", explainedGenesis, "--rpc", rpc,
		"--backend", "file", "--state-dir", filepath.Join(folder, "state")); code != exitDone {
		t.Fatalf("init: %s", errs)
	}
	return c
}

func (c command) run(input string, args ...string) (code int, out, errs string) {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"--config", filepath.Join(c.folder, "signerd.toml")}, args...)
	code = Main(args, strings.NewReader(input), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// explains runs policy explain for a wallet that needs no key.
func (c command) explains(input string, args ...string) (code int, out, errs string) {
	c.t.Helper()
	return c.run(input, append([]string{"policy", "explain", "--wallet", explainedWallet.String()}, args...)...)
}

func transferText(from solana.PublicKey, blockhash solana.Hash) string {
	tx := decodetest.Legacy(from, blockhash, decodetest.Transfer(from, explainedFriend, 5_000_000))
	return base64.StdEncoding.EncodeToString(tx.Marshal())
}

// TestPolicyExplainNeedsNoChainAndNoKey: what the bytes show is told even where
// nobody answers, and that this alone is a reason to refuse.
func TestPolicyExplainNeedsNoChainAndNoKey(t *testing.T) {
	c := newCommand(t, nobody)
	text := transferText(explainedWallet, solana.Hash{1})
	code, out, errs := c.explains(text, "--tx", "-")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{
		"REFUSED because it cannot be checked (rpc_unavailable)",
		"System.Transfer: moves 0.005 SOL from the wallet to " + explainedFriend.String(),
		"base fee: 0.000005 SOL (5,000 lamports for 1 signature); the wallet pays",
		"what cannot be checked is refused", "see signerd limits",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	file := filepath.Join(c.folder, "tx")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs = c.explains("", "--tx", file, "--json", "--out", "0.005 SOL", "--to", explainedFriend.String(), "--max-fee", "0.000005 SOL", "--flow", "transfer")
	var report explain.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	if report.Decision != explain.Refused || report.Verdict.By != "not_checked" || report.OwnBounds || report.Bounds.Out[0].BaseUnits != "5000000" {
		t.Errorf("decision %s by %s, bounds %+v of its own: %v", report.Decision, report.Verdict.By, report.Bounds, report.OwnBounds)
	}
}

func TestPolicyExplainTellsWrongUsage(t *testing.T) {
	c := newCommand(t, nobody)
	text := transferText(explainedWallet, solana.Hash{1})
	for name, test := range map[string]struct {
		code int
		args []string
	}{
		"no transaction":   {exitUsage, nil},
		"an argument":      {exitUsage, []string{"--tx", "-", "more"}},
		"a flow":           {exitUsage, []string{"--tx", "-", "--flow", "gift"}},
		"no unit":          {exitUsage, []string{"--tx", "-", "--out", "5"}},
		"an unknown unit":  {exitUsage, []string{"--tx", "-", "--in", "5 USDC"}},
		"too many digits":  {exitUsage, []string{"--tx", "-", "--out", "0.0000000001 SOL"}},
		"twice":            {exitUsage, []string{"--tx", "-", "--out", "1 SOL", "--out", "2 SOL"}},
		"a short address":  {exitUsage, []string{"--tx", "-", "--to", "abc"}},
		"a fee in dollars": {exitUsage, []string{"--tx", "-", "--max-fee", "1 USD"}},
		"no such file":     {exitFailed, []string{"--tx", filepath.Join(c.folder, "nothing")}},
		"no such policy":   {exitFailed, []string{"--tx", "-", "--policy", filepath.Join(c.folder, "nothing")}},
	} {
		if code, _, errs := c.explains(text, test.args...); code != test.code || errs == "" {
			t.Errorf("%s: exit code %d, want %d: %q", name, code, test.code, errs)
		}
	}
	if code, _, errs := c.run(text, "policy", "explain", "--wallet", "abc", "--tx", "-"); code != exitUsage {
		t.Errorf("a wrong wallet: exit code %d: %s", code, errs)
	}
	if code, _, errs := c.run(text, "policy", "explain", "--tx", "-"); code != exitFailed || !strings.Contains(errs, "--wallet") {
		t.Errorf("no key and no wallet: exit code %d: %s", code, errs)
	}
}

// TestPolicyExplainSaysWhatIsWrongWithBytes: and where.
func TestPolicyExplainSaysWhatIsWrongWithBytes(t *testing.T) {
	c := newCommand(t, nobody)
	whole, err := base64.StdEncoding.DecodeString(transferText(explainedWallet, solana.Hash{1}))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ input, code, where string }{
		"empty":        {"", "transaction_malformed", ""},
		"a letter":     {"Dear sir, please sign.", "transaction_malformed", ""},
		"half":         {base64.StdEncoding.EncodeToString(whole[:100]), "transaction_malformed", "byte 69: the bytes end inside account key 1 of 3, which needs 32 and has 31"},
		"one more":     {string(append(bytes.Clone(whole), 0)), "transaction_malformed", "byte 215: left over behind the last part: 1 byte"},
		"a new world":  {string(append([]byte{0x82}, whole...)), "version_unsupported", ""},
		"too much":     {string(append(bytes.Clone(whole), make([]byte, 1_100)...)), "transaction_too_large", "byte 215: left over behind the last part: 1100 bytes"},
		"far too much": {string(make([]byte, explain.MaxInput+5)), "transaction_too_large", ""},
	} {
		code, out, _ := c.explains(test.input, "--tx", "-", "--json")
		var told noTransaction
		if err := json.Unmarshal([]byte(out), &told); err != nil || code != exitFailed {
			t.Errorf("%s: exit code %d, %v: %s", name, code, err, out)
			continue
		}
		if told.Decision != explain.Refused || told.Code != test.code || told.Where != test.where || told.Reason == "" {
			t.Errorf("%s: %+v", name, told)
		}
		if code, out, errs := c.explains(test.input, "--tx", "-"); code != exitFailed || out != "" || !strings.Contains(errs, test.where) {
			t.Errorf("%s as text: exit code %d, %q, %q", name, code, out, errs)
		}
	}
}

// TestPolicyExplainTakesTheConfiguredKeyAndPolicy: with a chain that answers,
// for the wallet of the key that signs.
func TestPolicyExplainTakesTheConfiguredKeyAndPolicy(t *testing.T) {
	net, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 400, ConfirmedLag: localnet.NoLag, Genesis: explainedGenesis})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Stop)
	c := newCommand(t, net.RPCURL)
	var key keyView
	if _, out, errs := c.run("", "key", "new", "--json"); json.Unmarshal([]byte(out), &key) != nil {
		t.Fatalf("key new: %s%s", out, errs)
	}
	if err := net.Airdrop(t.Context(), key.Address, 1_000_000_000); err != nil {
		t.Fatal(err)
	}
	if err := net.Airdrop(t.Context(), explainedFriend.String(), 1_000_000_000); err != nil {
		t.Fatal(err)
	}
	latest, err := net.LatestBlockhash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	blockhash, err := solana.ParseHash(latest)
	if err != nil {
		t.Fatal(err)
	}
	text := transferText(solana.MustPublicKey(key.Address), blockhash)
	decide := func(args ...string) explain.Report {
		t.Helper()
		code, out, errs := c.run(text, append([]string{"policy", "explain", "--tx", "-", "--json"}, args...)...)
		var report explain.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s", code, err, errs)
		}
		return report
	}
	if got := decide(); got.Decision != explain.NeedsPerson || got.Verdict.Tier != "human" || !got.OwnBounds {
		t.Errorf("by the configured policy: %s, %+v", got.Decision, got.Verdict)
	}
	if got := decide("--out", "0.004 SOL"); got.Decision != explain.Refused || got.Verdict.Code != "intent_mismatch" {
		t.Errorf("for less than it pays: %s, %+v", got.Decision, got.Verdict)
	}
	configured, err := os.ReadFile(filepath.Join(c.folder, "policy.toml"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(c.folder, "other.toml")
	changed := strings.Replace(string(configured), "allow = []\ndeny", `allow = ["`+explainedFriend.String()+`"]`+"\ndeny", 1)
	if err := os.WriteFile(other, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := decide("--policy", other); got.Decision != explain.Allowed || got.Verdict.Tier != "confirm" {
		t.Errorf("by another policy: %s, %+v", got.Decision, got.Verdict)
	}
}
