// Package solana holds the Solana primitives that both daemons share: keys,
// signatures, hashes, program-derived addresses, and a strict, canonical codec
// of the transaction wire format. It verifies signatures and never makes one.
//
// Any package may import it; it imports none of ours. The codec promises that
// whatever it parses, it encodes back to the same bytes.
package solana
