package plan

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/mcpd/internal/caps"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Vectors A (legacy, payer is the wallet) and B (v0, a sponsor pays and has
// signed, one lookup table) of a fee-share claim.
const (
	vectorA = "2tWAP6ogmjJ138zqJRQ4Hc4W4cN1GCKWbomErL9L62EiXHYwEjyjrt5odrU2e9cUETusebpcFbao9iCp8AY2XEhUVSFhH8TahLf31mNJEk32VL9xq3d1o6Vo4TPAnmSjbn55XSSVgpQAhJnNqB9tPV2CJUVCX9wT6ZkR5cV9PooofwjCYu7bfFFkiDKH3czkVd5aPdUGuw5gMVpshaovrTxY5Cb9XXmLSK3avyAhPgXmGBBBscczcSc9ayzvMSFrx7PmmXFfWgx6Jx4ao5YUDMLvept9Fxvzv1sGcUDaUuAgdkEv7spnm37Q65Mo1Giy7EUBE8BjD23EgnVysiLJ72cepdBK2XozGeg7yvFaQpwDKAginsf5467gcEddoDtUUZvhhhY26EPb6LJc9yXiebfZ6aAknHhSFkakWeUDSCQ2Z8pAyWcX6A4seE3tUwEBykzoubBsx25mZK2Szb6FmfXWhDighNttpBrPuRH1xH7TQBuh9f4kNUueNwgoNeQsYmSYnx2V5oVJ6ocCnxZiE5VkdviGs8Kpdy3ffthCJLaC9Y4WSw4LnZN1bP7oqSMSCXEePpbz2VGW62LmHhkJFrmbmEuA9Beg3oAui27ipR7E93VFnVDLiNTafqKvVMXEKCkACnbkfx13at2cXqQGjYAoESB5x8U6v7x9YE2rUZ6rA4wQWwY6TihGasSvp7Y6sgANk7Ht83PcpsCa9rRYBVtrpebXCtBEoffD5AZaNKMZLB9Gu8mASoBx8Ab6Xp1CcmFqKnNV3tXpNC"
	vectorB = "4Ma4yT1oq4zZQbLvcxPpJW6dvBfryLsEvPHMg4V1EzYhjCaHRdbRvQ1R6LsvJLYNRohKpfeLXEuXf4t2W7nSgViiGVCJ58K5Dk25uA7QBTAmvKPXzqAsgRZZHNQYNJe3kKBRtYx4W4hta6fgx1uRYPwkGtbp7ukAasPSs4qGyzvMYeYHGZ6HZAm8mkhuUekdFFAndQNsufPLD2tAsx1po79TpAfTxr4RkaBRc3wYNee1zdkB95JBhbWUNzpkW865GFuirogPm1gvZNPjBbNVzuGgDeQjAzVaosWGrHSZkjm3dXciqpcBvPRzShceAgJvVfyGBADch5YTPoH5C1UeuEW8cx72BJConKy6bknRoKE1yoKhjbaGEvmB7dg9hJZnfGy9cEHLPTkkR3K28gBHoX7xVuFezxbs8o7QmF7Gh19jzcjb2j15tT8gXN96EZc3cyx6PaYd4joGrKEJoc8PcsfiX2oQs8dBsMtCj1c53M53uowMiHuG9bFo6AqXWQuN7s8E5FtW55Er6hLK5GmJoY4xZGu9aqDmV9s5iZrNAJStK4Mm8brbAw39jH3sLfKBYpkEaQ4WZEkKrx2ZNEXnSLHuPk7JwCQYUyVJ5RXrtTBjwCC5BmFB9cR9MdDCqrQ8aSF1kLotaMbKUQor37BYqTsJNU8sQtDJ4rKUGY3QVYduVFqvEYHYxmavweyHXGDoKkHiQXXxoTn51beqDU6YwmmifbNraLsBbCw67pzvs68qUsjq6aYcLW93fBMdUWsNnzf5dWporPzJkM9kerMNvgAHR"
)

var (
	wallet  = solana.MustPublicKey("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	sponsor = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")
	table   = solana.MustPublicKey("Eq1EVs15EAWww1YtPTtWPzJRLPJoS6VYP9oW9SbNr3yp")
)

var tables = map[solana.PublicKey]Table{table: {
	solana.WrappedSOL, solana.SystemProgram, solana.TokenProgram, solana.AssociatedTokenProgram,
	solana.MustPublicKey("5eTTZ83Yn158nGLjsnHQYGP9frmuTadsrsnqs8xnpeVf"),
}}

