package solana_test

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/shared/solana"
)

const (
	walletText  = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"
	sponsorText = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"
	// Mainnet's genesis hash, and the sponsor's signature of the golden claim.
	genesisText   = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
	signatureText = "35m92eHUUVMKSyp5aKVEnadmrT1hwKLKknTLbWpTcRiAFjctKuYF7Gneo99Laz5sTNSTLDywBPigQbPMruoBH7bU"
)

func testKey(fill byte) (solana.PublicKey, ed25519.PrivateKey) {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = fill
	}
	private := ed25519.NewKeyFromSeed(seed)
	return solana.PublicKey(private.Public().(ed25519.PublicKey)), private
}

func TestParseAddressOfKnownSeeds(t *testing.T) {
	for text, fill := range map[string]byte{walletText: 1, sponsorText: 2} {
		want, _ := testKey(fill)
		got, err := solana.ParsePublicKey(text)
		if err != nil || got != want {
			t.Errorf("ParsePublicKey(%q) = %v, %v, want %v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("String() = %q, want %q", got, text)
		}
	}
}

func TestParseRefusesWhatIsNotExactlyOneKey(t *testing.T) {
	parsers := map[string]struct {
		parse func(string) error
		good  string
	}{
		"address":   {func(s string) error { _, err := solana.ParsePublicKey(s); return err }, walletText},
		"hash":      {func(s string) error { _, err := solana.ParseHash(s); return err }, genesisText},
		"signature": {func(s string) error { _, err := solana.ParseSignature(s); return err }, signatureText},
	}
	for name, p := range parsers {
		t.Run(name, func(t *testing.T) {
			if err := p.parse(p.good); err != nil {
				t.Fatalf("the good text: %v", err)
			}
			for _, bad := range []string{
				"", "1", " ", p.good + " ", " " + p.good, p.good + "\n", "1" + p.good,
				p.good[4:], p.good[:len(p.good)-4],
				strings.Replace(p.good, p.good[5:6], "0", 1), strings.Replace(p.good, p.good[5:6], "O", 1),
				strings.Replace(p.good, p.good[5:6], "I", 1), strings.Replace(p.good, p.good[5:6], "l", 1),
				strings.Replace(p.good, p.good[5:6], "é", 1), strings.Replace(p.good, p.good[5:6], "\x00", 1),
				"0x" + strings.Repeat("ab", 32), strings.Repeat("z", 44), strings.Repeat("z", 88), strings.Repeat("1", 100_000),
			} {
				if err := p.parse(bad); err == nil {
					t.Errorf("accepted %q", bad[:min(len(bad), 100)])
				}
			}
		})
	}
}

func TestFromBytesTakesExactLengths(t *testing.T) {
	for length := range 130 {
		raw := make([]byte, length)
		_, keyErr := solana.PublicKeyFromBytes(raw)
		_, hashErr := solana.HashFromBytes(raw)
		_, signatureErr := solana.SignatureFromBytes(raw)
		if (keyErr == nil) != (length == 32) || (hashErr == nil) != (length == 32) || (signatureErr == nil) != (length == 64) {
			t.Errorf("%d bytes: key %v, hash %v, signature %v", length, keyErr, hashErr, signatureErr)
		}
	}
}

func TestFromBytesCopies(t *testing.T) {
	raw := make([]byte, 64)
	key, err := solana.PublicKeyFromBytes(raw[:32])
	if err != nil {
		t.Fatal(err)
	}
	signature, err := solana.SignatureFromBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	raw[0] = 1
	if !key.IsZero() || !signature.IsZero() {
		t.Error("a value changed with the slice that it was made from")
	}
}

func TestMustPublicKeyPanicsOnAWrongConstant(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a constant that is no address was accepted")
		}
	}()
	solana.MustPublicKey("Token")
}

// Texts round-trip, also those of values that begin with zero bytes, which
// base58 writes as ones.
func TestTextRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zeros := rapid.IntRange(0, 32).Draw(t, "zeros")
		raw := append(make([]byte, zeros), rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "raw")...)
		key, signature, hash := solana.PublicKey(raw[:32]), solana.Signature(raw[:64]), solana.Hash(raw[:32])
		if got, err := solana.ParsePublicKey(key.String()); err != nil || got != key {
			t.Fatalf("key %q read back as %v, %v", key.String(), got, err)
		}
		if got, err := solana.ParseSignature(signature.String()); err != nil || got != signature {
			t.Fatalf("signature %q read back as %v, %v", signature.String(), got, err)
		}
		if got, err := solana.ParseHash(hash.String()); err != nil || got != hash {
			t.Fatalf("hash %q read back as %v, %v", hash.String(), got, err)
		}
	})
}

