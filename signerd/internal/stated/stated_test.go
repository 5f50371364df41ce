package stated

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/effects"
)

var (
	token  = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	friend = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")
)

const tokenDecimals = 6

func decimals(mint solana.PublicKey) (uint8, bool) { return tokenDecimals, mint == token }

type proposal struct {
	tool, arguments string
	flow            effects.Flow
	bounds          effects.Bounds
}

func (p proposal) check() error { return Check(p.tool, p.arguments, p.flow, p.bounds, decimals) }

type units = map[solana.PublicKey]amount.Units

func honestTrade() proposal {
	return proposal{
		tool: toolTrade, flow: effects.Swap,
		arguments: fmt.Sprintf(`{"amount":"0.01","input_mint":%q,"output_mint":%q,"slippage_bps":300}`, solana.WrappedSOL, token),
		bounds: effects.Bounds{
			MaxOut: units{amount.SOL: 10_000_000}, MinIn: units{token: 1}, MaxFee: 1, MaxRent: 2, Programs: []solana.PublicKey{solana.DFlowProgram},
		},
	}
}

func honestClaim() proposal {
	return proposal{
		tool: toolClaim, flow: effects.Claim, arguments: fmt.Sprintf(`{"token_mints":[%q]}`, token),
		bounds: effects.Bounds{MinIn: units{amount.SOL: 5}, MaxFee: 1, Programs: []solana.PublicKey{solana.FeeShareV2Program}},
	}
}

func honestTransfer() proposal {
	return proposal{
		tool: toolTransfer, flow: effects.Transfer,
		arguments: fmt.Sprintf(`{"amount":"2.5","memo":"for \"tea\" & <cake> — ☕","mint":%q,"to":%q}`, token, friend),
		bounds:    effects.Bounds{MaxOut: units{token: 2_500_000}, MaxFee: 1, MaxRent: 2, Recipients: []solana.PublicKey{friend}},
	}
}

func TestCheckAcceptsWhatIsStated(t *testing.T) {
	for _, p := range []proposal{honestTrade(), honestClaim(), honestTransfer()} {
		if err := p.check(); err != nil {
			t.Errorf("%s: %v", p.tool, err)
		}
	}
}