func raw(t testing.TB, text string) []byte {
	t.Helper()
	bytes, err := base58.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestReadVectors(t *testing.T) {
	a, err := ReadTransaction(raw(t, vectorA), nil)
	if err != nil {
		t.Fatal(err)
	}
	// 120000 units at 50000 micro-lamports.
	if a.Base != 5000 || a.Priority != 6000 {
		t.Errorf("A costs %d and %d", a.Base, a.Priority)
	}
	if diff := cmp.Diff([]solana.PublicKey{wallet}, a.Signers); diff != "" {
		t.Errorf("A signers: %s", diff)
	}
	if diff := cmp.Diff([]solana.PublicKey{solana.FeeShareV2Program}, a.Opaque); diff != "" {
		t.Errorf("A opaque: %s", diff)
	}
	names, err := Tables(raw(t, vectorB))
	if err != nil || len(names) != 1 || names[0] != table {
		t.Fatalf("B tables: %v, %v", names, err)
	}
	b, err := ReadTransaction(raw(t, vectorB), tables)
	if err != nil {
		t.Fatal(err)
	}
	if b.Base != 10_000 {
		t.Errorf("B base fee %d", b.Base)
	}
	if diff := cmp.Diff([]solana.PublicKey{sponsor, wallet}, b.Signers); diff != "" {
		t.Errorf("B signers: %s", diff)
	}
	if _, err := ReadTransaction(raw(t, vectorB), nil); !fault.Is(err, fault.TransactionMalformed) {
		t.Errorf("B without its table: %v", err)
	}
}

func TestReadRefusesWhatIsNotCanonical(t *testing.T) {
	good := raw(t, vectorA)
	cases := map[string][]byte{
		"empty":     {},
		"trailing":  append(append([]byte{}, good...), 0),
		"cut":       good[:len(good)-1],
		"version 1": append([]byte{0x81}, good...),
		"no signer": append([]byte{0}, good[65:]...),
	}
	for name, bytes := range cases {
		if _, err := ReadTransaction(bytes, nil); err == nil || fault.From(err).Class() != fault.Validation {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadTransaction(make([]byte, 1233), nil); !fault.Is(err, fault.TransactionTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// FuzzReadTransaction looks for panics, and checks that what is read agrees
// with the strict codec that the signer uses.
func FuzzReadTransaction(f *testing.F) {
	f.Add(raw(f, vectorA))
	f.Add(raw(f, vectorB))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		read, err := ReadTransaction(bytes, tables)
		if err != nil {
			if fault.From(err).Code == fault.Internal {
				t.Fatalf("not a fault: %v", err)
			}
			return
		}
		strict, err := solana.ParseTransaction(bytes)
		if err != nil {
			// The strict codec may refuse more; the signer then refuses too.
			return
		}
		if len(read.Signers) != int(strict.Message.RequiredSignatures) {
			t.Fatalf("%d signers, the codec says %d", len(read.Signers), strict.Message.RequiredSignatures)
		}
	})
}

func TestReadMintCase(t *testing.T) {
	plain := make([]byte, 82)
	plain[44], plain[45] = 6, 1
	extended := make([]byte, 166)
	copy(extended, plain)
	extended[165] = 1
	extended = binary.LittleEndian.AppendUint16(extended, extTransferFee)
	extended = binary.LittleEndian.AppendUint16(extended, 108)
	extended = append(extended, make([]byte, 108)...)
	hooked := binary.LittleEndian.AppendUint16(append([]byte{}, extended[:166]...), extTransferHook)
	hooked = binary.LittleEndian.AppendUint16(hooked, 64)
	hooked = append(hooked, make([]byte, 63)...)
	hooked = append(hooked, 1)
	short := append([]byte{}, extended[:200]...)
	cases := []struct {
		name    string
		account Account
		want    Mint
		ok      bool
	}{
		{"plain", Account{Owner: solana.TokenProgram, Data: plain}, Mint{Program: solana.TokenProgram, Decimals: 6, AccountSize: 165}, true},
		{"Token-2022", Account{Owner: solana.Token2022Program, Data: plain}, Mint{Program: solana.Token2022Program, Decimals: 6, AccountSize: 170}, true},
		{"transfer fee", Account{Owner: solana.Token2022Program, Data: extended}, Mint{Program: solana.Token2022Program, Decimals: 6, AccountSize: 182, TransferFee: true}, true},
		{"transfer hook", Account{Owner: solana.Token2022Program, Data: hooked}, Mint{Program: solana.Token2022Program, Decimals: 6, AccountSize: 175, TransferHook: true}, true},
		{"other owner", Account{Owner: solana.DFlowProgram, Data: plain}, Mint{}, false},
		{"token account", Account{Owner: solana.TokenProgram, Data: make([]byte, 165)}, Mint{}, false},
		{"uninitialised", Account{Owner: solana.TokenProgram, Data: make([]byte, 82)}, Mint{}, false},
		{"cut extension", Account{Owner: solana.Token2022Program, Data: short}, Mint{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadMint(wallet, Snapshot{Accounts: map[solana.PublicKey]Account{wallet: c.account}})
			if !c.ok {
				if !fault.Is(err, fault.UnknownMint) {
					t.Errorf("error = %v", err)
				}
				return
			}
			c.want.Address = wallet
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestPriorityFeeIsOfTheLimit(t *testing.T) {
	cases := []struct {
		price, limit uint64
		hasLimit     bool
		others       uint64
		more         uint64
		want         amount.Units
	}{
		{0, 200_000, true, 1, 0, 0},
		{1, 1, true, 1, 0, 1},
		{50_000, 120_000, true, 1, 0, 6000},
		{50_000, 120_000, true, 1, 20_000, 7000},
		{50_000, 0, false, 2, 0, 20_000},
		{50_000, 0, false, 2, 20_000, 70_000},
		{1_000_000, 9_000_000, true, 1, 0, 1_400_000},
		{1_000_000, 1_390_000, true, 1, 20_000, 1_400_000},
	}
	for _, c := range cases {
		got, err := (&budgetReader{price: c.price, limit: c.limit, hasLimit: c.hasLimit, others: c.others}).fee(c.more)
		if err != nil || got != c.want {
			t.Errorf("price %d limit %d: %d, %v; want %d", c.price, c.limit, got, err, c.want)
		}
	}
	if _, err := (&budgetReader{price: ^uint64(0), limit: 1_400_000, hasLimit: true}).fee(0); err == nil {
		t.Error("a fee beyond u64 passed")
	}
}

func TestAdoptRefusesWhatWasNotAdmitted(t *testing.T) {
	if _, err := AdoptSwap(caps.Admitted{}, SwapTerms{In: 1, MinOut: 1}, nil, nil, Snapshot{}); !fault.Is(err, fault.Internal) {
		t.Errorf("an intent that was not admitted: %v", err)
	}
}