// A zero key is text like any other: it is the System program's address, and
// amount.SOL. So no reader may take an empty text for it, and no writer may
// leave it out.
func TestZeroValuesAreWrittenInFull(t *testing.T) {
	type record struct {
		Key       solana.PublicKey `json:"key"`
		Signature solana.Signature `json:"signature"`
		Hash      solana.Hash      `json:"hash"`
	}
	want := `{"key":"` + strings.Repeat("1", 32) + `","signature":"` + strings.Repeat("1", 64) + `","hash":"` + strings.Repeat("1", 32) + `"}`
	got, err := json.Marshal(record{})
	if err != nil || string(got) != want {
		t.Fatalf("zero values as JSON: %s, %v\nwant %s", got, err, want)
	}
	back := record{Key: solana.TokenProgram, Signature: solana.Signature{1}, Hash: solana.Hash{1}}
	if err := json.Unmarshal(got, &back); err != nil || back != (record{}) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	for _, empty := range []string{`{"key":""}`, `{"signature":""}`, `{"hash":""}`, `{"key":"11111111"}`} {
		if err := json.Unmarshal([]byte(empty), &back); err == nil {
			t.Errorf("%s was taken for a zero value", empty)
		}
	}
}

func TestUnmarshalLeavesTheValueOnError(t *testing.T) {
	wallet, _ := testKey(1)
	key, signature, hash := wallet, solana.Signature{1}, solana.Hash{1}
	if key.UnmarshalText([]byte("nonsense")) == nil || signature.UnmarshalText([]byte("nonsense")) == nil || hash.UnmarshalText([]byte("nonsense")) == nil {
		t.Fatal("nonsense was read")
	}
	if key != wallet || signature != (solana.Signature{1}) || hash != (solana.Hash{1}) {
		t.Error("a failed read changed the value")
	}
}

func TestKeysServeAsJSONKeys(t *testing.T) {
	got, err := json.Marshal(map[solana.PublicKey]int{solana.SystemProgram: 1})
	if want := `{"` + strings.Repeat("1", 32) + `":1}`; err != nil || string(got) != want {
		t.Errorf("map as JSON: %s, %v, want %s", got, err, want)
	}
}

func TestVerifyHoldsOnlyForTheSignedBytes(t *testing.T) {
	wallet, private := testKey(1)
	sponsor, _ := testKey(2)
	message := []byte("what was signed")
	signature := solana.Signature(ed25519.Sign(private, message))
	if !wallet.Verify(message, signature) {
		t.Fatal("the signature does not verify")
	}
	if sponsor.Verify(message, signature) || wallet.Verify(message[1:], signature) || wallet.Verify(message, solana.Signature{}) {
		t.Error("a signature verifies for another key, message or slot")
	}
	for i := range signature {
		broken := signature
		broken[i] ^= 1
		if wallet.Verify(message, broken) {
			t.Errorf("verifies with byte %d changed", i)
		}
	}
}

func TestOnCurveTellsWalletsFromDerivedAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		walletText:  true,
		sponsorText: true,
		"7azMPufyz8EfKAif9WajHfBbFj5ic8C8rLfaTBfKdN1A": false, // an associated token account
		"AchhausQez6Ef3gG8RAntxuVQhpMwjkDj67pK9G36bVP": false, // a fee share authority
	} {
		if got := solana.MustPublicKey(text).OnCurve(); got != want {
			t.Errorf("OnCurve(%s) = %v, want %v", text, got, want)
		}
	}
}

// Whatever is read as an address is that address's only text.
func FuzzParsePublicKey(f *testing.F) {
	for _, seed := range []string{walletText, sponsorText, genesisText, signatureText, strings.Repeat("1", 32), strings.Repeat("z", 44), "", "l"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := solana.ParsePublicKey(text); err == nil && key.String() != text {
			t.Errorf("%q was read as %s", text, key)
		}
		if signature, err := solana.ParseSignature(text); err == nil && signature.String() != text {
			t.Errorf("%q was read as %s", text, signature)
		}
	})
}
