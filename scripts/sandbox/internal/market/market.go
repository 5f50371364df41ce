// Package market is the arithmetic of the sandbox's pools: the constant
// product the on-chain program keeps, and the numbers a quote is made of.
// Only the sandbox may import it. It is pure, works in integers throughout,
// and rounds every amount a trader receives down, as the program does.
package market

import (
	"errors"
	"math/big"
)

// MaxBps is the whole in basis points.
const MaxBps = 10_000

// ErrNoLiquidity is a trade that would give nothing, or that an empty pool
// cannot serve.
var ErrNoLiquidity = errors.New("pool cannot serve this amount")

// Reserves are the balances of a pool's two vaults, seen from a trade.
type Reserves struct{ In, Out uint64 }

// Pays is what the pool gives for in: reserveOut × in ÷ (reserveIn + in).
func (r Reserves) Pays(in uint64) (uint64, error) {
	if r.In == 0 || r.Out == 0 || in == 0 {
		return 0, ErrNoLiquidity
	}
	paid := new(big.Int).Mul(number(r.Out), number(in))
	paid.Quo(paid, new(big.Int).Add(number(r.In), number(in)))
	if paid.Sign() == 0 {
		return 0, ErrNoLiquidity
	}
	// Smaller than r.Out, so it fits.
	return paid.Uint64(), nil
}

// Worse is the pool after somebody else bought bps of the out side: the
// product is kept, so the next trader pays more.
func (r Reserves) Worse(bps uint64) Reserves {
	bps = min(bps, MaxBps-1)
	out := Less(r.Out, bps)
	product := new(big.Int).Mul(number(r.In), number(r.Out))
	in := product.Quo(product, number(max(out, 1)))
	if !in.IsUint64() {
		return r
	}
	return Reserves{In: in.Uint64(), Out: out}
}

// Less is amount reduced by bps, rounded down.
func Less(amount, bps uint64) uint64 {
	return scale(amount, MaxBps-min(bps, MaxBps))
}

// More is amount increased by bps, rounded down, at most the largest amount.
func More(amount, bps uint64) uint64 {
	return scale(amount, MaxBps+bps)
}

func scale(amount, parts uint64) uint64 {
	scaled := new(big.Int).Mul(number(amount), number(parts))
	scaled.Quo(scaled, number(MaxBps))
	if !scaled.IsUint64() {
		return ^uint64(0)
	}
	return scaled.Uint64()
}

// Impact is how far a trade's price lies below the price before it, in
// percent with four decimals, as text.
func (r Reserves) Impact(in, out uint64) string {
	ideal := new(big.Int).Mul(number(in), number(r.Out))
	if ideal.Sign() == 0 {
		return "0"
	}
	got := new(big.Int).Mul(number(out), number(r.In))
	lost := new(big.Int).Sub(ideal, got)
	lost.Mul(lost, big.NewInt(100))
	return new(big.Rat).SetFrac(lost, ideal).FloatString(4)
}

func number(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
