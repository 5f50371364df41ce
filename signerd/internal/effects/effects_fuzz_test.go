package effects_test

import (
	"encoding/binary"
	"math/big"
	"testing"

	"countersign/shared/alloctest"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
)

// fuzzTable is a lookup table with what fuzzed transactions may want.
var fuzzTable = decode.Tables{{5}: {ata, wsol, friendATA, mint, solana.WrappedSOL, solana.SystemProgram, thief, friend}}

// fuzzState is a chain on which the wallet has something to lose.
func fuzzState() effects.State {
	state := effects.State{
		Before: map[solana.PublicKey]chain.Account{
			wallet: {Key: wallet, Lamports: holds, Owner: solana.SystemProgram},
			friend: {Key: friend, Lamports: 1, Owner: solana.SystemProgram},
			mint:   chaintest.Mint(mint, solana.TokenProgram, 6),
			ata:    chaintest.Token(ata, solana.TokenProgram, mint, wallet, tokens),
		},
		Mints: map[solana.PublicKey]chain.MintInfo{},
		Rent:  map[int]amount.Units{165: chaintest.Rent},
	}
	state.Mints[mint] = info(state.Before[mint])
	state.Mints[solana.WrappedSOL] = info(chaintest.Mint(solana.WrappedSOL, solana.TokenProgram, 9))
	return state
}

// outflows adds up, from the instructions' bytes alone and without wrapping
// around, what System transfers take from the wallet to others.
func outflows(tx decode.Tx) *big.Int {
	sum := new(big.Int)
	for _, i := range tx.Instructions() {
		if i.Program != solana.SystemProgram || len(i.Data) < 12 || len(i.Accounts) < 2 || binary.LittleEndian.Uint32(i.Data) != 2 {
			continue
		}
		if to := i.Accounts[1].Key; i.Accounts[0].Key == wallet && to != wallet && to != wsol {
			sum.Add(sum, new(big.Int).SetUint64(binary.LittleEndian.Uint64(i.Data[4:])))
		}
	}
	return sum
}

func asBig(units ...amount.Units) *big.Int {
	sum := new(big.Int)
	for _, each := range units {
		sum.Add(sum, new(big.Int).SetUint64(uint64(each)))
	}
	return sum
}

// Whatever decodes is refused, or its costs add up: what the bytes take is
// within the bounds, and the caps are charged all of it. Nothing wraps around.
func FuzzRead(f *testing.F) {
	transfers := decodetest.Legacy(wallet, solana.Hash{1}, decodetest.UnitLimit(1_000), decodetest.UnitPrice(1_000_000),
		decodetest.Transfer(wallet, friend, 7), decodetest.Transfer(wallet, jito, 3), decodetest.Memo("x"))
	f.Add(transfers.Marshal(), byte(effects.Transfer), uint64(7), uint64(100_000), uint64(5_000_000))
	f.Add(decodetest.V0(wallet, solana.Hash{1}, fuzzTable, []solana.PublicKey{{5}}, swap().calls...).Marshal(), byte(effects.Swap), uint64(pays), uint64(50_000), uint64(5_000_000))
	f.Add(decodetest.V1(wallet, solana.Hash{1}, solana.Config{PriorityFee: new(uint64(9))}, decodetest.Transfer(wallet, friend, 7)).Marshal(),
		byte(effects.Transfer), uint64(7), ^uint64(0), ^uint64(0))
	f.Add(decodetest.Legacy(wallet, solana.Hash{1}, decodetest.CreateIdempotent(wallet, friend, mint, solana.TokenProgram),
		decodetest.TransferChecked(solana.TokenProgram, ata, mint, friendATA, wallet, 5, 6)).Marshal(), byte(effects.Transfer), uint64(0), uint64(9_000), uint64(3_000_000))
	f.Fuzz(func(t *testing.T, raw []byte, kind byte, most, mostFee, mostRent uint64) {
		parsed, err := decode.Parse(raw)
		if err != nil {
			return
		}
		tx, err := decode.Decode(parsed, wallet, fuzzTable)
		if err != nil {
			return
		}
		bounds := effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: amount.Units(most)}, MaxFee: amount.Units(mostFee), MaxRent: amount.Units(mostRent),
			Programs: []solana.PublicKey{solana.DFlowProgram, solana.FeeShareV2Program}, Recipients: []solana.PublicKey{friend},
		}
		state := fuzzState()
		var draft effects.Draft
		if wrong := alloctest.Excess(len(raw), 2_000, 256<<10, func() {
			draft, err = effects.Read(tx, effects.Flow(kind), bounds, state, effects.Known{})
		}); wrong != "" {
			t.Error(wrong)
		}
		if err != nil {
			if fault.From(err).Class() == fault.Operational && !fault.Is(err, fault.Internal) {
				t.Fatalf("a judgement of bytes failed with %v", err)
			}
			return
		}
		checkSums(t, tx, draft, bounds)
	})
}

func checkSums(t *testing.T, tx decode.Tx, draft effects.Draft, bounds effects.Bounds) {
	t.Helper()
	found, err := draft.Finish(nil, false)
	if err != nil {
		t.Fatalf("without a simulation there is nothing to refuse: %v", err)
	}
	fees := asBig(found.BaseFee(), found.PriorityFee(), found.Tip())
	if fees.Cmp(asBig(bounds.MaxFee)) > 0 || found.Rent() > bounds.MaxRent || found.RentReturned() > found.Rent() {
		t.Fatalf("fees %s of %d, rent %d of %d, %d of it returned", fees, bounds.MaxFee, found.Rent(), bounds.MaxRent, found.RentReturned())
	}
	paid := asBig(found.Tip())
	for _, payment := range found.Payments() {
		if payment.Recipient != friend {
			t.Fatalf("%+v is allowed", payment)
		}
		if payment.Mint == amount.SOL {
			paid.Add(paid, asBig(payment.Amount))
		}
	}
	if want := outflows(tx); paid.Cmp(want) != 0 {
		t.Fatalf("payments and tips come to %s lamports, the bytes take %s", paid, want)
	}
	charge, err := found.Charge()
	if err != nil {
		return // Too much to be counted, and so never signed.
	}
	if want := new(big.Int).Add(fees, asBig(bounds.MaxOut[amount.SOL], found.Rent())); asBig(charge[amount.SOL]).Cmp(want) != 0 {
		t.Fatalf("the caps are charged %d, the worst case is %s", charge[amount.SOL], want)
	}
	if found.Class() == effects.Complete && paid.Cmp(asBig(bounds.MaxOut[amount.SOL], found.Tip())) > 0 {
		t.Fatalf("%s lamports are paid, at most %d may be", paid, bounds.MaxOut[amount.SOL])
	}
}
