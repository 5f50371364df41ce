package bagsandbox

import (
	"context"
	"encoding/json"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/market"
	"countersign/scripts/sandbox/world"
)

// position is one claimable position. The service answers a union of four
// shapes, told apart by isCustomFeeVault, programId and isMigrated.
type position map[string]any

// The fee shares of the two ledgers' owner, and what the two shapes without a
// program on the local chain show.
const (
	userBps           = 7_000
	legacyLamports    = 3_141_592
	plainLamports     = 2_718_281
	plainDisplay      = "0.002718281"
	claimerIndexFirst = 0
)

// claimable lists the wallet's positions in all four shapes, and none for
// anybody else. What the two ledgers owe is read from the chain.
func (s *Sandbox) claimable(ctx context.Context, c call) (any, error) {
	if key(c.query["wallet"]) != s.layout.Wallet {
		return []position{}, nil
	}
	before, err := s.ledgerPosition(ctx, s.layout.Token, false)
	if err != nil {
		return nil, err
	}
	after, err := s.ledgerPosition(ctx, s.layout.Token2022, true)
	if err != nil {
		return nil, err
	}
	return []position{before, after, s.legacyPosition(), s.plainPosition()}, nil
}

// ledgerPosition is a fee share v2 position before or after migration.
func (s *Sandbox) ledgerPosition(ctx context.Context, mint world.Mint, migrated bool) (position, error) {
	ledger, _ := s.layout.LedgerOf(mint.Address)
	waiting, err := world.Waiting(ctx, s.chain, ledger)
	if err != nil {
		return nil, err
	}
	pool, _ := s.layout.PoolOf(s.layout.WSOL.Address, mint.Address)
	p := position{
		"programId": world.FeeShareProgram.String(), "isCustomFeeVault": true, "isMigrated": migrated,
		"user": s.layout.Wallet.String(), "baseMint": mint.Address.String(), "quoteMint": s.layout.WSOL.Address.String(),
		"claimerIndex": claimerIndexFirst, "userBps": userBps, "virtualPool": pool.VaultA.String(),
		"virtualPoolClaimableLamportsUserShare": waiting.Total(), "totalClaimableLamportsUserShare": waiting.Total(),
	}
	if migrated {
		p["virtualPoolClaimableLamportsUserShare"] = 0
		p["dammPool"] = pool.VaultB.String()
		p["dammPoolClaimableLamportsUserShare"] = waiting.Total()
		p["dammPositionInfo"] = s.dammInfo(pool)
	}
	return p, nil
}

func (s *Sandbox) dammInfo(pool world.Pool) map[string]string {
	return map[string]string{
		"position": s.layout.Table.String(), "pool": pool.VaultB.String(), "positionNftAccount": s.layout.Nonce.String(),
		"tokenAMint": pool.B.Address.String(), "tokenBMint": pool.A.Address.String(),
		"tokenAVault": pool.VaultB.String(), "tokenBVault": pool.VaultA.String(),
	}
}

// plainFields are shared by the two older shapes.
func (s *Sandbox) plainFields(mint solana.PublicKey, lamports uint64, display string) position {
	pool := s.layout.Pools[0]
	return position{
		"isMigrated": false, "baseMint": mint.String(),
		"virtualPool": pool.VaultA.String(), "virtualPoolAddress": pool.VaultA.String(),
		"virtualPoolClaimableAmount": lamports, "claimableDisplayAmount": json.RawMessage(display),
		"totalClaimableLamportsUserShare": lamports,
	}
}

// legacyPosition is a fee share v1 position, plainPosition one without any fee
// share. Both are shown and cannot be claimed here: their programs are not on
// the local chain.
func (s *Sandbox) legacyPosition() position {
	p := s.plainFields(s.layout.LegacyMint, legacyLamports, "0.003141592")
	p["isCustomFeeVault"] = true
	p["programId"] = world.FeeShareV1.String()
	p["customFeeVault"] = s.layout.Pools[0].VaultB.String()
	p["customFeeVaultBalance"] = market.More(legacyLamports, market.MaxBps)
	p["customFeeVaultBps"] = market.MaxBps / 2
	p["customFeeVaultClaimOwner"] = s.layout.Wallet.String()
	p["customFeeVaultClaimerA"] = s.layout.Wallet.String()
	p["customFeeVaultClaimerB"] = s.layout.Thief.String()
	p["customFeeVaultClaimerSide"] = "A"
	return p
}

func (s *Sandbox) plainPosition() position {
	p := s.plainFields(s.layout.PlainMint, plainLamports, plainDisplay)
	p["isCustomFeeVault"] = false
	return p
}
