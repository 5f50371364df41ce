// Package untrusted makes text that an attacker may have written fit to be
// shown: token names and symbols, memos, user names, what an MCP client calls
// itself. Any package may import it. It promises that the cleaned text holds
// no control, format, private-use, tag or filler character, is short, and that
// cleaning it again changes nothing. It removes what hides; it cannot make a
// lie true, so assets are named by their mint and this text is data only.
package untrusted

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limit bounds a cleaned text.
type Limit struct {
	Runes int
	Bytes int
}

// The limits for the kinds of text that appear.
var (
	Name    = Limit{Runes: 64, Bytes: 192}
	Symbol  = Limit{Runes: 16, Bytes: 48}
	Memo    = Limit{Runes: 256, Bytes: 768}
	Finding = Limit{Runes: 400, Bytes: 1200}
)

// Flag names something a reader should know about the original text.
type Flag string

// The flags.
const (
	Invisible   Flag = "invisible"
	Bidi        Flag = "bidi"
	MixedScript Flag = "mixed_script"
	Truncated   Flag = "truncated"
	URL         Flag = "url"
	BadUTF8     Flag = "bad_utf8"
)

// Text is cleaned text. The zero value is an empty text.
type Text struct {
	display string
	flags   []Flag
}

// Display is the text to show.
func (t Text) Display() string { return t.display }

// Flags says what was found, in a fixed order.
func (t Text) Flags() []Flag { return slices.Clone(t.flags) }

// maxInput bounds how much is looked at; nobody names a token in a megabyte.
const maxInput = 16 << 10

// maxMarks is how many combining marks one base character may carry: enough
// for the languages that stack them, and far below the 30 at which the
// normaliser starts to insert joiners of its own.
const maxMarks = 3

// Clean returns raw without what hides, turns around or overflows.
func Clean(raw string, limit Limit) Text {
	found := map[Flag]bool{}
	if len(raw) > maxInput {
		raw = raw[:maxInput]
		found[Truncated] = true
	}
	if !utf8.ValidString(raw) {
		found[BadUTF8] = !found[Truncated]
		raw = strings.ToValidUTF8(raw, "")
	}
	text := raw
	// Dropping a character can bring two others together, which then compose:
	// repeat until nothing changes. Each round but the last makes it shorter.
	for {
		next := norm.NFC.String(strip(norm.NFC.String(text), found))
		if next == text {
			break
		}
		text = next
	}
	text = cut(text, limit, found)
	if mixesScripts(text) {
		found[MixedScript] = true
	}
	if looksLikeURL(text) {
		found[URL] = true
	}
	return Text{display: text, flags: ordered(found)}
}

func ordered(found map[Flag]bool) []Flag {
	var flags []Flag
	for _, flag := range []Flag{Invisible, Bidi, MixedScript, Truncated, URL, BadUTF8} {
		if found[flag] {
			flags = append(flags, flag)
		}
	}
	return flags
}

func strip(text string, found map[Flag]bool) string {
	var out strings.Builder
	marks, space := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || r == 0x2028 || r == 0x2029:
			space = true
			continue
		case isBidi(r):
			found[Bidi] = true
			continue
		case hides(r):
			found[Invisible] = true
			continue
		}
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks || out.Len() == 0 || space {
				found[Invisible] = true
				continue
			}
		} else {
			marks = 0
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return out.String()
}

func isBidi(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C
}

// hides reports characters that show nothing, or something else than they are.
func hides(r rune) bool {
	switch {
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF: // variation selectors
		return true
	case r >= 0xE0000 && r <= 0xE007F: // tags, a hidden copy of ASCII
		return true
	case r >= 0xFFF0 && r <= 0xFFFF, r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF: // specials and non-characters
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2800: // fillers and blanks
		return true
	case r >= 0x180B && r <= 0x180F: // Mongolian selectors
		return true
	}
	return !unicode.IsPrint(r)
}

// cut keeps whole characters within both limits.
func cut(text string, limit Limit, found map[Flag]bool) string {
	runes, end := 0, 0
	for i, r := range text {
		if runes == limit.Runes || i+utf8.RuneLen(r) > limit.Bytes {
			found[Truncated] = true
			return strings.TrimRight(text[:end], " ")
		}
		runes++
		end = i + utf8.RuneLen(r)
	}
	return text
}

// mixesScripts reports letters of more than one of the scripts whose letters
// look alike.
func mixesScripts(text string) bool {
	scripts := []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee}
	seen := map[int]bool{}
	for _, r := range text {
		for i, script := range scripts {
			if unicode.Is(script, r) {
				seen[i] = true
			}
		}
	}
	return len(seen) > 1
}

func looksLikeURL(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, "://") || strings.Contains(lower, "www.") || strings.Contains(lower, "t.me/") ||
		strings.Contains(lower, ".com") || strings.Contains(lower, ".io/") || strings.Contains(lower, ".xyz")
}

// Exposed writes every character outside printable ASCII as its code point,
// such as <U+0430>, so that a person sees a letter that only looks like
// another.
func (t Text) Exposed() string {
	var out strings.Builder
	for _, r := range t.display {
		if r < 0x20 || r > 0x7E {
			fmt.Fprintf(&out, "<U+%04X>", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// IsClean reports whether raw would be shown exactly as it is.
func IsClean(raw string, limit Limit) bool { return Clean(raw, limit).display == raw }
