package logging

import (
	"net/url"
	"regexp"
	"strings"
)

// secretWords make an attribute's key secret wherever they appear in it.
var secretWords = []string{
	"secret", "password", "passphrase", "passwd", "token", "credential", "authorization", "cookie",
	"api_key", "apikey", "api-key", "private", "seed", "mnemonic", "keypair", "confirm",
}

func secretKey(key string) bool {
	lower := strings.ToLower(key)
	for _, word := range secretWords {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

var (
	// A run of base58 as long as a 64-byte key; shorter ones are addresses.
	longBase58 = regexp.MustCompile(`[1-9A-HJ-NP-Za-km-z]{80,}`)
	// A run of hex or base64 as long as a 64-byte key. A 32-byte hash in hex is
	// shorter.
	longHex    = regexp.MustCompile(`[0-9a-fA-F]{128,}`)
	longBase64 = regexp.MustCompile(`[0-9A-Za-z+/_-]{84,}={0,2}`)
	// A list of at least 32 byte values, as solana-keygen writes keys and as
	// Go prints byte slices.
	byteList = regexp.MustCompile(`\[?\s*(?:[0-9]{1,3}\s*[, ]\s*){31,}[0-9]{1,3}\s*\]?`)
	// A credential in a known form.
	credential = regexp.MustCompile(`(?i)\b(?:bags_prod_|stub_bags_key|bearer\s+|basic\s+)[^\s"',;]*`)
	address    = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>\x60]+`)
	onlyBase58 = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]*$`)
)

func isBase58(text string) bool { return onlyBase58.MatchString(text) }

// Redact takes out of a text what looks like a secret. Addresses of the web
// keep their host and lose what may carry a credential: user, path and query.
func Redact(text string) string {
	text = address.ReplaceAllStringFunc(text, redactAddress)
	for _, secret := range []*regexp.Regexp{credential, byteList, longHex, longBase58, longBase64} {
		text = secret.ReplaceAllString(text, Redacted)
	}
	return text
}

func redactAddress(text string) string {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return Redacted
	}
	bare := parsed.Scheme + "://" + parsed.Host
	if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || strings.Trim(parsed.Path, "/") != "" {
		return bare + "/" + Redacted
	}
	return bare
}