func TestCheckRefusesWhatIsNotStated(t *testing.T) {
	swap := func(old, other string) func(*proposal) {
		return func(p *proposal) {
			if !strings.Contains(p.arguments, old) {
				panic(old)
			}
			p.arguments = strings.Replace(p.arguments, old, other, 1)
		}
	}
	for name, c := range map[string]struct {
		honest func() proposal
		spoil  func(*proposal)
	}{
		"ten times the amount":     {honestTrade, func(p *proposal) { p.bounds.MaxOut[amount.SOL] = 100_000_000 }},
		"less than the amount":     {honestTrade, func(p *proposal) { p.bounds.MaxOut[amount.SOL]-- }},
		"another asset as well":    {honestTrade, func(p *proposal) { p.bounds.MaxOut[token] = 1 }},
		"another asset instead":    {honestTrade, func(p *proposal) { p.bounds.MaxOut = units{token: 10_000_000} }},
		"nothing leaves":           {honestTrade, func(p *proposal) { p.bounds.MaxOut = nil }},
		"nothing arrives":          {honestTrade, func(p *proposal) { p.bounds.MinIn = nil }},
		"zero arrives":             {honestTrade, func(p *proposal) { p.bounds.MinIn[token] = 0 }},
		"another mint arrives":     {honestTrade, func(p *proposal) { p.bounds.MinIn = units{friend: 1} }},
		"two mints arrive":         {honestTrade, func(p *proposal) { p.bounds.MinIn[friend] = 1 }},
		"a trade pays a recipient": {honestTrade, func(p *proposal) { p.bounds.Recipients = []solana.PublicKey{friend} }},
		"a trade as a transfer":    {honestTrade, func(p *proposal) { p.flow = effects.Transfer }},
		"an unknown flow":          {honestTrade, func(p *proposal) { p.flow = 0 }},
		"an unknown tool":          {honestTrade, func(p *proposal) { p.tool = "bags_execute_trade " }},
		"no tool":                  {honestTrade, func(p *proposal) { p.tool = "" }},
		"another tool's arguments": {honestTrade, func(p *proposal) { p.tool = toolTransfer }},
		"a mint of no decimals": {honestTrade, func(p *proposal) {
			*p = honestTransfer()
			p.arguments = strings.Replace(p.arguments, token.String(), friend.String(), 1)
		}},
		"SOL by its nickname":    {honestTrade, swap(solana.WrappedSOL.String(), "SOL")},
		"SOL as the zero key":    {honestTrade, swap(solana.WrappedSOL.String(), solana.SystemProgram.String())},
		"a mint for itself":      {honestTrade, swap(token.String(), solana.WrappedSOL.String())},
		"excess slippage":        {honestTrade, swap("300", "5001")},
		"slippage as a fraction": {honestTrade, swap("300", "300.0")},
		"slippage as text":       {honestTrade, swap("300", `"300"`)},
		"an amount padded":       {honestTrade, swap("0.01", "0.010")},
		"an amount as a number":  {honestTrade, swap(`"0.01"`, "0.01")},
		"an amount of zero":      {honestTrade, func(p *proposal) { swap("0.01", "0")(p); p.bounds.MaxOut[amount.SOL] = 0 }},
		"too many digits":        {honestTrade, swap("0.01", "0.0100000001")},
		"a space":                {honestTrade, swap(":", ": ")},
		"a line behind":          {honestTrade, func(p *proposal) { p.arguments += "\n" }},
		"a second object":        {honestTrade, func(p *proposal) { p.arguments += "{}" }},
		"a key twice":            {honestTrade, swap(`{`, `{"amount":"0.1",`)},
		"a key in capitals":      {honestTrade, swap(`"amount"`, `"Amount"`)},
		"keys out of order":      {honestTrade, swap(`{"amount":"0.01",`, `{"input_mint":"`+solana.WrappedSOL.String()+`","amount":"0.01",`)},
		"an unknown key":         {honestTrade, swap(`}`, `,"zebra":1}`)},
		"an escaped letter":      {honestTrade, swap("0.01", `\u0030.01`)},
		"the code among them":    {honestTrade, swap(`,"input_mint"`, `,"confirm":"x","input_mint"`)},
		"null":                   {honestTrade, func(p *proposal) { p.arguments = "null" }},
		"empty":                  {honestTrade, func(p *proposal) { p.arguments = "" }},

		"a claim that pays":           {honestClaim, func(p *proposal) { p.bounds.MaxOut = units{amount.SOL: 1} }},
		"a claim that pays a friend":  {honestClaim, func(p *proposal) { p.bounds.Recipients = []solana.PublicKey{friend} }},
		"a claim that brings nothing": {honestClaim, func(p *proposal) { p.bounds.MinIn = nil }},
		"a claim of another asset":    {honestClaim, func(p *proposal) { p.bounds.MinIn = units{token: 5} }},
		"a claim as a swap":           {honestClaim, func(p *proposal) { p.flow = effects.Swap }},
		"a claim of nothing":          {honestClaim, func(p *proposal) { p.arguments = `{"token_mints":[]}` }},
		"a claim twice":               {honestClaim, swap(`["`, `["`+token.String()+`","`)},
		"a claim out of order":        {honestClaim, swap(`["`, `["`+friend.String()+`","`)},
		"a claim of no mint":          {honestClaim, swap(token.String(), "abc")},

		"somebody else is paid":     {honestTransfer, func(p *proposal) { p.bounds.Recipients[0] = token }},
		"somebody else as well":     {honestTransfer, func(p *proposal) { p.bounds.Recipients = append(p.bounds.Recipients, token) }},
		"the recipient twice":       {honestTransfer, func(p *proposal) { p.bounds.Recipients = append(p.bounds.Recipients, friend) }},
		"nobody is paid":            {honestTransfer, func(p *proposal) { p.bounds.Recipients = nil }},
		"a transfer that brings":    {honestTransfer, func(p *proposal) { p.bounds.MinIn = units{amount.SOL: 1} }},
		"a transfer with a program": {honestTransfer, func(p *proposal) { p.bounds.Programs = []solana.PublicKey{solana.DFlowProgram} }},
		"a transfer as a swap":      {honestTransfer, func(p *proposal) { p.flow = effects.Swap }},
		"a name for an address":     {honestTransfer, swap(friend.String(), "alice")},
		"a letter dropped":          {honestTransfer, swap(friend.String(), friend.String()[1:])},
		"an empty memo":             {honestTransfer, func(p *proposal) { p.arguments = strings.Replace(p.arguments, `for \"tea\" & <cake> — ☕`, "", 1) }},
		"broken UTF-8":              {honestTransfer, swap("tea", "\xff")},
		"a lone surrogate":          {honestTransfer, swap("tea", `\ud800`)},
		"HTML escapes":              {honestTransfer, swap("&", `\u0026`)},
	} {
		p := c.honest()
		c.spoil(&p)
		if err := p.check(); !fault.Is(err, fault.IntentMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShapeRefusesWhatNoToolStates: what holds whatever the arguments are, so
// that explain can ask it of bytes that came with none.
func TestShapeRefusesWhatNoToolStates(t *testing.T) {
	for _, p := range []proposal{honestTrade(), honestClaim(), honestTransfer()} {
		if err := Shape(p.flow, p.bounds); err != nil {
			t.Errorf("%s: %v", p.tool, err)
		}
	}
	for name, c := range map[string]struct {
		honest func() proposal
		spoil  func(*proposal)
	}{
		"an unknown flow":             {honestTrade, func(p *proposal) { p.flow = 0 }},
		"two assets leave":            {honestTrade, func(p *proposal) { p.bounds.MaxOut[friend] = 1 }},
		"nothing leaves":              {honestTrade, func(p *proposal) { p.bounds.MaxOut[amount.SOL] = 0 }},
		"two assets arrive":           {honestTrade, func(p *proposal) { p.bounds.MinIn[friend] = 1 }},
		"nothing arrives":             {honestTrade, func(p *proposal) { p.bounds.MinIn[token] = 0 }},
		"an asset for itself":         {honestTrade, func(p *proposal) { p.bounds.MaxOut = units{token: 1} }},
		"a trade with a recipient":    {honestTrade, func(p *proposal) { p.bounds.Recipients = []solana.PublicKey{friend} }},
		"a claim that pays":           {honestClaim, func(p *proposal) { p.bounds.MaxOut = units{amount.SOL: 1} }},
		"a claim of a token":          {honestClaim, func(p *proposal) { p.bounds.MinIn = units{token: 1} }},
		"a transfer of nothing":       {honestTransfer, func(p *proposal) { p.bounds.MaxOut[token] = 0 }},
		"two recipients":              {honestTransfer, func(p *proposal) { p.bounds.Recipients = append(p.bounds.Recipients, token) }},
		"no recipient":                {honestTransfer, func(p *proposal) { p.bounds.Recipients = nil }},
		"the zero key as a recipient": {honestTransfer, func(p *proposal) { p.bounds.Recipients[0] = solana.SystemProgram }},
		"a transfer with a program":   {honestTransfer, func(p *proposal) { p.bounds.Programs = []solana.PublicKey{solana.DFlowProgram} }},
	} {
		p := c.honest()
		c.spoil(&p)
		if err := Shape(p.flow, p.bounds); !fault.Is(err, fault.IntentMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What mcpd writes for any meaning is let through, and for no other amount.
func TestCheckBindsEveryAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := honestTransfer()
		given := amount.Units(rapid.Uint64Min(1).Draw(t, "given"))
		bound := amount.Units(rapid.Uint64Min(1).Draw(t, "bound"))
		memo := rapid.StringMatching(`[ -~]{1,40}`).Draw(t, "memo")
		quoted, err := json.Marshal(memo)
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
		p.arguments = fmt.Sprintf(`{"amount":%q,"memo":%s,"mint":%q,"to":%q}`, given.Decimal(tokenDecimals), plain, token, friend)
		p.bounds.MaxOut = units{token: given}
		if err := p.check(); err != nil {
			t.Fatalf("%s: %v", p.arguments, err)
		}
		p.bounds.MaxOut = units{token: bound}
		if err := p.check(); (err == nil) != (given == bound) {
			t.Fatalf("stated %d, bound %d: %v", given, bound, err)
		}
	})
}

// Whatever is let through has one reading: a decoder of any other make finds
// the amount that the bounds have, and the text is what it writes back.
func FuzzCheck(f *testing.F) {
	for _, p := range []proposal{honestTrade(), honestClaim(), honestTransfer()} {
		f.Add(p.tool, p.arguments, uint8(p.flow), uint64(10_000_000))
		f.Add(p.tool, p.arguments, uint8(p.flow), uint64(2_500_000))
	}
	f.Fuzz(func(t *testing.T, tool, arguments string, flow uint8, out uint64) {
		for _, honest := range []proposal{honestTrade(), honestClaim(), honestTransfer()} {
			bounds := honest.bounds
			for mint := range bounds.MaxOut {
				bounds.MaxOut[mint] = amount.Units(out)
			}
			err := Check(tool, arguments, effects.Flow(flow), bounds, decimals)
			if err != nil {
				if !fault.Is(err, fault.IntentMismatch) {
					t.Fatalf("refused with %v", err)
				}
				continue
			}
			var members map[string]any
			if err := json.Unmarshal([]byte(arguments), &members); err != nil {
				t.Fatalf("let through %q: %v", arguments, err)
			}
			if stated, ok := members["amount"].(string); ok {
				asset := slices.Collect(maps.Keys(bounds.MaxOut))[0]
				digits := uint8(amount.SOLDecimals)
				if asset == token {
					digits = tokenDecimals
				}
				if amount.Units(out).Decimal(digits) != stated {
					t.Fatalf("let through %q with %d", arguments, out)
				}
			}
		}
	})
}
