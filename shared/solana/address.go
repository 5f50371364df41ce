package solana

import "crypto/sha256"

// Limits of a program-derived address, from the runtime's
// solana_pubkey::{MAX_SEEDS, MAX_SEED_LEN}.
const (
	maxSeeds      = 16
	maxSeedLength = 32
)

// FindProgramAddress returns the program-derived address with the highest bump
// seed, as the runtime's find_program_address does.
func FindProgramAddress(seeds [][]byte, program PublicKey) (PublicKey, uint8, error) {
	if len(seeds) >= maxSeeds {
		return PublicKey{}, 0, errNoAddress
	}
	for _, seed := range seeds {
		if len(seed) > maxSeedLength {
			return PublicKey{}, 0, errNoAddress
		}
	}
	// The runtime tries 255 bumps and never gets to 0.
	for bump := 255; bump > 0; bump-- {
		digest := sha256.New()
		for _, seed := range seeds {
			digest.Write(seed)
		}
		digest.Write([]byte{byte(bump)})
		digest.Write(program[:])
		digest.Write([]byte("ProgramDerivedAddress"))
		if address := PublicKey(digest.Sum(nil)); !address.OnCurve() {
			return address, uint8(bump), nil
		}
	}
	return PublicKey{}, 0, errNoAddress
}

// AssociatedTokenAddress is the address of owner's associated token account of
// mint under tokenProgram. The mint's owner program must be used: the same
// mint under the other token program gives another, wrong, address.
func AssociatedTokenAddress(owner, mint, tokenProgram PublicKey) PublicKey {
	address, _, err := FindProgramAddress([][]byte{owner[:], tokenProgram[:], mint[:]}, AssociatedTokenProgram)
	if err != nil {
		// Chance of 2^-255: each of 255 bumps would have to land on the curve.
		panic(err)
	}
	return address
}
