package judge_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
)

// metadata is the account in which a mint of the SPL token program has its name.
func metadata(t *testing.T, mint solana.PublicKey, name, symbol string) chain.Account {
	t.Helper()
	at, ok := chain.MetadataAddress(mint)
	if !ok {
		t.Fatal("there is no address for the name")
	}
	data := append(append([]byte{4}, make([]byte, 32)...), mint[:]...)
	for _, text := range []string{name, symbol} {
		const filled = 32
		data = binary.LittleEndian.AppendUint32(data, filled)
		data = append(append(data, text...), make([]byte, filled-len(text))...)
	}
	return chain.Account{Key: at, Lamports: 5_000_000, Owner: solana.MustPublicKey("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"), Data: data}
}

// TestTokensThatWearAnothersNameAreFound: what a token says of itself is read
// from the chain and compared with what the owner has named.
func TestTokensThatWearAnothersNameAreFound(t *testing.T) {
	s := startScene(t)
	s.reset()
	mint := s.key(s.world.TokenMint)
	codes := func(known effects.Known) (list []string, text string) {
		o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
		r := s.buying(o)
		r.Known = known
		judged, err := s.judge.Judge(t.Context(), o.raw, r)
		s.must(err)
		for _, finding := range judged.Effects().Findings() {
			list, text = append(list, finding.Code), text+finding.Text
		}
		return list, text
	}
	owner := effects.Known{Mints: []effects.NamedMint{{Name: "USDC", Mint: stranger(9)}}}
	if got, _ := codes(owner); strings.Join(got, " ") != effects.UnverifiedMint {
		t.Errorf("a token without a name: %q", got)
	}
	s.place(metadata(t, mint, "USD Coin\x1b[31m", "U\u0405DC"))
	got, text := codes(owner)
	if strings.Join(got, " ") != effects.UnverifiedMint+" "+effects.LookAlikeMint || !strings.Contains(text, "U<U+0405>DC") || strings.Contains(text, "\x1b") {
		t.Errorf("a token in another's name: %q, %q", got, text)
	}
	owner.Mints = append(owner.Mints, effects.NamedMint{Name: "My token", Mint: mint})
	if got, _ := codes(owner); len(got) != 0 {
		t.Errorf("a token that the owner has named: %q", got)
	}
	s.place(metadata(t, stranger(8), "USDC", "USDC")) // Of another mint: no concern of ours.
	if got, _ := codes(effects.Known{Mints: []effects.NamedMint{{Name: "USDC", Mint: mint}}}); len(got) != 0 {
		t.Errorf("the token itself: %q", got)
	}
}
