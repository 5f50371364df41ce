package solana_test

import (
	"testing"

	"countersign/shared/solana"
)

func TestPublicClustersAreFoundBothWays(t *testing.T) {
	for cluster, text := range map[string]string{
		"mainnet": "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
		"devnet":  "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
		"testnet": "4uhcVJyU9pJkvQyS88uRDiswHXSGkY3zQawwpjk2NsNY",
	} {
		hash, ok := solana.PublicGenesis(cluster)
		if !ok || hash.String() != text {
			t.Errorf("PublicGenesis(%q) = %s, %t", cluster, hash, ok)
		}
		if name, ok := solana.PublicCluster(hash); !ok || name != cluster {
			t.Errorf("PublicCluster(%s) = %q, %t", hash, name, ok)
		}
	}
	if _, ok := solana.PublicGenesis("local"); ok {
		t.Error("a private network has a public genesis hash")
	}
	if name, ok := solana.PublicCluster(solana.Hash{}); ok {
		t.Errorf("the zero hash is %s's", name)
	}
}
