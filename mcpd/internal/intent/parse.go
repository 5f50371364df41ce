package intent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
)

// Limits on arguments.
const (
	MaxSlippageBps = 5000
	MaxClaimMints  = 10
	maxMemoBytes   = 256
	// SOLName may stand for SOL wherever a mint is asked for.
	SOLName = "SOL"
)

type tradeArguments struct {
	InputMint   string      `json:"input_mint"`
	OutputMint  string      `json:"output_mint"`
	Amount      string      `json:"amount"`
	SlippageBps json.Number `json:"slippage_bps"`
	Confirm     string      `json:"confirm"`
	Key         string      `json:"idempotency_key"`
}

// ParseTrade reads the arguments of bags_execute_trade.
func ParseTrade(raw json.RawMessage) (Intent, error) {
	var arguments tradeArguments
	if err := Decode(raw, &arguments); err != nil {
		return Intent{}, err
	}
	swap, err := ParseSwap(arguments.InputMint, arguments.OutputMint, arguments.Amount, arguments.SlippageBps)
	if err != nil {
		return Intent{}, err
	}
	control, err := parseControl(arguments.Confirm, arguments.Key)
	if err != nil {
		return Intent{}, err
	}
	result, err := seal(ToolTrade, control, map[string]any{
		"input_mint":   AssetText(swap.Input),
		"output_mint":  AssetText(swap.Output),
		"amount":       swap.Amount,
		"slippage_bps": swap.SlippageBps,
	})
	result.swap = &swap
	return result, err
}

// ParseSwap checks and normalises what a quote and a trade have in common.
func ParseSwap(input, output, text string, slippage json.Number) (Swap, error) {
	var swap Swap
	var err error
	if swap.Input, err = ParseAsset("input_mint", input); err != nil {
		return Swap{}, err
	}
	if swap.Output, err = ParseAsset("output_mint", output); err != nil {
		return Swap{}, err
	}
	if swap.Input == swap.Output {
		return Swap{}, fault.New(fault.InvalidArguments, "input_mint and output_mint are the same asset")
	}
	if swap.Amount, err = NormaliseAmount(text, swap.Input); err != nil {
		return Swap{}, err
	}
	swap.SlippageBps, err = parseSlippage(slippage)
	return swap, err
}

func parseSlippage(number json.Number) (uint16, error) {
	digits := number.String()
	bps := 0
	for _, r := range digits {
		if r < '0' || r > '9' || len(digits) > 4 {
			bps = -1
			break
		}
		bps = bps*10 + int(r-'0')
	}
	if digits == "" || bps < 0 || bps > MaxSlippageBps {
		return 0, fault.New(fault.InvalidArguments, "slippage_bps must be a whole number from 0 to %d", MaxSlippageBps)
	}
	return uint16(bps), nil
}

type claimArguments struct {
	TokenMints []string `json:"token_mints"`
	Confirm    string   `json:"confirm"`
	Key        string   `json:"idempotency_key"`
}

// ParseClaim reads the arguments of bags_claim_fees. The mints are a set, so
// they are sorted: their order is not part of the intent.
func ParseClaim(raw json.RawMessage) (Intent, error) {
	var arguments claimArguments
	if err := Decode(raw, &arguments); err != nil {
		return Intent{}, err
	}
	if n := len(arguments.TokenMints); n < 1 || n > MaxClaimMints {
		return Intent{}, fault.New(fault.InvalidArguments, "token_mints must list 1 to %d mints", MaxClaimMints)
	}
	control, err := parseControl(arguments.Confirm, arguments.Key)
	if err != nil {
		return Intent{}, err
	}
	texts := slices.Clone(arguments.TokenMints)
	slices.Sort(texts)
	claim := Claim{}
	for i, text := range texts {
		if i > 0 && text == texts[i-1] {
			return Intent{}, fault.New(fault.InvalidArguments, "token_mints names one mint twice")
		}
		mint, err := solana.ParsePublicKey(text)
		if err != nil || mint.IsZero() {
			return Intent{}, fault.New(fault.InvalidArguments, "every entry of token_mints must be the base58 address of a mint (32 bytes)")
		}
		claim.Mints = append(claim.Mints, mint)
	}
	result, err := seal(ToolClaim, control, map[string]any{"token_mints": texts})
	result.claim = &claim
	return result, err
}

type transferArguments struct {
	To      string `json:"to"`
	Amount  string `json:"amount"`
	Mint    string `json:"mint"`
	Memo    string `json:"memo"`
	Confirm string `json:"confirm"`
	Key     string `json:"idempotency_key"`
}

