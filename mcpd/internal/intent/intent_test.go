package intent

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

const token = "4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS"

func mustTrade(t *testing.T, raw string) Intent {
	t.Helper()
	got, err := ParseTrade(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("ParseTrade(%s): %v", raw, err)
	}
	return got
}

func TestFingerprintIsOfTheMeaning(t *testing.T) {
	base := mustTrade(t, `{"input_mint":"SOL","output_mint":"`+token+`","amount":"0.1","slippage_bps":300}`)
	same := []string{
		`{"slippage_bps":300,"amount":"0.10","output_mint":"` + token + `","input_mint":"SOL"}`,
		`{"input_mint":"So11111111111111111111111111111111111111112","output_mint":"` + token + `","amount":"00.1000","slippage_bps":300,"confirm":"abc","idempotency_key":"mine_1"}`,
	}
	for _, raw := range same {
		if got := mustTrade(t, raw); got.Fingerprint() != base.Fingerprint() {
			t.Errorf("%s\nis %s, want the fingerprint of %s", raw, got.Canonical(), base.Canonical())
		}
	}
	other := []string{
		`{"input_mint":"SOL","output_mint":"` + token + `","amount":"0.11","slippage_bps":300}`,
		`{"input_mint":"SOL","output_mint":"` + token + `","amount":"0.1","slippage_bps":301}`,
		`{"input_mint":"` + token + `","output_mint":"SOL","amount":"0.1","slippage_bps":300}`,
	}
	for _, raw := range other {
		if got := mustTrade(t, raw); got.Fingerprint() == base.Fingerprint() {
			t.Errorf("%s has the fingerprint of another intent", raw)
		}
	}
	want := sha256.Sum256([]byte("bags_execute_trade\x00" + `{"amount":"0.1","input_mint":"So11111111111111111111111111111111111111112","output_mint":"` + token + `","slippage_bps":300}`))
	if base.Fingerprint() != want {
		t.Errorf("canonical = %s", base.Canonical())
	}
}

