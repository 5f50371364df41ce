package bagsandbox

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/build"
	"countersign/scripts/sandbox/internal/strictjson"
	"countersign/scripts/sandbox/world"
)

// ClaimStyle is how a claim's transactions are made up.
type ClaimStyle string

// The styles.
const (
	// LegacyClaims are legacy messages that the wallet alone signs.
	LegacyClaims ClaimStyle = "legacy"
	// SponsoredClaims are v0 messages with a lookup table whose fee payer is
	// the sponsor, who has signed already.
	SponsoredClaims ClaimStyle = "sponsored"
	// MixedClaims begin with the one and end with the other.
	MixedClaims ClaimStyle = "mixed"
)

const (
	maxClaimTransactions = 3
	claimUnits           = 120_000
	claimPriorityFee     = 6_000
	paddingBytes         = 1_000
)

var claimFields = strictjson.Fields{"feeClaimer": strictjson.String, "tokenMint": strictjson.String}

type claimAnswer struct {
	Transaction string         `json:"tx"`
	Blockhash   claimBlockhash `json:"blockhash"`
}

type claimBlockhash struct {
	Blockhash       string `json:"blockhash"`
	LastValidHeight uint64 `json:"lastValidBlockHeight"`
}

func (s *Sandbox) claim(ctx context.Context, c call) (any, error) {
	claimer, mint := strictjson.Text(c.body["feeClaimer"]), strictjson.Text(c.body["tokenMint"])
	if err := isAddress(claimer); err != nil {
		return nil, badRequest("feeClaimer %s", err)
	}
	if err := isAddress(mint); err != nil {
		return nil, badRequest("tokenMint %s", err)
	}
	ledger, known := s.layout.LedgerOf(key(mint))
	if !known || key(claimer) != s.layout.Wallet {
		return nil, badRequest("No claimable position found")
	}
	waiting, err := world.Waiting(ctx, s.chain, ledger)
	if err != nil {
		return nil, err
	}
	if waiting.Total() == 0 {
		return nil, badRequest("Nothing to claim")
	}
	honest := c.mode.Mode != ClaimHiddenRecipient
	if err := world.SetLedgerHonesty(ctx, s.chain, ledger, honest); err != nil {
		return nil, err
	}
	return s.claimBatch(ctx, ledger, waiting, c.mode)
}

// claimBatch makes the transactions of a claim. There are fewer than the
// behaviour asks for where there is less to pull.
func (s *Sandbox) claimBatch(ctx context.Context, ledger build.FeeShare, waiting world.Fees, m Misbehaviour) ([]claimAnswer, error) {
	behaviour := s.Behaviour()
	claim := build.Claim{
		Wallet: s.layout.Wallet, FeeShare: ledger,
		Budget:  build.Budget{Units: claimUnits, Price: build.PriceFor(claimPriorityFee, claimUnits)},
		Hostile: s.claimHostile(m),
	}
	for i, amount := range waiting.Vaults {
		if amount > 0 {
			claim.Pull = append(claim.Pull, ledger.Vaults[i])
		}
	}
	if m.Mode == ClaimBigPriorityFee {
		claim.Budget.Price = build.PriceFor(m.param(greedyPriorityFee), claimUnits)
	}
	lists := claim.Transactions(behaviour.ClaimTransactions)
	answers := make([]claimAnswer, 0, len(lists))
	for i, list := range lists {
		sponsored := behaviour.ClaimStyle == SponsoredClaims || m.Mode == SponsorMissing || m.Mode == SponsorBadSignature ||
			(behaviour.ClaimStyle == MixedClaims && i == len(lists)-1)
		answer, err := s.claimStep(ctx, list, sponsored, m)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// claimStep compiles one transaction of a claim.
func (s *Sandbox) claimStep(ctx context.Context, list []solana.Instruction, sponsored bool, m Misbehaviour) (claimAnswer, error) {
	recent, err := s.chain.LatestBlockhash(ctx)
	if err != nil {
		return claimAnswer{}, err
	}
	if m.Mode == ClaimBadBlockhash {
		recent.Hash = s.layout.NonceValue
	}
	message := s.message(Legacy, s.layout.Wallet, recent.Hash, list)
	message.Oversized = m.Mode == ClaimHugeTransaction
	var signers []solana.PrivateKey
	if sponsored {
		message.Version, message.Payer = V0, s.layout.Sponsor.PublicKey()
		signers = []solana.PrivateKey{s.layout.Sponsor}
	}
	if m.Mode == SponsorMissing {
		signers = nil
	}
	raw, err := message.Compile(signers...)
	if err != nil {
		return claimAnswer{}, err
	}
	if m.Mode == SponsorBadSignature {
		raw[1] ^= 0x01 // the first byte of the first signature
	}
	return claimAnswer{Transaction: build.Text(raw), Blockhash: claimBlockhash{recent.Hash.String(), recent.LastValidHeight}}, nil
}

func (s *Sandbox) claimHostile(m Misbehaviour) build.ClaimHostile {
	h := build.ClaimHostile{Thief: s.layout.Thief}
	switch m.Mode {
	case ClaimExtraTransfer:
		h.ExtraTransfer = m.param(stolenLamports)
	case ClaimOtherRecipient:
		h.PayThief = true
	case ClaimHiddenRecipient:
		h.HidePayee = true
	case ClaimCloseToThief:
		h.CloseToThief = true
	case ClaimHugeTransaction:
		h.Padding = paddingBytes
	}
	return h
}
