package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mr-tron/base58"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

// Two claims as an API would return them: unsigned legacy, and v0 signed by a
// sponsor who pays the fee. The keys are those of fixed test seeds.
const (
	legacyClaim    = `2tWAP6ogmjJ138zqJRQ4Hc4W4cN1GCKWbomErL9L62EiXHYwEjyjrt5odrU2e9cUETusebpcFbao9iCp8AY2XEhUVSFhH8TahLf31mNJEk32VL9xq3d1o6Vo4TPAnmSjbn55XSSVgpQAhJnNqB9tPV2CJUVCX9wT6ZkR5cV9PooofwjCYu7bfFFkiDKH3czkVd5aPdUGuw5gMVpshaovrTxY5Cb9XXmLSK3avyAhPgXmGBBBscczcSc9ayzvMSFrx7PmmXFfWgx6Jx4ao5YUDMLvept9Fxvzv1sGcUDaUuAgdkEv7spnm37Q65Mo1Giy7EUBE8BjD23EgnVysiLJ72cepdBK2XozGeg7yvFaQpwDKAginsf5467gcEddoDtUUZvhhhY26EPb6LJc9yXiebfZ6aAknHhSFkakWeUDSCQ2Z8pAyWcX6A4seE3tUwEBykzoubBsx25mZK2Szb6FmfXWhDighNttpBrPuRH1xH7TQBuh9f4kNUueNwgoNeQsYmSYnx2V5oVJ6ocCnxZiE5VkdviGs8Kpdy3ffthCJLaC9Y4WSw4LnZN1bP7oqSMSCXEePpbz2VGW62LmHhkJFrmbmEuA9Beg3oAui27ipR7E93VFnVDLiNTafqKvVMXEKCkACnbkfx13at2cXqQGjYAoESB5x8U6v7x9YE2rUZ6rA4wQWwY6TihGasSvp7Y6sgANk7Ht83PcpsCa9rRYBVtrpebXCtBEoffD5AZaNKMZLB9Gu8mASoBx8Ab6Xp1CcmFqKnNV3tXpNC`
	sponsoredClaim = `4Ma4yT1oq4zZQbLvcxPpJW6dvBfryLsEvPHMg4V1EzYhjCaHRdbRvQ1R6LsvJLYNRohKpfeLXEuXf4t2W7nSgViiGVCJ58K5Dk25uA7QBTAmvKPXzqAsgRZZHNQYNJe3kKBRtYx4W4hta6fgx1uRYPwkGtbp7ukAasPSs4qGyzvMYeYHGZ6HZAm8mkhuUekdFFAndQNsufPLD2tAsx1po79TpAfTxr4RkaBRc3wYNee1zdkB95JBhbWUNzpkW865GFuirogPm1gvZNPjBbNVzuGgDeQjAzVaosWGrHSZkjm3dXciqpcBvPRzShceAgJvVfyGBADch5YTPoH5C1UeuEW8cx72BJConKy6bknRoKE1yoKhjbaGEvmB7dg9hJZnfGy9cEHLPTkkR3K28gBHoX7xVuFezxbs8o7QmF7Gh19jzcjb2j15tT8gXN96EZc3cyx6PaYd4joGrKEJoc8PcsfiX2oQs8dBsMtCj1c53M53uowMiHuG9bFo6AqXWQuN7s8E5FtW55Er6hLK5GmJoY4xZGu9aqDmV9s5iZrNAJStK4Mm8brbAw39jH3sLfKBYpkEaQ4WZEkKrx2ZNEXnSLHuPk7JwCQYUyVJ5RXrtTBjwCC5BmFB9cR9MdDCqrQ8aSF1kLotaMbKUQor37BYqTsJNU8sQtDJ4rKUGY3QVYduVFqvEYHYxmavweyHXGDoKkHiQXXxoTn51beqDU6YwmmifbNraLsBbCw67pzvs68qUsjq6aYcLW93fBMdUWsNnzf5dWporPzJkM9kerMNvgAHR`
)

