package market

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestPaysOfKnownPools(t *testing.T) {
	for _, test := range []struct {
		name     string
		reserves Reserves
		in, want uint64
	}{
		{"even", Reserves{In: 1000, Out: 1000}, 1000, 500},
		{"rounds down", Reserves{In: 10, Out: 10}, 3, 2},
		{"largest", Reserves{In: math.MaxUint64, Out: math.MaxUint64}, math.MaxUint64, math.MaxUint64 / 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.reserves.Pays(test.in)
			if err != nil || got != test.want {
				t.Errorf("got %d, %v, want %d", got, err, test.want)
			}
		})
	}
}

func TestPaysRefusesATradeForNothing(t *testing.T) {
	for _, r := range []Reserves{{0, 5}, {5, 0}, {1000, 1}} {
		if got, err := r.Pays(1); !errors.Is(err, ErrNoLiquidity) {
			t.Errorf("%v gave %d, %v", r, got, err)
		}
	}
}

func TestPaysNeverShrinksTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Reserves{In: rapid.Uint64Range(1, math.MaxUint64/2).Draw(t, "in"), Out: rapid.Uint64Range(1, math.MaxUint64).Draw(t, "out")}
		in := rapid.Uint64Range(1, math.MaxUint64/2).Draw(t, "amount")
		out, err := r.Pays(in)
		if err != nil {
			return
		}
		before := new(big.Int).Mul(number(r.In), number(r.Out))
		after := new(big.Int).Mul(number(r.In+in), number(r.Out-out))
		if after.Cmp(before) < 0 {
			t.Fatalf("product fell from %s to %s", before, after)
		}
	})
}

func TestWorsePaysLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Reserves{In: rapid.Uint64Range(1e6, 1e15).Draw(t, "in"), Out: rapid.Uint64Range(1e6, 1e15).Draw(t, "out")}
		in := rapid.Uint64Range(1, r.In).Draw(t, "amount")
		bps := rapid.Uint64Range(1, 9000).Draw(t, "bps")
		before, err := r.Pays(in)
		if err != nil {
			return
		}
		after, err := r.Worse(bps).Pays(in)
		if err == nil && after > before {
			t.Fatalf("pool paid %d after the price rose, %d before", after, before)
		}
	})
}

func TestBasisPointsRoundDown(t *testing.T) {
	for _, test := range []struct{ amount, bps, less, more uint64 }{
		{1000, 0, 1000, 1000},
		{1000, 300, 970, 1030},
		{999, 1, 998, 999},
		{7, MaxBps, 0, 14},
		{math.MaxUint64, 1, 18444899399302180659, math.MaxUint64},
	} {
		if got := Less(test.amount, test.bps); got != test.less {
			t.Errorf("Less(%d, %d) = %d, want %d", test.amount, test.bps, got, test.less)
		}
		if got := More(test.amount, test.bps); got != test.more {
			t.Errorf("More(%d, %d) = %d, want %d", test.amount, test.bps, got, test.more)
		}
	}
}

func TestImpactIsPercentText(t *testing.T) {
	r := Reserves{In: 1000, Out: 1000}
	if got := r.Impact(1000, 500); got != "50.0000" {
		t.Errorf("impact is %q", got)
	}
	if got := r.Impact(1, 1); got != "0.0000" {
		t.Errorf("impact is %q", got)
	}
}
