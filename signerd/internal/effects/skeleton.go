package effects

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtibben/confusables"
	"golang.org/x/text/unicode/norm"

	"countersign/shared/untrusted"
)

// skeleton folds a name to what a person sees at a glance: Unicode's own list of
// confusable characters (UTS #39) first, then compatibility forms (full width,
// mathematical, circled) become plain letters, case and accents go, digits and
// further letters that look like a Latin letter become that letter, and what is
// neither letter nor digit is left out. Two names that fold to the same text are
// taken for each other.
func skeleton(text string) string {
	return fold(untrusted.Clean(text, untrusted.Name).Display())
}

func fold(clean string) string {
	text := clean
	if !isASCII(text) {
		text = norm.NFKD.String(confusables.Skeleton(tones.Replace(text)))
	}
	var out strings.Builder
	for _, r := range text {
		r = unboxed(r)
		// Before the case is folded: a capital can look like another letter
		// than its small form does.
		if like, ok := lookAlikes[r]; ok {
			r = like
		}
		r = unicode.ToLower(unicode.ToUpper(r))
		if like, ok := lookAlikes[r]; ok {
			r = like
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			out.WriteRune(r)
		}
	}
	return pairs.Replace(out.String())
}

// skeletons are those of a name, and of the name without what is put around one
// to make another that is taken for it: signs and numbers before it ("$USDC"),
// or signs, numbers and a version after it ("USDC v2").
func skeletons(text string) []string {
	clean := untrusted.Clean(text, untrusted.Name).Display()
	list := []string{fold(clean)}
	bare := strings.TrimLeftFunc(clean, notLetter)
	for numbered := false; bare != ""; {
		list = append(list, fold(bare))
		last, size := utf8.DecodeLastRuneInString(bare)
		if version := last == 'v' || last == 'V'; unicode.IsLetter(last) && (!numbered || !version) {
			break
		}
		numbered = numbered && !unicode.IsLetter(last) || unicode.IsNumber(last)
		bare = bare[:len(bare)-size]
	}
	return list
}

// isASCII reports text of which Unicode's list has nothing to say that the table
// below does not.
func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// boxed are where alphabets of capital letters begin that are drawn in circles,
// in squares and as flags, and that have no compatibility form.
var boxed = []rune{0x1f150, 0x1f170, 0x1f1e6}

func unboxed(r rune) rune {
	for _, first := range boxed {
		if r >= first && r < first+26 {
			return 'A' + r - first
		}
	}
	return r
}

// tones are letters that Unicode's list takes for the digit 2, and a glance for an
// s.
var tones = strings.NewReplacer("\u01a7", "S", "\u01a8", "s")

// pairs are two letters that together look like one.
var pairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")

// lookAlikes maps a character to the small Latin letter that it looks like, also
// where the two are too far apart for Unicode's list: a person glances.
var lookAlikes = invert(map[rune]string{
	'a': "\u0430\u0410\u03b1\u0391\u0251\u13aa@4\u1d00",
	'b': "\u0412\u0392\u0432\u042c\u044c\u13f48\u0299",
	'c': "\u1455\u0441\u0421\u03f2\u03f9\u13df\u00a2\u023b\u023c\u20b5\u00a9\u0297\u037c\u2185\u2282",
	'd': "\u0501\u0500\u13e7\u13a0\u00d0\u00f0\u0110\u0111\u1d05",
	'e': "\u0435\u0415\u0395\u03b5\u0454\u0404\u13ac\u20ac3\u1d07",
	'f': "\u0192\u03dc",
	'g': "\u0261\u13c0\u050d\u050c69\u0262",
	'h': "\u041d\u0397\u043d\u04bb\u04ba\u13bb\u0570\u029c",
	'j': "\u0458\u0408\u13ab\u037f\u1d0a",
	'k': "\u043a\u041a\u039a\u03ba\u13e6\u1d0b",
	// The small l, the capital I, the digit 1 and the bar are one stroke.
	'l': "iI1|!\u0456\u0406\u0399\u03b9\u0131\u04cf\u04c0\u13de\u217c\u026a\u029f",
	'm': "\u041c\u039c\u043c\u03fa\u13b7\u1d0d",
	'n': "\u039d\u0578\u057c\u03b7\u0274",
	'o': "0\u043e\u041e\u03bf\u039f\u0585\u0555\u03c3\u00f8\u00d8\u25cb\u25cf\u25ef\u2b55\u0298\u00b0",
	'p': "\u0440\u0420\u03c1\u03a1\u13e2\u1d18",
	'q': "\u051b\u051a\u0566",
	'r': "\u0433\u13a1\u13d2\u0280",
	's': "\u1515\u0455\u0405\u13da\u054f$5",
	't': "\u0442\u0422\u03a4\u03c4\u13a2\u20ae7\u1d1b",
	'u': "\u040f\u045f\u057d\u054d\u03c5\u0446\u028a\u01b1",
	'v': "\u0475\u0474\u03bd\u13d9",
	'w': "\u051d\u051c\u0461\u0460\u13b3\u03c9\u0448\u0428",
	'x': "\u0445\u0425\u03a7\u03c7\u00d7",
	'y': "\u0443\u0423\u03a5\u03b3\u04af\u04ae\u00a5\u028f",
	'z': "\u0396\u13c3\u01622",
})

func invert(table map[rune]string) map[rune]rune {
	inverted := make(map[rune]rune)
	for letter, likes := range table {
		for _, like := range likes {
			inverted[like] = letter
		}
	}
	return inverted
}
