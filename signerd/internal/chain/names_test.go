package chain_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
)

func texts(list ...string) []byte {
	var data []byte
	for _, text := range list {
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(text))), text...)
	}
	return data
}

func TestNamesAreReadFromMints(t *testing.T) {
	head := make([]byte, 64)
	for name, test := range map[string]struct {
		value []byte
		want  chain.TokenName
	}{
		"name and symbol": {append(head, texts("Bags", "BAGS", "uri")...), chain.TokenName{Name: "Bags", Symbol: "BAGS"}},
		"name alone":      {append(head, texts("Bags")...), chain.TokenName{}},
		"breaks off":      {append(head, 255, 255, 255, 255, 'B'), chain.TokenName{}},
		"nothing":         {nil, chain.TokenName{}},
	} {
		account := chaintest.Extend(chaintest.Mint(mint, solana.Token2022Program, 6), 1, chaintest.Extension{Kind: 19, Value: test.value})
		if got, ok := chain.ParseMint(account); !ok || got.Name != test.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got.Name, ok, test.want)
		}
	}
}

func TestNamesAreReadFromMetadata(t *testing.T) {
	program := solana.MustPublicKey("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")
	data := append(append(append([]byte{4}, make([]byte, 32)...), mint[:]...), texts("Bags\x00\x00", "BAGS\x00", "uri")...)
	account := chain.Account{Owner: program, Lamports: 1, Data: data}
	if got, ok := chain.ParseMetadata(account, mint); !ok || got != (chain.TokenName{Name: "Bags", Symbol: "BAGS"}) {
		t.Errorf("%+v, %v", got, ok)
	}
	long := account
	long.Data = append(data[:65:65], texts(strings.Repeat("B", 1<<20), "X")...)
	if got, ok := chain.ParseMetadata(long, mint); !ok || len(got.Name) != 1<<10 || got.Symbol != "X" {
		t.Errorf("a long name: %d characters, %v", len(got.Name), ok)
	}
	for name, spoil := range map[string]func(a *chain.Account){
		"of another mint":    func(a *chain.Account) { a.Data[33] ^= 1 },
		"of another program": func(a *chain.Account) { a.Owner = thief },
		"of another kind":    func(a *chain.Account) { a.Data[0] = 5 },
		"cut":                func(a *chain.Account) { a.Data = a.Data[:70] },
		"empty":              func(a *chain.Account) { a.Data = nil },
	} {
		spoilt := account
		spoilt.Data = append([]byte(nil), data...)
		spoil(&spoilt)
		if got, ok := chain.ParseMetadata(spoilt, mint); ok {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

// FuzzNames: what an attacker wrote into a mint or beside it is read or not,
// and is short if it is.
func FuzzNames(f *testing.F) {
	f.Add(texts("Bags", "BAGS"))
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, value []byte) {
		account := chain.Account{Owner: solana.MustPublicKey("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"), Lamports: 1}
		account.Data = append(append(append([]byte{4}, make([]byte, 32)...), mint[:]...), value...)
		if got, ok := chain.ParseMetadata(account, mint); ok && len(got.Name)+len(got.Symbol) > 2<<10 {
			t.Fatalf("%d and %d bytes", len(got.Name), len(got.Symbol))
		}
	})
}
