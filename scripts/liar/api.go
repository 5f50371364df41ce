package liar

import (
	"context"

	lib "github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"

	signerv1 "countersign/proto/signer/v1"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/sandbox/bagsclient"
)

// bags calls the Bags API as mcpd does.
func (l *Liar) bags() bagsclient.Client {
	return bagsclient.Client{URL: l.API.URL(), Key: l.APIKey, Wallet: l.World.Wallet}
}

// trade is a swap of the sandbox, dishonest in the way that the mode says, with
// the bounds that an honest caller would state.
func (l *Liar) trade(ctx context.Context, in, out lib.PublicKey, units uint64, m bagsandbox.Misbehaviour) (offer, error) {
	l.api.Lock()
	defer l.api.Unlock()
	if m.Mode != "" {
		if err := l.API.Misbehave(m); err != nil {
			return offer{}, err
		}
	}
	answer, err := l.bags().Trade(ctx, in.String(), out.String(), units)
	if err != nil {
		return offer{}, err
	}
	raw, err := base58.Decode(answer.Transaction)
	return l.argue(offer{
		flow: signerv1.Flow_FLOW_SWAP, batch: [][]byte{raw},
		bounds: &signerv1.Bounds{
			MaxOut: assets(in, units), MinIn: assets(out, answer.Minimum), MaxFee: 50_000, MaxRent: 2 * 2_100_000,
			Programs: [][]byte{lib.MustPublicKeyFromBase58(l.World.PoolProgram).Bytes()},
		},
	}), err
}

// claim is a claim of the sandbox in the given style.
func (l *Liar) claim(ctx context.Context, b bagsandbox.Behaviour, m bagsandbox.Misbehaviour, lamports uint64) (offer, error) {
	l.api.Lock()
	defer l.api.Unlock()
	defer l.API.Reset()
	if err := l.API.SetBehaviour(b); err != nil {
		return offer{}, err
	}
	if m.Mode != "" {
		if err := l.API.Misbehave(m); err != nil {
			return offer{}, err
		}
	}
	var texts []string
	// Another claim that lands in between leaves nothing to be claimed.
	for attempt := range 3 {
		if err := l.API.Accrue(ctx, lamports); err != nil {
			return offer{}, err
		}
		var err error
		if texts, err = l.bags().Claim(ctx, l.World.TokenMint); err == nil {
			break
		}
		if attempt == 2 {
			return offer{}, err
		}
	}
	o := offer{flow: signerv1.Flow_FLOW_CLAIM, bounds: &signerv1.Bounds{
		MinIn: assets(lib.WrappedSol, 2*lamports), MaxFee: 100_000, MaxRent: 2 * 2_100_000,
		Programs: [][]byte{lib.MustPublicKeyFromBase58(l.World.FeeShareProgram).Bytes()},
	}}
	for _, text := range texts {
		raw, err := base58.Decode(text)
		if err != nil {
			return offer{}, err
		}
		o.batch = append(o.batch, raw)
	}
	return l.argue(o), nil
}

// payment is a transfer to whoever is named, with fees as given.
func (l *Liar) payment(ctx context.Context, to lib.PublicKey, lamports uint64, extra ...lib.Instruction) (offer, error) {
	list := append([]lib.Instruction{unitLimit(200_000)}, extra...)
	raw, err := l.compile(ctx, l.people.wallet, append(list, transfer(l.people.wallet, to, lamports))...)
	return l.argue(offer{
		flow: signerv1.Flow_FLOW_TRANSFER, batch: [][]byte{raw},
		bounds: &signerv1.Bounds{MaxOut: assets(lib.WrappedSol, lamports), MaxFee: 50_000, Recipients: [][]byte{to.Bytes()}},
	}), err
}

// tokenPayment sends tokens into the associated account of whoever is named,
// which is opened at the wallet's cost.
func (l *Liar) tokenPayment(ctx context.Context, mint, to lib.PublicKey, units uint64, extra ...lib.Instruction) (offer, error) {
	list := append([]lib.Instruction{unitLimit(200_000)}, extra...)
	raw, err := l.compile(ctx, l.people.wallet, append(list, l.people.open(to, mint), l.people.send(mint, to, units, l.decimals(mint.String())))...)
	return l.argue(offer{
		flow: signerv1.Flow_FLOW_TRANSFER, batch: [][]byte{raw},
		bounds: &signerv1.Bounds{MaxOut: assets(mint, units), MaxFee: 50_000, MaxRent: 4_000_000, Recipients: [][]byte{to.Bytes()}},
	}), err
}
