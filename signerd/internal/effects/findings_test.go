package effects_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/effects"
)

// resembling is another address with the same characters at both ends.
func resembling(t *testing.T, key solana.PublicKey) solana.PublicKey {
	t.Helper()
	text := []byte(key.String())
	for _, letter := range []byte("23456789ABC") {
		text[len(text)/2] = letter
		if other, err := solana.ParsePublicKey(string(text)); err == nil && other != key {
			return other
		}
	}
	t.Fatal("no address resembles another")
	return key
}

// found lists the findings of one code.
func found(t *testing.T, s stage, code string) []string {
	t.Helper()
	read, err := s.mustRead(t).Finish(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, finding := range read.Findings() {
		if finding.Code == code {
			texts = append(texts, finding.Text)
		}
	}
	return texts
}

func payTo(to solana.PublicKey, known ...effects.Recipient) stage {
	s := pay(5)
	s.calls[0].Accounts[1].Key = to
	s.bounds.Recipients = []solana.PublicKey{to}
	s.known.Recipients = known
	return s
}

func TestFindFirstSeenRecipients(t *testing.T) {
	for name, test := range map[string]struct {
		s    stage
		want int
	}{
		"nobody is known":  {payTo(friend), 1},
		"others are known": {payTo(friend, effects.Recipient{Name: "thief", Address: thief}), 1},
		"named":            {payTo(friend, effects.Recipient{Name: "friend", Address: friend}), 0},
		"only listed":      {payTo(friend, effects.Recipient{Address: friend}), 0},
	} {
		if got := found(t, test.s, effects.FirstSeenRecipient); len(got) != test.want || (test.want > 0 && !strings.Contains(got[0], friend.String())) {
			t.Errorf("%s: %v, want %d", name, got, test.want)
		}
	}
	read := payTo(friend, effects.Recipient{Address: friend}, effects.Recipient{Name: "Ann", Address: friend}).mustRead(t)
	effect, err := read.Finish(nil, true)
	if paid := effect.Payments(); err != nil || len(paid) != 1 || paid[0].Name != "Ann" || paid[0].Received != paid[0].Amount {
		t.Errorf("payments %+v, %v, want the name in the book", paid, err)
	}
}

// misspelt is an address that is another with a letter lost at the end or in the
// middle, or one changed.
func misspelt(t *testing.T, key solana.PublicKey) solana.PublicKey {
	t.Helper()
	text := key.String()
	for i := range text {
		for _, other := range []string{text[:i] + text[i+1:], text[:i] + "z" + text[i+1:]} {
			if found, err := solana.ParsePublicKey(other); err == nil && found != key && (i < 4 || i >= len(text)-4) {
				return found
			}
		}
	}
	t.Fatal("no spelling of this address is another address")
	return key
}

// TestFindLookAlikeRecipients: addresses that were made, or copied so badly, that
// they are taken for those of another.
func TestFindLookAlikeRecipients(t *testing.T) {
	ann := effects.Recipient{Name: "Ann\u202e\x1b[2J", Address: friend}
	for name, test := range map[string]struct {
		s    stage
		says string
	}{
		"a named one":            {payTo(resembling(t, friend), ann), "like Ann[2J (" + friend.String()},
		"a listed one":           {payTo(resembling(t, friend), effects.Recipient{Address: friend}), "like " + friend.String()},
		"one that lost a letter": {payTo(misspelt(t, friend), ann), "like Ann[2J (" + friend.String()},
		"the wallet":             {payTo(resembling(t, wallet), ann), "the wallet's own address"},
		"nobody":                 {payTo(thief, ann), ""},
		"the known one":          {payTo(friend, ann), ""},
		"one that is known too":  {payTo(resembling(t, friend), ann, effects.Recipient{Name: "Bob", Address: resembling(t, friend)}), ""},
	} {
		got := found(t, test.s, effects.LookAlikeRecipient)
		if test.says == "" && len(got) != 0 || test.says != "" && (len(got) != 1 || !strings.Contains(got[0], test.says)) {
			t.Errorf("%s: %q, want %q", name, got, test.says)
		}
	}
}

// TestFindLookAlikeMints: a token that is not the one it says it is.
func TestFindLookAlikeMints(t *testing.T) {
	usdc := effects.NamedMint{Name: "USDC", Mint: solana.PublicKey{77}}
	for name, test := range map[string]struct {
		worn chain.TokenName
		want bool
	}{
		"the symbol":              {chain.TokenName{Name: "anything", Symbol: "USDC"}, true},
		"the name":                {chain.TokenName{Name: "usdc", Symbol: "X"}, true},
		"Cyrillic":                {chain.TokenName{Symbol: "US\u0414\u0421"}, false}, // De looks like no D.
		"Cyrillic S and C":        {chain.TokenName{Symbol: "U\u0405D\u0421"}, true},
		"full width":              {chain.TokenName{Symbol: "\uff35\uff33\uff24\uff23"}, true},
		"mathematical":            {chain.TokenName{Symbol: "\U0001d414\U0001d412\U0001d403\U0001d402"}, true},
		"accents":                 {chain.TokenName{Symbol: "\u00dcSD\u00c7"}, true},
		"zero width":              {chain.TokenName{Symbol: "US\u200bDC"}, true},
		"dots and spaces":         {chain.TokenName{Symbol: "U.S D-C"}, true},
		"a five":                  {chain.TokenName{Symbol: "U5DC"}, true},
		"Cyrillic Dzhe":           {chain.TokenName{Symbol: "\u040fSDC"}, true},
		"Cherokee D":              {chain.TokenName{Symbol: "US\u13a0C"}, true},
		"Lisu":                    {chain.TokenName{Symbol: "\ua4f4\ua4e2\ua4d3\ua4da"}, true},
		"Canadian":                {chain.TokenName{Symbol: "\u144c\u1515\u15ea\u1455"}, true},
		"a lunate sigma":          {chain.TokenName{Symbol: "USD\u03f9"}, true},
		"an eth":                  {chain.TokenName{Symbol: "US\u00d0C"}, true},
		"a union sign":            {chain.TokenName{Symbol: "\u222aSDC"}, true},
		"a currency sign before":  {chain.TokenName{Symbol: "$USDC"}, true},
		"a number after":          {chain.TokenName{Symbol: "USDC2"}, true},
		"a number apart":          {chain.TokenName{Symbol: "USDC 2.0"}, true},
		"a sign inside":           {chain.TokenName{Symbol: "U$DC"}, true},
		"a wide sign before":      {chain.TokenName{Symbol: "\uff04USDC"}, true},
		"hidden before the sign":  {chain.TokenName{Symbol: "\u200b$USDC"}, true},
		"a raised number":         {chain.TokenName{Symbol: "USDC\u00b2"}, true},
		"a Roman number":          {chain.TokenName{Symbol: "USDC\u2161"}, true},
		"a version":               {chain.TokenName{Name: "USDC v2.1"}, true},
		"a version and a sign":    {chain.TokenName{Symbol: "$USD\u216d-V2"}, true},
		"a trade mark":            {chain.TokenName{Symbol: "USDC\u2122"}, true},
		"letters in squares":      {chain.TokenName{Symbol: "\U0001f184\U0001f182\U0001f173\U0001f172"}, true},
		"letters in circles":      {chain.TokenName{Symbol: "\U0001f164\U0001f162\U0001f153\U0001f152"}, true},
		"letters of flags":        {chain.TokenName{Symbol: "\U0001f1fa\U0001f1f8DC"}, true},
		"small capitals":          {chain.TokenName{Symbol: "\u1d1c\ua731\u1d05\u1d04"}, true},
		"a cedi":                  {chain.TokenName{Symbol: "USD\u20b5"}, true},
		"a reversed S":            {chain.TokenName{Symbol: "U\u01a7DC"}, true},
		"a ring":                  {chain.TokenName{Symbol: "S\u25cbL"}, true},
		"a version of another":    {chain.TokenName{Symbol: "BAGSv2"}, false},
		"a word that ends in v":   {chain.TokenName{Name: "USDCv"}, false},
		"SOL":                     {chain.TokenName{Symbol: "S0L"}, true},
		"SOL by name":             {chain.TokenName{Name: "Wrapped  So\u0131"}, true},
		"another":                 {chain.TokenName{Name: "Bags", Symbol: "BAGS"}, false},
		"more than the name":      {chain.TokenName{Name: "USDC dog", Symbol: "UDOG"}, false},
		"nothing":                 {chain.TokenName{}, false},
		"nothing that is visible": {chain.TokenName{Name: "\u200b\u2800", Symbol: "--"}, false},
	} {
		s := swap()
		s.known.Mints = []effects.NamedMint{usdc}
		s.names = map[solana.PublicKey]chain.TokenName{mint: test.worn}
		got := found(t, s, effects.LookAlikeMint)
		if (len(got) == 1) != test.want || len(got) > 1 {
			t.Errorf("%s: %q, want a finding: %v", name, got, test.want)
		}
		for _, text := range got {
			if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e }) || !strings.Contains(text, mint.String()) {
				t.Errorf("%s: the text is not fit to be shown: %q", name, text)
			}
		}
	}
	// A name in the mint itself counts like one beside it.
	s := swap()
	s.known.Mints = []effects.NamedMint{usdc}
	m := s.mints[mint]
	m.Name = chain.TokenName{Symbol: "uSDc"}
	s.mints[mint] = m
	if got := found(t, s, effects.LookAlikeMint); len(got) != 1 {
		t.Errorf("a name in the mint: %q", got)
	}
	// The one that is named may wear its name.
	s.known.Mints = []effects.NamedMint{{Name: "USDC", Mint: mint}}
	if got := found(t, s, effects.LookAlikeMint); len(got) != 0 {
		t.Errorf("the named mint itself: %q", got)
	}
}

