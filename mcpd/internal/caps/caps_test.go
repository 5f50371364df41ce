package caps

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/mcpd/internal/intent"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

var token = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")

func trade(t *testing.T, input, output, text string) intent.Intent {
	t.Helper()
	i, err := intent.ParseTrade(json.RawMessage(fmt.Sprintf(`{"input_mint":%q,"output_mint":%q,"amount":%q,"slippage_bps":100}`, input, output, text)))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func signer() Signer {
	return Signer{Limits: Limits{Windows: []Window{
		{Name: WindowTransaction, Cap: 100_000_000, Left: 100_000_000, Decimals: 9},
		{Name: WindowSession, Cap: 1_000_000_000, Left: 60_000_000, Decimals: 9},
		{Name: WindowDay, Cap: 2_000_000_000, Left: 2_000_000_000, Decimals: 9},
		{Name: WindowTransactions, Cap: 20, Left: 20},
	}}}
}

func TestAdmitCase(t *testing.T) {
	capped := signer()
	capped.Capped = []Mint{{Address: token, Decimals: 6, Name: "TOK"}}
	capped.Limits.Windows = append(capped.Limits.Windows, Window{Name: WindowTransaction, Mint: token, Decimals: 6, Cap: 5_000_000, Left: 5_000_000})
	open := signer()
	open.AllowUncapped = true
	busy := signer()
	busy.Limits.Windows[3].Left = 0
	cases := []struct {
		name          string
		own           Own
		signer        Signer
		input, output string
		amount        string
		code          fault.Code
		uncapped      bool
	}{
		{"within", Own{}, signer(), "SOL", token.String(), "0.06", "", false},
		{"over the session", Own{}, signer(), "SOL", token.String(), "0.060000001", fault.CapExceeded, false},
		{"over the transaction", Own{}, signer(), "SOL", token.String(), "0.2", fault.CapExceeded, false},
		{"over our own", Own{PerTransaction: 1_000_000}, signer(), "SOL", token.String(), "0.002", fault.CapExceeded, false},
		{"over our own session", Own{PerSession: 1_000_000}, signer(), "SOL", token.String(), "0.002", fault.CapExceeded, false},
		{"no transactions left", Own{}, busy, "SOL", token.String(), "0.01", fault.CapExceeded, false},
		{"uncapped token", Own{AllowUncappedSwaps: true}, signer(), token.String(), "SOL", "1", fault.AssetUncapped, false},
		{"uncapped token, only the signer allows", Own{}, open, token.String(), "SOL", "1", fault.AssetUncapped, false},
		{"uncapped token, both allow", Own{AllowUncappedSwaps: true}, open, token.String(), "SOL", "1", "", true},
		{"capped token within", Own{}, capped, token.String(), "SOL", "5", "", false},
		{"capped token over", Own{}, capped, token.String(), "SOL", "5.000001", fault.CapExceeded, false},
		{"capped token, too many digits", Own{}, capped, token.String(), "SOL", "1.0000001", fault.AmountInvalid, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := NewBook(c.own).Admit(trade(t, c.input, c.output, c.amount), c.signer)
			if c.code != "" {
				if !fault.Is(err, c.code) {
					t.Fatalf("error = %v, want %s", err, c.code)
				}
				if got.Stamped() {
					t.Error("refused and admitted")
				}
				return
			}
			if err != nil || !got.Stamped() || got.Uncapped() != c.uncapped {
				t.Errorf("admitted %v, uncapped %v, error %v", got.Stamped(), got.Uncapped(), err)
			}
		})
	}
}

func TestAdmitRefusesUnstampedIntent(t *testing.T) {
	if _, err := NewBook(Own{}).Admit(intent.Intent{}, signer()); !fault.Is(err, fault.Internal) {
		t.Errorf("error = %v", err)
	}
}

func TestHoldNeverPassesTheCapAtOnce(t *testing.T) {
	book := NewBook(Own{PerSession: 1000})
	var group sync.WaitGroup
	var held atomic.Uint64
	for range 100 {
		group.Go(func() {
			if _, err := book.Hold(70); err == nil {
				held.Add(70)
			}
		})
	}
	group.Wait()
	if held.Load() != 980 || book.Used() != amount.Units(980) {
		t.Errorf("held %d, used %d; want 980", held.Load(), book.Used())
	}
}

func TestSettleCountsTheRealCostOnce(t *testing.T) {
	book := NewBook(Own{PerSession: 100})
	held, err := book.Hold(100)
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Check(1); !fault.Is(err, fault.CapExceeded) {
		t.Errorf("check over a full session: %v", err)
	}
	held.Settle(30)
	held.Settle(0)
	if book.Used() != 30 {
		t.Errorf("used = %d, want 30", book.Used())
	}
	if err := book.Check(70); err != nil {
		t.Error(err)
	}
	if err := book.Check(71); !fault.Is(err, fault.CapExceeded) {
		t.Errorf("check of 71 with 70 left: %v", err)
	}
}
