package untrusted

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleanCase(t *testing.T) {
	cases := []struct {
		name, raw, display string
		flags              []Flag
	}{
		{"plain", "Bags Coin", "Bags Coin", nil},
		{"newlines and runs of space", "a \n\n\t  b ", "a b", nil},
		{"zero width", "US\u200bDC", "USDC", []Flag{Invisible}},
		{"right-to-left override", "a\u202ecba", "acba", []Flag{Bidi}},
		{"tag characters", "ok\U000E0041\U000E0042", "ok", []Flag{Invisible}},
		{"variation selectors", "a\ufe0fb\U000E0100", "ab", []Flag{Invisible}},
		{"terminal escape", "\x1b[2Jred", "[2Jred", []Flag{Invisible}},
		{"C1 control", "a\u009bb", "ab", []Flag{Invisible}},
		{"Hangul filler", "a\u3164b", "ab", []Flag{Invisible}},
		{"braille blank", "\u2800", "", []Flag{Invisible}},
		{"private use", "a\ue000b", "ab", []Flag{Invisible}},
		{"stacked marks", "e\u0302\u0323\u0331\u0330\u0329\u0331", "\u1ec7\u0331\u0330\u0329", []Flag{Invisible}},
		{"endless spacing marks", "a" + strings.Repeat("\U0001D165", 90), "a" + strings.Repeat("\U0001D165", 3), []Flag{Invisible}},
		{"composes", "e\u0301", "\u00e9", nil},
		{"Cyrillic a in Latin", "US\u0430DC", "US\u0430DC", []Flag{MixedScript}},
		{"link", "claim at https://x.y", "claim at https://x.y", []Flag{URL}},
		{"bad bytes", "a\xffb", "ab", []Flag{BadUTF8}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Clean(c.raw, Name)
			if got.Display() != c.display {
				t.Errorf("display = %q, want %q", got.Display(), c.display)
			}
			if diff := cmp.Diff(c.flags, got.Flags()); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanCutsToLimit(t *testing.T) {
	got := Clean(strings.Repeat("é", 100), Limit{Runes: 10, Bytes: 15})
	if got.Display() != strings.Repeat("é", 7) {
		t.Errorf("display = %q, want seven letters within 15 bytes", got.Display())
	}
	if diff := cmp.Diff([]Flag{Truncated}, got.Flags()); diff != "" {
		t.Error(diff)
	}
}

func TestExposedShowsLookAlikes(t *testing.T) {
	if got := Clean("p\u0430y", Name).Exposed(); got != "p<U+0430>y" {
		t.Errorf("exposed = %q", got)
	}
}

func FuzzCleanIsSafeAndIdempotent(f *testing.F) {
	for _, seed := range []string{"", "abc", "a\u202eb", "e\u0301\u0301\u0301\u0301", "\u1100\u115f\u1161", "\U000E0041", "a\u034fb", "\xff\xfe", "x  y\u2028z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once := Clean(raw, Name)
		if again := Clean(once.Display(), Name); again.Display() != once.Display() {
			t.Fatalf("not idempotent: %q then %q", once.Display(), again.Display())
		}
		if n := utf8.RuneCountInString(once.Display()); n > Name.Runes || len(once.Display()) > Name.Bytes {
			t.Fatalf("too long: %d runes, %d bytes", n, len(once.Display()))
		}
		for _, r := range once.Display() {
			if hides(r) || isBidi(r) || !unicode.IsPrint(r) {
				t.Fatalf("kept %U", r)
			}
		}
	})
}