func TestParseTradeRefusesBadInput(t *testing.T) {
	call := func(amount string) string {
		return fmt.Sprintf(`{"input_mint":"SOL","output_mint":"%s","amount":%s,"slippage_bps":300}`, token, amount)
	}
	cases := []struct {
		name, raw string
		code      fault.Code
	}{
		{"excess decimals", call(`"0.1234567891"`), fault.AmountInvalid},
		{"negative", call(`"-1"`), fault.AmountInvalid},
		{"zero", call(`"0"`), fault.AmountInvalid},
		{"zero with point", call(`"0.000"`), fault.AmountInvalid},
		{"exponent", call(`"1e3"`), fault.AmountInvalid},
		{"NaN", call(`"NaN"`), fault.AmountInvalid},
		{"infinity", call(`"Infinity"`), fault.AmountInvalid},
		{"2^64", call(`"18446744073709551616"`), fault.AmountInvalid},
		{"2^64 lamports", call(`"18446744073.709551616"`), fault.AmountInvalid},
		{"hex", call(`"0x10"`), fault.AmountInvalid},
		{"full-width digits", call(`"１"`), fault.AmountInvalid},
		{"comma", call(`"1,5"`), fault.AmountInvalid},
		{"bare point", call(`".5"`), fault.AmountInvalid},
		{"space", call(`" 1"`), fault.AmountInvalid},
		{"empty", call(`""`), fault.AmountInvalid},
		{"number", call(`0.1`), fault.InvalidArguments},
		{"null", call(`null`), fault.InvalidArguments},
		{"list", call(`["1"]`), fault.InvalidArguments},
		{"look-alike key", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","AMOUNT":"999","slippage_bps":300}`, fault.InvalidArguments},
		{"look-alike only", `{"input_mint":"SOL","output_mint":"` + token + `","Amount":"1","slippage_bps":300}`, fault.InvalidArguments},
		{"duplicate key", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","amount":"999","slippage_bps":300}`, fault.InvalidArguments},
		{"escaped duplicate key", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","\u0061mount":"999","slippage_bps":300}`, fault.InvalidArguments},
		{"user_public_key", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":300,"user_public_key":"x"}`, fault.InvalidArguments},
		{"missing amount", `{"input_mint":"SOL","output_mint":"` + token + `","slippage_bps":300}`, fault.AmountInvalid},
		{"missing slippage", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1"}`, fault.InvalidArguments},
		{"slippage fraction", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":1.5}`, fault.InvalidArguments},
		{"slippage exponent", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":1e2}`, fault.InvalidArguments},
		{"slippage too large", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":5001}`, fault.InvalidArguments},
		{"slippage negative", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":-1}`, fault.InvalidArguments},
		{"mint not base58", `{"input_mint":"SOL","output_mint":"0OIl","amount":"1","slippage_bps":300}`, fault.InvalidArguments},
		{"mint too short", `{"input_mint":"SOL","output_mint":"abc","amount":"1","slippage_bps":300}`, fault.InvalidArguments},
		{"System program as mint", `{"input_mint":"SOL","output_mint":"11111111111111111111111111111111","amount":"1","slippage_bps":300}`, fault.InvalidArguments},
		{"same asset", `{"input_mint":"SOL","output_mint":"So11111111111111111111111111111111111111112","amount":"1","slippage_bps":300}`, fault.InvalidArguments},
		{"key with a space", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":300,"idempotency_key":"a b"}`, fault.InvalidArguments},
		{"key too long", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":300,"idempotency_key":"` + strings.Repeat("k", 65) + `"}`, fault.InvalidArguments},
		{"code with a space", `{"input_mint":"SOL","output_mint":"` + token + `","amount":"1","slippage_bps":300,"confirm":"a b"}`, fault.InvalidArguments},
		{"not an object", `[]`, fault.InvalidArguments},
		{"trailing data", call(`"1"`) + `{}`, fault.InvalidArguments},
		{"too large", `{"input_mint":"` + strings.Repeat("1", MaxArguments) + `"}`, fault.InvalidArguments},
		{"deep", `{"input_mint":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, fault.InvalidArguments},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseTrade(json.RawMessage(c.raw))
			if !fault.Is(err, c.code) {
				t.Fatalf("error = %v, want %s (parsed %s)", err, c.code, got.Canonical())
			}
			if class := fault.From(err).Class(); class != fault.Validation {
				t.Errorf("class = %s", class)
			}
			if strings.Contains(err.Error(), "999") || strings.Contains(err.Error(), "user_public_key") {
				t.Errorf("message repeats what the caller sent: %v", err)
			}
		})
	}
}

func TestParseClaimTreatsMintsAsASet(t *testing.T) {
	other := solana.TokenProgram.String()
	first, err := ParseClaim(json.RawMessage(`{"token_mints":["` + token + `","` + other + `"]}`))
	if err != nil {
		t.Fatal(err)
	}
	second, err := ParseClaim(json.RawMessage(`{"token_mints":["` + other + `","` + token + `"],"confirm":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if first.Fingerprint() != second.Fingerprint() {
		t.Errorf("%s and %s differ", first.Canonical(), second.Canonical())
	}
	for _, raw := range []string{`{}`, `{"token_mints":[]}`, `{"token_mints":["` + token + `","` + token + `"]}`, `{"token_mints":"` + token + `"}`, `{"token_mints":[1]}`} {
		if _, err := ParseClaim(json.RawMessage(raw)); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestParseTransferCase(t *testing.T) {
	to := "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"
	absent, err := ParseTransfer(json.RawMessage(`{"to":"` + to + `","amount":"1.50"}`))
	if err != nil {
		t.Fatal(err)
	}
	named, err := ParseTransfer(json.RawMessage(`{"to":"` + to + `","amount":"1.5","mint":"SOL"}`))
	if err != nil {
		t.Fatal(err)
	}
	if absent.Fingerprint() != named.Fingerprint() {
		t.Error("no mint and SOL are two intents")
	}
	if transfer, ok := named.Transfer(); !ok || transfer.Mint != amount.SOL || transfer.Amount != "1.5" {
		t.Errorf("transfer = %+v, %v", transfer, ok)
	}
	for _, memo := range []string{`a\nb`, `a\u202eb`, strings.Repeat("x", 257), `a\u0000`} {
		if _, err := ParseTransfer(json.RawMessage(`{"to":"` + to + `","amount":"1","memo":"` + memo + `"}`)); !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("memo %q: %v", memo, err)
		}
	}
}

func TestNormaliseAmountKeepsTheValue(t *testing.T) {
	mint := solana.MustPublicKey(token)
	rapid.Check(t, func(t *rapid.T) {
		decimals := rapid.Uint8Range(0, 12).Draw(t, "decimals")
		units := amount.Units(rapid.Uint64Range(1, 1<<63).Draw(t, "units"))
		text := units.Decimal(decimals)
		if rapid.Bool().Draw(t, "padded") && strings.Contains(text, ".") {
			text += "00"
		}
		got, err := NormaliseAmount(text, mint)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		back, err := amount.ParseDecimal(got, decimals)
		if err != nil || back != units {
			t.Fatalf("%s became %s = %d (%v), want %d", text, got, back, err, units)
		}
	})
}

func FuzzParseTrade(f *testing.F) {
	f.Add([]byte(`{"input_mint":"SOL","output_mint":"` + token + `","amount":"0.1","slippage_bps":300}`))
	f.Add([]byte(`{"input_mint":"SOL","output_mint":"` + token + `","amount":"0.1","slippage_bps":300,"confirm":"abc"}`))
	f.Add([]byte(`{"amount":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ParseTrade(raw)
		if err != nil {
			var f *fault.Fault
			if !errors.As(err, &f) || f.Class() != fault.Validation {
				t.Fatalf("%q: %v is no validation fault", raw, err)
			}
			return
		}
		again, err := ParseTrade(json.RawMessage(got.Canonical()))
		if err != nil || again.Fingerprint() != got.Fingerprint() {
			t.Fatalf("canonical %s does not read back: %v", got.Canonical(), err)
		}
	})
}
