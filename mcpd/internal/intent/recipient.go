package intent

import (
	"strings"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

const (
	// maxName is the longest name in the owner's address book. Every address is
	// longer, but for one of 32 digits, and a name begins with a letter.
	maxName = 32
	// shortestAddress and longestAddress are how many letters 32 bytes take.
	shortestAddress, longestAddress = 32, 44
	// addressLike is how many letters a text has that was hardly meant as a name.
	addressLike = 20
)

const (
	lettersMissing = "letters seem to be missing or changed. Copy the address whole from where it came from, never from memory, " +
		"or use the recipient's name in the owner's address book"
	base58Letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
)

// parseRecipient reads a wallet's full address, or the name of a recipient.
func parseRecipient(text string) (solana.PublicKey, string, error) {
	if isName(text) {
		return solana.PublicKey{}, text, nil
	}
	key, err := solana.ParsePublicKey(text)
	switch {
	case err == nil && !key.IsZero():
		return key, "", nil
	case err == nil:
		return key, "", fault.New(fault.InvalidArguments, "to is the System program, not a wallet")
	case strings.Contains(text, "..") || strings.Contains(text, "…"):
		return key, "", fault.New(fault.InvalidArguments, "to is a shortened address; %s", lettersMissing)
	case strings.Trim(text, base58Letters) != "" || text == "":
		return key, "", fault.New(fault.InvalidArguments, "to is neither a name of the owner's address book (1 to %d letters, digits, hyphens or underscores, "+
			"beginning with a letter) nor a wallet's address (%d to %d base58 letters)", maxName, shortestAddress, longestAddress)
	case len(text) > longestAddress:
		return key, "", fault.New(fault.InvalidArguments, "to has %d letters and an address has at most %d: it has letters too many", len(text), longestAddress)
	}
	return key, "", fault.New(fault.InvalidArguments, "to is not a whole address (its %d letters do not make 32 bytes): %s", len(text), lettersMissing)
}

func isName(text string) bool {
	if text == "" || len(text) > maxName || strings.Trim(text[:1], nameLetters) != "" {
		return false
	}
	return strings.Trim(text, nameLetters+"0123456789-_") == ""
}

const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Unknown words the refusal of a name that the signer does not know. A long one
// may have been meant as an address.
func Unknown(name string, refusal *fault.Fault) *fault.Fault {
	if refusal.Code != fault.RecipientUnknown || len(name) < addressLike || strings.Trim(name, base58Letters) != "" {
		return refusal
	}
	return fault.New(fault.RecipientUnknown, "%s. If it was meant as an address, %s", refusal.Message, lettersMissing).Because(refusal)
}

// CheckRecipientExists refuses an address that nobody can hold a key of and
// that does not exist either: what most addresses with a wrong letter are. An
// account without a key that does exist may be a vault.
func CheckRecipientExists(to solana.PublicKey, exists bool) error {
	if exists || to.OnCurve() {
		return nil
	}
	return fault.New(fault.InvalidArguments, "to (%s) is no wallet: no key can exist for it, and there is no such account; %s", to, lettersMissing)
}