var (
	vectorWallet = solana.MustPublicKey("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	sponsor      = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")
	walletWSOL   = solana.MustPublicKey("7azMPufyz8EfKAif9WajHfBbFj5ic8C8rLfaTBfKdN1A")
	bagsTable    = solana.MustPublicKey("Eq1EVs15EAWww1YtPTtWPzJRLPJoS6VYP9oW9SbNr3yp")
	vectorTables = decode.Tables{bagsTable: {
		solana.WrappedSOL, solana.SystemProgram, solana.TokenProgram, solana.AssociatedTokenProgram,
		solana.MustPublicKey("5eTTZ83Yn158nGLjsnHQYGP9frmuTadsrsnqs8xnpeVf"),
	}}
)

func mustDecode(t *testing.T, text string, tables decode.Tables) decode.Tx {
	t.Helper()
	raw, err := base58.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return decodetest.MustDecode(t, raw, vectorWallet, tables)
}

func names(tx decode.Tx) []string {
	var list []string
	for _, instruction := range tx.Instructions() {
		list = append(list, instruction.Name)
	}
	return list
}

func TestDecodeLegacyClaim(t *testing.T) {
	tx := mustDecode(t, legacyClaim, nil)
	want := []string{
		"ComputeBudget.SetComputeUnitLimit", "ComputeBudget.SetComputeUnitPrice",
		"Bags fee share v2.claim_user", "SPL Token.CloseAccount",
	}
	if diff := cmp.Diff(want, names(tx)); diff != "" {
		t.Errorf("instructions (-want +got):\n%s", diff)
	}
	if !tx.SoleSigner() || tx.WalletSlot() != 0 || !tx.Stamped() {
		t.Errorf("sole signer %v in slot %d, want true in 0", tx.SoleSigner(), tx.WalletSlot())
	}
	fee := tx.Fee()
	if fee.Base != 5000 || fee.Priority != 6000 || !fee.ByWallet {
		t.Errorf("fee %+v, want 5000 and 120000 units at 50000 millionths = 6000, by the wallet", fee)
	}
	closing := tx.Instructions()[3]
	if closing.From != walletWSOL || closing.To != vectorWallet || closing.Authority != vectorWallet {
		t.Errorf("close of %s to %s by %s", closing.From, closing.To, closing.Authority)
	}
}

func TestDecodeSponsoredClaim(t *testing.T) {
	tx := mustDecode(t, sponsoredClaim, vectorTables)
	if tx.SoleSigner() || tx.WalletSlot() != 1 {
		t.Errorf("sole signer %v in slot %d, want false in 1", tx.SoleSigner(), tx.WalletSlot())
	}
	if fee := tx.Fee(); fee.Payer != sponsor || fee.ByWallet || fee.Base != 10000 {
		t.Errorf("fee %+v, want 10000 by the sponsor", fee)
	}
	if base, priority := tx.Fee().OfWallet(); base != 0 || priority != 0 {
		t.Errorf("the wallet pays %d and %d, want nothing", base, priority)
	}
	const prefix = "35m92eHUUVMKSyp5aKVE"
	if id := tx.Transaction().ID().String(); id[:len(prefix)] != prefix {
		t.Errorf("transaction id %s, want %s…", id, prefix)
	}
	looked := 0
	for _, account := range tx.Accounts() {
		if account.Looked {
			looked++
		}
	}
	if looked != 4 {
		t.Errorf("%d accounts through the table, want 4", looked)
	}
}

func TestDecodeFailsWithoutTable(t *testing.T) {
	raw, _ := base58.Decode(sponsoredClaim)
	parsed, err := decode.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	short := decode.Tables{bagsTable: vectorTables[bagsTable][:4]}
	for name, tables := range map[string]decode.Tables{"no table": nil, "unsettled entry": short} {
		if _, err := decode.Decode(parsed, vectorWallet, tables); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}
