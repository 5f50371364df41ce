package bagsandbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/build"
	"countersign/scripts/sandbox/internal/market"
	"countersign/scripts/sandbox/internal/strictjson"
	"countersign/scripts/sandbox/world"
)

var swapFields = strictjson.Fields{"quoteResponse": strictjson.Object, "userPublicKey": strictjson.String}

// The usual compute budget of a swap, and what a greedy answer pays.
const (
	swapUnits         = 200_000
	swapPriorityFee   = 20_000
	greedyPriorityFee = 50_000_000
)

type swapAnswer struct {
	SwapTransaction  string `json:"swapTransaction"`
	ComputeUnitLimit uint32 `json:"computeUnitLimit"`
	LastValidHeight  uint64 `json:"lastValidBlockHeight"`
	PriorityFee      uint64 `json:"prioritizationFeeLamports"`
}

func (s *Sandbox) swap(ctx context.Context, c call) (any, error) {
	q, err := s.echoed(c.body["quoteResponse"])
	if err != nil {
		return nil, err
	}
	user := strictjson.Text(c.body["userPublicKey"])
	if err := isAddress(user); err != nil {
		return nil, badRequest("userPublicKey %s", err)
	}
	swap := s.honestSwap(q, key(user))
	if q.stale {
		if swap.MinOut, err = s.currentMinimum(ctx, q); err != nil {
			return nil, err
		}
	}
	if err := s.corrupt(&swap, c.mode, q); err != nil {
		return nil, err
	}
	recent, err := s.chain.LatestBlockhash(ctx)
	if err != nil {
		return nil, err
	}
	message := s.message(s.Behaviour().SwapVersion, swap.Wallet, recent.Hash, swap.Instructions())
	if c.mode.Mode == NonceFirst {
		message.Blockhash = s.layout.NonceValue
	}
	raw, err := message.Compile()
	if c.mode.Mode == FatRoute && err == nil {
		raw, err = s.fatten(message, swap)
	}
	if err != nil {
		return nil, err
	}
	return swapAnswer{
		SwapTransaction:  build.Text(raw),
		ComputeUnitLimit: swap.Budget.Units,
		LastValidHeight:  recent.LastValidHeight,
		// The greedy answer names the usual fee: only the bytes tell.
		PriorityFee: build.PriorityFee(build.PriceFor(swapPriorityFee, swapUnits), swapUnits),
	}, nil
}

func (s *Sandbox) honestSwap(q issued, wallet solana.PublicKey) build.Swap {
	from, to := q.pool.Sides(q.in)
	return build.Swap{
		Wallet: wallet, Pool: s.layout.Market, In: from, Out: to, AmountIn: q.amount, MinOut: q.minOut,
		Budget: build.Budget{Units: swapUnits, Price: build.PriceFor(swapPriorityFee, swapUnits)},
	}
}

// fatten makes the route longer, by accounts that no table holds, for as long as
// the transaction fits into a packet.
func (s *Sandbox) fatten(message build.Message, swap build.Swap) ([]byte, error) {
	var raw []byte
	message.Oversized = true
	for leg := byte(1); ; leg++ {
		swap.Legs = append(swap.Legs, sha256.Sum256([]byte{leg}))
		message.Instructions = swap.Instructions()
		longer, err := message.Compile()
		if err != nil || len(longer) > build.MaxSize {
			return raw, err
		}
		raw = longer
	}
}

// currentMinimum is the least amount at the pool's price of now.
func (s *Sandbox) currentMinimum(ctx context.Context, q issued) (uint64, error) {
	reserves, _, err := world.Reserves(ctx, s.chain, q.pool, q.in)
	if err != nil {
		return 0, err
	}
	paid, err := reserves.Pays(q.amount)
	if err != nil {
		return 0, err
	}
	return market.Less(paid, q.slippage), nil
}

// message compiles instructions the way the service does, with the world's
// lookup table in v0.
func (s *Sandbox) message(version build.Version, payer solana.PublicKey, blockhash solana.Hash, list []solana.Instruction) build.Message {
	return build.Message{
		Version: version, Payer: payer, Blockhash: blockhash, Instructions: list,
		Table: s.layout.Table, TableEntries: s.layout.TableEntries(),
	}
}

// corrupt turns an honest swap into what the mode says.
func (s *Sandbox) corrupt(swap *build.Swap, m Misbehaviour, q issued) error {
	if m.Mode == "" {
		return nil
	}
	swap.Hostile.Thief = s.layout.Thief
	if mode, byPool := poolModes[m.Mode]; byPool {
		swap.Hostile.PoolMode, swap.Hostile.PoolParam = mode.number, m.param(mode.param)
		swap.Hostile.Accomplice = s.layout.Thief
		if m.Mode == BaitAndSwitch {
			swap.Hostile.Accomplice = s.layout.Trigger
		}
		swap.Hostile.ThiefOut = s.layout.ThiefAccount(swap.Out.Mint, swap.Out.TokenProgram)
		swap.Hostile.ThiefIn = s.layout.ThiefAccount(swap.In.Mint, swap.In.TokenProgram)
		return nil
	}
	switch m.Mode {
	case ExtraTransfer:
		swap.Hostile.ExtraTransfer = m.param(stolenLamports)
	case OtherRecipient:
		swap.Hostile.PayThief = true
	case CloseToThief:
		swap.Hostile.CloseToThief = true
	case WrongMint:
		other := s.otherMint(q)
		pool, found := s.layout.PoolOf(q.in, other)
		if !found {
			return fmt.Errorf("no pool for %s", m.Mode)
		}
		_, swap.Out = pool.Sides(q.in)
		swap.In, _ = pool.Sides(q.in)
		swap.MinOut = 1
	case MoreIn:
		swap.AmountIn += m.param(swap.AmountIn)
	case LowMinimum:
		swap.MinOut = 1
	case UnknownProgram:
		swap.Hostile.Unknown = s.layout.Unknown
	case NonceFirst:
		swap.Hostile.Nonce = s.layout.Nonce
	case BigPriorityFee:
		swap.Budget.Price = build.PriceFor(m.param(greedyPriorityFee), swapUnits)
	case OtherWallet:
		swap.Wallet = s.layout.Thief
	}
	return nil
}

// poolMode is how the on-chain program knows a mode, and its usual parameter.
type poolMode struct {
	number uint8
	param  uint64
}

var poolModes = map[Mode]poolMode{
	Skim: {1, stolenLamports}, Half: {2, 0}, WrongDestination: {3, 0}, Delegate: {4, math.MaxUint64}, Assign: {5, 0},
	SetOwner: {6, 0}, CloseAuthority: {7, 0}, BaitAndSwitch: {8, stolenLamports}, Allocate: {9, 0}, TakeInput: {10, 1_000},
}

// stolenLamports is what a thief takes unless told otherwise.
const stolenLamports = 1_000_000
