package solana

import "fmt"

// publicGenesis holds the genesis hashes of the public clusters, from
// docs.solana.com/clusters. The hash says which network a node serves; the
// name is only what people call it.
var publicGenesis = map[string]Hash{
	"mainnet": mustHash("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"),
	"devnet":  mustHash("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"),
	"testnet": mustHash("4uhcVJyU9pJkvQyS88uRDiswHXSGkY3zQawwpjk2NsNY"),
}

func mustHash(text string) Hash {
	hash, err := ParseHash(text)
	if err != nil {
		panic(fmt.Sprintf("constant %q: %v", text, err))
	}
	return hash
}

// PublicGenesis is the genesis hash of a public cluster: mainnet, devnet or
// testnet.
func PublicGenesis(cluster string) (Hash, bool) {
	hash, ok := publicGenesis[cluster]
	return hash, ok
}

// PublicCluster is the name of the public cluster with this genesis hash.
func PublicCluster(genesis Hash) (string, bool) {
	for cluster, hash := range publicGenesis {
		if hash == genesis {
			return cluster, true
		}
	}
	return "", false
}
