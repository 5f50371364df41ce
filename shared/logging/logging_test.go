package logging

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
)

// canary is a private key that exists only here.
func canary() []byte {
	key := make([]byte, 64)
	for i := range key {
		key[i] = byte(7*i + 129)
	}
	return key
}

// shapes are the ways in which the canary could be carried, with the part of
// it that must not be seen.
func shapes(t *testing.T) map[string]string {
	t.Helper()
	numbers := make([]int, 64)
	for i, b := range canary() {
		numbers[i] = int(b)
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"base58":       base58.Encode(canary()),
		"hex":          hex.EncodeToString(canary()),
		"base64":       base64.StdEncoding.EncodeToString(canary()),
		"base64 url":   base64.RawURLEncoding.EncodeToString(canary()),
		"JSON list":    string(list),
		"Go list":      fmt.Sprintf("%d", canary()),
		"seed list":    fmt.Sprintf("%d", canary()[:32]),
		"RPC query":    "https://rpc.example.org/?api-key=CANARYKEY",
		"RPC path":     "wss://rpc.example.org/v2/CANARYKEY",
		"RPC user":     "https://user:CANARYKEY@rpc.example.org",
		"Bags key":     "bags_prod_CANARYKEY",
		"stub key":     "stub_bags_key_no_network",
		"bearer":       "Authorization: Bearer CANARYKEY",
		"inside words": "cannot read (" + base58.Encode(canary()) + ") twice",
	}
}

type opaque struct{ Key []byte }

func TestKeepCanaryOut(t *testing.T) {
	for name, secret := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			logger := New(&out, slog.LevelDebug)
			logger.With(slog.String("bound", secret)).WithGroup("g").LogAttrs(context.Background(), slog.LevelError, secret,
				slog.String(KeyReason, secret),
				slog.Any(KeyError, fmt.Errorf("outer: %w", errors.New(secret))),
				slog.Group("inner", slog.Any("list", []string{secret}), slog.Any("struct", opaque{canary()})),
				slog.Any("bytes", canary()))
			if out.Len() == 0 {
				t.Fatal("nothing was logged")
			}
			for what, form := range shapes(t) {
				for _, part := range []string{form, "CANARYKEY", "no_network"} {
					if what != "inside words" && strings.Contains(out.String(), part) {
						t.Errorf("%s passed: %s", what, out.String())
					}
				}
			}
		})
	}
}

// hidden is an error that keeps its cause out of its text, as faults do.
type hidden struct{ cause error }

func (hidden) Error() string   { return "told" }
func (h hidden) Unwrap() error { return h.cause }

func TestErrorTellsOneHiddenCause(t *testing.T) {
	deep := hidden{hidden{errors.New("deeper")}}
	for want, err := range map[string]error{
		"told: why":   hidden{errors.New("why")},
		"told":        deep,
		"outer: told": fmt.Errorf("outer: %w", errors.New("told")),
	} {
		if got := Error(err).Value.String(); got != want {
			t.Errorf("Error(%v) = %q, want %q", err, got, want)
		}
	}
}

func TestHideSecretKeys(t *testing.T) {
	var out bytes.Buffer
	logger := New(&out, slog.LevelDebug)
	for _, key := range []string{"password", "Passphrase_File", "x-api-key", "seed", "confirm", "authToken"} {
		logger.LogAttrs(context.Background(), slog.LevelInfo, "m", slog.String(key, "short"), slog.Group("g", slog.Int(key, 12345)))
	}
	if strings.Contains(out.String(), "short") || strings.Contains(out.String(), "12345") {
		t.Errorf("a secret key's value passed: %s", out.String())
	}
}

func TestLetPublicTextThrough(t *testing.T) {
	wallet := "FEE2tBhCKAt7shrod19QttSVREUYPiyMzoku1mL1gqVK"
	hash := hex.EncodeToString(canary()[:32])
	signature := base58.Encode(canary())
	var out bytes.Buffer
	New(&out, slog.LevelInfo).LogAttrs(context.Background(), slog.LevelInfo, "settled",
		slog.String(KeyWallet, wallet), slog.String("digest", hash), slog.String(KeySignature, signature),
		slog.String("node", "http://127.0.0.1:8899"), slog.Uint64("slot", 12), slog.Bool("ok", true))
	for _, want := range []string{wallet, hash, signature, "http://127.0.0.1:8899", "slot=12", "ok=true", "settled"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing from %s", want, out.String())
		}
	}
}

func TestObeyLevel(t *testing.T) {
	var out bytes.Buffer
	level, err := ParseLevel("warn")
	if err != nil {
		t.Fatal(err)
	}
	logger := New(&out, level)
	logger.LogAttrs(context.Background(), slog.LevelInfo, "quiet")
	logger.LogAttrs(context.Background(), slog.LevelWarn, "loud")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") {
		t.Errorf("got %q", got)
	}
	if _, err := ParseLevel("WARN"); err == nil {
		t.Error("a level in other case was taken")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("https://a/?b=c")
	f.Add("[1,2,3]")
	f.Add("://")
	f.Add(strings.Repeat("1 ", 40))
	f.Fuzz(func(t *testing.T, text string) {
		secret := base58.Encode(canary())
		if strings.Contains(Redact(text+" "+secret+" "+text), secret) {
			t.Errorf("%q lets the canary through", text)
		}
	})
}
