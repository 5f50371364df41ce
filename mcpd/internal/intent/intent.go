// Package intent turns the arguments of a writing tool into an Intent: one of
// three closed kinds, normalised, with a fingerprint that names it. It is pure
// and reads neither clock nor network. tools parse into it, every later stage
// takes it. It promises that two calls that mean the same have the same
// fingerprint ("0.1" and "0.10", keys in any order, SOL by name or by address),
// that nothing outside the listed arguments can enter, and that an intent which
// names its recipient counts for nothing until the signer's owner's address
// stands in its place.
package intent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/gowebpki/jcs"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// The tools whose calls are intents.
const (
	ToolTrade    = "bags_execute_trade"
	ToolClaim    = "bags_claim_fees"
	ToolTransfer = "solana_transfer"
)

// Intent is one validated call of a writing tool. Only the parsers make one.
type Intent struct {
	tool        string
	canonical   string
	fingerprint [32]byte
	control     control

	swap     *Swap
	claim    *Claim
	transfer *Transfer
}

// Swap is to give an exact amount of one asset for another. amount.SOL stands
// for SOL.
type Swap struct {
	Input, Output solana.PublicKey
	// Amount is a normalised decimal of whole units of the input. Its base
	// units need the decimals of the mint.
	Amount      string
	SlippageBps uint16
}

// Claim is to collect the fees of tokens.
type Claim struct {
	Mints []solana.PublicKey
}

// Transfer is to send SOL (amount.SOL) or a token.
type Transfer struct {
	To solana.PublicKey
	// Name is the recipient's in the owner's address book, where the call used
	// it. The address alone is part of the intent.
	Name   string
	Mint   solana.PublicKey
	Amount string
	Memo   string
}

// Tool is the tool that was called.
func (i Intent) Tool() string { return i.tool }

// Canonical is the RFC 8785 JSON of the normalised arguments without confirm.
func (i Intent) Canonical() string { return i.canonical }

// Fingerprint is SHA-256 over the tool, a zero byte and Canonical.
func (i Intent) Fingerprint() [32]byte { return i.fingerprint }

// Confirm is the confirmation code of the call, or empty.
func (i Intent) Confirm() string { return i.control.confirm }

// Key is the idempotency key of the call, or empty.
func (i Intent) Key() string { return i.control.key }

// control is what a call says beside what it means: it is no part of the intent.
type control struct{ confirm, key string }

// Stamped reports that a parser made i, and that nothing in it is still to be
// resolved.
func (i Intent) Stamped() bool { return i.tool != "" && i.canonical != "" }

// Unresolved is the name of a recipient whose address must be found before the
// intent means anything, or empty.
func (i Intent) Unresolved() string {
	if i.Stamped() || i.transfer == nil {
		return ""
	}
	return i.transfer.Name
}

// Resolve puts the address that the owner gave to a name in the name's place.
func (i Intent) Resolve(name string, address solana.PublicKey) (Intent, error) {
	if i.Unresolved() == "" || address.IsZero() {
		return Intent{}, fault.New(fault.Internal, "there is no recipient to resolve")
	}
	transfer := *i.transfer
	transfer.Name, transfer.To = name, address
	return sealTransfer(transfer, i.control)
}

// Swap returns the details of a swap.
func (i Intent) Swap() (Swap, bool) {
	if i.swap == nil {
		return Swap{}, false
	}
	return *i.swap, true
}

// Claim returns the details of a claim.
func (i Intent) Claim() (Claim, bool) {
	if i.claim == nil {
		return Claim{}, false
	}
	return Claim{Mints: slices.Clone(i.claim.Mints)}, true
}

// Transfer returns the details of a transfer.
func (i Intent) Transfer() (Transfer, bool) {
	if i.transfer == nil {
		return Transfer{}, false
	}
	return *i.transfer, true
}

// seal computes what names the intent. arguments holds strings, a small
// integer or a list of strings only: RFC 8785 numbers are doubles.
func seal(tool string, control control, arguments map[string]any) (Intent, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return Intent{}, fault.New(fault.InvalidArguments, "the arguments cannot be written as JSON").Because(err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return Intent{}, fault.New(fault.InvalidArguments, "the arguments cannot be written as canonical JSON").Because(err)
	}
	named := bytes.Join([][]byte{[]byte(tool), canonical}, []byte{0})
	return Intent{tool: tool, canonical: string(canonical), fingerprint: sha256.Sum256(named), control: control}, nil
}

// AssetText writes an asset as it stands in canonical arguments: the address
// of the mint, wrapped SOL's for SOL.
func AssetText(asset solana.PublicKey) string {
	if asset == amount.SOL {
		return solana.WrappedSOL.String()
	}
	return asset.String()
}
