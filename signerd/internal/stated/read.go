package stated

import (
	"encoding/json"

	"github.com/gowebpki/jcs"

	"countersign/shared/amount"
	"countersign/shared/solana"
)

// Limits that mcpd puts on the same arguments.
const (
	maxSlippage   = 5000
	maxClaimMints = 10
)

type trade struct {
	input, output solana.PublicKey
	amount        string
}

type transfer struct {
	to, mint solana.PublicKey
	amount   string
}

// read fills into from text, and refuses a text that is not what into is when
// it is written canonically: whatever a lenient decoder forgives (other cases
// of a key, a key twice, one missing or too many, spaces, escapes, broken
// UTF-8) makes a difference there.
func read(text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err == nil {
		if plain, err := json.Marshal(into); err == nil {
			if written, err := jcs.Transform(plain); err == nil && string(written) == text {
				return nil
			}
		}
	}
	return mismatch("its arguments are not the canonical JSON of this tool")
}

func readTrade(text string) (trade, error) {
	var arguments struct {
		Input    string `json:"input_mint"`
		Output   string `json:"output_mint"`
		Amount   string `json:"amount"`
		Slippage uint16 `json:"slippage_bps"`
	}
	if err := read(text, &arguments); err != nil {
		return trade{}, err
	}
	if arguments.Slippage > maxSlippage {
		return trade{}, mismatch("its slippage is out of range")
	}
	input, okIn := asset(arguments.Input)
	output, okOut := asset(arguments.Output)
	if !okIn || !okOut || input == output {
		return trade{}, mismatch("it does not name two mints")
	}
	return trade{input: input, output: output, amount: arguments.Amount}, nil
}

func checkMints(text string) error {
	var arguments struct {
		Mints []string `json:"token_mints"`
	}
	if err := read(text, &arguments); err != nil {
		return err
	}
	if n := len(arguments.Mints); n < 1 || n > maxClaimMints {
		return mismatch("it does not name 1 to %d mints", maxClaimMints)
	}
	for i, mint := range arguments.Mints {
		if _, ok := address(mint); !ok {
			return mismatch("it names something that is no mint")
		}
		if i > 0 && arguments.Mints[i-1] >= mint {
			return mismatch("its mints are not in order")
		}
	}
	return nil
}

func readTransfer(text string) (transfer, error) {
	var arguments struct {
		To     string `json:"to"`
		Mint   string `json:"mint"`
		Amount string `json:"amount"`
		Memo   string `json:"memo,omitempty"`
	}
	if err := read(text, &arguments); err != nil {
		return transfer{}, err
	}
	to, okTo := address(arguments.To)
	mint, okMint := asset(arguments.Mint)
	if !okTo || !okMint {
		return transfer{}, mismatch("it does not name a wallet and a mint")
	}
	return transfer{to: to, mint: mint, amount: arguments.Amount}, nil
}

// asset reads a mint's address as canonical arguments write it: wrapped SOL's
// for SOL.
func asset(text string) (solana.PublicKey, bool) {
	mint, ok := address(text)
	return amount.Asset(mint), ok
}

func address(text string) (solana.PublicKey, bool) {
	key, err := solana.ParsePublicKey(text)
	return key, err == nil && !key.IsZero() && key.String() == text
}
