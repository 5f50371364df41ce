package chain

import (
	"encoding/binary"
	"strings"

	"countersign/shared/solana"
)

// TokenName is what a token says that it is called. Whoever made it wrote
// that: it is neither clean nor true.
type TokenName struct {
	Name, Symbol string
}

// metadataProgram keeps names of tokens whose mint cannot.
var metadataProgram = solana.MustPublicKey("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")

// MetadataAddress is where the name of a mint stands, if it has one there.
func MetadataAddress(mint solana.PublicKey) (solana.PublicKey, bool) {
	address, _, err := solana.FindProgramAddress([][]byte{[]byte("metadata"), metadataProgram[:], mint[:]}, metadataProgram)
	return address, err == nil
}

// ParseMetadata reads the account at MetadataAddress.
func ParseMetadata(account Account, mint solana.PublicKey) (TokenName, bool) {
	// Kind, update authority and mint stand before the texts.
	const kind, header = 4, 1 + 32 + 32
	data := account.Data
	if account.Owner != metadataProgram || len(data) < header || data[0] != kind || solana.PublicKey(data[33:header]) != mint {
		return TokenName{}, false
	}
	return readName(data[header:])
}

// readName reads two texts, each behind its length. Metaplex fills them up with
// zeros.
func readName(data []byte) (TokenName, bool) {
	name, data, ok := readText(data)
	if !ok {
		return TokenName{}, false
	}
	symbol, _, ok := readText(data)
	return TokenName{Name: name, Symbol: symbol}, ok
}

// longestName is far more than anybody shows.
const longestName = 1 << 10

func readText(data []byte) (string, []byte, bool) {
	if len(data) < 4 {
		return "", nil, false
	}
	length := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(length) > uint64(len(data)) {
		return "", nil, false
	}
	return strings.TrimRight(string(data[:min(length, longestName)]), "\x00"), data[length:], true
}