func TestFindUnverifiedMints(t *testing.T) {
	s := swap()
	if got := found(t, s, effects.UnverifiedMint); len(got) != 1 || !strings.Contains(got[0], mint.String()) {
		t.Errorf("%q, want the token that is bought", got)
	}
	s.known.Mints = []effects.NamedMint{{Name: "BAGS", Mint: mint}}
	if got := found(t, s, effects.UnverifiedMint); len(got) != 0 {
		t.Errorf("%q, and the token is named", got)
	}
	if got := found(t, pay(5), effects.UnverifiedMint); len(got) != 0 {
		t.Errorf("%q, and nothing is bought", got)
	}
}

// TestPaymentsShowBothSidesOfATransferFee: the wallet pays what it sends, and
// what arrives is less.
func TestPaymentsShowBothSidesOfATransferFee(t *testing.T) {
	for name, test := range map[string]struct {
		fees     [2]chain.TransferFee
		received amount.Units
	}{
		"none":                    {[2]chain.TransferFee{}, 900},
		"rounded up":              {[2]chain.TransferFee{{Most: 100, BasisPoints: 100}, {Most: 100, BasisPoints: 101}}, 890},
		"at most so much":         {[2]chain.TransferFee{{Most: 3, BasisPoints: 5_000}, {}}, 897},
		"the coming one":          {[2]chain.TransferFee{{}, {Most: 1_000, BasisPoints: 10_000}}, 0},
		"a rate above the whole":  {[2]chain.TransferFee{{Most: 1_000, BasisPoints: 60_000}, {}}, 0},
		"nothing, up to anything": {[2]chain.TransferFee{{Most: 1 << 60}, {}}, 900},
	} {
		m := payTokens(900)
		info := m.mints[mint]
		info.Fees = test.fees
		m.mints[mint] = info
		effect, err := m.mustRead(t).Finish(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		charge, err := effect.Charge()
		if paid := effect.Payments(); err != nil || len(paid) != 1 || paid[0].Amount != 900 || paid[0].Received != test.received || charge[mint] != 900 {
			t.Errorf("%s: payments %+v, charge %v, want 900 of which %d arrive", name, paid, charge, test.received)
		}
	}
}

// TestFindingCodesAreAll: a code that is missing from the list could not be
// named in a rule.
func TestFindingCodesAreAll(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "known.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text)
			}
		}
		return true
	})
	slices.Sort(texts)
	if diff := cmp.Diff(texts, slices.Sorted(slices.Values(effects.FindingCodes))); diff != "" {
		t.Errorf("the constants, and the list (-const +list):\n%s", diff)
	}
}