// ParseTransfer reads the arguments of solana_transfer. Where the recipient is
// named, the intent has to be resolved.
func ParseTransfer(raw json.RawMessage) (Intent, error) {
	var arguments transferArguments
	if err := Decode(raw, &arguments); err != nil {
		return Intent{}, err
	}
	transfer := Transfer{Mint: amount.SOL, Memo: arguments.Memo}
	var err error
	if transfer.To, transfer.Name, err = parseRecipient(arguments.To); err != nil {
		return Intent{}, err
	}
	if arguments.Mint != "" {
		if transfer.Mint, err = ParseAsset("mint", arguments.Mint); err != nil {
			return Intent{}, err
		}
	}
	if transfer.Amount, err = NormaliseAmount(arguments.Amount, transfer.Mint); err != nil {
		return Intent{}, err
	}
	if len(transfer.Memo) > maxMemoBytes || !untrusted.IsClean(transfer.Memo, untrusted.Memo) {
		return Intent{}, fault.New(fault.InvalidArguments,
			"memo must be at most %d bytes of plain text on one line, without invisible characters", maxMemoBytes)
	}
	control, err := parseControl(arguments.Confirm, arguments.Key)
	if err != nil {
		return Intent{}, err
	}
	if transfer.Name != "" {
		return Intent{tool: ToolTransfer, control: control, transfer: &transfer}, nil
	}
	return sealTransfer(transfer, control)
}

func sealTransfer(transfer Transfer, control control) (Intent, error) {
	named := map[string]any{"to": transfer.To.String(), "amount": transfer.Amount, "mint": AssetText(transfer.Mint)}
	if transfer.Memo != "" {
		named["memo"] = transfer.Memo
	}
	result, err := seal(ToolTransfer, control, named)
	result.transfer = &transfer
	return result, err
}

// ParseAsset reads a mint's address, or "SOL", which wrapped SOL's address
// also means.
func ParseAsset(argument, text string) (solana.PublicKey, error) {
	if text == SOLName {
		return amount.SOL, nil
	}
	mint, err := solana.ParsePublicKey(text)
	if err != nil || mint.IsZero() {
		return solana.PublicKey{}, fault.New(fault.InvalidArguments,
			"%s must be the base58 address of a mint (32 bytes), or SOL", argument).Because(err)
	}
	return amount.Asset(mint), nil
}

// maxCodeLength bounds a confirmation code.
const maxCodeLength = 128

// maxKeyLength bounds an idempotency key.
const maxKeyLength = 64

func parseControl(code, key string) (control, error) {
	if len(code) > maxCodeLength {
		return control{}, fault.New(fault.InvalidArguments, "confirm is longer than any confirmation code")
	}
	if !plain(code) {
		return control{}, fault.New(fault.InvalidArguments, "confirm must be the confirmation code exactly as the proposal gave it")
	}
	return control{confirm: code, key: key}, CheckKey(key)
}

// CheckKey refuses what is no idempotency key. None at all is one.
func CheckKey(key string) error {
	if len(key) > maxKeyLength || !plain(key) {
		return fault.New(fault.InvalidArguments, "idempotency_key must be at most %d of: letters, digits, - and _", maxKeyLength)
	}
	return nil
}

// plain reports letters, digits, hyphens and underscores.
func plain(text string) bool {
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return true
}

// maxUnknownDecimals is how many digits behind the point are let through
// before the mint's decimals are known. More than 19 leave no room in a u64.
const maxUnknownDecimals = 19

// NormaliseAmount writes text in its shortest form. The digits of SOL are
// known here; a token's are checked when its mint is.
func NormaliseAmount(text string, asset solana.PublicKey) (string, error) {
	decimals := uint8(amount.SOLDecimals)
	if asset != amount.SOL {
		_, fraction, _ := strings.Cut(text, ".")
		fraction = strings.TrimRight(fraction, "0")
		if len(fraction) > maxUnknownDecimals {
			return "", AmountFault(amount.ErrPrecision)
		}
		decimals = uint8(len(fraction)) //nolint:gosec // at most 19, as checked above
	}
	units, err := amount.ParseDecimal(text, decimals)
	if err == nil && units == 0 {
		err = amount.ErrZero
	}
	if err != nil {
		return "", AmountFault(err)
	}
	return units.Decimal(decimals), nil
}

// AmountFault words what is wrong with an amount.
func AmountFault(err error) *fault.Fault {
	for _, known := range []error{amount.ErrSyntax, amount.ErrPrecision, amount.ErrRange, amount.ErrZero} {
		if errors.Is(err, known) {
			return fault.New(fault.AmountInvalid, "%s", known.Error()).Because(err)
		}
	}
	return fault.New(fault.AmountInvalid, "amount cannot be read").Because(err)
}
