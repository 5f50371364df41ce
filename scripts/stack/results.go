package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"countersign/scripts/mcpclient"
)

// Write is the structured result of a writing tool, as far as tests read it.
type Write struct {
	Status   string `json:"status"`
	Proposal struct {
		ID               string   `json:"id"`
		Tier             string   `json:"tier"`
		ConfirmationCode string   `json:"confirmation_code"`
		MaxOut           []Amount `json:"max_out"`
		MinIn            []Amount `json:"min_in"`
		Effects          []struct {
			Class string `json:"class"`
		} `json:"effects"`
	} `json:"proposal"`
	Receipt struct {
		ProposalID   string        `json:"proposal_id"`
		Outcome      string        `json:"outcome"`
		Replayed     bool          `json:"replayed"`
		Transactions []Transaction `json:"transactions"`
	} `json:"receipt"`
	Error struct {
		Class       string `json:"class"`
		Code        string `json:"code"`
		Message     string `json:"message"`
		SafeToRetry bool   `json:"safe_to_retry"`
	} `json:"error"`
	// Text is what a person reads, and IsError how the client sees it.
	Text    string `json:"-"`
	IsError bool   `json:"-"`
}

// Transaction is one transaction of a receipt.
type Transaction struct {
	Signature string   `json:"signature"`
	Outcome   string   `json:"outcome"`
	Fee       Amount   `json:"fee"`
	Changes   []Change `json:"changes"`
}

// Change is what one asset of the wallet did.
type Change struct {
	Out Amount `json:"out"`
	In  Amount `json:"in"`
}

// Amount is an amount of a result.
type Amount struct {
	Amount    string `json:"amount"`
	BaseUnits string `json:"amount_base_units"`
	Decimals  uint8  `json:"decimals"`
	Mint      string `json:"mint"`
}

// Units is the amount in base units.
func (a Amount) Units() (uint64, error) {
	units, err := strconv.ParseUint(a.BaseUnits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("amount %q is not an integer of base units", a.BaseUnits)
	}
	return units, nil
}

// CallWrite calls a tool and reads its structured result.
func CallWrite(ctx context.Context, client *mcpclient.Client, tool string, arguments map[string]any) (Write, error) {
	result, err := client.Call(ctx, tool, arguments)
	if err != nil {
		return Write{}, fmt.Errorf("%s: %w", tool, err)
	}
	write := Write{Text: result.Text, IsError: result.IsError}
	if err := json.Unmarshal(result.Structured, &write); err != nil {
		return write, fmt.Errorf("%s: structured result: %w", tool, err)
	}
	return write, nil
}

// With copies arguments and sets one.
func With(arguments map[string]any, key string, value any) map[string]any {
	changed := maps.Clone(arguments)
	changed[key] = value
	return changed
}

// Told is what a landed result says that one asset of the wallet gained or
// lost in all its transactions.
func (w Write) Told(mint string) (out, in uint64, err error) {
	for _, transaction := range w.Receipt.Transactions {
		for _, change := range transaction.Changes {
			if change.Out.Mint != mint {
				continue
			}
			left, err := change.Out.Units()
			if err != nil {
				return 0, 0, err
			}
			arrived, err := change.In.Units()
			if err != nil {
				return 0, 0, err
			}
			out, in = out+left, in+arrived
		}
	}
	return out, in, nil
}
