package bags

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Limits on claims.
const (
	maxPositions         = 2000
	maxClaimTransactions = 8
)

// Kind is one of the four shapes of a claimable position.
type Kind string

// The kinds.
const (
	KindPlain              Kind = "dbc"
	KindFeeShareV1         Kind = "fee_share_v1"
	KindFeeShareV2         Kind = "fee_share_v2"
	KindFeeShareV2Migrated Kind = "fee_share_v2_migrated"
)

// Position is what one token holds for a wallet, in lamports.
type Position struct {
	Mint      solana.PublicKey
	Kind      Kind
	Migrated  bool
	Claimable amount.Units
}

type wirePosition struct {
	IsCustomFeeVault *bool       `json:"isCustomFeeVault"`
	BaseMint         string      `json:"baseMint"`
	QuoteMint        string      `json:"quoteMint"`
	IsMigrated       *bool       `json:"isMigrated"`
	ProgramID        string      `json:"programId"`
	Total            json.Number `json:"totalClaimableLamportsUserShare"`
}

// Positions lists what wallet could claim.
func (c *Client) Positions(ctx context.Context, wallet solana.PublicKey) ([]Position, error) {
	raw, err := c.call(ctx, http.MethodGet, "/token-launch/claimable-positions", url.Values{"wallet": {wallet.String()}}, nil,
		fault.New(fault.UpstreamBadAnswer, "the Bags API refused to list claimable fees"))
	if err != nil {
		return nil, err
	}
	var wire []wirePosition
	if err := json.Unmarshal(raw, &wire); err != nil || len(wire) > maxPositions {
		return nil, errEnvelope
	}
	positions := make([]Position, 0, len(wire))
	for _, entry := range wire {
		position, err := readPosition(entry)
		if err != nil {
			return nil, err
		}
		positions = append(positions, position)
	}
	return positions, nil
}

func readPosition(wire wirePosition) (Position, error) {
	mint, err := solana.ParsePublicKey(wire.BaseMint)
	if err != nil || wire.IsCustomFeeVault == nil || wire.IsMigrated == nil {
		return Position{}, errEnvelope
	}
	if wire.QuoteMint != "" && wire.QuoteMint != solana.WrappedSOL.String() {
		return Position{}, fault.New(fault.UpstreamBadAnswer, "a claimable position is not paid in SOL, which is not supported")
	}
	lamports, err := lamportsOf(wire.Total.String())
	if err != nil {
		return Position{}, errEnvelope
	}
	position := Position{Mint: mint, Kind: KindPlain, Migrated: *wire.IsMigrated, Claimable: lamports}
	switch {
	case !*wire.IsCustomFeeVault:
	case wire.ProgramID == solana.FeeShareV2Program.String() && *wire.IsMigrated:
		position.Kind = KindFeeShareV2Migrated
	case wire.ProgramID == solana.FeeShareV2Program.String():
		position.Kind = KindFeeShareV2
	case wire.ProgramID == solana.FeeShareV1Program.String():
		position.Kind = KindFeeShareV1
	default:
		return Position{}, fault.New(fault.UpstreamBadAnswer, "a claimable position belongs to a program that is not known")
	}
	return position, nil
}

// lamportsOf reads a JSON number of lamports. A share can carry a fraction of
// a lamport, which is cut off: promising less is the safe side.
func lamportsOf(text string) (amount.Units, error) {
	for i, r := range text {
		if r == '.' {
			for _, digit := range text[i+1:] {
				if digit < '0' || digit > '9' {
					return 0, strconv.ErrSyntax
				}
			}
			text = text[:i]
			break
		}
	}
	return parseUnits(text)
}

// Claim has the ordered transactions built that pay out what mint holds for
// wallet. Some may already carry a sponsor's signature.
func (c *Client) Claim(ctx context.Context, wallet, mint solana.PublicKey) ([][]byte, error) {
	nothing := fault.New(fault.NothingToClaim, "the Bags API has nothing to claim for token %s", mint)
	body, err := json.Marshal(map[string]string{"feeClaimer": wallet.String(), "tokenMint": mint.String()})
	if err != nil {
		return nil, fault.New(fault.Internal, "a claim could not be encoded").Because(err)
	}
	raw, err := c.call(ctx, http.MethodPost, "/token-launch/claim-txs/v3", nil, body, nothing)
	if err != nil {
		return nil, err
	}
	var wire []struct {
		Transaction string `json:"tx"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil || len(wire) > maxClaimTransactions {
		return nil, errEnvelope
	}
	if len(wire) == 0 {
		return nil, nothing
	}
	batch := make([][]byte, 0, len(wire))
	for _, entry := range wire {
		built, err := decodeTransaction(entry.Transaction)
		if err != nil {
			return nil, err
		}
		batch = append(batch, built)
	}
	return batch, nil
}
