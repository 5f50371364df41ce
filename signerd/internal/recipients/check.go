package recipients

import (
	"slices"
	"strings"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// maxName is the longest name. An address has 32 to 44 letters, and one of 32
// is all digits, so no name reads as an address.
const maxName = 32

// checkName refuses what could be misread: by a person, or as an address.
func checkName(name string) error {
	wrong := name == "" || len(name) > maxName || !letter(name[0])
	for i := range len(name) {
		c := name[i]
		wrong = wrong || !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	if wrong {
		return fault.New(fault.InvalidArguments, "a recipient's name has 1 to %d letters, digits, hyphens or underscores (ASCII) and begins with a letter", maxName)
	}
	if _, err := solana.ParsePublicKey(name); err == nil {
		return fault.New(fault.InvalidArguments, "a recipient's name must not be an address itself")
	}
	return nil
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// skeleton is equal for names that a reader may take for one another.
func skeleton(name string) string {
	return likePairs.Replace(likeLetters.Replace(strings.ToLower(name)))
}

var (
	likeLetters = strings.NewReplacer("0", "o", "1", "l", "i", "l", "5", "s", "2", "z", "-", "", "_", "")
	likePairs   = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")
)

// wellKnown are addresses that are no one's wallet, although some of them are
// on the curve.
var wellKnown = []solana.PublicKey{
	solana.SystemProgram, solana.TokenProgram, solana.Token2022Program, solana.AssociatedTokenProgram,
	solana.ComputeBudgetProgram, solana.MemoProgram, solana.MemoV1Program, solana.LookupTableProgram,
	solana.StakeProgram, solana.VoteProgram, solana.UpgradeableLoader, solana.LoaderV2, solana.WrappedSOL,
	solana.DFlowProgram, solana.JupiterV6Program, solana.MeteoraDBCProgram, solana.MeteoraDAMMv2,
	solana.FeeShareV1Program, solana.FeeShareV2Program,
}

// checkAddress refuses what no person holds the key of.
func (b *Book) checkAddress(address solana.PublicKey) error {
	switch {
	case slices.Contains(wellKnown, address):
		return fault.New(fault.InvalidArguments, "%s is a program or a mint, not a wallet; what is sent there is lost", address)
	case address == b.wallet:
		return fault.New(fault.InvalidArguments, "this is the address of the signer's own wallet")
	case !address.OnCurve():
		return fault.New(fault.InvalidArguments, "%s is not a wallet: no private key can exist for it, as is the case for token accounts and "+
			"accounts of programs; give the address of the wallet that owns it", address)
	}
	return nil
}
